"""What happens in a cluster, as typed events: each is declared here once, with its fields and its sentence.

Broker, store and clients hand them to an `Observer` and know nothing of experiments; whoever runs a scenario adds its
own (`rmqlab.run.recorded_events`). Times are the reader's: an event has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Literal, Self, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from rmqlab.language import _, joined, ngettext
from rmqlab.message.message import MessageExt
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.subscription_data import SubscriptionData

Stage = Literal["tags_code", "bitmap", "sql"]
Version = Callable[[int], object]  # how the version of a subscription (epoch ms) is written
STAGES: dict[Stage, str] = {
    "tags_code": _("the tags code of its queue entry"),
    "bitmap": _("the bit map"),
    "sql": _("the SQL92 condition"),
}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Event(Struct, frozen=True, rename="camel", tag_field="ev", tag=_snake):
    """Something that happened; `kind` is its tag in JSON, `sentence` says it with its fields' values."""

    kind: ClassVar[str]
    sentence: ClassVar[str] = ""

    def is_about(self, group: str, topic: str) -> bool:
        """Whether it names no other group and no other topic."""
        return group == getattr(self, "group", group) and topic == getattr(self, "topic", topic)

    def words(self, client: str, version: Version = int) -> str:
        """It as a sentence; `client` did it, where it was a client.

        >>> Rebalance("10.0.0.1@A", "G", "T", [0, 1]).words("A")
        'A owns queues 0, 1 of T'
        """
        if self.sentence:
            return self.sentence.format(**self.values(version) | {"who": client})
        return f"{client}: {self.kind} {', '.join(f'{name} {value}' for name, value in asdict(self).items())}"

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` may name: the fields, and the `place` of those with a queue."""
        fields = asdict(self)
        if "queue" in fields:
            fields["place"] = _("{value} queue {value2}", value=fields["topic"], value2=fields["queue"])
        return fields


E = TypeVar("E", bound=Event)
Observer = Callable[[Event], None]


def unobserved(_event: Event) -> None:
    """The observer where none is set."""


class OfGroup(Event, frozen=True):
    """Something that befalls a member of a group."""

    group: str
    client: str


class AtBroker(Event, frozen=True):
    """An offset of a queue, as the broker has it of a client."""

    client: str
    group: str
    topic: str
    queue: int
    offset: int


class OfTopic(Event, frozen=True):
    """What a client says of itself and a topic of one of its groups."""

    who: str
    group: str
    topic: str


class AtClient(OfTopic, frozen=True):
    """An offset of a queue, as a client has it of itself."""

    queue: int
    offset: int


# What the broker tells. `client` is a client id, or the address of a connection where no id is known.


class Heartbeat(Event, frozen=True):
    """The broker takes a heartbeat: the groups it names, and each group's subscriptions."""

    client: str
    consumers: list[str]
    producers: list[str]
    subscriptions: list[tuple[str, SubscriptionData]]

    @classmethod
    def of(cls, data: HeartbeatData) -> Self:
        """What a heartbeat says."""
        groups = data.consumer_data_set
        return cls(
            data.client_id,
            [group.group_name for group in groups],
            [producer.group_name for producer in data.producer_data_set],
            [(group.group_name, subscription) for group in groups for subscription in group.subscription_data_set],
        )

    def words(self, client: str, version: Version = int) -> str:
        """It as a sentence."""
        subscriptions = joined(
            ", ", (f"{data.topic} {data.expression_type} {data.sub_string}" for _, data in self.subscriptions)
        )
        if subscriptions:
            return _("the broker takes a heartbeat of {client} with {asked}", client=self.client, asked=subscriptions)
        return _("the broker takes a heartbeat of {client}", client=self.client)


class Register(OfGroup, frozen=True):
    """A consumer or a producer is new in its group."""

    sentence: ClassVar = _("the broker registers {client} of group {group}")


class Unregister(OfGroup, frozen=True):
    """A consumer or a producer said goodbye, or its connection ended."""

    sentence: ClassVar = _("the broker takes leave of {client} of group {group}")


class Expired(OfGroup, frozen=True):
    """A scan forgot a consumer or a producer that was silent for too long."""

    sentence: ClassVar = _("the broker forgets {client} of group {group}")


class SubscriptionChanged(Event, frozen=True, tag="subscription"):
    """What the broker holds for a group and a topic changed; None: nothing."""

    group: str
    topic: str | None
    client: str
    old: SubscriptionData | None
    new: SubscriptionData | None
    sentence: ClassVar = _("the broker now holds for group {group}, topic {topic}: {text} (from {client})")

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` names."""
        text = _("nothing")
        if self.new is not None:
            text = _(
                "{expression_type} {expression}, version {sub_version}",
                expression_type=self.new.expression_type,
                expression=self.new.sub_string,
                sub_version=version(self.new.sub_version),
            )
        return super().values(version) | {"text": text}


class Notify(OfGroup, frozen=True):
    """A member is notified that the members of its group changed."""

    sentence: ClassVar = _("the broker tells {client} that the members of {group} changed")


class Pull(AtBroker, frozen=True):
    """The broker made up its answer to a pull; `status` and `next` are None for one that it refused."""

    code: int
    status: str | None
    next: int | None
    count: int
    held: bool
    sentence: ClassVar = _("the broker gets {client}'s pull of {place} from offset {offset} and {answer}")

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` names."""
        answer = (
            _("holds it")
            if self.held
            else ngettext(
                "answers {name}, {count} message",
                "answers {name}, {count} messages",
                self.count,
                name=ResponseCode(self.code).name,
            )
        )
        return super().values(version) | {"answer": answer}


