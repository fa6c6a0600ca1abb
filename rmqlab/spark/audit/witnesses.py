"""Who tells of the deliveries in each group: consumers that wrote a trace, or a delivery log that is given."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rmqlab.spark.audit import evidence as audit_evidence
from rmqlab.spark.audit.tasks import over_ranges
from rmqlab.spark.audit.verdict import MAYBE, NO, YES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.spark.files.commit_log_files import LogRange


class Witnesses:
    """The evidence of one store and of the logs given with it. It is gathered when first asked for, until `close`."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        ranges: Sequence[LogRange],
        topics: tuple[str, ...],
        trace_topic: str,
        delivered: tuple[str, ...],
        retried: Mapping[tuple[str, int], int],
    ) -> None:
        """`topics` are those of the store that tell, `delivered` paths of delivery logs, which are read at once.

        `retried` has the committed offsets of retry topics, by topic and queue.
        """
        self._session, self._ranges, self._retried = session, ranges, retried
        self._topics, self._trace_topic = topics, trace_topic
        schema = audit_evidence.SCHEMA
        self._logs = [pa.Table.from_batches(audit_evidence.read_log(path), schema) for path in delivered]
        self.told_of = frozenset(group for one in self._logs for group in one["group"].to_pylist())
        """The groups of which a log of all deliveries is given."""

    @property
    def named(self) -> pa.Table:
        """What the logs name: group and key of each message; a group that got nothing is not in it."""
        whole = pa.concat_tables([audit_evidence.SCHEMA.empty_table(), *self._logs]).select(["group", "key"])
        return whole.filter(pc.not_equal(whole["key"], ""))

    @cached_property
    def evidence(self) -> DataFrame:
        """What is known of deliveries: one row a group and message, with the best that is known of it as `rank`."""
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812

        topics, trace_topic, retried = self._topics, self._trace_topic, self._retried
        frame = over_ranges(
            self._session(),
            self._ranges if topics else [],
            lambda part: audit_evidence.read_evidence(part, topics, trace_topic, retried),
            audit_evidence.SCHEMA,
        )
        for given in self._logs:
            frame = frame.unionByName(self._session().createDataFrame(given))
        best = frame.groupBy("group", "key").agg(F.max("rank").alias("rank"), F.max("client").alias("client"))
        return best.persist(StorageLevel.DISK_ONLY)

    @cached_property
    def clients(self) -> dict[str, tuple[str, ...]]:
        """The groups that somebody tells of, and the clients that wrote a trace; none where a log tells of all."""
        if not self._topics and not self._logs:
            return {}
        found: dict[str, set[str]] = {}
        for row in self.evidence.select("group", "client").distinct().collect():
            found.setdefault(row["group"], set()).update({row["client"]} - {None})
        # A log that is given tells of all members; of a trace one knows only whose it is.
        return {group: () if group in self.told_of else tuple(sorted(clients)) for group, clients in found.items()}

    def telling_of(self, group: str) -> int:
        """Tell whether every delivery in a group of `clients` is told of: `YES`, `NO` or `MAYBE`."""
        if group in self.told_of:
            return YES
        # Records that were sent back are of failures alone; nothing tells of what went well.
        return MAYBE if self.clients[group] else NO

    def close(self) -> None:
        """Let go of what Spark keeps on disk."""
        if "evidence" in self.__dict__:
            self.__dict__.pop("evidence").unpersist()
