"""Rows of the commit log in columns, and what the broker lets pass of many of them at once."""

from __future__ import annotations

from functools import cache, cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from rmqlab.filter.filter import Filter
from rmqlab.filter.sql92.compiler import CompiledSql92
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.spark.audit.owners import REBALANCE_LAG_MS
from rmqlab_tools.spark.audit.subscriptions import NEVER
from rmqlab_tools.spark.files.commit_log_files import PROPERTY_PREFIX
from rmqlab_tools.spark.filters.sql92_dictionary import DictionaryFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rmqlab.rules import Rules
    from rmqlab_tools.spark.audit.owners import Owners, Window
    from rmqlab_tools.spark.audit.subscriptions import BrokerSubscription, ClientSubscription

    Bools = NDArray[np.bool_]


_TAGS: Final = 4_096
"""Of so many tags a filter keeps its answers."""


class BatchNumbers:
    """Columns of a batch as arrays, made once for all its topics: tag codes, queues, queue offsets, times (epoch ms).

    A damaged part, which no topic has, has zeros.
    """

    def __init__(self, rows: pa.RecordBatch) -> None:
        """`rows` have a column `tags`, dictionary-coded or not."""
        self.rows = rows
        tags = rows["tags"].dictionary_encode()
        self.tag_names: list[str | None] = [*tags.dictionary.to_pylist(), None]
        self.tag_codes = _filled(tags.indices, len(self.tag_names) - 1)
        self.queues, self.offsets = _filled(rows["queueId"], 0), _filled(rows["queueOffset"], 0)
        self.times = _filled(rows["storeTimestamp"], 0)


def _filled(column: pa.Array, value: int) -> NDArray[np.int64]:
    whole = column.fill_null(value) if column.null_count else column
    return np.asarray(whole.to_numpy(zero_copy_only=False))


class Batch:
    """Rows of one topic: tags as codes into `tag_names`, queue offsets, store times (epoch ms), property columns.

    What was stored after `known_until` (epoch ms) may be in another batch.
    """

    def __init__(self, numbers: BatchNumbers, chosen: NDArray[np.int64], known_until: int = NEVER) -> None:
        """Look at the `chosen` places of a batch; take what is asked for."""
        self.known_until = known_until
        self._rows, self._chosen = numbers.rows, None if len(chosen) == len(numbers.rows) else chosen
        self.tag_names = numbers.tag_names
        self.tag_codes, self.queues = self._mine(numbers.tag_codes), self._mine(numbers.queues)
        self.offsets, self.times = self._mine(numbers.offsets), self._mine(numbers.times)
        self.answers: dict[tuple[BatchFilter, str], Bools] = {}

    def _mine(self, column: NDArray[np.int64]) -> NDArray[np.int64]:
        return column if self._chosen is None else column[self._chosen]

    def _column(self, name: str) -> pa.Array:
        column = self._rows[name]
        return column if self._chosen is None else column.take(pa.array(self._chosen))

    def __len__(self) -> int:
        return len(self.offsets)

    def by_tag(self, test: Sequence[bool]) -> Bools:
        """Spread an answer for each tag name over the rows."""
        return np.asarray(np.array(test, np.bool_)[self.tag_codes])

    @cached_property
    def properties(self) -> pa.Table:
        """The rows' properties, one column each."""
        names = [name for name in self._rows.schema.names if name.startswith(PROPERTY_PREFIX)]
        columns = {name.removeprefix(PROPERTY_PREFIX): self._column(name) for name in names}
        return pa.table({**columns, "TAGS": self._column("tags")})


