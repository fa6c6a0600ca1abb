"""What a 5.x broker wrote down of pops: check points and acks in its revive log, and what came again after them.

A check point names what one pop handed out: of queue `q` of topic `t`, to group `c`, at `pt` (epoch ms) for `it` ms,
from offset `so` on, at the distances `d`. It does not name the member. An ack names one offset of one check point,
a batch ack several (5.3.3 `PopCheckPoint`, `AckMsg`, `BatchAckMsg`). Each is a message of the revive topic; until its
time has come it lies in the topic of the timer. Who changes how long a message stays invisible acks it and makes a
check point anew (`ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin`), so that the last pop counts. A message
that was not acked in time is stored again, in the retry topic of its group and topic (`PopReviveService.reviveRetry`).
"""

from __future__ import annotations

from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from rmqlab.broker.pop.pop_check_point import ACK_TAG, CK_TAG, revive_topic
from rmqlab.broker.pop.timer_message_store import TIMER_TOPIC
from rmqlab.files import json_value
from rmqlab.rules_of_pop import retry_topic
from rmqlab_tools.spark.files.commit_log_files import RecordFilter
from rmqlab_tools.spark.files.log_reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rmqlab_tools.spark.audit.subscriptions import Key
    from rmqlab_tools.spark.files.commit_log_files import LogRange

BATCH_ACK_TAG: Final = "bAck"
BITS: Final = 32
"""How many messages of a pop the bits of its check point tell of."""


class PopState(IntEnum):
    """What a store says of a message that a pop may have handed out; of one pop the higher counts."""

    WAITS = 0
    PASSED = 1
    TAKEN = 2
    ACKED = 3


POP_SCHEMA: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("queueId", pa.int32()),
        ("queueOffset", pa.int64()),
        ("popTime", pa.int64()),
        ("start", pa.int64()),
        ("state", pa.int32()),
    ]
)
"""A message of a pop; `start` is where the pop began to read, NULL where only an ack is left of it."""
AGAIN_SCHEMA: Final = pa.schema(
    [
        ("group", pa.string()),
        ("key", pa.string()),
        ("topic", pa.string()),
        ("queueId", pa.int32()),
        ("queueOffset", pa.int64()),
        ("physicalOffset", pa.int64()),
        ("untaken", pa.int32()),
    ]
)
"""A message that came again; `untaken` is its state if no pop handed it out."""
_Row = tuple[str, str, int, int, int, int | None, int]


def revive_topics(names: Iterable[str]) -> tuple[str, ...]:
    """Those of a store's topics that tell of pops; none where no broker of 5.x served a pop.

    >>> revive_topics(["T", "rmq_sys_REVIVE_LOG_C"]), revive_topics(["T", "rmq_sys_wheel_timer"])
    (('rmq_sys_REVIVE_LOG_C', 'rmq_sys_wheel_timer'), ())
    """
    logs = sorted(name for name in names if name.startswith(revive_topic("")))
    return (*logs, TIMER_TOPIC) if logs else ()


def retry_topics_of(group: str, topic: str) -> tuple[str, str]:
    """The names of the topic in which messages of `topic` come again to a group that pops (`KeyBuilder`).

    >>> retry_topics_of("G", "T")
    ('%RETRY%G_T', '%RETRY%G+T')
    """
    return retry_topic(group, topic, False), retry_topic(group, topic, True)


def first_topic(group: str, topic: str) -> str:
    """The topic that a message of a retry topic of POP was sent to, of any other topic the topic itself.

    >>> first_topic("G", "%RETRY%G_T"), first_topic("G", "T")
    ('T', 'T')
    """
    known = (topic.removeprefix(prefix) for prefix in retry_topics_of(group, "") if topic.startswith(prefix))
    return next(known, topic)


