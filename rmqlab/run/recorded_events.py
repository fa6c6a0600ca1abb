"""The events that recordings of real brokers have too; whoever runs a scenario or reads a tap writes them.

The fields of a `Recorded` event in this order are its JSON, in the spelling that `columns_of` gives; tables have the
same names.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args, get_type_hints

from msgspec import UNSET, Struct, UnsetType, convert, defstruct, field

from rmqlab.events import Event, kinds_below, set_kinds
from rmqlab.language import _
from rmqlab.run.facts import SCENARIO, Fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rmqlab.events import Version
    from rmqlab.message.message import MessageExt


class Recorded(Event, frozen=True):
    """An event that recordings have too; fields of its own that they do not have are in `unrecorded`."""

    unrecorded: ClassVar[frozenset[str]] = frozenset()

    def as_json(self, scenario_id: str, t: float) -> dict[str, Any]:
        """The event as a line of a recording.

        >>> Started("A").as_json("01", 7.2)
        {'id': '01', 't': 7, 'ev': 'started', 'who': 'A'}
        """
        return {"id": scenario_id, "t": round(t), "ev": self.kind} | self.record()

    def words(self, client: str, version: Version = int) -> str:
        """Its sentence, or its record."""
        return super().words(client, version) if self.sentence else f"{self.kind} {json.dumps(self.record())}"

    def record(self) -> dict[str, Any]:
        """Its fields under their names in JSON, without those that are UNSET."""
        values = [(column, getattr(self, name)) for name, column in _spelling(self.__class__)]
        return {column: value for column, value in values if value is not UNSET}


@cache
def _spelling(kind: type[Recorded]) -> list[tuple[str, str]]:
    """The fields that recordings have too, each with its name in JSON."""
    spelled = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return [(name, column) for name, column in spelled if name not in kind.unrecorded]


class OfConsumer(Recorded, frozen=True):
    """An event of one consumer of the scenario."""

    who: str


class ScenarioBegins(Recorded, frozen=True, tag="scenario"):
    """A scenario begins: what it says, and the epoch ms of its time 0."""

    scenario: dict[str, Any]
    epoch_ms: int


class Refused(Recorded, frozen=True):
    """A scenario is not simulated."""

    message: str


class Starting(OfConsumer, frozen=True):
    """A consumer is being started; `kind` where it is no push consumer."""

    consumer: str | UnsetType = field(default=UNSET, name="kind")


class Started(OfConsumer, frozen=True):
    """A consumer has started."""

    client_id: str | UnsetType = UNSET


class StartFailed(OfConsumer, frozen=True, tag="startFailed"):
    """A consumer's start threw."""

    error: str
    message: str


class Stopping(OfConsumer, frozen=True):
    """A consumer is being shut down."""


class Stopped(OfConsumer, frozen=True):
    """A consumer was shut down."""


class Subscribed(OfConsumer, frozen=True):
    """A running consumer subscribes something else."""

    expr: str


class Unsubscribed(OfConsumer, frozen=True):
    """A running consumer ends its subscription of a topic."""

    topic: str


class Assigned(OfConsumer, frozen=True):
    """A lite pull consumer assigned itself queues, by topic."""

    queues: dict[str, list[int]]


class TopicDeleted(Recorded, frozen=True, tag="topicDeleted"):
    """A topic was deleted at broker and name server."""

    topic: str


class GroupCreated(Recorded, frozen=True, tag="groupCreated"):
    """A group was made."""

    group: str


class GroupDeleted(Recorded, frozen=True, tag="groupDeleted"):
    """A group was deleted, with its retry and its dead letter topic."""

    group: str


class Resized(Recorded, frozen=True):
    """A topic has another number of queues."""

    topic: str
    queues: int


class OffsetReset(Recorded, frozen=True, tag="offsetReset"):
    """A group's offsets of a topic were reset, by queue."""

    group: str
    topic: str
    offsets: dict[str, int]


class Control(Recorded, frozen=True):
    """A fault happens; `conns` is how many connections it ends."""

    line: str
    conns: str | UnsetType = UNSET

    @property
    def parts(self) -> tuple[str, str, str]:
        """The kind of the fault, the client that it hits, and its number; "" for what the line lacks.

        >>> Control("pause @A 500").parts
        ('pause', 'A', '500')
        >>> Control("broker down").parts
        ('broker down', '', '')
        """
        what, _at, rest = self.line.partition(" @")
        client, _blank, number = rest.partition(" ")
        return what, client, number


class StepFailed(Recorded, frozen=True, tag="error"):
    """A step of the scenario threw."""

    do: str
    error: str
    message: str


class UnderWay(Recorded, frozen=True, tag="underWay"):
    """A scenario is ended although this could still change something."""

    what: str


class MessageSent(Recorded, frozen=True, tag="sent"):
    """A message was sent; `i` is its number in its step."""

    i: int
    tag: str | None
    body: str
    queue: int
    offset: int
    msg_id: str | None
    offset_msg_id: str | None


class Received(OfConsumer, frozen=True, tag="consume"):
    """A listener got a message: what a recording has of it."""

    topic: str
    tag: str | None
    queue: int
    offset: int
    body: str
    reconsume: int
    message_id: str | None = field(name="msgId")


