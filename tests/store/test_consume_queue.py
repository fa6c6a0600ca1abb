"""Consume queues: entries, blank fronts, repeated dispatch; and their extensions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.consume_queue import ENTRY, ConsumeQueue
from rmqlab.store.consume_queue_ext import (
    MAX_EXT_UNIT_SIZE,
    NO_ADDRESS,
    ConsumeQueueExt,
    CqExtUnit,
    is_ext_addr,
)
from rmqlab.store.dispatch_request import DispatchRequest
from rmqlab.store.mapped_file_queue import in_memory

NOW = 1_609_459_200_000
LONG_MIN = -(1 << 63)


def queue(**settings):
    return ConsumeQueue("T", 0, MessageStoreConfig(mapped_file_size_consume_queue=100, **settings), in_memory)


def request(index, offset=None, **more):
    return DispatchRequest("T", 0, index * 50 if offset is None else offset, 50, 7, NOW, index, **more)


def entries(one):
    return [ENTRY.unpack(one.get_index_buffer(index, 20)) for index in range(one.max_offset_in_queue)]


@pytest.mark.row("S-45")
def test_an_entry_is_offset_size_and_code(filled):
    store = filled(["TagA", "TagB"])
    data = store.find_consume_queue("T", 0).get_index_buffer(0)
    size = store.max_phy_offset // 2
    assert data == (
        (0).to_bytes(8) + size.to_bytes(4) + (2598919).to_bytes(8) + size.to_bytes(8) + size.to_bytes(4)
        + (2598920).to_bytes(8)
    )  # fmt: skip


@pytest.mark.row("S-44")
def test_next_file():
    assert [queue().roll_next_file(index) for index in (0, 4, 5, 9)] == [5, 5, 10, 10]
    whole = ConsumeQueue("T", 0, MessageStoreConfig(), in_memory)
    assert whole.roll_next_file(0) == 300_000


def test_the_first_message_of_a_queue_may_have_any_offset():
    one = queue()
    one.put_message_position_info(request(12))
    one.put_message_position_info(request(13))
    assert (one.min_offset_in_queue, one.max_offset_in_queue) == (12, 14)
    assert [file.file_from_offset for file in one.mapped_file_queue.mapped_files] == [200]
    assert one.get_index_buffer(11) is None
    # what lies before it in its file is filled with entries that nobody reads
    assert one.mapped_file_queue.mapped_files[0].select(0, 20) == ENTRY.pack(0, 0x7FFFFFFF, 0)
    assert one.last_offset == 700


def test_a_message_is_entered_once():
    one = queue()
    for index in (0, 1, 1, 0, 2):
        one.put_message_position_info(request(index))
    assert [offset for offset, _, _ in entries(one)] == [0, 50, 100]
    # a new record with an old queue offset is not entered either
    one.put_message_position_info(request(1, offset=900))
    assert one.max_offset_in_queue == 3


def test_empty_and_destroyed():
    one = queue()
    assert (one.last_offset, one.max_offset_in_queue, one.get_index_buffer(0)) == (-1, 0, None)
    one.put_message_position_info(request(7))
    one.destroy()
    assert (one.last_offset, one.min_offset_in_queue, one.max_offset_in_queue) == (-1, 0, 0)


@pytest.mark.row("F-89")
def test_with_an_extension_the_entry_holds_an_address():
    one = queue(enable_consume_queue_ext=True)
    one.put_message_position_info(request(0, bit_map=b"\x80" * 14))
    one.put_message_position_info(request(1))
    assert [code for _, _, code in entries(one)] == [LONG_MIN, LONG_MIN + 34]
    assert one.get_ext(LONG_MIN) == CqExtUnit(7, NOW, b"\x80" * 14)
    assert one.get_ext(LONG_MIN + 34) == CqExtUnit(7, NOW, None)
    assert queue().get_ext(LONG_MIN) is None


@pytest.mark.row("F-89")
def test_unit_bytes():
    unit = CqExtUnit(-2, NOW, b"\1\2")
    data = unit.encode()
    assert data.hex() == "0016" + "fffffffffffffffe" + f"{NOW:016x}" + "0002" + "0102"
    assert CqExtUnit.decode(data + b"more") == unit
    assert CqExtUnit.decode(b"\xff\xff" + bytes(30)) is None
    assert CqExtUnit.decode(bytes(30)) is None
    assert CqExtUnit.decode(data[:19]) is None


@pytest.mark.row("F-89", "S-50")
@pytest.mark.parametrize(
    ("code", "is_address"),
    [(-(2**31) - 1, True), (-(2**31), False), (0, False), (NOW, False), (LONG_MIN, True), (-(2**40), True)],
)
def test_what_counts_as_an_address(code, is_address):
    assert is_ext_addr(code) is is_address


@pytest.mark.row("F-89")
def test_a_unit_that_is_too_large_leaves_the_tags_code_in_the_entry():
    one = queue(enable_consume_queue_ext=True)
    one.put_message_position_info(request(0, bit_map=bytes(MAX_EXT_UNIT_SIZE - 20)))
    one.put_message_position_info(request(1, bit_map=bytes(MAX_EXT_UNIT_SIZE - 19)))
    assert [code for _, _, code in entries(one)] == [LONG_MIN, 7]


def test_files_of_units_end_with_a_mark_and_four_bytes_to_spare():
    ext = ConsumeQueueExt("T", 0, 100, in_memory)
    addresses = [ext.put(CqExtUnit(1, NOW, bytes(12))) - LONG_MIN for _ in range(5)]
    # 3 x 32 = 96 fit, and four bytes are left
    assert addresses == [0, 32, 64, 100, 132]
    tight = ConsumeQueueExt("T", 0, 99, in_memory)
    assert [tight.put(CqExtUnit(1, NOW, bytes(12))) - LONG_MIN for _ in range(3)] == [0, 32, 99]
    first = tight.mapped_file_queue.mapped_files[0]
    assert first.select(64, 35) == b"\xff\xff" + bytes(33)
    assert tight.get(LONG_MIN + 64) is None
    assert ConsumeQueueExt("T", 0, 20, in_memory).put(CqExtUnit(1, NOW)) == NO_ADDRESS


def test_units_of_messages_that_are_gone_are_deleted_by_the_file():
    one = queue(enable_consume_queue_ext=True, mapped_file_size_consume_queue_ext=100)
    for index in range(12):
        one.put_message_position_info(request(index))
    assert len(one.consume_queue_ext.mapped_file_queue.mapped_files) == 3
    assert one.delete_expired_file(10 * 50) == 2
    assert one.min_offset_in_queue == 10
    assert one.consume_queue_ext.mapped_file_queue.mapped_files[0].file_from_offset == 200
    assert one.get_ext(LONG_MIN) is not None  # offset 0 is looked for in whichever file comes first
    assert one.get_ext(LONG_MIN + 20) is None


@given(st.lists(st.binary(max_size=40) | st.none(), max_size=40), st.integers(64, 300))
def test_every_unit_can_be_read_at_its_address(bitmaps, file_size):
    ext = ConsumeQueueExt("T", 0, file_size, in_memory)
    units = [CqExtUnit(index, NOW + index, bitmap or None) for index, bitmap in enumerate(bitmaps)]
    addresses = [ext.put(unit) for unit in units]
    assert [ext.get(address) for address in addresses] == units
    assert addresses == sorted(set(addresses))


@given(st.integers(0, 40), st.lists(st.integers(1, 60), min_size=1, max_size=40))
def test_min_offset_is_the_first_message_that_is_left(first, sizes):
    one = queue()
    offset, offsets = 1000, []
    for index, size in enumerate(sizes):
        one.put_message_position_info(DispatchRequest("T", 0, offset, size, 0, NOW, first + index))
        offsets.append(offset)
        offset += size
    for gone in (1000, offsets[len(offsets) // 2], offsets[-1]):
        one.delete_expired_file(gone)
        left = [index for index, start in enumerate(offsets, first) if start >= gone]
        assert one.min_offset_in_queue == left[0]
        assert one.max_offset_in_queue == first + len(sizes)