def read_pops(parts: Sequence[LogRange], topics: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """What check points and acks in ranges of the commit log say (`POP_SCHEMA`)."""
    reader = LogReader(("tags", "body"), RecordFilter(topics=tuple(topics)), check_crc=False)
    for batch in chain.from_iterable(map(reader.read, parts)):
        rows: list[_Row] = []
        for tag, body in zip(batch["tags"].to_pylist(), batch["body"].to_pylist(), strict=True):
            if tag in {CK_TAG, ACK_TAG, BATCH_ACK_TAG}:
                rows += parse_pop(tag, body or b"")
        if rows:
            columns = zip(zip(*rows, strict=True), POP_SCHEMA, strict=True)
            yield pa.record_batch([pa.array(column, field.type) for column, field in columns], schema=POP_SCHEMA)


def parse_pop(tag: str, body: bytes) -> list[_Row]:
    """The rows of one check point or ack; what is none (a timer's order to forget one) is passed over.

    >>> parse_pop("ck", b'{"bm":1,"c":"G","d":[1,3],"it":60000,"n":2,"pt":7,"q":2,"so":0,"t":"T"}')
    [('G', 'T', 2, 1, 7, 0, 3), ('G', 'T', 2, 3, 7, 0, 2)]
    >>> parse_pop("ack", b'{"ao":3,"c":"G","pt":7,"q":2,"so":0,"t":"T"}'), parse_pop("ck", b"0-17")
    ([('G', 'T', 2, 3, 7, None, 3)], [])
    """
    try:
        record = json_value(body)
        group, topic = str(_field(record, "c", "consumerGroup")), str(_field(record, "t", "topic"))
        queue, pop_time = int(_field(record, "q", "queueId")), int(_field(record, "pt", "popTime"))
        if tag == CK_TAG:
            start = int(_field(record, "so", "startOffset"))
            # an old broker names no distances: then one follows the other
            distances = record.get("d") or range(int(_field(record, "n", "num")))
            acked = int(record.get("bm", 0))
            return [
                (group, topic, queue, start + int(distance), pop_time, start, _state(acked, place))
                for place, distance in enumerate(distances)
            ]
        offsets = record.get("aol") or record.get("ackOffsetList") if tag == BATCH_ACK_TAG else None
        offsets = [_field(record, "ao", "ackOffset")] if offsets is None else offsets
        return [(group, topic, queue, int(offset), pop_time, None, PopState.ACKED.value) for offset in offsets]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _field(record: dict[str, Any], name: str, long_name: str) -> Any:
    return record[name] if name in record else record[long_name]


def _state(acked: int, place: int) -> int:
    return (PopState.ACKED if place < BITS and acked >> place & 1 else PopState.TAKEN).value


def read_again(
    parts: Sequence[LogRange], groups: Mapping[str, str], committed: Mapping[tuple[str, str], Mapping[int, int]]
) -> Iterator[pa.RecordBatch]:
    """What came again in ranges of the commit log (`AGAIN_SCHEMA`).

    `groups` has the group by retry topic, `committed` the next offsets by (group, topic) and queue.
    """
    columns = ("topic", "uniqKey", "offsetMsgId", "queueId", "queueOffset", "physicalOffset")
    reader = LogReader(columns, RecordFilter(topics=tuple(groups)), check_crc=False)
    for batch in chain.from_iterable(map(reader.read, parts)):
        rows = []
        for topic, unique, offset_id, queue, offset, place in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            if topic is not None:
                passed = offset < committed.get((groups[topic], topic), {}).get(queue, 0)
                untaken = PopState.PASSED if passed else PopState.WAITS
                rows.append((groups[topic], unique or offset_id, topic, queue, offset, place, untaken.value))
        if rows:
            arrays = zip(zip(*rows, strict=True), AGAIN_SCHEMA, strict=True)
            yield pa.record_batch([pa.array(column, field.type) for column, field in arrays], schema=AGAIN_SCHEMA)


def retry_groups(keys: Iterable[Key], topics: Iterable[str]) -> dict[str, str]:
    """The group by retry topic, for groups and topics that popped, as far as the store has such topics."""
    known = set(topics)
    named = ((retry, group) for group, topic in keys for retry in retry_topics_of(group, topic))
    return {retry: group for retry, group in named if retry in known}
