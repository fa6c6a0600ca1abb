"""What a scenario left as tables of typed records: declared once, for `Lab`, Parquet files and Spark.

| table | one record is |
|---|---|
| events | an event as the recordings write it |
| messages | a message sent |
| consumed | a listener got a message |
| fates | the fate of a message in a group |
| beats | a subscription in a heartbeat |
| slots | a change of the subscription that the broker holds for a group |
| pulls | a pull as the broker answered it |
| ownership | a queue taken or let go |
| offsets | an offset when it was asked |

Times `t` are ms since the run began (`from_zero` counts them as people read them), `n` numbers the records of a table
in their order, versions are epoch ms. A column has the name that JSON events have (`msgId` for `msg_id`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import astuple

from rmqlab.events import Expired, Heartbeat, Pull, Rebalance, SubscriptionChanged, Unregister
from rmqlab.message.java import camel_case
from rmqlab.message.topics import is_retry_topic
from rmqlab.run.recorded_events import Consumed, MessageSent, OffsetAsked, TapSent
from rmqlab.run.run import sent_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.run import Run

R = TypeVar("R", bound=NamedTuple)


class EventRecord(NamedTuple):
    """An event; `detail` holds its other fields as JSON."""

    t: float
    ev: str
    who: str | None
    group: str | None
    detail: str


class MessageRecord(NamedTuple):
    """A message as its send result describes it."""

    n: int
    t: float
    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    msg_id: str | None
    offset_msg_id: str | None


class ConsumedRecord(NamedTuple):
    """A message that a listener got; `success`: it took it."""

    n: int
    t: float
    who: str
    group: str
    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    msg_id: str | None
    success: bool


class FateRecord(NamedTuple):
    """A message's fate in a group (in one `member`, when the group is broadcasting), with the subscription in force.

    `culprit`: on whose pull it was decided; `dropped_by`: who let it go ("broker", or a client); `subscriber`: whose
    subscription decided.
    """

    group: str
    member: str | None
    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    fate: str
    culprit: str | None
    subscription: str | None
    version: int | None
    t: float
    asked: bool
    lost: bool
    dropped_by: str | None
    subscriber: str | None


class HeartbeatRecord(NamedTuple):
    """A subscription as a heartbeat brought it to the broker."""

    n: int
    t: float
    who: str
    group: str
    topic: str
    type: str | None
    expression: str | None
    version: int


class BrokerSubscriptionRecord(NamedTuple):
    """A change of what the broker holds for a group and topic; no `expression`: it holds nothing from then on."""

    n: int
    t: float
    who: str
    group: str
    topic: str | None
    before: str | None
    type: str | None
    expression: str | None
    version: int | None


class PullRecord(NamedTuple):
    """A pull as the broker answered it: `code` is the response code, `found` how many messages went out.

    `held`: the answer waits for a message.
    """

    n: int
    t: float
    who: str
    group: str
    topic: str
    queue: int
    offset: int
    code: int
    status: str | None
    next: int | None
    found: int
    held: bool


class OwnershipRecord(NamedTuple):
    """A queue that a member took (`held`) or let go."""

    n: int
    t: float
    who: str
    group: str
    topic: str
    queue: int
    held: bool


class OffsetRecord(NamedTuple):
    """The committed and the maximum offset of a queue when it was asked; nothing committed: None."""

    t: float
    group: str
    topic: str
    queue: int
    committed: int | None
    max: int


TIMES = ("t", "since", "until", "arrives")


def from_zero(rows: Iterable[R], zero: int) -> Iterator[R]:
    """The records with their times (ms) counted from `zero`.

    >>> next(from_zero([OffsetRecord(2_504, "G", "T", 0, None, 8)], 2_500)).t
    4
    """
    for row in rows:
        yield row._replace(**{name: round(getattr(row, name) - zero, 3) for name in TIMES if name in row._fields})


def columns_of(record: type[tuple[Any, ...]]) -> tuple[str, ...]:
    """The column names of a record type: its attributes in the spelling of JSON events.

    >>> columns_of(MessageRecord)[-2:]
    ('msgId', 'offsetMsgId')
    """
    return tuple(map(camel_case, record.__annotations__))


def events(run: Run) -> Iterator[EventRecord]:
    """Every event, in order."""
    for event in run.events:
        rest = {name: value for name, value in event.items() if name not in {"id", "t", "ev", "who", "group"}}
        detail = json.dumps(rest, sort_keys=True)
        yield EventRecord(event["t"], event["ev"], event.get("who"), event.get("group"), detail)


def messages(run: Run) -> Iterator[MessageRecord]:
    """Every message sent, in order."""
    sent_facts: list[Fact[MessageSent | TapSent]] = list(run.recorded(MessageSent, TapSent))
    sent = sent_messages(run.scenario, run.events) if run.scenario.steps else ()
    topics = [message.topic for message in sent] or [
        fact.event.topic for fact in sent_facts if isinstance(fact.event, TapSent)
    ]
    for n, (topic, fact) in enumerate(zip(topics, sent_facts, strict=True)):
        event = fact.event
        yield MessageRecord(
            n, fact.t, topic, event.queue, event.offset, event.body, event.tag, event.msg_id, event.offset_msg_id
        )


def consumed(run: Run) -> Iterator[ConsumedRecord]:
    """Everything a listener got, again and again if it came so."""
    for n, fact in enumerate(run.facts.of(Consumed)):
        event = fact.event
        place = event.group, event.topic, event.queue, event.offset
        yield ConsumedRecord(n, fact.t, fact.source, *place, event.body, event.tag, event.message_id, event.success)


def fates(run: Run) -> Iterator[FateRecord]:
    """The fate of every message in every group that subscribes its topic, in the order of sending."""
    for fate in run.fates:
        record = FateRecord(*(getattr(fate, name) for name in FateRecord._fields))
        yield record._replace(fate=str(fate.fate), t=round(fate.t))


def beats(run: Run) -> Iterator[HeartbeatRecord]:
    """Every subscription that a heartbeat brought; the clients' own retry topics are left out."""
    reported = (
        (fact, run.scenario_name(group), data)
        for fact in run.facts.of(Heartbeat)
        for group, data in fact.event.subscriptions
        if not is_retry_topic(run.scenario_name(data.topic))
    )
    for n, (fact, group, data) in enumerate(reported):
        columns = (data.expression_type, data.sub_string, data.sub_version)
        yield HeartbeatRecord(n, fact.t, fact.event.client, group, run.scenario_name(data.topic), *columns)


