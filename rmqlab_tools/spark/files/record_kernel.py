"""The compiled loop over a commit log file: walk from record to record, check each, copy what is wanted into columns.

One pass does both, since a record that has been walked over is in the cache.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from rmqlab.message.record import BLANK_MAGIC_CODE, LAYOUTS, MESSAGE_MAGIC_CODE, message_length
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOST_V6_FLAG
from rmqlab_tools.spark.files.body_checksums import body_crc_of
from rmqlab_tools.spark.files.property_items import (
    came_before,
    comes_again,
    item_end,
    last_item,
    read_item,
    wanted_row,
)
from rmqlab_tools.spark.files.text_codes import code_of
from rmqlab_tools.spark.files.wide_bytes import (
    REACH,
    address_of,
    byte_at,
    compiled,
    copy_bytes,
    copy_text,
    fetch,
    int64,
    int_at,
    is_same,
    long_at,
    put_byte,
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
(
    WANT_TEXT, WANT_HOSTS, WANT_MAP, WANT_BODY, WANT_CRC, WANT_PROPERTIES, WANT_REST, WANT_TOPIC, WANT_TOPIC_CODE,
) = (1 << bit for bit in range(9))  # fmt: skip
TOPIC_CODE, PROPERTY_CODE = range(2)
"""Rows of the numbers of texts."""

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
    topic = int64(byte_at(data, topic_at))
    if topic > 127 or MIN_SIZE + hosts + body + topic > size:
        return LENGTHS
    properties = (int64(byte_at(data, topic_at + 1 + topic)) << 8) | int64(byte_at(data, topic_at + 2 + topic))
    if properties > 32767 or MIN_SIZE + hosts + body + topic + properties != size:
        return LENGTHS
    return 0


class Wanted(NamedTuple):
    """What is wanted of which records. Texts lie one after the other in an array, with another of their ends.

    `want` has the bits `WANT_*`; `names` are those of properties, `heads` the first 8 bytes of each as a number and
    which of its bits count. Of the property `coded` (-1: none) a text is kept once, and a number of it for each record;
    with `WANT_TOPIC_CODE` of the topic. No `topics` or `queues`: all. `since` and `until` are store times.
    """

    want: int
    names: Any
    name_ends: Any
    heads: Any
    coded: int
    topics: Any
    topic_ends: Any
    queues: Any
    since: int
    until: int


class Columns(NamedTuple):
    """The arrays that one walk fills: a row of `ints`, `longs` and `ends` is a column.

    `texts` holds a stretch for each text column, `items` one for the names and one for the values of all properties:
    an array of each would cost a reference count per use. `codes` has the numbers of texts by `TOPIC_CODE` and
    `PROPERTY_CODE`, `slots` where a text is looked up, and at last how many there are.
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
    codes: Any
    slots: Any

    def text(self, row: int) -> Any:
        """The bytes of one text column."""
        return np.split(self.texts, len(self.ends))[row]

    def item(self, side: int) -> Any:
        """The bytes of the names (0) or the values (1) of properties."""
        return np.split(self.items, 2)[side]


@compiled
def fetch_record(data: Any, at: int, end: int) -> None:
    """Bring what is read of a record, and the head of the one after it, into the cache while another is decoded."""
    if at + MIN_SIZE + 2 * _V6_MORE > end:
        return
    body_at = at + _BODY_AT + hosts_more(int_at(data, at + _SYS_FLAG_AT))
    topic_at = body_at + int64(int_at(data, body_at - 4))
    for line in range(3):
        fetch(data, topic_at + REACH * line)
    behind = at + int64(int_at(data, at))
    fetch(data, behind)
    fetch(data, behind + REACH)