class Filtered(AtBroker, frozen=True):
    """The broker's filter dropped a message from a pull's answer, by this subscription; None: not known."""

    stage: Stage
    subscription: str | None
    version: int | None
    sentence: ClassVar = _("the broker drops offset {offset} of {place} for {client}: {what} against {subscription}")

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` names."""
        return super().values(version) | {"what": STAGES[self.stage]}


class Wake(Event, frozen=True):
    """A held pull is looked at again."""

    topic: str
    queue: int
    offset: int
    why: str
    sentence: ClassVar = _("the broker wakes a held pull of {place}: {why}")


class Commit(AtBroker, frozen=True):
    """A group's offset of a queue is committed."""

    sentence: ClassVar = _("{client} commits offset {offset} of {place} for group {group}")


class DeadLetter(Event, frozen=True):
    """A message that a group refused too often goes to the group's dead letters."""

    group: str
    message_id: str | None
    sentence: ClassVar = _("the broker makes {message_id} a dead letter of group {group}")


class Registration(Event, frozen=True):
    """The broker registers with the name servers."""

    broker: str
    sentence: ClassVar = _("the broker registers with the name server")


class StartFilterServer(Event, frozen=True):
    """The broker finds a filter server missing and starts one."""

    sentence: ClassVar = _("the broker starts a filter server")


# What the broker tells of POP, of 5.x alone. Queue -1 is every queue of a topic.


class Waits(OfGroup, frozen=True):
    """A pop finds nothing and stands in line until (epoch ms); the one that ends first is first."""

    topic: str
    queue: int
    until: int
    sentence: ClassVar = _("{client} finds nothing of {topic} and waits in line")


class NotWoken(AtBroker, frozen=True):
    """A message arrives, and the pop that was asked does not want it: no pop is woken."""

    sentence: ClassVar = _("nobody is woken by offset {offset} of {place}: {client}, who is asked, does not want it")


class Woken(AtBroker, frozen=True):
    """A waiting pop is looked at again, for the message at that offset; queue and offset -1: its time is over."""

    why: str
    sentence: ClassVar = _("{client} waits no longer: {why}")


class Popped(AtBroker, frozen=True):
    """A message is given to a popper, and to no other for `invisible_ms`."""

    invisible_ms: int
    sentence: ClassVar = _("{client} pops offset {offset} of {place}, invisible for {invisible_ms} ms")


class SkippedByPop(AtBroker, frozen=True):
    """A pop passes a message that the popper's own expression does not want: no other pop sees it."""

    stage: Stage
    subscription: str | None
    sentence: ClassVar = _("{client}'s pop skips offset {offset} of {place}: {what} against {client}'s {subscription}")

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` names."""
        return super().values(version) | {"what": STAGES[self.stage]}


class Acked(AtBroker, frozen=True):
    """A popper says that it is done with a message."""

    sentence: ClassVar = _("{client} acknowledges offset {offset} of {place}")


class InvisibleTimeChanged(AtBroker, frozen=True):
    """A popper says how long from now a message is to stay invisible."""

    invisible_ms: int
    sentence: ClassVar = _("{client} wants offset {offset} of {place} invisible for {invisible_ms} ms more")


class Revived(Event, frozen=True):
    """A popped message was not acknowledged in time: it goes to a retry topic, and that copy may be popped."""

    group: str
    topic: str
    queue: int
    offset: int
    retry_topic: str
    retry_queue: int
    retry_offset: int
    sentence: ClassVar = _("offset {offset} of {place} is visible again, as offset {retry_offset} of {retry_topic}")


# What a client tells; `who` is its client id.


class HeartbeatSent(Event, frozen=True, tag="heartbeat"):
    """A client sends a heartbeat to a broker."""

    who: str
    broker: str
    addr: str
    data: HeartbeatData
    sentence: ClassVar = _("{who} sends a heartbeat")


class Restamp(OfTopic, frozen=True):
    """A client gives its subscription of a topic a new version, after its queues changed."""

    old: int
    version: int
    sentence: ClassVar = _("{who} stamps its subscription of {topic} anew: version {version}")

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` names."""
        return super().values(version) | {"version": version(self.version)}


