"""Evidence of deliveries: the message trace that consumers wrote, records sent back or dead, delivery logs.

A trace record is text: entries end with U+0002, their fields with U+0001 (4.8.0 `TraceDataEncoder`). `SubBefore` says
that a listener is about to get a message, `SubAfter` how that went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from rmqlab.message.topics import DLQ_GROUP_TOPIC_PREFIX, RETRY_GROUP_TOPIC_PREFIX, TRACE_TOPIC
from rmqlab.spark.audit.json_lines import SubscriptionsError, json_lines, reason
from rmqlab.spark.files.record_columns import LogReader, RecordFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rmqlab.spark.files.commit_log_files import LogRange

BEGUN, FAILED, DEAD, CONSUMED = 1, 2, 3, 4
"""What is known of a consumption, the better news the higher."""
SCHEMA: Final = pa.schema(
    [
        ("group", pa.string()),
        ("key", pa.string()),
        ("rank", pa.int32()),
        ("client", pa.string()),
        ("time", pa.int64()),
    ]
)
"""`key` is the message's UNIQ_KEY, or its offsetMsgId if it has none, as clients call it `msgId`."""
_COLUMNS: Final = ("topic", "uniqKey", "offsetMsgId", "body", "storeTimestamp", "queueId", "queueOffset")
_Row = tuple[str, str, int, str | None, int]


def evidence_topics(names: Iterable[str], trace_topic: str = TRACE_TOPIC) -> tuple[str, ...]:
    """Return those of a store's topics that tell about deliveries."""
    prefixes = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX)
    return tuple(sorted(name for name in names if name == trace_topic or name.startswith(prefixes)))


def read_evidence(
    part: LogRange, topics: Sequence[str], trace_topic: str, retried: Mapping[tuple[str, int], int]
) -> Iterator[pa.RecordBatch]:
    """Yield the evidence in one range of the commit log.

    `retried` has the committed offsets of retry topics, by topic and queue. A record that was sent back, and that such
    an offset is past, was consumed again: if that failed, another record behind it says so.
    """
    wanted = RecordFilter(topics=tuple(topics), body_topics=(trace_topic,))
    for batch in LogReader(_COLUMNS, wanted, check_crc=False).read(part):
        rows: list[_Row] = []
        columns = (one.to_pylist() for one in batch.columns)
        for topic, unique, offset_id, body, stored, queue, offset in zip(*columns, strict=True):
            if topic == trace_topic:
                rows += parse_trace(body.decode("utf-8", "replace") if body else "")
            elif topic is not None:
                dead = topic.startswith(DLQ_GROUP_TOPIC_PREFIX)
                prefix = DLQ_GROUP_TOPIC_PREFIX if dead else RETRY_GROUP_TOPIC_PREFIX
                again = offset < retried.get((topic, queue), 0)
                rank = DEAD if dead else BEGUN if again else FAILED
                rows.append((topic.removeprefix(prefix), unique or offset_id, rank, None, stored))
        if rows:
            yield _batch(rows)


def parse_trace(text: str) -> list[_Row]:
    """Return the consumptions in one trace record; what is no such entry is passed over."""
    rows: list[_Row] = []
    groups: dict[str, str] = {}
    for entry in text.split("\x02"):
        fields = entry.split("\x01")
        if fields[0] == "SubBefore" and len(fields) >= 9:
            _, time, _, group, request, key, _, _, client = fields[:9]
            groups[request] = group
            rows.append((group, key, BEGUN, client, _number(time)))
        elif fields[0] == "SubAfter" and len(fields) >= 6:
            group = fields[8] if len(fields) >= 9 else groups.get(fields[1], "")
            time = fields[7] if len(fields) >= 9 else ""
            if group:
                rows.append((group, fields[2], CONSUMED if fields[4] == "true" else FAILED, None, _number(time)))
    return rows


def read_log(path: str | Path) -> Iterator[pa.RecordBatch]:
    """Yield the deliveries of a log: one object a line with `group`, `msgId` or `offsetMsgId`, maybe `client`, `t`.

    Events of a recording are understood too. Raises `SubscriptionsError`.
    """
    rows: list[_Row] = []
    group_of: dict[tuple[str, str], str] = {}
    for place, line in json_lines(path):
        try:
            rows += _of_event(line, group_of) if "ev" in line else [_delivery(line)]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SubscriptionsError(
                f'{place}: {reason(error)}; a delivery would be {{"group": "G", "msgId": "7F00..."}}'
            ) from error
    # A recording tells of every group in it, also of one that got nothing.
    rows += [(group, "", 0, None, 0) for group in sorted(set(group_of.values()))]
    if not rows:
        raise SubscriptionsError(f'{path}: no delivery in it; one would be {{"group": "G", "msgId": "7F00..."}}')
    yield _batch(rows)


def _delivery(line: dict[str, Any]) -> _Row:
    key = line.get("msgId") or line.get("offsetMsgId") or line["msgId"]
    for name, value in (("group", line["group"]), ("msgId", key)):
        if not isinstance(value, str):
            raise TypeError(f"'{name}' is {value!r}, and a text is wanted")
    rank = CONSUMED if line.get("success", True) else FAILED
    return str(line["group"]), str(key), rank, line.get("client"), int(line.get("t", 0))


def _of_event(event: dict[str, Any], group_of: dict[tuple[str, str], str]) -> list[_Row]:
    scenario_id = event["id"]
    if event["ev"] == "scenario":
        for step in event["scenario"]["steps"]:
            if step["do"] == "start":
                group_of[scenario_id, step["who"]] = f"{step.get('group', '')}_{scenario_id}"
    elif event["ev"] == "consume" and (scenario_id, event["who"]) in group_of:
        rank = CONSUMED if event.get("success", True) else FAILED
        return [(group_of[scenario_id, event["who"]], event["msgId"], rank, event["who"], round(event["t"]))]
    return []


def _batch(rows: list[_Row]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(column, one.type) for column, one in zip(zip(*rows, strict=True), SCHEMA, strict=True)], schema=SCHEMA
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
