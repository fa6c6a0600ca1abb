"""The steps of 5.x's POP: pops that wait in line, are asked, take a message for a while, or go past it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.events import AckedByProxy, NotWoken, Popped, Revived, SkippedByPop, Waits, Woken
from rmqlab.language import _
from rmqlab.run.fates import Fate
from rmqlab_tools.show.film.frames import BROKER, Place, Step

if TYPE_CHECKING:
    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab_tools.show.film.stage import Stage

MS_PER_S = 1_000


class PopSteps:
    """The events of pops. Messages that come again lie in a retry topic: which they are is kept here."""

    def __init__(self, stage: Stage) -> None:
        """`stage` is that of the whole film."""
        self.stage = stage
        self._copies: dict[tuple[str, int, int], tuple[int, int]] = {}

    def of_copy(self, event: Event) -> bool:
        """Whether an event is about a message that came again."""
        return self._copy(event) in self._copies

    @staticmethod
    def topic_of(event: Event) -> str:
        """The topic that an event is about; "" where it is about none."""
        return getattr(event, "topic", None) or ""

    @classmethod
    def _copy(cls, event: Event) -> tuple[str, int, int]:
        return cls.topic_of(event), getattr(event, "queue", -1), getattr(event, "offset", -1)

    def _at(self, event: Event) -> list[int]:
        queue, offset = self._copies.get(self._copy(event), self._copy(event)[1:])
        return self.stage.at(queue, offset)

    def follow(self, t: float, fact: Fact[Event]) -> None:
        """Change the stage, and take a frame; an event of another kind changes nothing."""
        stage = self.stage
        match event := fact.event:
            case Waits(client=client, until=until):
                stage.line = sorted([*stage.line, (until, client)])
                if client not in self._seen():
                    stage.take(
                        t,
                        Step.WAIT,
                        _("{who}'s pop finds nothing and waits in line.", who=client),
                        actors=[client, BROKER],
                        key=client,
                    )
            case Woken(client=client):
                first = next((waiter for waiter in stage.line if waiter[1] == client), None)
                stage.line = [waiter for waiter in stage.line if waiter is not first]
                if event.offset >= 0:
                    stage.sent(t, self._at(event))
                    stage.take(
                        t,
                        Step.LINE,
                        _(
                            "{messages} comes: {who} is first in line and wakes up.",
                            messages=stage.named(self._at(event)),
                            who=client,
                        ),
                        actors=[BROKER, client],
                        messages=self._at(event),
                    )
            case NotWoken(client=client):
                stage.sent(t, self._at(event))
                stage.take(
                    t,
                    Step.LINE,
                    _(
                        "{messages} comes: {who} is first in line and does not want it. Nobody else is asked.",
                        messages=stage.named(self._at(event)),
                        who=client,
                    ),
                    actors=[BROKER, client],
                    messages=self._at(event),
                )
            case SkippedByPop(client=client, subscription=subscription):
                stage.sent(t, self._at(event))
                moved = stage.put(self._at(event), Place(Fate.SKIPPED_BY_POP, client))
                stage.take(
                    t,
                    Step.SKIP,
                    lambda names: _(
                        "{who}'s pop goes past {messages}: {who} asks for {expression}. No other pop will see it.",
                        who=client,
                        messages=names,
                        expression=subscription or "*",
                    ),
                    actors=[BROKER, client],
                    messages=moved,
                    key=(client, t),
                )
            case Popped(client=client, invisible_ms=invisible_ms):
                stage.sent(t, self._at(event))
                moved = stage.put(self._at(event), Place(Fate.INVISIBLE, client))
                if moved:
                    stage.take(
                        t,
                        Step.LET,
                        lambda names: _(
                            "{who} pops {messages}: nobody else sees it for {seconds} s.",
                            who=client,
                            messages=names,
                            seconds=f"{invisible_ms / MS_PER_S:g}",
                        ),
                        actors=[BROKER, client],
                        messages=moved,
                        key=(client, t),
                    )
            case AckedByProxy():
                stage.sent(t, self._at(event))
                moved = stage.put(self._at(event), Place(Fate.ACKED_BY_PROXY, fact.source))
                stage.take(
                    t,
                    Step.CLIENT,
                    _(
                        "The proxy acknowledges {messages} itself: {who} asks for {expression} and never sees it.",
                        messages=stage.named(moved),
                        who=fact.source,
                        expression=event.subscription or "*",
                    ),
                    actors=[fact.source],
                    messages=moved,
                )
            case Revived():
                place = self._copies.get(self._copy(event), (event.queue, event.offset))
                self._copies[event.retry_topic, event.retry_queue, event.retry_offset] = place
                moved = stage.put(stage.at(*place), Place(Fate.RETRYING))
                if moved:
                    stage.take(
                        t,
                        Step.RETRY,
                        lambda names: _(
                            "{messages}: nobody acknowledged in time, it may be popped again.", messages=names
                        ),
                        actors=[BROKER],
                        messages=moved,
                        key=t,
                    )

    def _seen(self) -> set[str]:
        """Whose pops have waited so far."""
        return {frame.actors[0] for frame in self.stage.frames if frame.step is Step.WAIT}
