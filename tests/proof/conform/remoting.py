"""Vectors of frames: commands encoded and decoded in both serialisations, heartbeats, headers read from their texts."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from rmqlab.message.java import from_utf8, hash_map_order, string_hash, to_utf8
from rmqlab.protocol import consumer_headers, namesrv, producer_headers
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.header import CommandHeader, FrameError, RemotingCommandException, header_from_ext_fields
from rmqlab.protocol.heartbeat import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
)
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab_tools.live.extra import admin_headers
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame
from rmqlab_tools.live.wire.json_header import write
from tests.proof.conform.vectors import BadVector, Kind, from_hex, take

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import Enum

    from tests.proof.conform.vectors import Vector

HEADERS: Final[dict[str, type[CommandHeader]]] = {
    name: member
    for module in (consumer_headers, producer_headers, namesrv, admin_headers)
    for name, member in vars(module).items()
    if isinstance(member, type) and issubclass(member, CommandHeader) and member is not CommandHeader
}
"""All headers by their Java name."""
_DECODED = (
    "code",
    "language",
    "version",
    "opaque",
    "opaque_from_local_counter",
    "flag",
    "remark",
    "extFields",
    "body_hex",
    "serialize",
    "isResponse",
    "isOneway",
)


def _encode(vector: Vector) -> dict[str, object]:
    fields_in = take(vector, "extFields_in", list | None)
    body = take(vector, "body_hex", str | None)
    command = RemotingCommand(
        code=take(vector, "code", int),
        language=take(vector, "language", str | None),
        version=take(vector, "version", int),
        opaque=take(vector, "opaque", int),
        flag=take(vector, "flag", int),
        remark=take(vector, "remark", str | None),
        ext_fields=None if fields_in is None else dict(fields_in),
        header=_header(vector),
        content=None if body is None else from_hex(body, "body_hex"),
        serialize_type=_serialize_type(vector),
    )
    answer: dict[str, object] = dict.fromkeys(("error", "frame_hex", "header_length", "header_json", "decoded"))
    fields = command.all_ext_fields()
    answer["extFields"] = fields and dict(fields)
    answer["ext_order"] = None if fields is None else hash_map_order(fields)
    try:
        frame = encode_frame(command)
    except FrameError as error:
        return {**answer, "error": error.java_error}
    answer["frame_hex"] = frame.hex()
    answer["header_length"] = int.from_bytes(frame[5:8], "big")
    if command.serialize_type == SerializeType.JSON:
        answer["header_json"] = write(command).decode()
    answer["decoded"] = _decoded(frame[4:])
    return answer


def _header(vector: Vector) -> CommandHeader | None:
    name = take(vector, "header_class", str | None)
    if name is None:
        return None
    cls = _header_class(name)
    attributes = dict(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))
    header = cls()
    for field, value in take(vector, "header_fields", dict).items():
        if field not in attributes:
            raise BadVector(f"header_fields.{field}", f"is no field of {name}; those are {', '.join(attributes)}")
        setattr(header, attributes[field], value)
    return header


def _header_class(name: str) -> type[CommandHeader]:
    if name not in HEADERS:
        raise BadVector("header_class", f"{name!r} is not known; known are {', '.join(sorted(HEADERS))}")
    return HEADERS[name]


def _serialize_type(vector: Vector) -> SerializeType:
    name = take(vector, "serialize", str)
    if name not in SerializeType.__members__:
        raise BadVector("serialize", f"must be one of {', '.join(SerializeType.__members__)}, not {name!r}")
    return SerializeType[name]


def _decoded(payload: bytes) -> dict[str, object]:
    local_counter = count()
    answer: dict[str, object] = {"error": None, "is_null": False}
    try:
        command = decode_frame(payload, lambda: next(local_counter))
    except FrameError as error:
        return {"error": error.java_error, "is_null": False}
    counted = next(local_counter) > 0
    fields = command.ext_fields
    return answer | {
        "code": command.code,
        "language": command.language,
        "version": command.version,
        "opaque": None if counted else command.opaque,
        "opaque_from_local_counter": counted,
        "flag": command.flag,
        "remark": command.remark,
        "extFields": None if fields is None else dict(fields),
        "body_hex": None if command.body is None else command.body.hex(),
        "serialize": command.serialize_type.name,
        "isResponse": command.is_response,
        "isOneway": command.is_oneway,
    }


def _decode(vector: Vector) -> dict[str, object]:
    payload = from_hex(take(vector, "payload_hex", str), "payload_hex")
    answer = {**dict.fromkeys(_DECODED), **_decoded(payload)}
    text = take(vector, "header_text", str | None)
    if text is not None or answer["serialize"] == "JSON":
        text = _header_text(text, payload)
    return {**answer, "header_text": text}


def _header_text(text: str | None, payload: bytes) -> str:
    """Return the text of the header in `payload`; the recorder's `text` may be longer than the length field says."""
    length, header = int.from_bytes(payload[1:4]), payload[4:]
    if text is not None and header.startswith(to_utf8(text)) and len(to_utf8(text)) >= min(length, len(header)):
        return text
    return from_utf8(header[:length])


