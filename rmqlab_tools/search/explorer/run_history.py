"""The past of a run, as far as an outcome or a fate is read from it: a part of the fingerprint of a state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rmqlab.events import AckedByProxy, ClientFiltered, Commit, Filtered, Popped, PullAnswered, SkippedByPop
from rmqlab.run.recorded_events import Consumed, OffsetAsked

if TYPE_CHECKING:
    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab.sim.simulate import Simulation
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab_tools.search.explorer.state_walk import Canonical

OWN_NAMES = frozenset({"UNIQ_KEY"})  # names a message by the clock, and nothing depends on it


class RunHistory:
    """Reads the past of one simulation bit by bit: each look goes on where the one before ended."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._store = simulation.cluster.broker.message_store
        self._facts_read = 0
        self._consumed: Counter[tuple[Any, ...]] = Counter()
        self._dropped: dict[tuple[Any, ...], dict[Any, Any]] = {}
        self._furthest: dict[tuple[Any, ...], int] = {}
        self._asked: dict[tuple[Any, ...], int] = {}
        self._popped: dict[tuple[Any, ...], str] = {}
        self._looked_at: list[tuple[Any, ...]] = []
        self._arrived: list[DispatchRequest] = []
        self._stored: list[tuple[Any, ...]] = []
        self._store.dispatchers.append(self._arrived.append)

    def state(self) -> Canonical:
        """All of it up to now."""
        facts = self._simulation.cluster.facts
        for index in range(self._facts_read, len(facts)):
            self._read(facts[index])
        self._facts_read = len(facts)
        return (
            tuple(sorted(self._consumed.items())),
            tuple(sorted((message, tuple(by.items())) for message, by in self._dropped.items())),
            tuple(sorted(self._furthest.items())),
            tuple(sorted(self._asked.items())),
            tuple(self._looked_at),
            tuple(sorted(self._popped.items())),
            self._messages(),
            tuple(
                (member.who, member.until is None, len(member.asked), *(entry[0] for entry in member.asked[-1:]))
                for member in self._simulation.members
            ),
        )

    def _read(self, fact: Fact[Event]) -> None:
        match event := fact.event:
            case Consumed():
                self._consumed[
                    fact.source, event.group, event.topic, event.queue, event.offset, event.body, event.success
                ] += 1
            case Filtered() | ClientFiltered() | SkippedByPop() | AckedByProxy():
                by = self._dropped.setdefault((event.group, event.topic, event.queue, event.offset), {})
                client = getattr(event, "client", fact.source)
                stage = getattr(event, "stage", None)
                by.pop(client, None)  # the last to drop it comes last
                by[client] = (event.kind, stage)
            case Popped():
                self._popped[event.group, event.topic, event.queue, event.offset] = event.client
            case Commit():
                queue = (event.group, event.topic, event.queue)
                self._furthest[queue] = max(self._furthest.get(queue, -1), event.offset)
            case PullAnswered():
                self._asked[fact.source, event.topic, event.queue] = event.next
            case OffsetAsked():
                self._looked_at.append((event.group, event.topic, event.queue, event.committed))
            case _:
                pass

    def _messages(self) -> Canonical:
        for request in self._arrived[len(self._stored) :]:
            message = self._store.look_message_by_offset(request.commit_log_offset, request.msg_size)
            properties = {} if message is None else message.properties
            self._stored.append((
                request.topic, request.queue_id, request.consume_queue_offset, request.tags_code,
                b"" if message is None else message.body or b"",
                tuple((name, text) for name, text in sorted(properties.items()) if name not in OWN_NAMES),
            ))  # fmt: skip
        return tuple(self._stored)
