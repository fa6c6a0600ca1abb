"""The compiled loop over a commit log file: walk from record to record, check each, copy what is wanted into columns.

One pass does both, since a record that has been walked over is in the cache.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from rmqlab.message.record import BLANK_MAGIC_CODE, LAYOUTS, MESSAGE_MAGIC_CODE, message_length
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOST_V6_FLAG
from rmqlab_tools.spark.files.property_items import came_before, comes_again, item_end, read_item, wanted_row
from rmqlab_tools.spark.files.wide_bytes import (
    REACH,
    body_crc_of,
    compiled,
    copy_bytes,
    copy_text,
    fetch,
    int64,
    int_at,
    is_same,
    long_at,
)

# How a walk ends.
DONE, FULL, BLANK, EMPTY, BAD_RECORD, BIG = range(6)
# What is wrong with a record.
MAGIC, SIZE, WRONG_PLACE, LENGTHS, CUT = range(1, 6)
REASONS: Final = {
    MAGIC: "no record begins here",
    SIZE: "the size is impossible",
    WRONG_PLACE: "the record names another offset",
    LENGTHS: "the lengths of its parts do not make its size",
    CUT: "the record is cut off",
}

INTS: Final = ("size", "queueId", "flag", "sysFlag", "reconsumeTimes", "bodyCrc", "bodyLength")
LONGS: Final = ("physicalOffset", "queueOffset", "bornTimestamp", "storeTimestamp", "preparedTransactionOffset")
TOPIC_COLUMN, TEXT_COLUMN, BORN, STORE, FIRST_PROPERTY = range(5)
"""Rows of the text buffers; wanted properties follow."""
WANT_TEXT, WANT_HOSTS, WANT_MAP, WANT_BODY, WANT_CRC, WANT_PROPERTIES, WANT_REST, WANT_TOPIC = (
    1 << bit for bit in range(8)
)

MIN_SIZE: Final = message_length(0, 0, 0, 0)
"""Bytes of the smallest record."""
_LAYOUT: Final = LAYOUTS[4, 4]
_BODY_AT: Final = _LAYOUT.size
(
    _, _MAGIC_AT, _CRC_AT, _QUEUE_ID_AT, _FLAG_AT, _QUEUE_OFFSET_AT, _OFFSET_AT, _SYS_FLAG_AT, _BORN_TIME_AT,
    _BORN_AT, _, _STORE_TIME_AT, _STORE_AT, _, _RECONSUME_AT, _PREPARED_AT, _LENGTH_AT,
) = _LAYOUT.offsets.values()  # fmt: skip
"""Where the fields stand if both hosts have 4 bytes; each longer one moves what is behind it."""
_V6_MORE: Final = LAYOUTS[16, 4].size - _BODY_AT
SPARE_TEXT_BYTES: Final = 1 << 16
"""Bytes that one record may add to a text buffer, and more."""


@compiled
def hosts_more(flags: int) -> int:
    """By how many bytes hosts of 16 bytes move what is after them."""
    return (_V6_MORE if flags & BORNHOST_V6_FLAG else 0) + (_V6_MORE if flags & STOREHOST_V6_FLAG else 0)


@compiled
def check(data: Any, at: int, end: int, base: int) -> Any:
    """0 for a record that is whole and in its place, else what is wrong."""
    if int_at(data, at + _MAGIC_AT) != MESSAGE_MAGIC_CODE:
        return MAGIC
    size = int64(int_at(data, at))
    if size < MIN_SIZE:
        return SIZE
    if at + size > end:
        return CUT
    if long_at(data, at + _OFFSET_AT) != base + at:
        return WRONG_PLACE
    flags = int_at(data, at + _SYS_FLAG_AT)
    hosts = hosts_more(flags)
    if size < MIN_SIZE + hosts:
        return LENGTHS
    body = int64(int_at(data, at + _LENGTH_AT + hosts))
    if body < 0 or body > size - MIN_SIZE - hosts:
        return LENGTHS
    topic_at = at + _BODY_AT + hosts + body
    topic = int64(data[topic_at])
    if topic > 127 or MIN_SIZE + hosts + body + topic > size:
        return LENGTHS
    properties = (int64(data[topic_at + 1 + topic]) << 8) | int64(data[topic_at + 2 + topic])
    if properties > 32767 or MIN_SIZE + hosts + body + topic + properties != size:
        return LENGTHS
    return 0


class Wanted(NamedTuple):
    """What is wanted of which records. Texts lie one after the other in an array, with another of their ends.

    `want` has the bits `WANT_*`; `names` are those of properties, `heads` the first 8 bytes of each as a number and
    which of its bits count. No `topics` or `queues`: all. `since` and `until` are store times.
    """

    want: int
    names: Any
    name_ends: Any
    heads: Any
    topics: Any
    topic_ends: Any
    queues: Any
    since: int
    until: int


class Columns(NamedTuple):
    """The arrays that one walk fills: a row of `ints`, `longs` and `ends` is a column.

    `texts` holds a stretch for each text column, `items` one for the names and one for the values of all properties:
    an array of each would cost a reference count per use.
    """

    ints: Any
    longs: Any
    damaged: Any
    texts: Any
    ends: Any
    found: Any
    items: Any
    item_ends: Any
    list_ends: Any
    bodies: Any
    body_ends: Any

    def text(self, row: int) -> Any:
        """The bytes of one text column."""
        return np.split(self.texts, len(self.ends))[row]

    def item(self, side: int) -> Any:
        """The bytes of the names (0) or the values (1) of properties."""
        return np.split(self.items, 2)[side]


@compiled
def fetch_record(data: Any, at: int) -> None:
    """Bring what is read of a record, and the head of the one after it, into the cache while another is decoded."""
    if at + MIN_SIZE + 2 * _V6_MORE > data.shape[0]:
        return
    body_at = at + _BODY_AT + hosts_more(int_at(data, at + _SYS_FLAG_AT))
    topic_at = body_at + int64(int_at(data, body_at - 4))
    for line in range(3):
        fetch(data, topic_at + REACH * line)
    behind = at + int64(int_at(data, at))
    fetch(data, behind)
    fetch(data, behind + REACH)


@compiled
def walk(data: Any, at: int, low: int, high: int, base: int, wanted: Wanted, columns: Columns, tables: Any) -> Any:
    """Walk from `at` over records that begin before `high`; columns get those from `low` on that the filters let pass.

    Places are bytes within the file `data`, whose first byte has the commit log offset `base`. Returns the number of
    rows, the place reached, how the walk ended (`DONE` ... `BIG`), and for `BAD_RECORD` the reason,
    for `BIG` the body's size.
    """
    want, names, name_ends, heads, topics, topic_ends, queues, since, until = wanted
    ints, longs, damaged, texts, ends, present, items, item_ends, list_ends, bodies, body_ends = columns
    rows, room, count = 0, ints.shape[1], 0
    size_of_file = data.shape[0]
    properties_wanted = name_ends.shape[0]
    texts_each = texts.shape[0] // ends.shape[0]
    items_each = items.shape[0] // 2
    used = np.zeros(ends.shape[0], np.int64)
    fullest = 0
    keys_used, values_used, body_used = 0, 0, 0
    parses = want & (WANT_PROPERTIES | WANT_MAP)
    while at < high:
        if rows >= room:
            return rows, at, FULL, 0
        if at + 8 > size_of_file:
            return rows, at, BAD_RECORD, CUT
        wrong = MAGIC
        if int_at(data, at + _MAGIC_AT) == MESSAGE_MAGIC_CODE:
            wrong = CUT if at + MIN_SIZE > size_of_file else check(data, at, size_of_file, base)
        if wrong != 0:
            magic = int_at(data, at + _MAGIC_AT)
            if magic == BLANK_MAGIC_CODE:
                return rows, at, BLANK, MAGIC
            if magic == 0 and int_at(data, at) == 0:
                return rows, at, EMPTY, MAGIC
            return rows, at, BAD_RECORD, wrong
        size = int64(int_at(data, at))
        fetch_record(data, at + size)
        if at < low:
            at += size
            continue
        flags = int_at(data, at + _SYS_FLAG_AT)
        born_more, store_more = (
            _V6_MORE if flags & BORNHOST_V6_FLAG else 0,
            _V6_MORE if flags & STOREHOST_V6_FLAG else 0,
        )
        queue_id = int_at(data, at + _QUEUE_ID_AT)
        stored = long_at(data, at + _STORE_TIME_AT + born_more)
        body_at = at + _BODY_AT + born_more + store_more
        body = int64(int_at(data, body_at - 4))
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
                passes = passes or is_same(data, topic_at, topic, topics, begin, topic_ends[index])
                begin = topic_ends[index]
        if not passes:
            at += size
            continue
        kept = body if want & WANT_BODY else 0
        if body_used + kept > bodies.shape[0]:
            return rows, at, FULL if rows else BIG, kept
        # No text of a record is longer than what is not its body.
        fullest += size - body
        if fullest > texts_each - SPARE_TEXT_BYTES:
            fullest = used.max()
            if fullest > texts_each - SPARE_TEXT_BYTES:
                return rows, at, FULL, 0
        if want & WANT_MAP and (
            count + 16384 > item_ends.shape[1] - 2 or max(keys_used, values_used) > items_each - SPARE_TEXT_BYTES
        ):
            return rows, at, FULL, 0
        ints[0, rows] = size
        ints[1, rows] = queue_id
        ints[3, rows] = flags
        ints[6, rows] = body
        longs[0, rows] = base + at
        longs[1, rows] = long_at(data, at + _QUEUE_OFFSET_AT)
        longs[3, rows] = stored
        if want & WANT_REST:
            ints[2, rows] = int_at(data, at + _FLAG_AT)
            ints[4, rows] = int_at(data, body_at + _RECONSUME_AT - _BODY_AT)
            ints[5, rows] = int_at(data, at + _CRC_AT)
            longs[2, rows] = long_at(data, at + _BORN_TIME_AT)
            longs[4, rows] = long_at(data, body_at + _PREPARED_AT - _BODY_AT)
        damaged[rows] = 0
        if want & WANT_CRC and body and body_crc_of(data, body_at, body, tables) != int_at(data, at + _CRC_AT):
            damaged[rows] = 1
        wide = at + size + REACH <= size_of_file
        if want & WANT_TOPIC:
            copy_text(data, topic_at, topic, texts, used[TOPIC_COLUMN], wide)
            used[TOPIC_COLUMN] += topic
            ends[TOPIC_COLUMN, rows + 1] = used[TOPIC_COLUMN]
        if want & WANT_BODY:
            copy_bytes(data, body_at, kept, bodies, body_used)
            body_used += kept
            body_ends[rows + 1] = body_used
        store_at = at + _STORE_AT + born_more
        if want & WANT_HOSTS:
            # address left-aligned in 16 bytes, then port and length, so that equal hosts are equal bytes
            for number in range(2):
                host = at + _BORN_AT if number == 0 else store_at
                length = 4 + (born_more if number == 0 else store_more)
                place = (BORN + number) * texts_each + used[BORN + number]
                for index in range(16):
                    texts[place + index] = data[host + index] if index < length else 0
                copy_bytes(data, host + length, 4, texts, place + 16)
                texts[place + 20] = length
                used[BORN + number] += 21
        place = topic_at + topic + 2
        end = at + size
        if want & WANT_TEXT:
            copy_text(data, place, end - place, texts, TEXT_COLUMN * texts_each + used[TEXT_COLUMN], wide)
            used[TEXT_COLUMN] += end - place
            ends[TEXT_COLUMN, rows + 1] = used[TEXT_COLUMN]
        for index in range(properties_wanted):
            present[index, rows] = 0
        if not parses:
            place = end
        begin_of_properties, keys_before, values_before, count_before = place, keys_used, values_used, count
        repeats = False
        while place < end:
            row = wanted_row(data, place, end, names, name_ends, heads, wide)
            if row < 0 and not want & WANT_MAP:
                place = item_end(data, place, end, wide) + 1
                continue
            stop, name_end, value_end = read_item(data, place, end, wide)
            value = value_end - name_end - 1
            if name_end >= 0 and row >= 0:
                text = FIRST_PROPERTY + row
                # of two with one name the later one counts
                used[text] = ends[text, rows] + value
                copy_text(data, name_end + 1, value, texts, text * texts_each + ends[text, rows], wide)
                present[row, rows] = 1
            if want & WANT_MAP and name_end >= 0:
                length = name_end - place
                if not repeats and came_before(data, place, length, items, item_ends, count_before, count):
                    # once more, and slowly: of two with one name the later one stays, in its place
                    repeats = True
                    place, keys_used, values_used, count = (
                        begin_of_properties, keys_before, values_before, count_before,
                    )  # fmt: skip
                    continue
                if not repeats or not comes_again(data, place, length, stop + 1, end):
                    copy_text(data, place, length, items, keys_used, wide)
                    keys_used += length
                    copy_text(data, name_end + 1, value, items, items_each + values_used, wide)
                    values_used += value
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