class Consumed(Received, frozen=True, tag="consume"):
    """A listener got a message; `success`: it took it."""

    group: str
    success: bool
    message: MessageExt | None = None
    unrecorded: ClassVar[frozenset[str]] = frozenset({"group", "success", "message"})
    sentence: ClassVar = _("{who}'s listener takes {body} ({place}, offset {offset})")
    refusal: ClassVar = _("{who}'s listener refuses {body} ({place}, offset {offset})")

    def words(self, client: str, version: Version = int) -> str:
        """Whether the listener took it, as a sentence."""
        return (self.sentence if self.success else self.refusal).format(**self.values(version) | {"who": client})


class GroupViewed(Recorded, frozen=True, tag="broker"):
    """A group's clients and subscriptions in the broker, when they changed."""

    group: str
    view: Any


class Owned(OfConsumer, frozen=True, tag="alloc"):
    """The queues that a member owns, by topic, when it was asked."""

    queues: dict[str, list[int]]


class OffsetAsked(Recorded, frozen=True, tag="offset"):
    """A queue's committed and maximum offset when they were asked; an error's name for a group that is not known."""

    group: str
    topic: str
    queue: int
    committed: int | str | None
    max: int


class ReceiveFailed(OfConsumer, frozen=True, tag="receiveFailed"):
    """A SimpleConsumer's receive was refused."""

    error: str
    message: str


class Gauge(Recorded, frozen=True):
    """A group's gauges: members' last heartbeats, lag as counted and as the group will receive it, flips."""

    group: str
    members: dict[str, int]
    age_ms: int | None
    raw_lag: int
    filtered_lag: int | None
    filtered_lag_complete: bool
    flips_per_minute: dict[str, int]


# What a tap's frames tell.


class TapSent(Recorded, frozen=True, tag="sent"):
    """A message as the frames of its send tell it."""

    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    msg_id: str
    offset_msg_id: str
    producer_group: str


class Unplaced(Recorded, frozen=True):
    """A message was sent, and no frame says which queue it came to."""

    topic: str
    tag: str | None


class TapCommit(OfConsumer, frozen=True, tag="commit"):
    """A client committed an offset."""

    group: str
    topic: str
    queue: int
    offset: int


set_kinds()
R = TypeVar("R", bound=Recorded)
_OF_LINES: dict[str, type[Recorded]] = {
    event.kind: event for event in kinds_below(Recorded) if event not in {Consumed, TapSent}
}


def recorded_facts(lines: Iterable[Mapping[str, Any]], *kinds: type[R]) -> Iterator[Fact[R]]:
    """The events of the given classes in lines of a recording, in order; `t` is the line's.

    >>> lines = [{"id": "01", "t": 7, "ev": "started", "who": "A"}, {"id": "01", "t": 9, "ev": "told by a stranger"}]
    >>> [(fact.t, fact.source, fact.event.who) for fact in recorded_facts(lines, Started)]
    [(7, 'A', 'A')]
    """
    classes: list[type[Recorded]] = [*_OF_LINES.values(), TapSent]
    wanted = {event.kind for event in classes if issubclass(event, kinds)}
    for line in lines:
        if line["ev"] in wanted:
            event = recorded_event(line)
            if isinstance(event, kinds):
                yield Fact(line["t"], line.get("who", SCENARIO), event)


def recorded_event(line: Mapping[str, Any]) -> Recorded | None:
    """The event of a line, whatever the line has besides; None for one of others, or that lacks a field."""
    kind = line.get("ev", "")
    event = TapSent if kind == TapSent.kind and "i" not in line else _OF_LINES.get(kind)
    if event is None:
        return None
    try:
        return event(**{name: line[column] for name, column in _spelled(event) if column in line})
    except TypeError:
        return None


@cache
def _spelled(event: type[Recorded]) -> tuple[tuple[str, str], ...]:
    """The fields of an event, each with its name in JSON."""
    return tuple(zip(event.__struct_fields__, event.__struct_encode_fields__, strict=True))


_OF_RECORDINGS = (
    Starting, Started, StartFailed, Stopping, Stopped, StepFailed, MessageSent, Received, GroupViewed, Owned,
    OffsetAsked, Subscribed, Unsubscribed, Assigned, TopicDeleted, GroupCreated, GroupDeleted, Resized, Control,
)  # fmt: skip


def require_event(line: Mapping[str, Any]) -> None:
    """Refuse a line of a recording that lacks a field of its event, or has another type there; unknown events pass.

    Raises:
        ValueError: the text names the field.
    """
    convert(line, _lines().get(line["ev"], Struct))


@cache
def _lines() -> dict[str, type[Struct]]:
    """What a line of a recording must have, by its event."""
    by_event = {}
    for event in _OF_RECORDINGS:
        hints = get_type_hints(event, localns={"MessageExt": object})
        spelled = zip(event.__struct_fields__, event.__struct_encode_fields__, strict=True)
        columns = [(column, hints[name]) for name, column in spelled if name not in event.unrecorded]
        fields = [(column, hint, UNSET) if UnsetType in get_args(hint) else (column, hint) for column, hint in columns]
        by_event[event.kind] = defstruct(event.__name__, [("id", str), ("t", float), *fields], kw_only=True)
    return by_event
