"""Evidence of deliveries: the message trace that consumers wrote, records sent back or dead, delivery logs.

A trace record is text: entries end with U+0002, their fields with U+0001 (4.8.0 `TraceDataEncoder`). `SubBefore` says
that a listener is about to get a message, `SubAfter` how that went.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.topics import DLQ_GROUP_TOPIC_PREFIX, RETRY_GROUP_TOPIC_PREFIX
from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.fate_codes import ASKED_WORDS, CERTAINTIES, WHY, Answer, CertaintyCode, UnknownReason
from rmqlab_tools.spark.audit.subscriptions import flag_field, json_lines, reason, text_field
from rmqlab_tools.spark.files.commit_log_files import LogRange, RecordFilter
from rmqlab_tools.spark.files.log_reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rmqlab_tools.spark.audit.engine import Engine, Rows

BEGUN, FAILED, DEAD, CONSUMED = 1, 2, 3, 4
"""What is known of a consumption, the better news the higher."""
EVIDENCE_SCHEMA: Final = pa.schema(
    [
        ("group", pa.string()),
        ("key", pa.string()),
        ("rank", pa.int32()),
        ("client", pa.string()),
    ]
)
"""`key` is the message's UNIQ_KEY, or its offsetMsgId if it has none, as clients call it `msgId`."""
_COLUMNS: Final = ("topic", "uniqKey", "offsetMsgId", "body", "queueId", "queueOffset")
_Row = tuple[str, str, int, str | None]


def evidence_topics(names: Iterable[str], trace_topic: str) -> tuple[str, ...]:
    """Those of a store's topics that tell about deliveries."""
    prefixes = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX)
    return tuple(sorted(name for name in names if name == trace_topic or name.startswith(prefixes)))


def read_evidence(
    parts: Sequence[LogRange], topics: Sequence[str], trace_topic: str, retried: Mapping[tuple[str, int], int]
) -> Iterator[pa.RecordBatch]:
    """The evidence in ranges of the commit log.

    `retried` has the committed offsets of retry topics, by topic and queue. A record that was sent back, and that such
    an offset is past, was consumed again: if that failed, another record after it says so.
    """
    reader = LogReader(_COLUMNS, RecordFilter(topics=tuple(topics)), check_crc=False)
    for batch in chain.from_iterable(map(reader.read, parts)):
        rows: list[_Row] = []
        columns = (column.to_pylist() for column in batch.columns)
        for topic, unique, offset_id, body, queue, offset in zip(*columns, strict=True):
            if topic == trace_topic:
                rows += parse_trace(body.decode("utf-8", "replace") if body else "")
            elif topic is not None:
                dead = topic.startswith(DLQ_GROUP_TOPIC_PREFIX)
                prefix = DLQ_GROUP_TOPIC_PREFIX if dead else RETRY_GROUP_TOPIC_PREFIX
                again = offset < retried.get((topic, queue), 0)
                rank = DEAD if dead else BEGUN if again else FAILED
                rows.append((topic.removeprefix(prefix), unique or offset_id, rank, None))
        if rows:
            yield _batch(rows)


def parse_trace(text: str) -> list[_Row]:
    """The consumptions in one trace record; what is no such entry is passed over."""
    rows: list[_Row] = []
    groups: dict[str, str] = {}
    for entry in text.split("\x02"):
        fields = entry.split("\x01")
        if fields[0] == "SubBefore" and len(fields) >= 9:
            _, _, _, group, request, key, _, _, client = fields[:9]
            groups[request] = group
            rows.append((group, key, BEGUN, client))
        elif fields[0] == "SubAfter" and len(fields) >= 6:
            group = fields[8] if len(fields) >= 9 else groups.get(fields[1], "")
            if group:
                rows.append((group, fields[2], CONSUMED if fields[4] == "true" else FAILED, None))
    return rows


