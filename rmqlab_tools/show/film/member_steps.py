"""The steps of members: they start, ask, share out the queues, stop, and what faults befall them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.events import Expired, Notify, Rebalance
from rmqlab.language import _, joined
from rmqlab.run.recorded_events import Assigned, Control, StartFailed, Starting, Stopped, Subscribed, Unsubscribed
from rmqlab.run.run_view import NO_MORE, ranges
from rmqlab_tools.show.film.frames import BROKER, Step

if TYPE_CHECKING:
    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab.run.run_view import RunView
    from rmqlab_tools.show.film.stage import Stage


class MemberSteps:
    """What happens to the members of the group."""

    def __init__(self, stage: Stage, view: RunView) -> None:
        self.stage, self.view = stage, view

    def follow(self, t: float, fact: Fact[Event]) -> None:
        """Change the stage, and take a frame if there is something to see; an event of another kind changes nothing."""
        match event := fact.event:
            case Control():
                self._fault(t, event)
            case Starting() | StartFailed() | Stopped() | Subscribed() | Unsubscribed() | Expired():
                client = event.client if isinstance(event, Expired) else event.who
                if client in self.view.asked and self.view.is_member(client, fact.t):
                    self._life(t, client, event)
            case Notify():
                self._notify(t, event)
            case Rebalance():
                self._owns(t, fact.source, event.queues)
            case Assigned() if fact.source in self.view.asked:
                self._owns(t, fact.source, event.queues.get(self.view.topic, []))

    def _life(self, t: float, client: str, event: Event) -> None:
        stage, starts_with = self.stage, self.view.starts_with
        match event:
            case Starting():
                asked = stage.members[client] = starts_with.get(client, NO_MORE)
                text = _("{who} starts and asks for {asked}.", who=client, asked=asked)
                stage.take(
                    t, Step.START, text if client in starts_with else _("{who} starts.", who=client), actors=[client]
                )
            case Subscribed(expr=expression):
                stage.members[client] = expression
                stage.take(
                    t,
                    Step.START,
                    _("{who} asks for {asked} from now on.", who=client, asked=expression),
                    actors=[client],
                )
            case Unsubscribed():
                stage.members[client] = NO_MORE
                stage.take(t, Step.START, _("{who} ends its subscription.", who=client), actors=[client])
            case StartFailed(error=error):
                stage.leaves(client)
                stage.take(t, Step.STOP, _("{who} cannot start: {error}.", who=client, error=error), actors=[client])
            case Expired():
                text = _("The broker heard nothing of {who} for too long and forgets it.", who=client)
                stage.take(t, Step.STOP, text, actors=[BROKER, client])
            case _ if client in stage.members:
                stage.leaves(client)
                stage.take(t, Step.STOP, _("{who} stops.", who=client), actors=[client])

    def _fault(self, t: float, event: Control) -> None:
        what, client, _number = event.parts
        if what == "kill":
            self.stage.leaves(client)
        actors = [client] if client in self.view.asked else [BROKER]
        self.stage.take(t, Step.FAULT, _("A fault: {line}.", line=event.line), actors=actors)

    def _notify(self, t: float, event: Notify) -> None:
        if not self.stage.owners:
            return  # the first member is told of itself: no story in it
        last = self.stage.frames[-1]
        if last.step is Step.NOTIFY and abs(last.t - t) < 1:
            clients = [client for client in dict.fromkeys([*last.actors, event.client]) if client != BROKER]
            self.stage.frames.pop()
        else:
            clients = [event.client]
        text = _("The broker tells {who}: the members of the group changed.", who=joined(", ", clients))
        self.stage.take(t, Step.NOTIFY, text, actors=[BROKER, *clients])

    def _owns(self, t: float, client: str, queues: list[int]) -> None:
        stage = self.stage
        stage.owners[client] = tuple(queues)
        stage.waits = {wait for wait in stage.waits if wait[0] != client or wait[1] in queues}
        text = (
            _("{who} shares out the queues: it reads {queues}.", who=client, queues=ranges(queues))
            if queues
            else _("{who} shares out the queues: it reads none.", who=client)
        )
        stage.take(t, Step.REBALANCE, text, actors=[client])
