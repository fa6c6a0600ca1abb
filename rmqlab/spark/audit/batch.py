"""Rows of the commit log in columns, and subscriptions ready to be asked about many of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rmqlab.filter import filter_api
from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.message.java import string_hash
from rmqlab.protocol.subscription_data import SUB_ALL, is_tag_type
from rmqlab.rules import client_keeps, is_matched_by_consume_queue
from rmqlab.spark.files.record_columns import PROPERTY_PREFIX
from rmqlab.spark.filters.sql92_dictionary import DictionaryFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]


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
        self.answers: dict[tuple[BatchFilter, str], Bools] = {}

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


class BatchFilter:
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
        """Tell what the broker lets pass: by hash code of the tag, or by the condition. Read only."""
        known = batch.answers.get((self, "broker"))
        if known is None:
            if self.is_tag:
                codes = [string_hash(name) if name else 0 for name in batch.tag_names]
                known = batch.by_tag([is_matched_by_consume_queue(self._data, code) for code in codes])
            else:
                known = self.wants(batch)
            batch.answers[self, "broker"] = known
        return known

    def client_passes(self, batch: Batch) -> Bools:
        """Tell what a client with this subscription keeps of what it gets; with SQL92 that is everything. Read only."""
        known = batch.answers.get((self, "client"))
        if known is None:
            if self.is_tag:
                known = batch.by_tag([client_keeps(self._data, name) for name in batch.tag_names])
            else:
                known = np.ones(len(batch), np.bool_)
            batch.answers[self, "client"] = known
        return known