def slots(run: Run) -> Iterator[BrokerSubscriptionRecord]:
    """Every change of what the broker holds for a group, a new version of the same text included."""
    facts = (fact for fact in run.facts.of(SubscriptionChanged) if not is_retry_topic(fact.event.topic or ""))
    for n, fact in enumerate(facts):
        change, old, new = fact.event, fact.event.old, fact.event.new
        columns = (None, None, None) if new is None else (new.expression_type, new.sub_string, new.sub_version)
        before = None if old is None else old.sub_string
        yield BrokerSubscriptionRecord(n, fact.t, change.client, change.group, change.topic, before, *columns)


def pulls(run: Run) -> Iterator[PullRecord]:
    """Every pull that the broker of a simulation answered; a recording has its frames instead."""
    facts = (fact for fact in run.facts.of(Pull) if not is_retry_topic(fact.event.topic))
    for n, fact in enumerate(facts):
        yield PullRecord(n, fact.t, *astuple(fact.event))


def ownership(run: Run) -> Iterator[OwnershipRecord]:
    """Queues taken and let go: from the clients' own words, and all of them when the broker forgets a client."""
    for n, (t, (client, group, topic), queue, is_taken) in enumerate(_ownership(run)):
        yield OwnershipRecord(n, t, client, group, topic, queue, is_taken)


def offsets(run: Run) -> Iterator[OffsetRecord]:
    """Offsets each time they were asked; an error's name stands in the event of a group that is not known."""
    for fact in run.recorded(OffsetAsked):
        event = fact.event
        committed = event.committed if isinstance(event.committed, int) else None
        yield OffsetRecord(fact.t, event.group, event.topic, event.queue, committed, event.max)


def _ownership(run: Run) -> Iterator[tuple[float, tuple[str, str, str], int, bool]]:
    queues_of: dict[tuple[str, str, str], set[int]] = {}
    for fact in run.facts:
        match fact.event:
            case Unregister(group=group, client=client) | Expired(group=group, client=client):
                for key in [key for key in queues_of if key[:2] == (client, group)]:
                    yield from ((fact.t, key, queue, False) for queue in sorted(queues_of.pop(key)))
            case Rebalance(group=group, topic=topic, queues=queues) if not is_retry_topic(topic):
                key = (fact.source, group, topic)
                before, now = queues_of.get(key, set()), set(queues)
                queues_of[key] = now
                yield from ((fact.t, key, queue, False) for queue in sorted(before - now))
                yield from ((fact.t, key, queue, True) for queue in sorted(now - before))


TABLES: dict[str, tuple[type[tuple[Any, ...]], Any]] = {
    "events": (EventRecord, events),
    "messages": (MessageRecord, messages),
    "consumed": (ConsumedRecord, consumed),
    "fates": (FateRecord, fates),
    "beats": (HeartbeatRecord, beats),
    "slots": (BrokerSubscriptionRecord, slots),
    "ownership": (OwnershipRecord, ownership),
    "offsets": (OffsetRecord, offsets),
}
"""Tables that are written for Spark: the record type of each, and the function that reads it from an run."""
