"""What happens in a cluster, as typed events: each is declared here once, whoever tells of it and whoever reads it.

Broker, store and clients hand them to an `Observer` and know nothing of experiments; whoever runs a scenario adds its
own. A `Recorded` event is one that recordings of real brokers have too: its fields in this order are its JSON, in the
spelling that `columns_of` gives, and tables have the same names. Times are the reader's: an event has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType, field

from rmqlab.message.message import MessageExt
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.subscription_data import SubscriptionData

Stage = Literal["tags_code", "bitmap", "sql"]


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Event(Struct, frozen=True, rename="camel", tag_field="ev", tag=_snake):
    """Something that happened; `kind` is its tag in JSON."""

    kind: ClassVar[str]


Observer = Callable[[Event], None]


class OfGroup(Event, frozen=True):
    """Something that befalls a member of a group."""

    group: str
    client: str


class AtBroker(Event, frozen=True):
    """Something about an offset of a queue that the broker tells of a client."""

    client: str
    group: str
    topic: str
    queue: int
    offset: int


class OfTopic(Event, frozen=True):
    """Something that a client tells of itself and a topic of one of its groups."""

    who: str
    group: str
    topic: str


class AtClient(OfTopic, frozen=True):
    """Something about an offset of a queue that a client tells of itself."""

    queue: int
    offset: int


# What the broker tells. `client` is a client id, or the address of a connection where no id is known.


class Heartbeat(Event, frozen=True):
    """The broker takes a heartbeat: the groups it names, and each group's subscriptions."""

    client: str
    consumers: list[str]
    producers: list[str]
    subscriptions: list[tuple[str, SubscriptionData]]


class Register(OfGroup, frozen=True):
    """A consumer or a producer is new in its group."""


class Unregister(OfGroup, frozen=True):
    """A consumer or a producer said goodbye, or its connection ended."""


class Expired(OfGroup, frozen=True):
    """A scan forgot a consumer or a producer that was silent for too long."""


class SubscriptionChanged(Event, frozen=True, tag="subscription"):
    """What the broker holds for a group and a topic changed; None: nothing."""

    group: str
    topic: str | None
    client: str
    old: SubscriptionData | None
    new: SubscriptionData | None


class Notify(OfGroup, frozen=True):
    """A member is told that the members of its group changed."""


class Pull(AtBroker, frozen=True):
    """The broker made up its answer to a pull; `status` and `next` are None for one that it refused."""

    code: int
    status: str | None
    next: int | None
    count: int
    held: bool


class Filtered(AtBroker, frozen=True):
    """The broker's filter dropped a message from a pull's answer, by this subscription of that version."""

    stage: Stage
    subscription: str | None
    version: int


class Wake(Event, frozen=True):
    """A held pull is looked at again."""

    topic: str
    queue: int
    offset: int
    why: str


class Commit(AtBroker, frozen=True):
    """A group's offset of a queue is committed."""


class Registration(Event, frozen=True):
    """The broker registers with the name servers."""

    broker: str


class StartFilterServer(Event, frozen=True):
    """The broker finds a filter server missing and starts one."""


class MainClassNotFound(Event, frozen=True):
    """The filter server that was started ends at once: its class is not there."""


class FilterServerUp(Event, frozen=True, tag="filter_server"):
    """A filter server has registered with the broker."""

    addr: str


class FilterClassUploaded(Event, frozen=True, tag="filter_class"):
    """A consumer uploads a class to a filter server; `stored`: the server took it."""

    group: str
    topic: str
    class_name: str
    crc: int
    stored: bool


class ClassAsked(Event, frozen=True, tag="class_filter"):
    """A filter server asks the class about a message."""

    group: str
    topic: str
    queue: int
    offset: int
    class_name: str
    passed: bool


# What a client tells; `who` is its client id.


class HeartbeatSent(Event, frozen=True, tag="heartbeat"):
    """A client sends a heartbeat to a broker."""

    who: str
    broker: str
    addr: str
    data: HeartbeatData


class Restamp(OfTopic, frozen=True):
    """A client gives its subscription of a topic a new version, after its queues changed."""

    old: int
    version: int


class Rebalance(OfTopic, frozen=True):
    """A client owns other queues of a topic than before: these."""

    queues: list[int]


class PullAnswered(AtClient, frozen=True, tag="pull_result"):
    """A client takes in the answer to a pull from `offset`; `count` of its messages are left after its own check."""

    status: str
    next: int
    count: int


class PullFailed(AtClient, frozen=True):
    """A pull could not be made or was refused."""

    error: str


class ClientFiltered(AtClient, frozen=True):
    """A client drops a message that its own subscription does not name."""

    tag: str | None
    subscription: str | None
    version: int


class Given(AtClient, frozen=True):
    """A client keeps a message of an answer; whether its listener got it, nobody saw."""

    tag: str | None


class CorrectOffset(AtClient, frozen=True):
    """A client moves its offset of a queue although it consumed nothing."""


class OffsetPersist(AtClient, frozen=True):
    """A client sent an offset to the broker."""


class ListenerError(Event, frozen=True):
    """A listener raised."""

    who: str
    group: str
    messages: list[MessageExt]
    error: Exception


# What recordings have.


class Recorded(Event, frozen=True):
    """An event that recordings have too; fields of its own that they do not have are in `unrecorded`."""

    unrecorded: ClassVar[frozenset[str]] = frozenset()

    def as_json(self, scenario_id: str, t: float) -> dict[str, Any]:
        """The event as a line of a recording.

        >>> Started("A").as_json("01", 7.2)
        {'id': '01', 't': 7, 'ev': 'started', 'who': 'A'}
        """
        return {"id": scenario_id, "t": round(t), "ev": self.kind} | self.columns()

    def columns(self) -> dict[str, Any]:
        """Its fields under their names in JSON, without those that are UNSET."""
        spelled = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        found = ((column, getattr(self, name)) for name, column in spelled if name not in self.unrecorded)
        return {column: value for column, value in found if value is not UNSET}


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


class Consumed(OfConsumer, frozen=True, tag="consume"):
    """A listener got a message; `success`: it took it."""

    topic: str
    tag: str | None
    queue: int
    offset: int
    body: str
    reconsume: int
    message_id: str | None = field(name="msgId")
    group: str
    success: bool
    message: MessageExt | None = None
    unrecorded: ClassVar[frozenset[str]] = frozenset({"group", "success", "message"})


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
    """A message was sent, and no frame tells which queue it came to."""

    topic: str
    tag: str | None


class TapCommit(OfConsumer, frozen=True, tag="commit"):
    """A client committed an offset."""

    group: str
    topic: str
    queue: int
    offset: int


def _all(event: type[Event]) -> list[type[Event]]:
    below = event.__subclasses__()
    return below + [one for each in below for one in _all(each)]


for _event in _all(Event):
    _event.kind = str(_event.__struct_config__.tag)
