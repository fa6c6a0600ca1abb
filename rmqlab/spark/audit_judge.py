"""What became of the messages of a topic in a group, as far as offsets and subscriptions tell; many rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from rmqlab.client.allocate.average import AllocateMessageQueueAveragely
from rmqlab.filter import filter_api
from rmqlab.filter.expression_type import is_tag_type
from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.filter.tags import client_keeps, code_is_subscribed
from rmqlab.lab.fates import LOSING, Fate
from rmqlab.message.java import string_hash
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.subscription_data import SUB_ALL
from rmqlab.spark.audit_subscriptions import ALWAYS, Asked, Held, Present
from rmqlab.spark.record_columns import PROPERTY_PREFIX
from rmqlab.spark.sql92_dictionary import DictionaryFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int8]

FATES: Final = tuple(Fate)
CERTAINTIES: Final = ("proved", "implied", "unknown")
"""Proved by a trace, a delivery log or the store itself; implied by offsets and subscriptions; or nothing tells."""
PROVED, IMPLIED, UNKNOWN = range(3)
ASKED: Final = ("no", "yes", "unknown")
NO, YES, MAYBE = range(3)
HELD_MS: Final = 20_000
"""How long a held pull or an uncommitted offset may reach back: 15 s at the broker and 5 s between commits."""
LOST_CODES: Final = np.array([fate in LOSING for fate in FATES])
CODE: Final = {fate: code for code, fate in enumerate(FATES)}


class Verdict(NamedTuple):
    """For each row: its fate, how certain that is, and whether a member asked for the message (codes).

    `covered`: the evidence would tell of a delivery, because it has those of the queue's owner (`YES`, `NO`, `MAYBE`).
    `presumed`: the fate where no evidence covers the row; its certainty is that of `fate`.
    """

    fate: Codes
    certainty: Codes
    asked: Codes
    covered: Codes
    presumed: Codes


class Batch:
    """Rows of one topic: tags as codes into `tag_names`, queue offsets, store times (epoch ms), property columns."""

    def __init__(self, rows: pa.RecordBatch, tags: pa.DictionaryArray, chosen: NDArray[np.int64]) -> None:
        """Look at the `chosen` places of `rows`, whose tags are dictionary-coded in `tags`; take what is asked for."""
        self._rows, self._chosen = rows, None if len(chosen) == len(rows) else chosen
        self.tag_names: list[str | None] = [*tags.dictionary.to_pylist(), None]
        codes = tags.indices.fill_null(len(self.tag_names) - 1).to_numpy(zero_copy_only=False)
        self.tag_codes = codes if self._chosen is None else codes[chosen]
        self.queues, self.offsets = self._numbers("queueId"), self._numbers("queueOffset")
        self.times = self._numbers("storeTimestamp")
        self._properties: pa.Table | None = None

    def _numbers(self, name: str) -> NDArray[np.int64]:
        column = self._rows[name]
        if self._chosen is None:
            return np.asarray(column.to_numpy())
        values = column.fill_null(0).to_numpy(zero_copy_only=False)  # a damaged part, which is not chosen, has none
        return np.asarray(values[self._chosen])

    def _column(self, name: str) -> pa.Array:
        column = self._rows[name]
        return column if self._chosen is None else column.take(pa.array(self._chosen))

    def __len__(self) -> int:
        return len(self.offsets)

    def by_tag(self, test: Sequence[bool]) -> Bools:
        """Spread an answer for each tag name over the rows."""
        return np.asarray(np.array(test, np.bool_)[self.tag_codes])

    def properties(self) -> pa.Table:
        """The rows' properties, one column each."""
        if self._properties is None:
            names = [name for name in self._rows.schema.names if name.startswith(PROPERTY_PREFIX)]
            columns = {name.removeprefix(PROPERTY_PREFIX): self._column(name) for name in names}
            self._properties = pa.table({**columns, "TAGS": self._column("tags"), "KEYS": self._column("keys")})
        return self._properties


