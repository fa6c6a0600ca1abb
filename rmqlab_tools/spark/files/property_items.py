"""The properties of a record, in compiled loops: `name U+0001 value` and so on, with U+0002 between them.

Where `wide` is true, `REACH` bytes after the text may be read too.
"""

from __future__ import annotations

from typing import Any

from rmqlab_tools.spark.files.wide_bytes import (
    REACH,
    byte_at,
    compiled,
    first_mark,
    int64,
    is_same,
    marks,
    uint64,
    word_at,
)


@compiled
def item_end(data: Any, at: int, end: int, wide: bool) -> Any:
    """Where the item at `at` ends."""
    if wide:
        while at < end:
            step = first_mark(marks(data, at, 2))
            if step < REACH:
                return min(at + step, end)
            at += REACH
        return end
    place, stop = uint64(at), uint64(end)
    while place < stop and byte_at(data, place) != 2:
        place += uint64(1)
    return int64(place)


@compiled
def read_item(data: Any, at: int, end: int, wide: bool) -> Any:
    """Where the item at `at` ends, where its name ends, and where its value ends; name end -1: no property.

    As Java's split at U+0001 sees it: exactly two parts, after empty ones at the end are taken off.
    """
    if wide:
        length = min(first_mark(marks(data, at, 2)), end - at)
        if length < REACH:
            ones = marks(data, at, 1) & ((uint64(1) << uint64(length)) - uint64(1))
            if ones == 0:
                return at + length, int64(-1), at + length
            if ones & (ones - uint64(1)) == 0:
                name = at + first_mark(ones)
                return at + length, name if name + 1 < at + length else int64(-1), at + length
    name_end, value_end, place = int64(-1), int64(-1), int64(at)
    good = True
    while place < end and byte_at(data, place) != 2:
        if byte_at(data, place) == 1:
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
        name_end = int64(-1)
    return place, name_end, value_end


@compiled
def comes_again(data: Any, at: int, length: int, place: int, end: int) -> bool:
    """Whether a later item from `place` on has the name at `at`: of two the later one counts."""
    while place < end:
        stop, name_end, _ = read_item(data, place, end, False)
        if name_end >= 0 and is_same(data, at, length, data, place, name_end):
            return True
        place = stop + 1
    return False


@compiled
def came_before(data: Any, at: int, length: int, items: Any, item_ends: Any, first: int, count: int) -> bool:
    """Whether one of the names `first` ... `count` - 1 that were copied is the one at `at`."""
    for index in range(first, count):
        begin = item_ends[0, index]
        if item_ends[0, index + 1] - begin == length and is_same(data, at, length, items, begin, begin + length):
            return True
    return False


@compiled
def wanted_row(data: Any, at: int, end: int, names: Any, name_ends: Any, heads: Any, wide: bool) -> int:
    """Which of the wanted properties begins at `at`, -1 for none. The last byte of a name is its separator."""
    begin = 0
    word = word_at(data, at) if wide else uint64(0)
    for index in range(name_ends.shape[0]):
        stop = name_ends[index]
        if wide and word & heads[1, index] != heads[0, index]:
            begin = stop
            continue
        length = stop - begin
        if at + length <= end and ((wide and length <= 8) or is_same(data, at, length, names, begin, stop)):
            return index
        begin = stop
    return -1


@compiled
def last_item(data: Any, at: int, end: int, head: Any, bits: Any) -> Any:
    """Where the value of the last property of a name begins, and its length; -1 and 0 where there is none.

    `head` is the name and the separator that ends it as a number, from 2 to 7 bytes; `bits` says which of its bits
    count. `REACH` bytes after the text may be read too.
    """
    value_at, length = int64(-1), int64(0)
    first, second = head & uint64(0xFF), (head >> uint64(8)) & uint64(0xFF)
    # the first item has no separator before it
    candidate, place, begins = int64(at), int64(at + 1), uint64(0)
    while True:
        if candidate < end and word_at(data, candidate) & bits == head:
            _, name_end, value_end = read_item(data, candidate, end, True)
            if name_end >= 0:
                value_at, length = name_end + 1, value_end - name_end - 1
        while begins == 0 and place < end:
            begins = marks(data, place - 1, 2) & marks(data, place, first) & marks(data, place + 1, second)
            place += REACH
        if begins == 0:
            return value_at, length
        candidate = place - REACH + first_mark(begins)
        begins &= begins - uint64(1)
