"""The fate of every message in every group, with the culprit, the subscription in force, its version and the time.

A fate is decided from facts, in this order: somebody consumed it; it waits for a retry or died in the dead letter
topic; it was dropped (the last stage that dropped it counts); its offset was skipped without anybody looking at it;
no member owns its queue; it waits. A message is *lost* for a group when some member asked for it and it was dropped or
skipped. Where nothing says what listeners got, in an audit or in bare frames, there is a fate more: `passed`, for what
an offset went past and about which nothing else is known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rmqlab.events import (
    AckedByProxy,
    ClientFiltered,
    Commit,
    DeadLetter,
    Filtered,
    Given,
    Popped,
    Revived,
    SkippedByPop,
    SubscriptionChanged,
)
from rmqlab.filter.filter import Filter
from rmqlab.language import _
from rmqlab.protocol.subscription_data import TAG
from rmqlab.run.recorded_events import Consumed, TopicDeleted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from rmqlab.events import Event
    from rmqlab.run.facts import Fact

_Queue = tuple[str, str, int]  # group, topic, queue id


class _Slot(NamedTuple):
    """A subscription as it decided: its text, its version, the member that it came from."""

    text: str | None = None
    version: int | None = None
    subscriber: str | None = None


_Placed = Filtered | ClientFiltered | SkippedByPop | AckedByProxy | Given | Popped | Revived
Owners = dict[_Queue, dict[str, int]]
"""Who has each queue in the end, and the next offset that each would pull."""


class Fate(StrEnum):
    """What became of a message in one group."""

    DELIVERED = "delivered"
    DROPPED_BY_BROKER_TAG = "dropped_by_broker_tag"
    DROPPED_BY_BROKER_BITMAP = "dropped_by_broker_bitmap"
    DROPPED_BY_BROKER_SQL = "dropped_by_broker_sql"
    DROPPED_BY_CLIENT = "dropped_by_client"
    DROPPED_BY_HOOK = "dropped_by_hook"
    SKIPPED_BY_OFFSET = "skipped_by_offset"
    SKIPPED_BY_POP = "skipped_by_pop"
    ACKED_BY_PROXY = "acked_by_proxy"
    PASSED = "passed"
    NO_OWNER = "no_owner"
    WAITING = "waiting"
    INVISIBLE = "invisible"
    RETRYING = "retrying"
    DEAD_LETTER = "dead_letter"


FATE_WORDS = {
    Fate.DELIVERED: _("delivered"),
    Fate.DROPPED_BY_BROKER_TAG: _("dropped by the broker"),
    Fate.DROPPED_BY_BROKER_BITMAP: _("dropped by the broker (bitmap)"),
    Fate.DROPPED_BY_BROKER_SQL: _("dropped by the broker (SQL92)"),
    Fate.DROPPED_BY_CLIENT: _("dropped by the client"),
    Fate.DROPPED_BY_HOOK: _("dropped by a hook of the client"),
    Fate.SKIPPED_BY_OFFSET: _("skipped: the offset passed it"),
    Fate.SKIPPED_BY_POP: _("skipped: a pop passed it"),
    Fate.ACKED_BY_PROXY: _("acknowledged by the proxy itself"),
    Fate.PASSED: _("passed: nothing else is known"),
    Fate.NO_OWNER: _("no owner"),
    Fate.WAITING: _("waiting"),
    Fate.INVISIBLE: _("popped, not acknowledged"),
    Fate.RETRYING: _("to be retried"),
    Fate.DEAD_LETTER: _("dead letter"),
}
"""What people read: data, JSON and code have the names."""
_NAMED = re.compile(rf"(?<!\w)(?:{'|'.join(fate for fate in Fate if '_' in fate)})(?!\w)")


def fate_words(fate: str) -> str:
    """A fate, or its name, in the reader's words.

    >>> fate_words("dropped_by_broker_tag")
    'dropped by the broker'
    """
    return FATE_WORDS[Fate(fate)]


def fates_in_words(text: str) -> str:
    """A text in which fates are named, as an expected figure does, with their words.

    >>> fates_in_words("dropped_by_client, A")
    'dropped by the client, A'
    """
    return _NAMED.sub(lambda name: str(fate_words(name[0])), text)


LOSING = frozenset({
    Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL, Fate.DROPPED_BY_CLIENT,
    Fate.DROPPED_BY_HOOK, Fate.SKIPPED_BY_OFFSET, Fate.SKIPPED_BY_POP, Fate.ACKED_BY_PROXY,
})  # fmt: skip

BROKER, PROXY = "broker", "proxy"
_BY_BROKER = frozenset({
    Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL, Fate.SKIPPED_BY_POP,
})  # fmt: skip

OF_STAGE = {
    "tags_code": Fate.DROPPED_BY_BROKER_TAG,
    "bitmap": Fate.DROPPED_BY_BROKER_BITMAP,
    "sql": Fate.DROPPED_BY_BROKER_SQL,
    "client": Fate.DROPPED_BY_CLIENT,
}


NOTHING_SUBSCRIBED = "NOTHING"
"""In place of an expression type: the subscription of the topic ended."""


@dataclass(frozen=True, slots=True)
class SendRecord:
    """A message as its send result describes it; `message_id` is its UNIQ_KEY."""

    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    message_id: str | None
    t: float
    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class MessageFate:
    """The fate of one message in one group (in one member, when the group is broadcasting: `member`).

    `culprit` is the client on whose pull or commit it was decided, `subscriber` the member whose subscription decided.
    """

    group: str
    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    fate: Fate
    culprit: str | None
    subscription: str | None
    version: int | None
    t: float
    asked: bool
    member: str | None = None
    subscriber: str | None = None

    @property
    def dropped_by(self) -> str | None:
        """Who let the message go: `BROKER`, `PROXY`, or a client; None unless it was dropped or skipped."""
        if self.fate not in LOSING:
            return None
        return BROKER if self.fate in _BY_BROKER else PROXY if self.fate is Fate.ACKED_BY_PROXY else self.culprit

    @property
    def sentence(self) -> str:
        """What became of the message and at whose hand, in the reader's words."""
        words = fate_words(self.fate)
        if self.culprit is None or self.fate in {Fate.NO_OWNER, Fate.WAITING}:
            return words
        if self.fate in _BY_BROKER:
            return _("{fate} when {client} pulled", fate=words, client=self.culprit)
        return _("{fate}: {client}", fate=words, client=self.culprit)

    @property
    def lost(self) -> bool:
        """Whether a member asked for the message and the group let it go by."""
        return self.asked and self.fate in LOSING

    def as_event(self, scenario_id: str) -> dict[str, Any]:
        """The fate as an event line."""
        fields = asdict(self)
        del fields["subscriber"]
        if self.member is None:
            del fields["member"]
        return {"id": scenario_id, "t": round(self.t), "ev": "fate"} | fields | {"t": round(self.t), "lost": self.lost}