@compiled
def walk(
    log: Any, at: int, low: int, high: int, base: int, wanted: Wanted, columns: Columns, rows: int, tables: Any
) -> Any:
    """Walk from `at` over records that begin before `high`; columns get those from `low` on that the filters let pass.

    Places are bytes within `log`, whose first byte has the commit log offset `base`. The columns have `rows`
    rows by now. Returns the number of rows, the place reached, how the walk ended (`DONE` ... `BIG`), and for
    `BAD_RECORD` the reason, for `BIG` the body's size.
    """
    want, all_names, name_ends, heads, coded, all_topics, topic_ends, queues, since, until = wanted
    (
        ints, longs, damaged, all_texts, ends, present, all_items, item_ends, list_ends, all_bodies, body_ends, codes,
        slots,
    ) = columns  # fmt: skip
    data, names, topics, crc_tables = address_of(log), address_of(all_names), address_of(all_topics), address_of(tables)
    texts, items, bodies = address_of(all_texts), address_of(all_items), address_of(all_bodies)
    slots_each = slots.shape[1]
    topic_slots, topic_places = address_of(slots), address_of(ends) + 4 * TOPIC_COLUMN * ends.shape[1]
    room, count = ints.shape[1], int64(list_ends[rows])
    size_of_file = log.shape[0]
    properties_wanted = name_ends.shape[0]
    texts_each = all_texts.shape[0] // ends.shape[0]
    items_each = all_items.shape[0] // 2
    used = np.zeros(ends.shape[0], np.int64)
    used[FIRST_PROPERTY:] = ends[FIRST_PROPERTY:, rows]
    coded_text = FIRST_PROPERTY + coded if coded >= 0 else -1
    coded_slots = topic_slots + 4 * PROPERTY_CODE * slots_each
    coded_places = address_of(ends) + 4 * coded_text * ends.shape[1]
    if coded >= 0:
        used[coded_text] = ends[coded_text, slots[PROPERTY_CODE, -1]]
    if want & WANT_TOPIC:
        used[TOPIC_COLUMN] = ends[TOPIC_COLUMN, slots[TOPIC_CODE, -1] if want & WANT_TOPIC_CODE else rows]
    if want & WANT_TEXT:
        used[TEXT_COLUMN] = ends[TEXT_COLUMN, rows]
    if want & WANT_HOSTS:
        used[BORN], used[STORE] = 21 * rows, 21 * rows
    fullest = used.max()
    keys_used, values_used = int64(item_ends[0, count]), int64(item_ends[1, count])
    body_used = int64(body_ends[rows])
    parses = want & (WANT_PROPERTIES | WANT_MAP)
    # a name whose head is all of it
    only_coded = coded == 0 and properties_wanted == 1 and name_ends[0] < REACH // 8 and not want & WANT_MAP
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
        fetch_record(data, at + size, size_of_file)
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
        topic = int64(byte_at(data, topic_at - 1))
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
        if body_used + kept > all_bodies.shape[0]:
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
        if want & WANT_CRC and body and body_crc_of(data, body_at, body, crc_tables) != int_at(data, at + _CRC_AT):
            damaged[rows] = 1
        wide = at + size + REACH <= size_of_file
        if want & WANT_TOPIC and want & WANT_TOPIC_CODE:
            number = code_of(data, topic_at, topic, texts, topic_places, topic_slots, slots_each - 1, wide)
            codes[TOPIC_CODE, rows] = number
            used[TOPIC_COLUMN] = max(used[TOPIC_COLUMN], int64(ends[TOPIC_COLUMN, number + 1]))
        elif want & WANT_TOPIC:
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
                    put_byte(texts, place + index, byte_at(data, host + index) if index < length else 0)
                copy_bytes(data, host + length, 4, texts, place + 16)
                put_byte(texts, place + 20, length)
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
        coded_at, coded_length = int64(-1), int64(0)
        if wide and only_coded:
            coded_at, coded_length = last_item(data, place, end, heads[0, 0], heads[1, 0])
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
            if name_end >= 0 and row >= 0 and row == coded:
                coded_at, coded_length = name_end + 1, value
            elif name_end >= 0 and row >= 0:
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
        if coded >= 0:
            codes[PROPERTY_CODE, rows] = -1
            if coded_at >= 0:
                number = code_of(
                    data,
                    coded_at,
                    coded_length,
                    texts + coded_text * texts_each,
                    coded_places,
                    coded_slots,
                    slots_each - 1,
                    wide,
                )
                codes[PROPERTY_CODE, rows] = number
                used[coded_text] = max(used[coded_text], int64(ends[coded_text, number + 1]))
        rows += 1
        for index in range(FIRST_PROPERTY, ends.shape[0]):
            if index != coded_text:
                ends[index, rows] = used[index]
        list_ends[rows] = count
        at += size
    return rows, at, DONE, 0
