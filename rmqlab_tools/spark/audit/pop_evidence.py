"""What check points and acks prove of the deliveries of groups that pop; `pop_log` says what a store has of them."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.fate_codes import ASKED_WORDS, CERTAINTIES, Answer, CertaintyCode
from rmqlab_tools.spark.audit.kept_frames import release
from rmqlab_tools.spark.audit.pop_log import (
    AGAIN_SCHEMA,
    POP_SCHEMA,
    PopState,
    first_topic,
    read_again,
    read_pops,
    retry_groups,
    revive_topics,
)
from rmqlab_tools.spark.files.tasks import over_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rmqlab_tools.spark.audit.subscriptions import Key
    from rmqlab_tools.spark.files.commit_log_files import LogRange

_PLACE = ["group", "topic", "queueId", "queueOffset"]


class PopEvidence:
    """The pops of one store. They are read when first asked for, and kept on disk by Spark until `close`."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        ranges: Sequence[LogRange],
        topics: Collection[str],
        committed: Mapping[Key, Mapping[int, int]],
    ) -> None:
        """`topics` are all of the store, `committed` the next offsets by (group, topic) and queue."""
        self._session, self._ranges, self._topics, self._committed = session, ranges, topics, committed
        self._revive_topics = revive_topics(topics)

    @cached_property
    def _records(self) -> DataFrame:
        work = partial(read_pops, topics=self._revive_topics)
        return over_ranges(self._session(), self._ranges, work, POP_SCHEMA).persist(StorageLevel.DISK_ONLY)

    @cached_property
    def starts(self) -> dict[Key, dict[int, int]]:
        """By (group, topic) that popped, and queue: where its first pop that is known began to read."""
        if not self._revive_topics:
            return {}
        starts: dict[Key, dict[int, int]] = {}
        queues = self._records.groupBy("group", "topic", "queueId")
        for row in queues.agg(F.coalesce(F.min("start"), F.min("queueOffset")).alias("start")).collect():
            topic = first_topic(row["group"], row["topic"])
            begun = starts.setdefault((row["group"], topic), {})
            if topic == row["topic"]:
                begun[row["queueId"]] = row["start"]
        return starts

    @cached_property
    def retry_groups(self) -> dict[str, str]:
        """The group by each topic in which its messages come again."""
        return retry_groups(self.starts, self._topics)

    @cached_property
    def _states(self) -> DataFrame:
        """A row for each message that was handed out: what became of the last pop that did so."""
        last = F.max(F.struct("popTime", "state")).alias("last")
        return self._records.groupBy(*_PLACE).agg(last).select(*_PLACE, F.col("last.state").alias("popState"))

    @cached_property
    def _again(self) -> DataFrame:
        """A row for each message that came again: an ack of any of its copies, else what the last one came to."""
        work = partial(read_again, groups=self.retry_groups, committed=self._committed)
        copies = over_ranges(self._session(), self._ranges if self.retry_groups else [], work, AGAIN_SCHEMA)
        judged = copies.join(self._states, _PLACE, "left").withColumn("copyState", F.coalesce("popState", "untaken"))
        last = F.max(F.struct("physicalOffset", "copyState")).alias("last")
        best = judged.groupBy("group", "key").agg(last, F.max("copyState").alias("best"))
        acked = F.col("best") == PopState.ACKED
        return best.select(
            "group", "key", F.when(acked, F.col("best")).otherwise(F.col("last.copyState")).alias("again")
        )

    def decide(self, frame: DataFrame) -> DataFrame:
        """Decide what pops say about the details of a scan (`SCAN_SCHEMA`), unless a consumption is proved."""
        decided = F.col("fate").isin(str(Fate.DELIVERED), str(Fate.DEAD_LETTER)) & (
            F.col("certainty") == CERTAINTIES[CertaintyCode.PROVED]
        )
        own, again = F.coalesce("popState", F.lit(int(PopState.WAITS))), F.col("again")
        acked = F.coalesce((own == PopState.ACKED) | (again == PopState.ACKED), F.lit(False))
        # The broker hands out by hash code: what the text of a tag refuses is acked by the client, or by the proxy.
        dropped = acked & (F.col("asked") == ASKED_WORDS[Answer.NO])
        passed = F.coalesce(again == PopState.PASSED, F.lit(False)) & ~acked
        # handed out, and neither acked nor given up
        open_again = again.isNotNull() | (own == PopState.TAKEN)
        proved, implied, unknown = CERTAINTIES
        # Where it is unknown who got what is passed, that goes for what came again, too.
        known = ~decided & (acked | open_again) & ~(passed & (F.col("certainty") == unknown))
        fate = (
            F.when(dropped, F.lit(str(Fate.DROPPED_BY_CLIENT)))
            .when(acked, F.lit(str(Fate.DELIVERED)))
            .when(passed, F.lit(str(Fate.SKIPPED_BY_POP)))
            .otherwise(F.lit(str(Fate.RETRYING)))
        )
        certainty = F.when(dropped | passed, F.lit(implied)).otherwise(F.lit(proved))
        detail = frame.where(F.col("kind") == audit_scan.DETAIL)
        joined = detail.join(self._states, _PLACE, "left").join(self._again, ["group", "key"], "left")
        known = F.coalesce(known, F.lit(False))
        with_pops = joined.withColumns({
            "fate": F.when(known, fate).otherwise(F.col("fate")),
            "certainty": F.when(known, certainty).otherwise(F.col("certainty")),
            "reason": F.when(known, F.lit(None).cast("string")).otherwise(F.col("reason")),
        })  # fmt: skip
        return frame.where(F.col("kind") != audit_scan.DETAIL).unionByName(with_pops.select(*frame.columns))

    def close(self) -> None:
        """Let go of what Spark keeps on disk."""
        if "_records" in self.__dict__:
            release(self.__dict__.pop("_records"))