class Rebalance(OfTopic, frozen=True):
    """A client owns other queues of a topic than before: these."""

    queues: list[int]
    sentence: ClassVar = _("{who} owns queues {queues} of {topic}")

    def values(self, version: Version) -> dict[str, object]:
        """What `sentence` names."""
        return super().values(version) | {"queues": joined(", ", self.queues) or _("none")}


class PullAnswered(AtClient, frozen=True, tag="pull_result"):
    """A client takes in the answer to a pull from `offset`; `count` of its messages are left after its own check."""

    status: str
    next: int
    count: int
    sentence: ClassVar = _("{who} gets {status} for {place}, messages: {count}, next offset {next}")


class PullFailed(AtClient, frozen=True):
    """A pull could not be made or was refused."""

    error: str
    sentence: ClassVar = _("{who}'s pull of {place} from offset {offset} fails: {error}")


class ClientFiltered(AtClient, frozen=True):
    """A client drops a message that its own subscription does not name."""

    tag: str | None
    subscription: str | None
    version: int
    sentence: ClassVar = _("{who} drops offset {offset} of {place} itself: tag {tag}, but it asked {subscription}")


class Given(AtClient, frozen=True):
    """A client keeps a message of an answer; whether its listener got it is not known."""

    tag: str | None
    sentence: ClassVar = _("{who} keeps offset {offset} of {place}: tag {tag}")


class CorrectOffset(AtClient, frozen=True):
    """A client moves its offset of a queue although it consumed nothing."""

    sentence: ClassVar = _("{who} moves its offset of {place} to {offset} although it consumed nothing")


class OffsetPersist(AtClient, frozen=True):
    """A client sent an offset to the broker."""

    sentence: ClassVar = _("{who} sends its offset {offset} of {place} to the broker")


class AckedByProxy(AtClient, frozen=True):
    """The proxy acknowledges a message that the client's own tags do not name, and the client never sees it."""

    tag: str | None
    subscription: str | None
    sentence: ClassVar = _(
        "{who}'s proxy acknowledges offset {offset} of {place}: tag {tag}, but asked was {subscription}"
    )


class ListenerError(Event, frozen=True):
    """A listener raised."""

    who: str
    group: str
    messages: list[MessageExt]
    error: Exception
    sentence: ClassVar = _("{who}'s listener fails: {error}")


def set_kinds() -> None:
    """Tell every class of events its `kind`; a module that declares some calls this at its end."""
    for event in kinds_below(Event):
        event.kind = str(event.__struct_config__.tag)


def kinds_below(event: type[E]) -> list[type[E]]:
    """All classes of events below one."""
    below = event.__subclasses__()
    return below + [descendant for each in below for descendant in kinds_below(each)]


set_kinds()
