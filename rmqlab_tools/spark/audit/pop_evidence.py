"""What check points and acks prove of the deliveries of groups that pop; `pop_log` says what a store has of them."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.fate_codes import ASKED_WORDS, CERTAINTIES, Answer, CertaintyCode
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

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rmqlab_tools.spark.audit.engine import Engine, Rows
    from rmqlab_tools.spark.audit.subscriptions import Key
    from rmqlab_tools.spark.files.commit_log_files import LogRange

_PLACE = ["group", "topic", "queueId", "queueOffset"]


class PopEvidence:
    """The pops of one store. They are read when first asked for, and kept until `close`."""

    def __init__(
        self,
        engine: Engine,
        ranges: Sequence[LogRange],
        topics: Collection[str],
        committed: Mapping[Key, Mapping[int, int]],
    ) -> None:
        """`topics` are all of the store, `committed` the next offsets by (group, topic) and queue."""
        self._engine, self._ranges, self._topics, self._committed = engine, ranges, topics, committed
        self._revive_topics = revive_topics(topics)

    @cached_property
    def _records(self) -> Rows:
        work = partial(read_pops, topics=self._revive_topics)
        return self._engine.kept(self._engine.read(self._ranges, work, POP_SCHEMA))

    @cached_property
    def starts(self) -> dict[Key, dict[int, int]]:
        """By (group, topic) that popped, and queue: where its first pop that is known began to read."""
        if not self._revive_topics:
            return {}
        starts: dict[Key, dict[int, int]] = {}
        for row in self._engine.table(self._engine.query(_STARTS, pops=self._records)).to_pylist():
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
    def _states(self) -> Rows:
        """A row for each message that was handed out: what became of the last pop that did so."""
        return self._engine.query(_STATES, pops=self._records)

    @cached_property
    def _again(self) -> Rows:
        """A row for each message that came again: an ack of any of its copies, else what the last one came to."""
        work = partial(read_again, groups=self.retry_groups, committed=self._committed)
        copies = self._engine.read(self._ranges if self.retry_groups else [], work, AGAIN_SCHEMA)
        return self._engine.query(_AGAIN, copies=copies, states=self._states)

    def decide(self, rows: Rows) -> Rows:
        """Decide what pops say about the details of a scan (`SCAN_SCHEMA`), unless a consumption is proved."""
        details = self._engine.query(_SAID, rows=rows, states=self._states, again=self._again)
        proved, implied, _ = CERTAINTIES
        decided = {
            "fate": f"CASE WHEN NOT d.known THEN d.fate WHEN d.dropped THEN '{Fate.DROPPED_BY_CLIENT}'"
            f" WHEN d.acked THEN '{Fate.DELIVERED}' WHEN d.passed THEN '{Fate.SKIPPED_BY_POP}'"
            f" ELSE '{Fate.RETRYING}' END",
            "certainty": "CASE WHEN NOT d.known THEN d.certainty"
            f" WHEN d.dropped OR d.passed THEN '{implied}' ELSE '{proved}' END",
            "reason": "CASE WHEN NOT d.known THEN d.reason END",
        }
        return audit_scan.with_decided(self._engine, rows, details, decided)

    def close(self) -> None:
        """Let go of what is kept."""
        if "_records" in self.__dict__:
            self._engine.release(self.__dict__.pop("_records"))


_STARTS: Final = """
SELECT p.group, p.topic, p.queueId, coalesce(min(p.start), min(p.queueOffset)) AS start
FROM {pops} p GROUP BY p.group, p.topic, p.queueId"""
_STATES: Final = """
SELECT s.group, s.topic, s.queueId, s.queueOffset, s.state AS popState
FROM (
  SELECT p.*, row_number() OVER (
    PARTITION BY p.group, p.topic, p.queueId, p.queueOffset ORDER BY p.popTime DESC, p.state DESC
  ) AS place FROM {pops} p
) s WHERE s.place = 1"""
_AGAIN: Final = f"""
WITH judged AS (
  SELECT c.group, c.key, c.physicalOffset, coalesce(s.popState, c.untaken) AS copyState
  FROM {{copies}} c LEFT JOIN {{states}} s
  ON c.group = s.group AND c.topic = s.topic AND c.queueId = s.queueId AND c.queueOffset = s.queueOffset
), ranked AS (
  SELECT j.*, max(j.copyState) OVER (PARTITION BY j.group, j.key) AS best, row_number() OVER (
    PARTITION BY j.group, j.key ORDER BY j.physicalOffset DESC, j.copyState DESC
  ) AS place FROM judged j
)
SELECT r.group, r.key, CASE WHEN r.best = {PopState.ACKED:d} THEN r.best ELSE r.copyState END AS again
FROM ranked r WHERE r.place = 1"""  # noqa: S608
# The broker hands out by hash code: what the text of a tag refuses is acked by the client, or by the proxy. Known is
# what was acked, or handed out and neither acked nor given up (and, where it is unknown who got what is passed, that
# goes for what came again, too).
_SAID: Final = f"""
WITH said AS (
  SELECT d.*, coalesce(s.popState, {PopState.WAITS:d}) AS own, a.again AS again FROM {{rows}} d
  LEFT JOIN {{states}} s
  ON d.group = s.group AND d.topic = s.topic AND d.queueId = s.queueId AND d.queueOffset = s.queueOffset
  LEFT JOIN {{again}} a ON d.group = a.group AND d.key = a.key
  WHERE d.kind = '{audit_scan.DETAIL}'
), acks AS (
  SELECT s.*, s.own = {PopState.ACKED:d} OR coalesce(s.again, -1) = {PopState.ACKED:d} AS acked FROM said s
), passes AS (
  SELECT k.*, k.acked AND k.asked = '{ASKED_WORDS[Answer.NO]}' AS dropped,
    coalesce(k.again, -1) = {PopState.PASSED:d} AND NOT k.acked AS passed FROM acks k
)
SELECT p.*,
  NOT (p.fate IN ('{Fate.DELIVERED}', '{Fate.DEAD_LETTER}') AND p.certainty = '{CERTAINTIES[CertaintyCode.PROVED]}')
  AND (p.acked OR p.again IS NOT NULL OR p.own = {PopState.TAKEN:d})
  AND NOT (p.passed AND p.certainty = '{CERTAINTIES[CertaintyCode.UNKNOWN]}') AS known
FROM passes p"""  # noqa: S608
