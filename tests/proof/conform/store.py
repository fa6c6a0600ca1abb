"""Vectors of whole sessions of a store: messages put, commit log files read back, consume queues."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.message.java import NumberFormatError
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import BLANK_MAGIC_CODE, RecordError, read_record
from rmqlab.store.commit_log import mark_v6_addresses
from rmqlab.store.config import CQ_STORE_UNIT_SIZE, MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from tests.proof.clients.batch_send import encode_messages
from tests.proof.conform.vector_messages import body_of, decoded_json, host_of, properties_of
from tests.proof.conform.vectors import BadVector, Kind, take

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rmqlab.store.dispatch_request import DispatchRequest, PutMessageResult
    from rmqlab.store.mapped_file_queue import MappedFile
    from tests.proof.conform.vectors import Vector

_QUEUE = re.compile(r".*-\d+", re.DOTALL)
_BATCH_PATHS = ("batch", "batch_async")
_NOTHING = dict.fromkeys(
    (
        "status",
        "append_status",
        "wroteOffset",
        "wroteBytes",
        "logicsOffset",
        "msgNum",
        "msgId",
        "final_properties_string",
        "record_storeTimestamp",
    )
)


def _run(vector: Vector) -> dict[str, object]:
    entries = take(vector, "cqEntries", int | None)
    config = MessageStoreConfig(
        mapped_file_size_commit_log=take(vector, "mappedFileSize", int),
        mapped_file_size_consume_queue=(200 if entries is None else entries) * CQ_STORE_UNIT_SIZE,
        max_message_size=take(vector, "maxMessageSize", int | None) or 65536,
    )
    store = MessageStore(config)
    store.defers_dispatch = True
    store.commit_log.topic_queue_table |= _initial_queue_offsets(vector)
    messages, recorded = take(vector, "messages", list), take(vector, "puts", list)
    if len(messages) != len(recorded):
        raise BadVector("puts", f"must have one result for each of the {len(messages)} messages")
    puts = [
        _put(store, _dict(message, f"messages[{index}]"), _dict(put, f"puts[{index}]"), index)
        for index, (message, put) in enumerate(zip(messages, recorded, strict=True))
    ]
    store.dispatch()
    files = [file for file in store.commit_log.mapped_file_queue.mapped_files if file.wrote_position]
    batches = [put for put in puts if "batch_body_hex" in put]
    return {
        "puts": puts,
        "commitlog_files": [f"{file.file_from_offset:020d}" for file in files],
        "max_offset": store.max_phy_offset,
        "records": [record for file in files for record in _records(store, file)],
        "consume_queues": _consume_queues(store),
        # a batch takes its store time from the clock of the machine; no other put does
        "clock_independent": all(put["record_storeTimestamp"] is None for put in batches),
    }


def _dict(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BadVector(where, "must be an object")
    return value


def _initial_queue_offsets(vector: Vector) -> dict[str, int]:
    offsets = take(vector, "initialQueueOffsets", dict | None) or {}
    for name, offset in offsets.items():
        if _QUEUE.fullmatch(name) is None or not isinstance(offset, int) or isinstance(offset, bool):
            raise BadVector(f"initialQueueOffsets.{name}", 'must be "topic-queueId": a number')
    return offsets


def _put(
    store: MessageStore, given: Mapping[str, object], recorded: Mapping[str, object], index: int
) -> dict[str, object]:
    where = f"messages[{index}]"
    path = take(given, "path", str, where)
    log = store.commit_log
    singles: dict[str, Callable[[MessageExtBrokerInner, int], PutMessageResult]] = {
        "sync": log.put_message,
        "async": log.put_message,
        "store": store.put_message,
        "store_async": store.async_put_message,
    }
    if path not in singles and path not in _BATCH_PATHS:
        raise BadVector(f"{where}.path", f"must be one of {', '.join((*singles, *_BATCH_PATHS))}")
    now = take(given, "storeTimestamp", int, where)
    answer: dict[str, object] = {"error": None}
    message = _message(given, where)
    if path in {"sync", "batch"}:
        mark_v6_addresses(message)  # as `CommitLog.putMessage` and `putMessages` do themselves
    try:
        if path in singles:
            result = singles[path](message, now)
        else:
            message.body = _batch_body(given, where)
            answer["batch_body_hex"] = message.body.hex()
            now = take(recorded, "record_storeTimestamp", int | None, f"puts[{index}]") or now
            result = log.put_messages(message, now)
    except RecordError as error:
        return {**answer, **_NOTHING, "error": error.java_error}
    except NumberFormatError:
        return {**answer, **_NOTHING, "error": "NumberFormatException"}
    final = message.properties_string if path in singles else None
    return {**answer, **_result(result), "final_properties_string": final}


def _result(result: PutMessageResult) -> dict[str, object]:
    if result.append_status is None:
        return {**_NOTHING, "status": result.status.value}
    written = result.is_ok and result.wrote_bytes > 0
    return {
        "status": result.status.value,
        "append_status": result.append_status.value,
        "wroteOffset": result.wrote_offset,
        "wroteBytes": result.wrote_bytes,
        "logicsOffset": result.logics_offset,
        "msgNum": result.msg_num,
        "msgId": result.msg_id,
        "record_storeTimestamp": result.store_timestamp if written else None,
    }


def _message(given: Mapping[str, object], where: str) -> MessageExtBrokerInner:
    properties = properties_of(given, where)
    if "propertiesString" in given:
        text = take(given, "propertiesString", str | None, where)
    else:
        text = properties_to_string(properties)
    return MessageExtBrokerInner(
        topic=take(given, "topic", str, where),
        body=body_of(given, where),
        flag=take(given, "flag", int, where),
        properties=properties,
        queue_id=take(given, "queueId", int, where),
        sys_flag=take(given, "sysFlag", int, where),
        born_timestamp=take(given, "bornTimestamp", int, where),
        born_host=host_of(given, "bornHost", where),
        store_host=host_of(given, "storeHost", where),
        reconsume_times=take(given, "reconsumeTimes", int, where),
        prepared_transaction_offset=take(given, "preparedTransactionOffset", int, where),
        properties_string=text,
    )


def _batch_body(given: Mapping[str, object], where: str) -> bytes:
    parts = []
    for index, value in enumerate(take(given, "batch", list, where)):
        path = f"{where}.batch[{index}]"
        part = _dict(value, path)
        topic, flag = take(part, "topic", str, path), take(part, "flag", int, path)
        parts.append(Message(topic, body_of(part, path), flag, properties_of(part, path)))
    return encode_messages(parts)


def _records(store: MessageStore, mapped_file: MappedFile) -> Iterator[dict[str, object]]:
    """Read a commit log file back, up to the first bytes that are no record."""
    data, position = mapped_file.select_from(0) or b"", 0
    while position < len(data):
        request = store.commit_log.check_message_and_return_size(data, position, check_crc=True)
        size = int.from_bytes(data[position : position + 4], signed=True)
        magic = int.from_bytes(data[position + 4 : position + 8], signed=True)
        is_blank = magic == BLANK_MAGIC_CODE
        shown = data[position : position + (8 if is_blank else size)]
        record: dict[str, object] = {
            "offset": mapped_file.file_from_offset + position,
            "size": size,
            "magic": magic,
            "kind": "blank" if is_blank else "message",
            "hex": shown.hex(),
            "dispatch": None if is_blank else _dispatch(request),
            "check_size": request.msg_size,
            "check_success": request.success,
        }
        if not is_blank:
            record["decoded"] = _decoded(shown)
        yield record
        if size <= 0:
            return
        position += size


def _dispatch(request: DispatchRequest) -> dict[str, object]:
    return {
        "success": request.success,
        "topic": request.topic,
        "queueId": request.queue_id,
        "commitLogOffset": request.commit_log_offset,
        "msgSize": request.msg_size,
        "tagsCode": request.tags_code,
        "storeTimestamp": request.store_timestamp,
        "consumeQueueOffset": request.consume_queue_offset,
        "keys": request.keys,
        "uniqKey": request.uniq_key,
        "sysFlag": request.sys_flag,
        "preparedTransactionOffset": request.prepared_transaction_offset,
        "propertiesMap": request.properties_map,
    }


def _decoded(record: bytes) -> dict[str, object] | None:
    decoded = read_record(record)
    return decoded_json(decoded.message, has_properties=decoded.has_properties)


def _consume_queues(store: MessageStore) -> dict[str, object]:
    queues: dict[str, object] = {}
    for topic, table in store.consume_queue_table.items():
        for queue_id, queue in table.items():
            files = queue.mapped_file_queue.mapped_files
            data = b"".join(file.select_from(0) or b"" for file in files)
            queues[f"{topic}-{queue_id}"] = {
                "minOffset": queue.min_offset_in_queue,
                "maxOffset": queue.max_offset_in_queue,
                "files": [f"{file.file_from_offset:020d}" for file in files],
                "entries": [data[at : at + CQ_STORE_UNIT_SIZE].hex() for at in range(0, len(data), CQ_STORE_UNIT_SIZE)],
            }
    return queues


STORE = Kind(
    given={
        "mappedFileSize": int,
        "messages": list,
        "puts": list,
        "maxMessageSize": int | None,
        "initialQueueOffsets": dict | None,
        "cqEntries": int | None,
    },
    expected=("puts", "commitlog_files", "max_offset", "records", "consume_queues", "clock_independent"),
    run=_run,
)
