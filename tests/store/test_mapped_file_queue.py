"""Files in a row, and the memory behind them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rmqlab.store.mapped_file_queue import MappedFileQueue, MemorySegment, in_memory


def filled(sizes, file_size=100):
    queue = MappedFileQueue("x", file_size, in_memory)
    for size in sizes:
        last = queue.last_mapped_file_or_new(0)
        assert last.append(b"a" * size)
        last.append(b"\0" * (file_size - last.wrote_position))
    return queue


def test_segment():
    segment = MemorySegment()
    segment.append(b"hello")
    segment.append(b" world")
    assert (segment.size, segment.read(4, 3), segment.read(9, 100)) == (11, b"o w", b"ld")
    segment.truncate(5)
    assert segment.read(0, 100) == b"hello"


def test_the_first_file_holds_the_offset_asked_for():
    queue = MappedFileQueue("x", 100, in_memory)
    assert (queue.max_offset, queue.last_mapped_file()) == (0, None)
    assert queue.find_by_offset(0) is None
    first = queue.last_mapped_file_or_new(250)
    assert first.file_from_offset == 200
    assert not first.append(b"a" * 101)
    assert first.append(b"a" * 100)
    second = queue.last_mapped_file_or_new(0)
    assert second.file_from_offset == 300
    assert queue.find_by_offset(250) is first
    assert queue.find_by_offset(399) is second
    assert queue.find_by_offset(400) is queue.find_by_offset(0) is None
    assert queue.find_by_offset(0, return_first_on_not_found=True) is first


def test_what_is_not_written_cannot_be_selected():
    one = filled([]).last_mapped_file_or_new(0)
    one.append(b"0123456789")
    assert one.select(2, 8) == b"23456789"
    assert one.select(2, 9) is None
    assert one.select_from(7) == b"789"
    assert one.select_from(7, 2) == b"78"
    assert one.select_from(10) is one.select_from(-1) is None


def test_a_file_may_begin_in_its_middle():
    queue = MappedFileQueue("x", 100, in_memory)
    queue.begin_at(250)
    one = queue.last_mapped_file_or_new(0)
    assert (queue.max_offset, one.start) == (250, 50)
    one.append(b"0123456789")
    assert one.select(50, 3) == b"012"
    assert one.select(49, 3) is one.select_from(49) is None
    one.set_wrote_position(54)
    assert one.select_from(50) == b"0123"
    assert not one.append(b"a" * 47)


def test_deleting_spares_the_last_file():
    queue = filled([10, 10, 10])
    assert queue.delete_first(5) == 2
    assert (queue.mapped_files[0].file_from_offset, queue.max_offset) == (200, 300)
    assert queue.delete_first(-1) == 0
    queue.destroy()
    assert queue.mapped_files == []


@given(st.integers(0, 350))
def test_truncating_leaves_what_lies_before(offset):
    queue = filled([10, 10, 10])
    queue.truncate_dirty_files(offset)
    assert queue.max_offset == min(offset, 300)
    # a file that begins just there is kept, empty
    assert len(queue.mapped_files) == min(offset // 100 + 1, 3)


def test_file_by_time():
    queue = filled([10, 10, 10])
    for index, one in enumerate(queue.mapped_files):
        one.last_modified = 1000 * index
    found = [queue.find_by_time(time).file_from_offset for time in (0, 1, 1000, 1001, 9999)]
    assert found == [0, 100, 100, 200, 200]
    assert MappedFileQueue("x", 100, in_memory).find_by_time(0) is None