def read_log(path: str | Path) -> Iterator[pa.RecordBatch]:
    """The deliveries of a log: one object a line with `group`, `msgId` or `offsetMsgId`, maybe `client`.

    Events of a recording are understood too.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    rows: list[_Row] = []
    group_of: dict[tuple[str, str], str] = {}
    for place, line in json_lines(path):
        try:
            rows += _of_event(line, group_of) if "ev" in line else [_delivery(line)]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(
                _(
                    '{place}: {reason}; a delivery would be {{"group": "G", "msgId": "7F00..."}}',
                    place=place,
                    reason=reason(error),
                )
            ) from error
    # A recording tells of every group in it, also of one that got nothing.
    rows += [(group, "", 0, None) for group in sorted(set(group_of.values()))]
    if not rows:
        raise BadInput(_('{path}: no delivery in it; one would be {{"group": "G", "msgId": "7F00..."}}', path=path))
    yield _batch(rows)


def _delivery(line: dict[str, Any]) -> _Row:
    name = "msgId" if line.get("msgId") or "offsetMsgId" not in line else "offsetMsgId"
    group, key = text_field(line, "group"), text_field(line, name)
    client = None if line.get("client") is None else text_field(line, "client")
    return group, key, _rank(line), client


def _of_event(event: dict[str, Any], group_of: dict[tuple[str, str], str]) -> list[_Row]:
    scenario_id = event["id"]
    if event["ev"] == "scenario":
        for step in event["scenario"]["steps"]:
            if step["do"] == "start":
                suffix = "" if event["scenario"].get("plainNames") else f"_{scenario_id}"
                group_of[scenario_id, step["who"]] = f"{step.get('group', '')}{suffix}"
    elif event["ev"] == "consume" and (scenario_id, event["who"]) in group_of:
        return [(group_of[scenario_id, event["who"]], text_field(event, "msgId"), _rank(event), event["who"])]
    return []


def _rank(line: dict[str, Any]) -> int:
    return CONSUMED if flag_field(line, "success", default=True) else FAILED


def _batch(rows: list[_Row]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), EVIDENCE_SCHEMA, strict=True)],
        schema=EVIDENCE_SCHEMA,
    )


class EvidenceOfStore(NamedTuple):
    """Where one store has evidence: its log, and those of its topics that tell.

    `retried` has the committed offsets of retry topics, by topic and queue. `of_pop` says which of the topics are retry
    topics of pops, of which check points tell more.
    """

    ranges: Sequence[LogRange]
    topics: tuple[str, ...]
    retried: Mapping[tuple[str, int], int]
    of_pop: Callable[[], Container[str]] = tuple


class DeliveryEvidence:
    """The evidence of stores and of the logs given with them. It is gathered when first asked for, until `close`.

    A consumer writes its trace to any broker, so what is in one store may be about a message of another.
    """

    def __init__(
        self,
        engine: Engine,
        stores: Sequence[EvidenceOfStore],
        trace_topic: str,
        delivered: tuple[str, ...],
    ) -> None:
        """`delivered` are paths of delivery logs, which are read at once."""
        self._engine, self._stores, self._trace_topic = engine, stores, trace_topic
        logs = (pa.Table.from_batches(read_log(path), EVIDENCE_SCHEMA) for path in delivered)
        self._given = pa.concat_tables([EVIDENCE_SCHEMA.empty_table(), *logs])
        self.fully_logged_groups = frozenset(self._given["group"].to_pylist())
        """The groups of which a log of all deliveries is given."""

    @property
    def named(self) -> pa.Table:
        """What the logs name: group and key of each message; a group that got nothing is not in it."""
        return self._given.filter(pc.not_equal(self._given["key"], "")).select(["group", "key"])

    @cached_property
    def best(self) -> Rows:
        """What is known of deliveries: one row a group and message, with the best that is known of it as `rank`."""
        engine = self._engine
        evidence = [engine.given(self._given)] if self._given.num_rows else []
        for store in self._stores:
            if not store.topics and (evidence or store is not self._stores[-1]):
                continue
            of_pop = store.of_pop()
            topics = tuple(topic for topic in store.topics if topic not in of_pop)
            ranges = store.ranges if topics else []
            work = partial(read_evidence, topics=topics, trace_topic=self._trace_topic, retried=store.retried)
            evidence.append(engine.read(ranges, work, EVIDENCE_SCHEMA))
        union = " UNION ALL ".join(f"SELECT * FROM {{evidence_{number}}}" for number in range(len(evidence)))  # noqa: S608
        return engine.kept(
            engine.query(
                _BEST.format(union=union), **{f"evidence_{number}": rows for number, rows in enumerate(evidence)}
            )
        )

    @cached_property
    def clients(self) -> dict[str, tuple[str, ...]]:
        """The groups with evidence, and the clients that wrote a trace; none where a log names all deliveries."""
        if not self._given.num_rows and not any(store.topics for store in self._stores):
            return {}
        by_group: dict[str, set[str]] = {}
        for row in self._engine.table(self._engine.query(_CLIENTS, best=self.best)).to_pylist():
            by_group.setdefault(row["group"], set()).update({row["client"]} - {None})
        # A log that is given tells of all members; of a trace one knows only whose it is.
        return {
            group: () if group in self.fully_logged_groups else tuple(sorted(clients))
            for group, clients in by_group.items()
        }

    def coverage_of(self, group: str) -> int:
        """Whether the evidence names every delivery in a group, as an `Answer`."""
        if group in self.fully_logged_groups:
            return Answer.YES
        # Records that were sent back are of failures alone; nothing tells of what went well.
        return Answer.MAYBE if self.clients[group] else Answer.NO

    def close(self) -> None:
        """Let go of what is kept."""
        if "best" in self.__dict__:
            self._engine.release(self.__dict__.pop("best"))


_BEST: Final = """
SELECT e.group, e.key, max(e.rank) AS rank, max(e.client) AS client
FROM ({union}) e GROUP BY e.group, e.key"""
_CLIENTS: Final = "SELECT DISTINCT b.group, b.client FROM {best} b"


def with_evidence(engine: Engine, rows: Rows, evidence: Rows) -> Rows:
    """Decide what the evidence (`EVIDENCE_SCHEMA`, one row a group and key) says about the details of a scan.

    A delivery log may name messages by their offsetMsgId although they have a UNIQ_KEY. Where it is not known who owned
    a queue, one in which no traced client got anything is not covered: queues change hands, and not every client writes
    a trace. What should have been delivered in a covered queue, and is not named, is likely lost, and not certainly.
    """
    decided = {
        "fate": f"CASE WHEN d.contrary THEN '{Fate.PASSED}' WHEN d.rank = {CONSUMED} THEN '{Fate.DELIVERED}'"
        f" WHEN d.rank = {DEAD} THEN '{Fate.DEAD_LETTER}' WHEN d.rank = {FAILED} THEN '{Fate.RETRYING}'"
        # The listener got it; how that went nobody wrote down, but the group went on.
        f" WHEN d.rank = {BEGUN} AND d.fate IN ('{Fate.WAITING}', '{Fate.NO_OWNER}') THEN '{Fate.RETRYING}'"
        f" WHEN d.rank = {BEGUN} THEN '{Fate.DELIVERED}' ELSE d.fate END",
        "certainty": f"CASE WHEN d.contrary THEN '{CERTAINTIES[CertaintyCode.UNKNOWN]}'"
        f" WHEN d.rank IN ({CONSUMED}, {DEAD}, {FAILED}) THEN '{CERTAINTIES[CertaintyCode.PROVED]}'"
        f" WHEN d.rank = {BEGUN} THEN '{CERTAINTIES[CertaintyCode.IMPLIED]}' ELSE d.certainty END",
        "reason": f"CASE WHEN d.contrary THEN '{WHY[UnknownReason.NO_EVIDENCE]}' WHEN d.rank > 0 THEN NULL"
        " ELSE d.reason END",
    }
    details = engine.query(_KNOWN, rows=rows, evidence=evidence)
    return audit_scan.with_decided(engine, rows, details, decided)


_KNOWN: Final = f"""
WITH named AS (
  SELECT d.*, greatest(k.rank, p.rank) AS rank FROM {{rows}} d
  LEFT JOIN {{evidence}} k ON d.group = k.group AND d.key = k.key
  LEFT JOIN {{evidence}} p ON d.group = p.group AND d.offsetMsgId = p.key
  WHERE d.kind = '{audit_scan.DETAIL}'
), covered AS (
  SELECT DISTINCT n.group, n.topic, n.queueId FROM named n WHERE n.rank IN ({BEGUN}, {CONSUMED})
)
SELECT n.*, n.covered = '{ASKED_WORDS[Answer.MAYBE]}' AND n.rank IS NULL AND c.queueId IS NOT NULL
  AND n.fate = '{Fate.DELIVERED}' AS contrary
FROM named n LEFT JOIN covered c ON n.group = c.group AND n.topic = c.topic AND n.queueId = c.queueId"""  # noqa: S608