@dataclass(slots=True)
class GroupMember:
    """One consumer of a group: what it asked for and when it ran.

    `asked` lists (from ms, topic, expression type, expression), with the type `NOTHING_SUBSCRIBED` where a subscription
    ended; `until` is when it stopped, None while it runs. Of the topics of `assigned` it asks for some queues only.
    One that `pops` owns no queue, and waits for messages of all.
    """

    who: str
    group: str
    broadcasting: bool
    asked: list[tuple[float, str, str, str]] = field(default_factory=list)
    until: float | None = None
    assigned: dict[str, list[tuple[float, frozenset[int]]]] = field(default_factory=dict)
    pops: bool = False

    def assign(self, queues: Mapping[str, Sequence[int]], now: float, expression: str) -> None:
        """It reads these queues from `now` (ms) on, and no others."""
        for topic in {**self.assigned, **queues}:
            if topic not in self.assigned:
                self.asked.append((now, topic, TAG, expression))
            self.assigned.setdefault(topic, []).append((now, frozenset(queues.get(topic, ()))))

    def end_missing(self, topics: Collection[str | None], now: float) -> None:
        """Its heartbeat at `now` (ms) names these topics alone: other subscriptions have ended."""
        last = {topic: kind for _, topic, kind, _ in self.asked}
        ended = [topic for topic, kind in last.items() if topic not in topics and kind != NOTHING_SUBSCRIBED]
        self.asked += [(now, topic, NOTHING_SUBSCRIBED, "") for topic in ended]

    def _reads(self, message: SendRecord) -> bool:
        """Whether the queue of a message is one that it assigned itself, or would be given, while it was there."""
        moments = self.assigned.get(message.topic)
        if moments is None:
            return True
        ends = [since for since, _ in moments[1:]]
        return any(
            message.queue in queues and (end is None or end >= message.t)
            for (_, queues), end in zip(moments, [*ends, None], strict=True)
        )

    def expression_at(self, topic: str, t: float) -> str | None:
        """What it asked of a topic at `t` (ms), None before it asked."""
        return next((entry[3] for entry in reversed(self.asked) if entry[1] == topic and entry[0] <= t), None)

    def asks_for(self, message: SendRecord) -> bool:
        """Whether one of this member's subscriptions, in force when the message was there, wants it."""
        if self.until is not None and self.until < message.t:
            return False
        if not self._reads(message):
            return False
        mine = [entry for entry in self.asked if entry[1] == message.topic]
        for index, (*_place, kind, expression) in enumerate(mine):
            if kind == NOTHING_SUBSCRIBED:
                continue
            over = mine[index + 1][0] if index + 1 < len(mine) else None
            if (over is None or over >= message.t) and filter_of(kind, expression).wants(message.properties):
                return True
        return False