def _heartbeat(vector: Vector) -> dict[str, object]:
    heartbeat = HeartbeatData(
        client_id=take(vector, "clientID", str | None),
        producer_data_set=[ProducerData(group_name=group) for group in take(vector, "producers", list)],
        consumer_data_set=[_consumer(consumer) for consumer in take(vector, "consumers", list)],
    )
    decoded = HeartbeatData.decode(from_hex(take(vector, "body_hex", str), "body_hex"))
    body = heartbeat.encode()
    return {
        "body_hex": body.hex(),
        "body_json": body.decode(),
        "decoded_clientID": decoded.client_id,
        "decoded_producers": len(decoded.producer_data_set),
        "decoded_consumers": len(decoded.consumer_data_set),
    }


def _consumer(fields: Mapping[str, Any]) -> ConsumerData:
    return ConsumerData(
        group_name=take(fields, "groupName", str | None, "consumers"),
        consume_type=_member(ConsumeType, take(fields, "consumeType", str | None, "consumers")),
        message_model=_member(MessageModel, take(fields, "messageModel", str | None, "consumers")),
        consume_from_where=_member(ConsumeFromWhere, take(fields, "consumeFromWhere", str | None, "consumers")),
        subscription_data_set=[_subscription(item) for item in take(fields, "subscriptions", list, "consumers")],
        unit_mode=take(fields, "unitMode", bool, "consumers"),
    )


def _member(cls: type[Enum], name: str | None) -> Any:
    if name is not None and name not in cls.__members__:
        raise BadVector("consumers", f"{name!r} is none of {', '.join(cls.__members__)}")
    return None if name is None else cls[name]


def _subscription(fields: Mapping[str, Any]) -> SubscriptionData:
    tags = take(fields, "tagsSet", list, "consumers")
    return SubscriptionData(
        topic=take(fields, "topic", str | None, "consumers"),
        sub_string=take(fields, "subString", str | None, "consumers"),
        class_filter_mode=take(fields, "classFilterMode", bool, "consumers"),
        tags_set=set(tags),
        code_set={string_hash(tag) for tag in tags},
        sub_version=take(fields, "subVersion", int, "consumers"),
        expression_type=take(fields, "expressionType", str | None, "consumers"),
    )


def _body(value: object) -> object:
    """Return a heartbeat's parsed JSON with its lists sorted: all of them are sets."""
    text = bytes.fromhex(value) if isinstance(value, str) and not value.startswith("{") else value
    return _sorted(json.loads(text)) if isinstance(text, str | bytes) else value


def _sorted(value: object) -> object:
    if isinstance(value, list):
        return sorted((_sorted(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return {name: _sorted(item) for name, item in value.items()} if isinstance(value, dict) else value


def _header_decode(vector: Vector) -> dict[str, object]:
    cls = _header_class(take(vector, "header_class", str))
    try:
        header = header_from_ext_fields(cls, take(vector, "extFields", dict | None))
    except RemotingCommandException as error:
        return {"fields": None, "error": error.java_error, "message": str(error)}
    names = zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True)
    return {"fields": {wire: getattr(header, name) for wire, name in names}, "error": None, "message": None}


KINDS = {
    "encode": Kind(
        given={
            "code": int,
            "header_class": str | None,
            "header_fields": dict | None,
            "language": str | None,
            "version": int,
            "opaque": int,
            "flag": int,
            "remark": str | None,
            "extFields_in": list | None,
            "body_hex": str | None,
            "serialize": str,
        },
        expected=("error", "extFields", "ext_order", "frame_hex", "header_length", "header_json", "decoded"),
        run=_encode,
    ),
    "decode": Kind(
        given={"payload_hex": str, "header_text": str | None},
        expected=("header_text", "error", "is_null", *_DECODED),
        run=_decode,
    ),
    "heartbeat": Kind(
        given={"clientID": str | None, "producers": list, "consumers": list, "body_hex": str},
        expected=("body_hex", "body_json", "decoded_clientID", "decoded_producers", "decoded_consumers"),
        run=_heartbeat,
        reduce={"body_hex": _body, "body_json": _body},
    ),
    "header_decode": Kind(
        given={"header_class": str, "extFields": dict | None},
        expected=("fields", "error", "message"),
        run=_header_decode,
    ),
}