class Filter:
    """One subscription, ready for batches."""

    def __init__(self, topic: str, kind: str, expression: str) -> None:
        """Compile; a condition that the broker refuses lets nothing pass."""
        self.is_tag = is_tag_type(kind)
        self.text = expression
        self._data = filter_api.build(topic, expression, kind)
        self._sql: DictionaryFilter | None = None
        if not self.is_tag:
            try:
                self._sql = DictionaryFilter(compile_sql92(expression))
            except Exception:  # noqa: BLE001 - whatever is wrong with the text, no message passes it (row F-65)
                self._sql = None

    @property
    def property_names(self) -> list[str]:
        """The properties that are looked at."""
        return [*self._sql.value_names, *self._sql.presence_names] if self._sql else []

    def wants(self, batch: Batch) -> Bools:
        """Tell what the author of the subscription means: the exact tag, or a condition that is true."""
        if self.is_tag:
            everything = self._data.sub_string == SUB_ALL
            return batch.by_tag([everything or name in self._data.tags_set for name in batch.tag_names])
        if self._sql is None:
            return np.zeros(len(batch), np.bool_)
        return self._sql.matches(batch.properties())

    def broker_passes(self, batch: Batch) -> Bools:
        """Tell what the broker lets pass: by hash code of the tag, or by the condition."""
        if not self.is_tag:
            return self.wants(batch)
        codes = [string_hash(name) if name else 0 for name in batch.tag_names]
        return batch.by_tag([code_is_subscribed(self._data, code) for code in codes])

    def client_passes(self, batch: Batch) -> Bools:
        """Tell what a client with this subscription keeps of what it gets; one with SQL92 keeps everything."""
        if not self.is_tag:
            return np.ones(len(batch), np.bool_)
        return batch.by_tag([client_keeps(self._data, name) for name in batch.tag_names])


