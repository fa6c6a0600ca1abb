"""Stores of real brokers, rebuilt from their commit logs: the same consume queues, byte for byte."""

from __future__ import annotations

import pytest

from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import CqExtUnit, is_ext_addr
from rmqlab.store.queue_reader import GetMessageStatus
from rmqlab_tools.live.store.index_service import keys_of, seconds_since
from rmqlab_tools.live.store.log_scan import LogScan

LONG_MIN = -(1 << 63)


def recorded_unit(files, topic, queue_id, index):
    """The extension unit that the recorded consume queue has for a message."""
    entries = files[f"consumequeue/{topic}/{queue_id}/{0:020d}"]
    _, _, address = ENTRY.unpack_from(entries, index * ENTRY.size)
    assert is_ext_addr(address)
    return CqExtUnit.decode(files[f"consumequeue_ext/{topic}/{queue_id}/{0:020d}"][address - LONG_MIN :])


@pytest.mark.row("S-45", "F-50")
@pytest.mark.parametrize("name", ["base", "audit", "lite", "noprop"])
def test_dispatch_makes_the_recorded_consume_queues(recorded, logic_files, name):
    real = recorded(name)
    entries, _ = logic_files(real.rebuild())
    assert len(entries) > 4
    assert entries == real.under("consumequeue")


@pytest.mark.parametrize("name", ["base", "audit"])
def test_dispatch_makes_the_recorded_index(recorded, name):
    real = recorded(name)
    log = real.rebuild().commit_log
    keys = [key for request in LogScan(log).records() for key in keys_of(request)]
    entries = {}
    for key in keys:
        seconds = seconds_since(keys[0].store_timestamp, key.store_timestamp)
        entries.setdefault(key.hashed, []).append((key.phy_offset, seconds))
    assert len(real.index) > 300
    assert entries == real.index


@pytest.mark.row("F-89")
def test_extension_is_the_recorded_one_with_the_recorded_bitmaps(recorded, logic_files):
    real = recorded("bitmap")

    def take_bitmap(request):
        unit = recorded_unit(real.files, request.topic, request.queue_id, request.consume_queue_offset)
        request.bit_map = unit.filter_bit_map

    store = real.rebuild(lambda one: one.dispatchers.insert(0, take_bitmap))
    entries, units = logic_files(store)
    assert len(units) > 20
    assert entries == real.under("consumequeue")
    assert units == real.under("consumequeue_ext")


@pytest.mark.row("F-89")
def test_units_of_the_recording_are_34_bytes_and_carry_the_tags_code(recorded):
    real = recorded("bitmap")
    name = next(name for name in real.under("consumequeue_ext"))
    data = real.files[name]
    first, second = CqExtUnit.decode(data), CqExtUnit.decode(data[34:])
    assert first.size == int.from_bytes(data[:2]) == 34
    assert len(first.filter_bit_map) == 14
    assert second.msg_store_time >= first.msg_store_time > 1_600_000_000_000
    assert first.encode() == data[:34]


def test_every_recorded_message_can_be_read(recorded):
    store = recorded("audit").rebuild()
    read = 0
    for topic, table in store.consume_queue_table.items():
        for queue_id, queue in table.items():
            offset = queue.min_offset_in_queue
            while offset < queue.max_offset_in_queue:
                result = store.get_message("g", topic, queue_id, offset, 32, None)
                assert result.status is GetMessageStatus.FOUND
                assert result.next_begin_offset == offset + len(result.messages)
                for record in result.messages:
                    found = store.look_message_by_offset(store.find_consume_queue(topic, queue_id).entry(offset)[0])
                    assert (found.topic, found.queue_id, found.queue_offset) == (topic, queue_id, offset)
                    assert found.store_size == len(record)
                    offset += 1
                    read += 1
    assert read > 1000
