"""Vectors of message ids: offsetMsgId made and read, UNIQ_KEY read, hex read as 4.8.0 reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rmqlab.message.ids import (
    MessageId,
    MessageIdError,
    bytes_to_string,
    create_message_id,
    decode_message_id,
    month_start,
    string_to_bytes,
    time_of,
)
from rmqlab.message.message import Host, HostError
from tests.proof.conform.unique_ids import ip_bytes_of, ip_of, pid_of
from tests.proof.conform.vectors import BadVector, Kind, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.proof.conform.vectors import Vector

Value = TypeVar("Value")


def _tried(call: Callable[[], Value]) -> tuple[Value | None, str | None]:
    """Return (result, None), or (None, what Java throws there)."""
    try:
        return call(), None
    except MessageIdError as error:
        return None, error.java_error


def _create(vector: Vector) -> dict[str, object]:
    ip = take(vector, "ip", str)
    try:
        address = Host(ip, 0).address
    except HostError as error:
        raise BadVector("ip", str(error)) from error
    port, offset = take(vector, "port", int), take(vector, "offset", int)
    try:
        host = Host.of_address(address, port)
    except HostError:  # InetSocketAddress refuses the port
        empty = dict.fromkeys(("msgId", "decoded_offset", "decoded_ip", "decoded_port"))
        return {**empty, "error": "IllegalArgumentException"}
    text = create_message_id(host, offset)
    decoded = decode_message_id(text)
    return {
        "msgId": text,
        "error": None,
        "decoded_offset": decoded.offset,
        "decoded_ip": decoded.host.ip,
        "decoded_port": decoded.host.port,
    }


def _read_id(text: str | None) -> MessageId:
    if text is None:
        raise MessageIdError("NullPointerException", "no id")
    return decode_message_id(text)


def _decode(vector: Vector) -> dict[str, object]:
    decoded, error = _tried(lambda: _read_id(take(vector, "id", str | None)))
    return {
        "error": error,
        "ip": decoded and decoded.host.ip,
        "ip_hex": decoded and decoded.host.address.hex(),
        "port": decoded and decoded.host.port,
        "offset": decoded and decoded.offset,
    }


def _uniq(vector: Vector) -> dict[str, object]:
    text, now = take(vector, "id", str | None), take(vector, "now_ms", int)
    ip, ip_error = _tried(lambda: ip_of(text))
    address, _ = _tried(lambda: ip_bytes_of(text))
    pid, pid_error = _tried(lambda: pid_of(text))
    time, time_error = _tried(lambda: time_of(text, now))
    return {
        "ip": ip,
        "ip_hex": None if address is None else address.hex(),
        "ip_error": ip_error,
        "pid": pid,
        "pid_error": pid_error,
        "month_start_ms": month_start(now),
        "prev_month_start_ms": month_start(now, months=-1),
        "nearly_time_ms": time,
        "time_error": time_error,
    }


def _string_to_bytes(vector: Vector) -> dict[str, object]:
    data = string_to_bytes(take(vector, "id", str | None))
    return {
        "bytes_hex": None if data is None else data.hex(),
        "error": None,
        "bytes2string": None if data is None else bytes_to_string(data),
    }


KINDS = {
    "create": Kind(
        given={"ip": str, "port": int, "offset": int},
        expected=("msgId", "error", "decoded_offset", "decoded_ip", "decoded_port"),
        run=_create,
    ),
    "decode": Kind(given={"id": str | None}, expected=("error", "ip", "ip_hex", "port", "offset"), run=_decode),
    "uniq": Kind(
        given={"id": str | None, "now_ms": int},
        expected=(
            "ip",
            "ip_hex",
            "ip_error",
            "pid",
            "pid_error",
            "month_start_ms",
            "prev_month_start_ms",
            "nearly_time_ms",
            "time_error",
        ),
        run=_uniq,
    ),
    "string2bytes": Kind(
        given={"id": str | None}, expected=("bytes_hex", "error", "bytes2string"), run=_string_to_bytes
    ),
}
