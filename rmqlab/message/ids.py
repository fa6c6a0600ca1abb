"""The two ids of a message: where it lies (offsetMsgId, made by the broker) and who sent it (UNIQ_KEY, by the client).

offsetMsgId: address of the store (4 or 16 bytes), port (4), commit log offset (8), in upper-case hex.
UNIQ_KEY: address of the client, process id (2), class loader hash (4), ms since the month began (4), counter (2).
Rows S-21 and S-22; `MessageDecoder`, `MessageClientIDSetter`, `UtilAll`.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.message.java import utf16_units
from rmqlab.message.message import Host, HostError
from rmqlab.message.properties import PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX

if TYPE_CHECKING:
    from rmqlab.message.message import Message

_V6_BYTES = 28
_DIGITS = {ord(digit): value for value, digit in enumerate("0123456789ABCDEF")}


class MessageIdError(BadInput, ValueError):
    """Text that is no message id. `java_error` is the simple name of what Java throws there."""

    def __init__(self, java_error: str, problem: str) -> None:
        super().__init__(problem)
        self.java_error = java_error


class MessageId(NamedTuple):
    """What an offsetMsgId says: the address of the store and the commit log offset in bytes."""

    host: Host
    offset: int


def bytes_to_string(data: bytes) -> str:
    """`data` as upper-case hex."""
    return data.hex().upper()


def string_to_bytes(text: str | None) -> bytes | None:
    """The bytes of hex `text`; None for None and "".

    As `UtilAll.string2bytes`: an odd digit at the end is dropped; what is no digit counts as -1, so it makes the
    upper half F, and in the lower half the whole byte FF.
    """
    if not text:
        return None
    digits = [_DIGITS.get(unit, -1) for unit in utf16_units(text.upper())]
    return bytes((high << 4 | low) & 0xFF for high, low in zip(digits[::2], digits[1::2], strict=False))


def create_message_id(host: Host, offset: int) -> str:
    """The offsetMsgId of the record at commit log `offset` (bytes) on the store `host`."""
    return bytes_to_string(host.address + struct.pack(">iq", host.port, offset))


def decode_message_id(text: str) -> MessageId:
    """What the offsetMsgId `text` says.

    32 characters are read as IPv4, all other lengths as IPv6; characters after the 56th are not looked at.

    Raises:
        MessageIdError: where Java throws.
    """
    units = "".join(map(chr, utf16_units(text)))
    address_end = 8 if len(units) == 32 else 32
    if len(units) < address_end + 8:
        raise _too_short(text)
    address = _hex(units[:address_end])
    port = struct.unpack(">i", _hex(units[address_end : address_end + 8])[:4])[0]
    try:
        host = Host.of_address(address, port)
    except HostError as error:
        java_error = "IllegalArgumentException" if len(address) in {4, 16} else "UnknownHostException"
        raise MessageIdError(java_error, f"message id {text!r}: {error}") from error
    if len(units) < address_end + 24:
        raise _too_short(text)
    offset = struct.unpack(">q", _hex(units[address_end + 8 : address_end + 24])[:8])[0]
    return MessageId(host, offset)


def _hex(text: str) -> bytes:
    return string_to_bytes(text) or b""


def _too_short(text: str) -> MessageIdError:
    problem = f"message id {text!r}: 32 hex digits (IPv4) or 56 (IPv6) are needed, not {len(text)}"
    return MessageIdError("StringIndexOutOfBoundsException", problem)


def month_start(now: int, zone: tzinfo = UTC, months: int = 0) -> int:
    """The first moment (epoch ms) of the month of `now` in `zone`, `months` later (or earlier, if negative)."""
    local = datetime.fromtimestamp(now // 1000, zone)
    year, month = divmod(local.year * 12 + local.month - 1 + months, 12)
    return round(datetime(year, month + 1, 1, tzinfo=zone).timestamp()) * 1000


class UniqueIdMaker:
    """Makes the UNIQ_KEYs of one client process (`MessageClientIDSetter`).

    `ip`: the client's address; `pid` and `class_loader_hash`: the low 16 and 32 bits are used; `zone`: the time zone
    whose months count; `counter`: the number of the first id.
    """

    def __init__(self, ip: str, pid: int, class_loader_hash: int, *, zone: tzinfo = UTC, counter: int = 0) -> None:
        fixed = struct.pack(">HI", pid & 0xFFFF, class_loader_hash & 0xFFFFFFFF)
        self._prefix = bytes_to_string(Host(ip, 0).address + fixed)
        self._zone = zone
        self._counter = counter
        self._start = self._next_start = 0

    def create(self, now: int) -> str:
        """The next id, made at `now` (epoch ms)."""
        if now >= self._next_start:
            self._start, self._next_start = month_start(now, self._zone), month_start(now, self._zone, 1)
        made = struct.pack(">IH", (now - self._start) & 0xFFFFFFFF, self._counter & 0xFFFF)
        self._counter += 1
        return self._prefix + bytes_to_string(made)

    def set_unique_id(self, message: Message, now: int) -> str:
        """Give `message` an id unless it has one, and return the one it has."""
        unique = message.unique_id
        if unique is None:
            unique = message.properties[PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = self.create(now)
        return unique


def time_of(unique_id: str | None, now: int, zone: tzinfo = UTC) -> int:
    """When a UNIQ_KEY was made (epoch ms), as far as is known at `now`: at most a month ago.

    The id counts from the start of a month. It is taken for the month of `now`, unless that lies in the future, then
    for the month before.
    """
    data = unique_id_bytes(unique_id)
    begin = address_size(data) + 6
    if len(data) < begin + 4:
        raise MessageIdError("IndexOutOfBoundsException", f"unique id {unique_id!r}: too short to have a time")
    span = int.from_bytes(data[begin : begin + 4])
    start = month_start(now, zone)
    return (month_start(now, zone, -1) if start + span >= now else start) + span


def unique_id_bytes(unique_id: str | None) -> bytes:
    """The bytes of a UNIQ_KEY, 16 or 28 in a whole one.

    Raises:
        MessageIdError: none.
    """
    data = string_to_bytes(unique_id)
    if data is None:
        raise MessageIdError("NullPointerException", f"unique id {unique_id!r}: hex digits are needed")
    return data


def address_size(data: bytes) -> int:
    """How many bytes of a UNIQ_KEY are the client's address."""
    return 16 if len(data) == _V6_BYTES else 4