@lru_cache
def filter_of(kind: str | None, expression: str | None) -> Filter:
    """The filter of a subscription's type and text, made once."""
    return Filter.of(None, expression, kind)


class _Drop(NamedTuple):
    """A message was dropped: when, on whose pull, in which stage, by which subscription."""

    t: float
    who: str
    fate: Fate
    subscription: str | None
    version: int | None

    @classmethod
    def of(cls, t: float, source: str, event: Filtered | ClientFiltered | SkippedByPop | AckedByProxy) -> _Drop:
        """One by the broker for a client, by a client itself, or with what its pop asked for."""
        if isinstance(event, SkippedByPop):
            return cls(t, event.client, Fate.SKIPPED_BY_POP, event.subscription, None)
        if isinstance(event, AckedByProxy):
            return cls(t, source, Fate.ACKED_BY_PROXY, event.subscription, None)
        if isinstance(event, Filtered):
            return cls(t, event.client, OF_STAGE[event.stage], event.subscription, event.version)
        return cls(t, source, Fate.DROPPED_BY_CLIENT, event.subscription, event.version)


def _place(event: _Placed) -> tuple[_Queue, int]:
    return (event.group, event.topic, event.queue), event.offset


class FateClassifier:
    """Sorts the facts of a run by message, then decides each fate."""

    def __init__(self, facts: Iterable[Fact[Event]], owners: Owners) -> None:
        self._owners = owners
        self._drops: dict[tuple[_Queue, int], list[_Drop]] = defaultdict(list)
        self._consumed: dict[tuple[str, str | None], list[tuple[float, str, bool]]] = defaultdict(list)
        self._dead: set[tuple[str, str | None]] = set()
        self._given: dict[tuple[_Queue, int], list[tuple[float, str]]] = defaultdict(list)
        self._passed: dict[_Queue, list[tuple[float, str, int]]] = defaultdict(list)
        self._slots: dict[tuple[str, str | None], list[tuple[float, _Slot]]] = defaultdict(list)
        self._popped: dict[tuple[_Queue, int], list[tuple[float, str]]] = defaultdict(list)
        self._copies: dict[tuple[_Queue, int], tuple[_Queue, int]] = {}
        self._deleted: dict[str, list[float]] = defaultdict(list)
        self._ends: dict[tuple[str, int, float], int] = {}
        for fact in facts:
            take = self._takes.get(fact.event.__class__)
            if take is not None:  # most facts of a run tell nothing of a fate
                take(self, fact)

    def _take_drop(self, fact: Fact[Filtered | ClientFiltered | SkippedByPop | AckedByProxy]) -> None:
        event = fact.event
        self._drops[_place(event)].append(_Drop.of(fact.t, fact.source, event))

    def _take_given(self, fact: Fact[Given]) -> None:
        self._given[_place(fact.event)].append((fact.t, fact.source))

    def _take_popped(self, fact: Fact[Popped]) -> None:
        self._popped[_place(fact.event)].append((fact.t, fact.event.client))

    def _take_revived(self, fact: Fact[Revived]) -> None:
        event = fact.event
        self._copies[_place(event)] = (event.group, event.retry_topic, event.retry_queue), event.retry_offset

    def _take_consumed(self, fact: Fact[Consumed]) -> None:
        event = fact.event
        self._consumed[event.group, event.message_id].append((fact.t, fact.source, event.success))

    def _take_dead_letter(self, fact: Fact[DeadLetter]) -> None:
        self._dead.add((fact.event.group, fact.event.message_id))

    def _take_commit(self, fact: Fact[Commit]) -> None:
        event = fact.event
        self._passed[event.group, event.topic, event.queue].append((fact.t, event.client, event.offset))

    def _take_deleted(self, fact: Fact[TopicDeleted]) -> None:
        self._deleted[fact.event.topic].append(fact.t)

    def _take_subscription(self, fact: Fact[SubscriptionChanged]) -> None:
        event = fact.event
        if event.new is not None:
            slot = _Slot(event.new.sub_string, event.new.sub_version, event.client)
            self._slots[event.group, event.topic].append((fact.t, slot))

    _takes: ClassVar[dict[type[Event], Callable[[FateClassifier, Fact[Any]], None]]] = {
        Filtered: _take_drop, ClientFiltered: _take_drop, SkippedByPop: _take_drop, AckedByProxy: _take_drop,
        Given: _take_given, Popped: _take_popped, Revived: _take_revived, Consumed: _take_consumed,
        DeadLetter: _take_dead_letter, Commit: _take_commit, TopicDeleted: _take_deleted,
        SubscriptionChanged: _take_subscription,
    }  # fmt: skip

    def slot_at(self, group: str, topic: str, t: float) -> _Slot:
        """The broker's subscription of (group, topic) at `t`; an empty one before the first."""
        slot = _Slot()
        for since, taken in self._slots[group, topic]:
            if since > t:
                break
            slot = taken
        return slot

    def _slot_of(self, group: str, topic: str, drop: _Drop) -> _Slot:
        """The subscription that a drop names, with the member that it came from, where that is known."""
        if drop.fate not in _BY_BROKER or drop.version is None:
            return _Slot(drop.subscription, drop.version, drop.who)
        writers = (
            slot.subscriber
            for since, slot in reversed(self._slots[group, topic])
            if since <= drop.t and (slot.text, slot.version) == (drop.subscription, drop.version)
        )
        return _Slot(drop.subscription, drop.version, next(writers, None))

    def _life(self, message: SendRecord) -> tuple[float, float]:
        """When (ms) the queues began that a message was sent to, and when they were deleted: its offsets count there.

        A topic that is made again has queues that begin at 0, while the group's offsets are those of before.
        """
        deleted = self._deleted.get(message.topic, ())
        began = max((t for t in deleted if t <= message.t), default=-inf)
        return began, min((t for t in deleted if t > message.t), default=inf)

    def fates(self, messages: Sequence[SendRecord], members: Sequence[GroupMember]) -> list[MessageFate]:
        """Fates of all messages in all groups that subscribe their topic, in the order the messages were sent."""
        result = []
        for message in messages:
            life = message.topic, message.queue, self._life(message)[0]
            self._ends[life] = max(message.offset + 1, self._ends.get(life, 0))
        by_group: dict[str, list[GroupMember]] = defaultdict(list)
        for member in members:
            by_group[member.group].append(member)
        for message in messages:
            for group, mine in sorted(by_group.items()):
                if not any(entry[1] == message.topic for member in mine for entry in member.asked):
                    continue
                if mine[0].broadcasting:
                    result += [self._decide(group, message, [member], member.who) for member in mine]
                else:
                    result.append(self._decide(group, message, mine, None))
        return result

    def _decide(self, group: str, message: SendRecord, members: list[GroupMember], member: str | None) -> MessageFate:
        queue = (group, message.topic, message.queue)
        is_asked = any(m.asks_for(message) for m in members)

        def fate(kind: Fate, t: float, culprit: str | None, slot: _Slot | None = None) -> MessageFate:
            if slot is None:
                popper = next((m for m in members if m.pops and m.who == culprit), None)
                if popper is None:
                    slot = self.slot_at(group, message.topic, t)
                else:
                    slot = _Slot(popper.expression_at(message.topic, t), None, popper.who)
            return MessageFate(
                group, message.topic, message.queue, message.offset, message.body, message.tag, kind, culprit,
                slot.text, slot.version, t, is_asked, member, slot.subscriber,
            )  # fmt: skip

        consumed = [taken for taken in self._consumed[group, message.message_id] if member in {None, taken[1]}]
        for t, client, success in consumed:
            if success:
                return fate(Fate.DELIVERED, t, client)
        copies = self._copies_of(queue, message.offset)
        skipped = [drop for copy in copies for drop in self._drops[copy]]
        if skipped:
            last = skipped[-1]
            return fate(last.fate, last.t, last.who, _Slot(last.subscription, None, last.who))
        if consumed:
            dead = (group, message.message_id) in self._dead
            kind = Fate.DROPPED_BY_CLIENT if member else Fate.DEAD_LETTER if dead else Fate.RETRYING
            return fate(kind, *consumed[-1][:2])
        began, deleted = self._life(message)
        for t, client in self._given[queue, message.offset]:
            if began <= t <= deleted and member in {None, client}:
                return fate(Fate.PASSED, t, client)
        drops = [
            drop
            for drop in self._drops[queue, message.offset]
            if began <= drop.t <= deleted and member in {None, drop.who}
        ]
        if drops:
            last = drops[-1]
            return fate(last.fate, last.t, last.who, self._slot_of(group, message.topic, last))
        popped = self._popped[copies[-1] if copies else (queue, message.offset)]
        if popped:
            return fate(Fate.INVISIBLE, *popped[-1])
        if copies:
            return fate(Fate.RETRYING, message.t, None)
        if any(each.pops and each.until is None for each in members) and deleted == inf:
            return fate(Fate.WAITING, message.t, None)
        return self._undecided(queue, message, fate, member)

    def _copies_of(self, queue: _Queue, offset: int) -> list[tuple[_Queue, int]]:
        """Where a message lies that was popped and came again: in the retry topic of its group, each time anew."""
        copies: list[tuple[_Queue, int]] = []
        place = self._copies.get((queue, offset))
        while place is not None:
            copies.append(place)
            place = self._copies.get(place)
        return copies

    def _undecided(
        self,
        queue: _Queue,
        message: SendRecord,
        fate: Callable[[Fate, float, str | None], MessageFate],
        member: str | None,
    ) -> MessageFate:
        """The fate of a message that no listener consumed or dropped: passed, waiting, or without an owner.

        Where its queue was deleted no member owns it. An offset beyond the end of a queue that was made again passes
        nothing: whoever goes on there is sent back to 0.
        """
        began, deleted = self._life(message)
        end = inf if began == -inf else self._ends.get((message.topic, message.queue, began), 0)
        for t, client, offset in self._passed[queue]:
            if message.offset < offset <= end and t <= deleted and member is None:
                return fate(Fate.SKIPPED_BY_OFFSET, max(t, began), client)
        if deleted < inf:
            return fate(Fate.NO_OWNER, deleted, None)
        owners = self._owners.get(queue, {})
        mine = {owner: at for owner, at in owners.items() if member in {None, owner}}
        for owner, position in mine.items():
            if message.offset < position <= end:
                return fate(Fate.SKIPPED_BY_OFFSET, message.t, owner)
        if not mine:
            return fate(Fate.NO_OWNER, message.t, None)
        return fate(Fate.WAITING, message.t, next(iter(mine)))
