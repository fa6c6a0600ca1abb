"""Vectors of records: encoded, decoded, batch bodies, CRCs, compressed bodies, and whole sessions of a store."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from rmqlab.message.batch import decode_messages
from rmqlab.message.message import Message, MessageExt
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import RecordError, body_crc, decode_properties, encode_record, read_record
from rmqlab.message.sysflag import COMPRESSED_FLAG, compress
from tests.proof.clients.batch_send import encode_message, encode_messages
from tests.proof.conform.store import STORE
from tests.proof.conform.vector_messages import body_of, decoded_json, host_of, properties_of
from tests.proof.conform.vectors import BadVector, Kind, from_hex, take

if TYPE_CHECKING:
    from tests.proof.conform.vectors import Vector

_NOTHING = dict.fromkeys(("hex", "decoded", "position_after", "decodeProperties", "decodeProperties_error"))


def _message(vector: Vector) -> MessageExt:
    given, where = take(vector, "message", dict), "message"
    return MessageExt(
        topic=take(given, "topic", str, where),
        body=body_of(given, where),
        flag=take(given, "flag", int, where),
        properties=properties_of(given, where),
        queue_id=take(given, "queueId", int, where),
        store_size=take(given, "storeSize", int, where) if "storeSize" in given else 0,
        queue_offset=take(given, "queueOffset", int, where),
        sys_flag=take(given, "sysFlag", int, where),
        born_timestamp=take(given, "bornTimestamp", int, where),
        born_host=host_of(given, "bornHost", where),
        store_timestamp=take(given, "storeTimestamp", int, where),
        store_host=host_of(given, "storeHost", where),
        commit_log_offset=take(given, "commitLogOffset", int, where),
        body_crc=take(given, "bodyCRC", int, where),
        reconsume_times=take(given, "reconsumeTimes", int, where),
        prepared_transaction_offset=take(given, "preparedTransactionOffset", int, where),
    )


def _read(data: bytes) -> dict[str, object]:
    """Return what a client and `decodeProperties` make of the bytes of a record."""
    message, position, has_properties = read_record(data)
    properties = error = None
    try:
        properties = decode_properties(data)
    except RecordError as failed:
        error = failed.java_error
    return {
        "decoded": decoded_json(message, has_properties=has_properties),
        "position_after": position,
        "decodeProperties": properties,
        "decodeProperties_error": error,
    }


def _encode(vector: Vector) -> dict[str, object]:
    message = _message(vector)
    text = properties_to_string(message.properties)
    answer: dict[str, object] = {
        "crc_from_body": _crc_from_body(message, claimed=take(vector, "crc_from_body", bool)),
        "properties_string": text,
    }
    try:
        record = encode_record(message, need_compress=take(vector, "needCompress", bool))
    except RecordError as error:
        return {**answer, **_NOTHING, "error": error.java_error}
    expected = from_hex(take(vector, "hex", str | None) or "", "hex")
    if vector["needCompress"] and message.sys_flag & COMPRESSED_FLAG and record != expected:
        record = _with_compressed_body_of(expected, message) or record
    return {**answer, "hex": record.hex(), "error": None, **_read(record)}


def _crc_from_body(message: MessageExt, *, claimed: bool) -> bool:
    """Tell whether the CRC is the body's; for no body and a CRC of 0 there is nothing to tell it by."""
    if not message.body and message.body_crc == 0:
        return claimed
    return message.body_crc == body_crc(message.body)


def _with_compressed_body_of(expected: bytes, message: MessageExt) -> bytes | None:
    """Encode `message` with the compressed body of the recorded record, if that restores our body.

    Which bytes zlib makes depends on its build; everything around them does not.
    """
    recorded = read_record(expected, decompress_body=False).message
    if recorded is None or recorded.body is None or _restored(recorded.body) != message.body:
        return None
    body, message.body = message.body, recorded.body
    try:
        return encode_record(message)
    finally:
        message.body = body


def _restored(data: bytes) -> bytes | None:
    """Return the body in `data`; None unless it is one whole stream and nothing else."""
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(data)
    except zlib.error:
        return None
    return body if stream.eof and not stream.unused_data else None


def _decodes(vector: Vector) -> dict[str, object]:
    data, position, decoded = from_hex(take(vector, "hex", str), "hex"), 0, []
    while position < len(data):
        message, position, has_properties = read_record(data, position)
        if message is None:
            break
        decoded.append(decoded_json(message, has_properties=has_properties))
    return {"decoded": decoded}


def _batch_body(vector: Vector) -> dict[str, object]:
    messages = []
    for index, given in enumerate(take(vector, "messages", list)):
        where = f"messages[{index}]"
        if not isinstance(given, dict):
            raise BadVector(where, "must be a message")
        topic, flag = take(given, "topic", str, where), take(given, "flag", int, where)
        messages.append(Message(topic, body_of(given, where), flag, properties_of(given, where)))
    body = encode_messages(messages)
    try:
        decoded = [_decoded_part(message) for message in decode_messages(body)]
        error = None
    except RecordError as failed:
        decoded, error = [], failed.java_error
    return {
        "each_hex": [encode_message(message).hex() for message in messages],
        "hex": body.hex(),
        "decoded": decoded,
        "decode_error": error,
    }


def _decoded_part(message: Message) -> dict[str, object]:
    body = None if message.body is None else message.body.hex()
    return {"flag": message.flag, "body_hex": body, "properties": message.properties}


def _compress(vector: Vector) -> dict[str, object]:
    body = from_hex(take(vector, "body_hex", str), "body_hex")
    recorded = from_hex(take(vector, "compressed_hex", str), "compressed_hex")
    ours = compress(body, take(vector, "level", int))
    restored = _restored(recorded) == body
    return {
        "compressed_hex": recorded.hex() if restored else ours.hex(),
        "restored": restored and _restored(ours) == body,
    }


KINDS = {
    "encode": Kind(
        given={"message": dict, "needCompress": bool},
        expected=(
            "crc_from_body",
            "properties_string",
            "hex",
            "error",
            "decoded",
            "position_after",
            "decodeProperties",
            "decodeProperties_error",
        ),
        run=_encode,
    ),
    "decode": Kind(
        given={"hex": str},
        expected=("decoded", "position_after", "decodeProperties", "decodeProperties_error"),
        run=lambda vector: _read(from_hex(take(vector, "hex", str), "hex")),
    ),
    "decodes": Kind(given={"hex": str}, expected=("decoded",), run=_decodes),
    "batch_body": Kind(
        given={"messages": list}, expected=("each_hex", "hex", "decoded", "decode_error"), run=_batch_body
    ),
    "crc": Kind(
        given={"body_hex": str | None},
        expected=("crc",),
        run=lambda vector: {"crc": body_crc(body_of(vector, ""))},
    ),
    "compress": Kind(given={"level": int, "body_hex": str}, expected=("compressed_hex", "restored"), run=_compress),
    "store": STORE,
}
