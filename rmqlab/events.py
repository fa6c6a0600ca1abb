"""What happens in a cluster, as typed events: each is declared here once, whoever tells of it and whoever reads it.

Broker, store and clients hand them to an `Observer` and know nothing of experiments; whoever runs a scenario adds its
own (`rmqlab.run.recorded_events`). Times are the reader's: an event has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Literal

from msgspec import Struct

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


def unobserved(_event: Event) -> None:
    """The observer of those whom nobody looks at."""


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
    """The broker's filter dropped a message from a pull's answer, by this subscription; None: nobody knows which."""

    stage: Stage
    subscription: str | None
    version: int | None


class Wake(Event, frozen=True):
    """A held pull is looked at again."""

    topic: str
    queue: int
    offset: int
    why: str


class Commit(AtBroker, frozen=True):
    """A group's offset of a queue is committed."""


class DeadLetter(Event, frozen=True):
    """A message that a group refused too often goes to the group's dead letters."""

    group: str
    message_id: str | None


class Registration(Event, frozen=True):
    """The broker registers with the name servers."""

    broker: str


class StartFilterServer(Event, frozen=True):
    """The broker finds a filter server missing and starts one."""


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


def set_kinds() -> None:
    """Tell every class of events its `kind`; a module that declares some calls this at its end."""
    for event in _all(Event):
        event.kind = str(event.__struct_config__.tag)


def _all(event: type[Event]) -> list[type[Event]]:
    below = event.__subclasses__()
    return below + [one for each in below for one in _all(each)]


set_kinds()