@dataclass(slots=True)
class Judge:
    """Judges one topic in one group.

    `committed`: next offset by queue. `complete`: every member's subscription is in `asked`. `has_evidence`: there is a
    trace or a log of deliveries in this group; `traced`: the client ids in it, () if it names none. `present`: who was
    there when; `queues`: how many queues the topic has, 0 if that is not known.
    """

    group: str
    topic: str
    committed: dict[int, int]
    asked: list[Asked]
    held: list[Held]
    complete: bool
    has_evidence: bool
    traced: tuple[str, ...] = ()
    present: tuple[Present, ...] = ()
    queues: int = 0
    _filters: dict[tuple[str, str], Filter] = field(default_factory=dict)

    def property_names(self) -> set[str]:
        """The properties that some subscription looks at, besides TAGS and KEYS."""
        texts = {(one.type, one.expression) for one in self.asked} | {(one.type, one.expression) for one in self.held}
        return {name for text in texts for name in self._filter(*text).property_names} - {"TAGS", "KEYS"}

    def subscriptions_at(self, times: NDArray[np.int64]) -> pa.Array:
        """The text of the subscription in force at each time (epoch ms), NULL where it is not known."""
        slots = self._slot_texts()
        texts = [expression if is_tag_type(kind) else f"{kind}: {expression}" for _, kind, expression in slots]
        place = np.searchsorted([since for since, _, _ in slots], times, "right") - 1
        return pa.array(texts, pa.string()).take(pa.array(place)) if slots else pa.nulls(len(times), pa.string())

    def judge(self, batch: Batch) -> Verdict:
        """Return the verdict on messages of which no evidence says that they were delivered."""
        rows = len(batch)
        fate, known, passed = self._at_broker(batch)
        certainty = np.where(known, IMPLIED, UNKNOWN).astype(np.int8)
        owner = self._owners(batch)
        refused, surely = self._refused(batch, owner)
        fate[known & passed & refused] = CODE[Fate.DROPPED_BY_CLIENT]
        presumed = fate.copy()
        gets = known & passed & ~refused
        presumed[gets] = CODE[Fate.DELIVERED]
        # What the broker and some clients let pass: whose queue it was decides, and that is not known.
        certainty[known & passed & ~surely] = UNKNOWN
        if not self.has_evidence:
            presumed[~known] = CODE[Fate.DELIVERED]
            fate = presumed.copy()
            covered = np.full(rows, NO, np.int8)
        else:
            covered = self._covered(owner)
            certainty[gets & (covered == YES)] = UNKNOWN
            fate = np.where(covered == NO, presumed, fate).astype(np.int8)
        certainty[(fate != CODE[Fate.DELIVERED]) & self._judged_again(batch, owner)] = UNKNOWN
        self._not_passed(batch, fate, certainty)
        self._not_passed(batch, presumed, certainty)
        return Verdict(fate, certainty, self._asked(batch), covered, presumed)

    def _at_broker(self, batch: Batch) -> tuple[Codes, Bools, Bools]:
        """Return the fates, of which rows the broker's decision is known, and which it let pass."""
        rows = len(batch)
        fate = np.full(rows, CODE[Fate.SKIPPED_BY_OFFSET], np.int8)
        passed, known = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        slots = self._slot_texts()
        for index, (since, kind, expression) in enumerate(slots):
            until = slots[index + 1][0] if index + 1 < len(slots) else None
            mine = (batch.times >= since) & (True if until is None else batch.times < until)
            one = self._filter(kind, expression)
            passes = one.broker_passes(batch)
            fate[mine & ~passes] = CODE[Fate.DROPPED_BY_BROKER_TAG if one.is_tag else Fate.DROPPED_BY_BROKER_SQL]
            passed |= mine & passes
            known |= mine
        if not slots and self.complete and self.asked:
            # Whichever subscription the broker held: what none of them lets pass, it dropped.
            each = [self._filter(one.type, one.expression) for one in self.asked]
            none = ~np.logical_or.reduce([one.broker_passes(batch) for one in each])
            fate[none] = CODE[Fate.DROPPED_BY_BROKER_TAG if each[0].is_tag else Fate.DROPPED_BY_BROKER_SQL]
            known |= none
        return fate, known, passed

    def _owners(self, batch: Batch, times: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return for each row the place in `_clients` of the client that owned its queue, -1 where nothing tells.

        At the time when it was stored, or at `times` (epoch ms).
        """
        times = batch.times if times is None else times
        if not self.present or not self.queues:
            return np.full(len(batch), -1, np.int64)
        clients = self._clients()
        queues = max(self.queues, int(batch.queues.max(initial=0)) + 1)
        table = np.full((len(self.present), queues), -1, np.int64)
        all_queues = [MessageQueue(self.topic, "", queue) for queue in range(self.queues)]
        for moment, (_, present) in enumerate(self.present):
            for client in present:
                for queue in AllocateMessageQueueAveragely().allocate(self.group, client, all_queues, list(present)):
                    table[moment, queue.queue_id] = clients.index(client)
        moments = np.searchsorted([one.since for one in self.present], times, "right") - 1
        return np.asarray(table[np.maximum(moments, 0), batch.queues])

    def _refused(self, batch: Batch, owner: NDArray[np.int64]) -> tuple[Bools, Bools]:
        """Return which rows their owner would drop (any member, if the owner is unknown), and where that is sure."""
        refused = np.zeros(len(batch), np.bool_)
        keeps = {one: self._filter(one.type, one.expression).client_passes(batch) for one in self.asked}
        surely = owner >= 0
        if keeps:
            each = np.array(list(keeps.values()))
            refused = np.where(owner < 0, ~each.all(axis=0), refused)
            surely |= each.all(axis=0) == each.any(axis=0)
        for place, client in enumerate(self._clients()):
            mine, later = owner == place, np.zeros(len(batch), np.bool_)
            for one in (one for one in self.asked if one.client == client):
                now = mine & ~later & (batch.times <= one.until)
                refused[now] = ~keeps[one][now]
                later |= now
        return refused, surely

    def _judged_again(self, batch: Batch, owner: NDArray[np.int64]) -> Bools:
        """Return which messages may have been judged once more, by a client that writes no trace.

        A pull that is held begins at its old offset when it wakes, and a new owner begins at the last commit: what was
        stored shortly before the broker's subscription or the owner changed may meet the new one.
        """
        again = np.zeros(len(batch), np.bool_)
        told = [client in self.traced for client in self._clients()]
        untold = np.array([not one for one in told] + [True])
        for since, kind, expression in self._slot_texts():
            soon = (batch.times < since) & (batch.times >= since - HELD_MS)
            if soon.any():
                again |= soon & untold[owner] & self._filter(kind, expression).broker_passes(batch)
        for one in self.present:
            soon = (batch.times < one.since) & (batch.times >= one.since - HELD_MS)
            if soon.any():
                later = self._owners(batch, np.full(len(batch), one.since))
                again |= soon & (later != owner) & untold[later]
        return again

    def _covered(self, owner: NDArray[np.int64]) -> Codes:
        if not self.traced:
            return np.full(len(owner), YES, np.int8)
        told = np.array([YES if one in self.traced else NO for one in self._clients()] + [MAYBE], np.int8)
        return told[owner]

    def _clients(self) -> list[str]:
        return sorted({client for one in self.present for client in one.clients})

    def _not_passed(self, batch: Batch, fate: Codes, certainty: Codes) -> None:
        """Messages at or above the committed offset wait, those of a queue that nobody committed have no owner."""
        queues = max([*self.committed, int(batch.queues.max(initial=0))], default=0) + 1
        table = np.full(queues, -1, np.int64)
        for queue, offset in self.committed.items():
            table[queue] = offset
        committed = table[batch.queues]
        waiting = (committed >= 0) & (batch.offsets >= committed)
        fate[waiting] = CODE[Fate.WAITING]
        fate[committed < 0] = CODE[Fate.NO_OWNER]
        certainty[waiting | (committed < 0)] = IMPLIED

    def _asked(self, batch: Batch) -> Codes:
        wanted = np.zeros(len(batch), np.bool_)
        for one in self.asked:
            wanted |= self._filter(one.type, one.expression).wants(batch) & (batch.times <= one.until)
        return np.where(wanted, YES, NO if self.complete else MAYBE).astype(np.int8)

    def _slot_texts(self) -> list[tuple[int, str, str]]:
        if self.held:
            # Before the first look at it, the broker held what was seen first.
            first, *rest = self.held
            return [(ALWAYS, first.type, first.expression), *((one.since, one.type, one.expression) for one in rest)]
        texts = {(one.type, one.expression) for one in self.asked}
        return [(ALWAYS, *texts.pop())] if self.complete and len(texts) == 1 else []

    def _filter(self, kind: str, expression: str) -> Filter:
        known = self._filters.get((kind, expression))
        if known is None:
            known = self._filters[kind, expression] = Filter(self.topic, kind, expression)
        return known

    def __getstate__(self) -> tuple[object, ...]:
        """Leave the compiled filters behind: each worker compiles its own."""
        return (
            self.group,
            self.topic,
            self.committed,
            self.asked,
            self.held,
            self.complete,
            self.has_evidence,
            self.traced,
            self.present,
            self.queues,
        )

    def __setstate__(self, state: tuple[object, ...]) -> None:
        """Restore from `__getstate__`."""
        names = (
            "group",
            "topic",
            "committed",
            "asked",
            "held",
            "complete",
            "has_evidence",
            "traced",
            "present",
            "queues",
        )
        for name, value in zip(names, state, strict=True):
            setattr(self, name, value)
        self._filters = {}