class BatchFilter:
    """A `Filter` for batches: of tags it is asked once a name, of conditions once a distinct value."""

    def __init__(self, topic: str, kind: str, expression: str, rules: Rules = DEFAULT_RULES) -> None:
        """Compile; a condition that the broker refuses lets nothing pass."""
        self._filter = Filter.of(topic, expression, kind, rules)
        self.is_tag = self._filter.by_tag
        compiled = self._filter.condition
        self._sql = DictionaryFilter(compiled) if isinstance(compiled, CompiledSql92) else None
        # batches that follow each other have the same tags
        self._wants_tag = lru_cache(_TAGS)(self._wants_name)
        self._passes_tag = lru_cache(_TAGS)(self._passes_name)

    def _wants_name(self, name: str | None) -> bool:
        return self._filter.wants({} if name is None else {PROPERTY_TAGS: name})

    def _passes_name(self, name: str | None) -> bool:
        return self._filter.passes_layer_1(self._filter.rules.tags_code(name), None)

    @property
    def property_names(self) -> list[str]:
        """The properties that are looked at."""
        return [*self._sql.value_names, *self._sql.presence_names] if self._sql else []

    def wants(self, batch: Batch) -> Bools:
        """What the author of the subscription means: the exact tag, or a condition that is true."""
        if self.is_tag:
            return batch.by_tag([self._wants_tag(name) for name in batch.tag_names])
        if self._sql is None:
            return np.zeros(len(batch), np.bool_)
        return self._sql.matches(batch.properties)

    def broker_passes(self, batch: Batch) -> Bools:
        """What the broker lets pass: by hash code of the tag, or by the condition. Read only."""
        known = batch.answers.get((self, "broker"))
        if known is None:
            if self.is_tag:
                known = batch.by_tag([self._passes_tag(name) for name in batch.tag_names])
            else:
                known = self.wants(batch)
            batch.answers[self, "broker"] = known
        return known

    def client_passes(self, batch: Batch) -> Bools:
        """What a client with this subscription keeps of what it gets; with SQL92 that is everything. Read only."""
        known = batch.answers.get((self, "client"))
        if known is None:
            if self.is_tag:
                known = batch.by_tag([self._filter.client_keeps(name) for name in batch.tag_names])
            else:
                known = np.ones(len(batch), np.bool_)
            batch.answers[self, "client"] = known
        return known


@cache
def batch_filter(topic: str, kind: str, expression: str, rules: Rules = DEFAULT_RULES) -> BatchFilter:
    """The filter of a subscription, compiled once in each worker."""
    return BatchFilter(topic, kind, expression, rules)


class BrokerPasses(NamedTuple):
    """Which rows the broker passes, by the tag or not, where that is known; which at least once, and which always."""

    passes: Bools
    by_tag: Bools
    known: Bools
    may_receive: Bools
    must_receive: Bools


def at_broker(
    batch: Batch,
    window: Window,
    topic: str,
    slots: Sequence[BrokerSubscription],
    client_subscriptions: Sequence[ClientSubscription],
    owners: Owners,
    complete: bool,
    rules: Rules = DEFAULT_RULES,
) -> BrokerPasses:
    """Judge messages that may have been looked at within `window`.

    `slots` are what the broker held, in order of time. `client_subscriptions` is what members ask for, all of
    them if it is `complete`.
    """
    rows, begin = len(batch), window.first
    passes, known, may_receive = np.zeros((3, rows), np.bool_)
    by_tag, must_receive = np.ones((2, rows), np.bool_)
    for wish in client_subscriptions if slots else ():
        # Who looks at the broker now and then may not have seen what was in force for a moment.
        last = wish.since + REBALANCE_LAG_MS
        seen = {
            (subscription.type, subscription.expression)
            for subscription in slots
            if wish.since <= subscription.since <= last
        }
        if (wish.type, wish.expression) not in seen:
            got = batch_filter(topic, wish.type, wish.expression, rules).broker_passes(batch)
            may = (window.last >= wish.since) & (begin <= last)
            may_receive |= may & got
            must_receive &= ~may | got
    for index, slot in enumerate(slots):
        mine = begin >= slot.since
        if index + 1 < len(slots):
            mine &= begin < slots[index + 1].since
        wanted = batch_filter(topic, slot.type, slot.expression, rules)
        got = wanted.broker_passes(batch)
        passes[mine], by_tag[mine] = got[mine], wanted.is_tag
        known |= mine
        # A pull that is held begins at its old offset when it wakes, and meets what is held then.
        may = mine | ((begin < slot.since) & (window.last >= slot.since))
        may_receive |= may & got
        must_receive &= ~may | got
    own = [
        batch_filter(topic, subscription.type, subscription.expression, rules) for subscription in client_subscriptions
    ]
    if slots and own:
        # Who joins, and whoever gets other queues by that, registers its own: often for less than a look takes.
        near = owners.is_near_change(window)
        passed = [own_filter.broker_passes(batch) for own_filter in own]
        may_receive |= near & reduce(np.logical_or, passed)
        must_receive &= ~near | reduce(np.logical_and, passed)
    if not slots and complete and own:
        # Whichever subscription the broker held: what none of them lets pass, it dropped.
        got_by = [own_filter.broker_passes(batch) for own_filter in own]
        may_receive, must_receive = reduce(np.logical_or, got_by), reduce(np.logical_and, got_by)
        passes, known = may_receive, must_receive | ~may_receive
        by_tag[:] = own[0].is_tag
    elif not slots:
        may_receive, must_receive = ~may_receive, ~must_receive
    return BrokerPasses(passes, by_tag, known, may_receive, must_receive)
