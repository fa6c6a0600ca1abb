"""The steps of messages: sent, dropped or let through by the broker, dropped by a client, taken by a listener."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rmqlab.events import STAGES, ClientFiltered, DeadLetter, Filtered, Given, Pull
from rmqlab.language import _, ngettext
from rmqlab.run.fates import OF_STAGE, Fate
from rmqlab.run.recorded_events import Consumed, MessageSent
from rmqlab.run.run import sent_messages
from rmqlab.run.run_view import NO_MORE, ranges
from rmqlab_tools.show.film.frames import BROKER, Place, Station, Step

if TYPE_CHECKING:
    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab.run.run_view import RunView
    from rmqlab_tools.show.film.stage import Stage


class MessageSteps:
    """Where each message goes."""

    def __init__(self, stage: Stage, view: RunView) -> None:
        self.stage, self.view = stage, view
        self._by_id: dict[str | None, tuple[int, int]] = {}
        self._topics = iter([message.topic for message in sent_messages(view.run.scenario, view.run.events)])
        self._looked_at: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._reach = _reach(view)

    def follow(self, t: float, fact: Fact[Event]) -> None:
        """Change the stage, and take a frame if there is something to see; an event of another kind changes nothing."""
        match event := fact.event:
            case MessageSent():
                if next(self._topics) == self.view.topic:
                    self._by_id[event.msg_id] = event.queue, event.offset
                    self.stage.sent(t, self.stage.at(event.queue, event.offset))
            case Filtered():
                self._drop(t, event, self._reach.get(self.view.place(fact), event.offset + 1))
            case Pull():
                self._pull(t, event)
            case ClientFiltered():
                self._client_drops(t, fact.source, event)
            case Given():
                self._given(t, fact.source, event)
            case Consumed():
                self._listener(t, fact.source, event)
            case DeadLetter(message_id=message_id) if message_id in self._by_id:
                moved = self.stage.put(self.stage.at(*self._by_id[message_id]), Place(Fate.DEAD_LETTER))
                text = _("{messages}: refused too often, a dead letter.", messages=self.stage.named(moved))
                self.stage.take(t, Step.RETRY, text, actors=[BROKER], messages=moved)

    def _drop(self, t: float, event: Filtered, end: int) -> None:
        client, queue = event.client, event.queue
        for offset in range(event.offset, end):
            self.stage.sent(t, self.stage.at(queue, offset))
        self._looked_at[client, queue].add(event.offset)
        dropped = self.stage.put(
            self.stage.sent_at(t, queue, event.offset, client), Place(OF_STAGE[event.stage], client)
        )
        expression = event.subscription if event.subscription is not None else _("something else")

        def text(names: str) -> str:
            if event.stage == "tags_code":
                return _(
                    "{who} pulls queue {queue}, and the broker drops {messages}: the slot lets through {expression}.",
                    who=client,
                    queue=queue,
                    messages=names,
                    expression=expression,
                )
            return _(
                "{who} pulls queue {queue}, and the broker drops {messages}: {what} does not fit {expression}.",
                who=client,
                queue=queue,
                messages=names,
                what=STAGES[event.stage],
                expression=expression,
            )

        if dropped:
            self.stage.take(t, Step.DROP, text, actors=[BROKER, client], messages=dropped, key=(client, queue, t))

    def _pull(self, t: float, event: Pull) -> None:
        stage, client, queue = self.stage, event.client, event.queue
        looked_at = self._looked_at.pop((client, queue), set())
        if event.held:
            if (client, queue) not in stage.waits:
                stage.waits.add((client, queue))
                waiting = sorted(place for who, place in stage.waits if who == client)
                text = ngettext(
                    "{who}'s pull waits at the broker, of queue {queues}.",
                    "{who}'s pulls wait at the broker, of queues {queues}.",
                    len(waiting),
                    who=client,
                    queues=ranges(waiting),
                )
                stage.take(t, Step.WAIT, text, actors=[client, BROKER], key=client)
            return
        if event.next is None or event.next == event.offset:
            return
        stage.waits.discard((client, queue))
        offsets = (
            [offset for offset in range(event.offset, event.next) if offset not in looked_at] if event.count else []
        )
        there = [n for offset in offsets for n in self.stage.sent_at(t, queue, offset, client)]
        passed = stage.put(there, Place(Station.PASSED, client))
        if passed:
            slot = stage.slot.expression if stage.slot is not None else "*"
            text = _(
                "{who} pulls queue {queue}, and the broker lets through {messages}: the slot says {expression}.",
                who=client,
                queue=queue,
                messages=stage.named(passed),
                expression=slot,
            )
            stage.take(t, Step.LET, text, actors=[BROKER, client], messages=passed)

    def _client_drops(self, t: float, client: str, event: ClientFiltered) -> None:
        dropped = self.stage.put(
            self.stage.sent_at(t, event.queue, event.offset, client), Place(Fate.DROPPED_BY_CLIENT, client)
        )
        if dropped:
            names, asked = self.stage.named(dropped), event.subscription or NO_MORE
            text = _(
                "{who} looks at the tag once more and drops {messages} itself: it asks for {expression}.",
                who=client,
                messages=names,
                expression=asked,
            )
            self.stage.take(t, Step.CLIENT, text, actors=[client], messages=dropped)

    def _given(self, t: float, client: str, event: Given) -> None:
        there = self.stage.sent_at(t, event.queue, event.offset, client)
        kept = self.stage.put(there, Place(Fate.PASSED, client))

        def text(names: str) -> str:
            return _("{who} keeps {messages}.", who=client, messages=names)

        self.stage.take(t, Step.LET, text, actors=[client], messages=kept, key=client)

    def _listener(self, t: float, client: str, event: Consumed) -> None:
        queue, offset = self._by_id.get(event.message_id, (event.queue, event.offset))
        there = self.stage.sent_at(t, queue, offset, client)
        names = self.stage.named(there)
        if not event.success:
            broadcast = any(self.stage.messages[n].member for n in there)
            self.stage.put(there, Place(Fate.DROPPED_BY_CLIENT if broadcast else Fate.RETRYING, client))
            self.stage.take(
                t,
                Step.RETRY,
                _("{who}'s listener refuses {messages}.", who=client, messages=names),
                actors=[client],
                messages=there,
            )
            return
        moved = self.stage.put(there, Place(Fate.DELIVERED, client))
        text = (
            _("{who}'s listener takes {messages}.", who=client, messages=names)
            if moved
            else _("{who}'s listener takes {messages} once more.", who=client, messages=names)
        )
        self.stage.take(t, Step.TAKE, text, actors=[client], messages=there)


def _reach(view: RunView) -> dict[int, int]:
    """Where each pull ends of whose messages one was dropped, by the place of that fact: they were all sent by then."""
    reach: dict[int, int] = {}
    ends: dict[tuple[str, int], int] = {}
    for fact in reversed(view.facts(Filtered, Pull)):
        event = fact.event
        if isinstance(event, Pull):
            ends[event.client, event.queue] = event.next or 0
        else:
            reach[view.place(fact)] = ends.get((event.client, event.queue), 0)
    return reach
