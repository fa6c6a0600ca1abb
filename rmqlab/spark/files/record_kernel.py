"""The compiled loop over a commit log file: walk from record to record, check each, copy what is wanted into columns.

One pass does both, since a record that has been walked over is in the cache. Without numba the same function runs as
plain Python: right, and far slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np

from rmqlab.message.record import BLANK_MAGIC_CODE, MESSAGE_MAGIC_CODE

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile `function` with numba where that is installed; the machine code is cached if possible."""
    try:
        import numba
    except ImportError:
        return function
    try:
        return cast("F", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # a module inside a zip has no folder for a cache
        return cast("F", numba.njit(nogil=True)(function))


# How a walk ends.
DONE, FULL, BLANK, EMPTY, BAD, BIG = range(6)
# What is wrong with a record.
MAGIC, SIZE, PLACE, LENGTHS, CUT = range(1, 6)
REASONS: Final = {
    MAGIC: "no record begins here",
    SIZE: "the size is impossible",
    PLACE: "the record names another offset",
    LENGTHS: "the lengths of its parts do not make its size",
    CUT: "the record is cut off",
}

INTS: Final = ("size", "queueId", "flag", "sysFlag", "reconsumeTimes", "bodyCrc", "bodyLength")
LONGS: Final = ("physicalOffset", "queueOffset", "bornTimestamp", "storeTimestamp", "preparedTransactionOffset")
TOPIC, TEXT, MESSAGE_ID, BORN, STORE, FIRST_PROPERTY = range(6)
"""Rows of the text buffers; wanted properties follow."""
WANT_TEXT, WANT_ID, WANT_HOSTS, WANT_MAP, WANT_BODY, WANT_CRC, WANT_PROPERTIES, WANT_REST = (
    1 << bit for bit in range(8)
)

_MAGIC: Final = MESSAGE_MAGIC_CODE
_BLANK: Final = BLANK_MAGIC_CODE
LEAST: Final = 91
"""Bytes of the smallest record."""
ROOM: Final = 1 << 16
"""Bytes that one record may add to a text buffer, and more."""


def _crc_tables() -> np.ndarray[Any, np.dtype[np.uint32]]:
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        tables[0, byte] = value
    for number in range(1, 8):
        tables[number] = tables[0][tables[number - 1] & 0xFF] ^ (tables[number - 1] >> np.uint32(8))
    return tables


CRC_TABLES: Final = _crc_tables()


int64: Any = np.int64  # numba types calls of these two, mypy need not
uint64: Any = np.uint64  # an index of this type is not looked at for being negative


@compiled
def _int(data: Any, at: int) -> Any:
    place = uint64(at)
    return np.int32(
        (np.uint32(data[place]) << np.uint32(24))
        | (np.uint32(data[place + uint64(1)]) << np.uint32(16))
        | (np.uint32(data[place + uint64(2)]) << np.uint32(8))
        | np.uint32(data[place + uint64(3)])
    )


@compiled
def _long(data: Any, at: int) -> Any:
    return (int64(_int(data, at)) << int64(32)) | (int64(_int(data, at + 4)) & int64(0xFFFFFFFF))


@compiled
def _check(data: Any, at: int, end: int, base: int) -> Any:
    """Return 0 for a record that is whole and in its place, else what is wrong."""
    if _int(data, at + 4) != _MAGIC:
        return MAGIC
    size = int64(_int(data, at))
    if size < LEAST:
        return SIZE
    if at + size > end:
        return CUT
    if _long(data, at + 28) != base + at:
        return PLACE
    flags = _int(data, at + 36)
    hosts = (12 if flags & 16 else 0) + (12 if flags & 32 else 0)
    if size < LEAST + hosts:
        return LENGTHS
    body = int64(_int(data, at + 84 + hosts))
    if body < 0 or body > size - LEAST - hosts:
        return LENGTHS
    topic_at = at + 88 + hosts + body
    topic = int64(data[topic_at])
    if topic > 127 or LEAST + hosts + body + topic > size:
        return LENGTHS
    properties = (int64(data[topic_at + 1 + topic]) << 8) | int64(data[topic_at + 2 + topic])
    if properties > 32767 or LEAST + hosts + body + topic + properties != size:
        return LENGTHS
    return 0


@compiled
def _crc(data: Any, at: int, length: int, tables: Any) -> Any:
    value = np.uint32(0xFFFFFFFF)
    place, end = uint64(at), uint64(at + length)
    while place + uint64(8) <= end:
        value ^= (
            np.uint32(data[place])
            | (np.uint32(data[place + uint64(1)]) << np.uint32(8))
            | (np.uint32(data[place + uint64(2)]) << np.uint32(16))
            | (np.uint32(data[place + uint64(3)]) << np.uint32(24))
        )
        value = (
            tables[7, value & np.uint32(0xFF)]
            ^ tables[6, (value >> np.uint32(8)) & np.uint32(0xFF)]
            ^ tables[5, (value >> np.uint32(16)) & np.uint32(0xFF)]
            ^ tables[4, value >> np.uint32(24)]
            ^ tables[3, data[place + uint64(4)]]
            ^ tables[2, data[place + uint64(5)]]
            ^ tables[1, data[place + uint64(6)]]
            ^ tables[0, data[place + uint64(7)]]
        )
        place += uint64(8)
    while place < end:
        value = tables[0, (value ^ np.uint32(data[place])) & np.uint32(0xFF)] ^ (value >> np.uint32(8))
        place += uint64(1)
    return np.int32((value ^ np.uint32(0xFFFFFFFF)) & np.uint32(0x7FFFFFFF))


@compiled
def _copy(data: Any, at: int, length: int, into: Any, place: int) -> None:
    source, target = uint64(at), uint64(place)
    for index in range(uint64(max(length, 0))):
        into[target + uint64(index)] = data[source + uint64(index)]


@compiled
def _same(data: Any, at: int, length: int, other: Any, begin: int, end: int) -> bool:
    if end - begin != length:
        return False
    first, second = uint64(at), uint64(begin)
    for index in range(uint64(length)):  # noqa: SIM110 - compiled code has no generators
        if data[first + uint64(index)] != other[second + uint64(index)]:
            return False
    return True


@compiled
def _item_end(data: Any, at: int, end: int) -> Any:
    place, stop = uint64(at), uint64(end)
    while place < stop and data[place] != 2:
        place += uint64(1)
    return int64(place)


@compiled
def _hex(data: Any, at: int, length: int, into: Any, place: int) -> int:
    for index in range(length):
        high, low = data[at + index] >> 4, data[at + index] & 15
        into[place] = high + (48 if high < 10 else 55)
        into[place + 1] = low + (48 if low < 10 else 55)
        place += 2
    return place


@compiled
def _is_mapped(data: Any, at: int) -> bool:
    for index in range(10):
        if data[at + index] != 0:
            return False
    return bool(data[at + 10] == 255 and data[at + 11] == 255)


@compiled
def _item(data: Any, at: int, end: int) -> Any:
    """Return where the item at `at` ends, where its name ends, and where its value ends; name end -1: no property.

    As Java's split at U+0001 sees it: exactly two parts, after empty ones at the end are taken off.
    """
    name_end, value_end, place = -1, -1, at
    good = True
    while place < end and data[place] != 2:
        if data[place] == 1:
            if name_end < 0:
                name_end = place
            elif value_end < 0:
                value_end = place
        elif value_end >= 0:
            good = False
        place += 1
    if value_end < 0:
        value_end = place
    if not good or name_end < 0 or value_end <= name_end + 1:
        name_end = -1
    return place, name_end, value_end


@compiled
def _again(data: Any, at: int, length: int, place: int, end: int) -> bool:
    """Tell whether a later item from `place` on has the name at `at`: of two the later one counts."""
    while place < end:
        stop, name_end, _ = _item(data, place, end)
        if name_end >= 0 and _same(data, at, length, data, place, name_end):
            return True
        place = stop + 1
    return False


@compiled
def walk(
    data: Any, at: int, low: int, high: int, base: int, want: int, names: Any, name_ends: Any, topics: Any,
    topic_ends: Any, body_topics: Any, body_topic_ends: Any, queues: Any, since: int, until: int, ints: Any,
    longs: Any, damaged: Any, texts: Any, ends: Any, found: Any, items: Any, item_ends: Any, list_ends: Any,
    bodies: Any, body_ends: Any, tables: Any,
) -> Any:  # fmt: skip
    """Walk from `at` over records that begin before `high`; columns get those from `low` on that the filters let pass.

    Places are bytes within the file `data`, whose first byte has the commit log offset `base`. Returns the number of
    rows, the place reached, how the walk ended (`DONE` ... `BIG`), and for `BAD` the reason, for `BIG` the body's size.
    """
    rows, room, count = 0, ints.shape[1], 0
    size_of_file = data.shape[0]
    properties_wanted = name_ends.shape[0]
    texts_each = texts.shape[0] // ends.shape[0]
    items_each = items.shape[0] // 2
    # One long buffer holds a stretch for each text column: an array of each would cost a reference count per use.
    used = np.zeros(ends.shape[0], np.int64)
    fullest = 0
    keys_used, values_used, body_used = 0, 0, 0
    parses = want & (WANT_PROPERTIES | WANT_MAP)
    while at < high:
        if rows >= room:
            return rows, at, FULL, 0
        if at + 8 > size_of_file:
            return rows, at, BAD, CUT
        wrong = MAGIC
        if _int(data, at + 4) == _MAGIC:
            wrong = CUT if at + LEAST > size_of_file else _check(data, at, size_of_file, base)
        if wrong != 0:
            magic = _int(data, at + 4)
            if magic == _BLANK:
                return rows, at, BLANK, MAGIC
            if magic == 0 and _int(data, at) == 0:
                return rows, at, EMPTY, MAGIC
            return rows, at, BAD, wrong
        size = int64(_int(data, at))
        if at < low:
            at += size
            continue
        flags = _int(data, at + 36)
        born_more, store_more = 12 if flags & 16 else 0, 12 if flags & 32 else 0
        queue_id = _int(data, at + 12)
        stored = _long(data, at + 56 + born_more)
        body_at = at + 88 + born_more + store_more
        body = int64(_int(data, body_at - 4))
        topic_at = body_at + body + 1
        topic = int64(data[topic_at - 1])
        passes = since <= stored <= until
        if passes and queues.shape[0] > 0:
            passes = False
            for index in range(queues.shape[0]):
                passes = passes or queues[index] == queue_id
        if passes and topic_ends.shape[0] > 0:
            passes, begin = False, 0
            for index in range(topic_ends.shape[0]):
                passes = passes or _same(data, topic_at, topic, topics, begin, topic_ends[index])
                begin = topic_ends[index]
        if not passes:
            at += size
            continue
        kept = body if want & WANT_BODY else 0
        if kept and body_topic_ends.shape[0] > 0:
            begin, keep = 0, False
            for index in range(body_topic_ends.shape[0]):
                keep = keep or _same(data, topic_at, topic, body_topics, begin, body_topic_ends[index])
                begin = body_topic_ends[index]
            if not keep:
                kept = 0
        if body_used + kept > bodies.shape[0]:
            return rows, at, FULL if rows else BIG, kept
        # No text of a record is longer than the record, or an id.
        fullest += size - body + 56
        if fullest > texts_each - ROOM:
            fullest = used.max()
            if fullest > texts_each - ROOM:
                return rows, at, FULL, 0
        if want & WANT_MAP and (
            count + 16384 > item_ends.shape[1] - 2 or max(keys_used, values_used) > items_each - ROOM
        ):
            return rows, at, FULL, 0
        ints[0, rows] = size
        ints[1, rows] = queue_id
        ints[3, rows] = flags
        ints[6, rows] = body
        longs[0, rows] = base + at
        longs[1, rows] = _long(data, at + 20)
        longs[3, rows] = stored
        if want & WANT_REST:
            ints[2, rows] = _int(data, at + 16)
            ints[4, rows] = _int(data, body_at - 16)
            ints[5, rows] = _int(data, at + 8)
            longs[2, rows] = _long(data, at + 40)
            longs[4, rows] = _long(data, body_at - 12)
        damaged[rows] = 0
        if want & WANT_CRC and body and _crc(data, body_at, body, tables) != _int(data, at + 8):
            damaged[rows] = 1
        _copy(data, topic_at, topic, texts, used[TOPIC])
        used[TOPIC] += topic
        ends[TOPIC, rows + 1] = used[TOPIC]
        if want & WANT_BODY:
            _copy(data, body_at, kept, bodies, body_used)
            body_used += kept
            body_ends[rows + 1] = body_used
        store_at = at + 64 + born_more
        if want & WANT_HOSTS:
            # address left-aligned in 16 bytes, then port and length, so that equal hosts are equal bytes
            for number in range(2):
                host = at + 48 if number == 0 else store_at
                length = 4 + (born_more if number == 0 else store_more)
                place = (BORN + number) * texts_each + used[BORN + number]
                for index in range(16):
                    texts[place + index] = data[host + index] if index < length else 0
                _copy(data, host + length, 4, texts, place + 16)
                texts[place + 20] = length
                used[BORN + number] += 21
        if want & WANT_ID:
            begin = MESSAGE_ID * texts_each + used[MESSAGE_ID]
            length = 4 + store_more
            skip = 12 if store_more and _is_mapped(data, store_at) else 0
            place = _hex(data, store_at + skip, length + 4 - skip, texts, begin)
            place = _hex(data, at + 28, 8, texts, place)
            while place < begin + 2 * (length + 12):
                texts[place] = 48
                place += 1
            used[MESSAGE_ID] += place - begin
            ends[MESSAGE_ID, rows + 1] = used[MESSAGE_ID]
        place = topic_at + topic + 2
        end = at + size
        if want & WANT_TEXT:
            _copy(data, place, end - place, texts, TEXT * texts_each + used[TEXT])
            used[TEXT] += end - place
            ends[TEXT, rows + 1] = used[TEXT]
        for index in range(properties_wanted):
            found[index, rows] = 0
        if not parses:
            place = end
        while place < end:
            begin, row = 0, -1
            for index in range(properties_wanted):
                stop = name_ends[index]
                length = stop - begin
                if (
                    place + length < end
                    and data[place] == names[begin]
                    and data[place + length] == 1
                    and _same(data, place, length, names, begin, stop)
                ):
                    row = index
                begin = stop
            if row < 0 and not want & WANT_MAP:
                place = _item_end(data, place, end) + 1
                continue
            stop, name_end, value_end = _item(data, place, end)
            if name_end >= 0 and row >= 0:
                text = FIRST_PROPERTY + row
                # of two with one name the later one counts
                used[text] = ends[text, rows] + value_end - name_end - 1
                _copy(data, name_end + 1, value_end - name_end - 1, texts, text * texts_each + ends[text, rows])
                found[row, rows] = 1
            if want & WANT_MAP and name_end >= 0 and not _again(data, place, name_end - place, stop + 1, end):
                _copy(data, place, name_end - place, items, keys_used)
                keys_used += name_end - place
                _copy(data, name_end + 1, value_end - name_end - 1, items, items_each + values_used)
                values_used += value_end - name_end - 1
                count += 1
                item_ends[0, count] = keys_used
                item_ends[1, count] = values_used
            place = stop + 1
        rows += 1
        for index in range(FIRST_PROPERTY, ends.shape[0]):
            ends[index, rows] = used[index]
        list_ends[rows] = count
        at += size
    return rows, at, DONE, 0
