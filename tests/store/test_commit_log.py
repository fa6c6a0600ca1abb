"""Appending to the commit log: files and their ends, limits, delays, transactions, batches, addresses."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.java import NumberFormatError
from rmqlab.message.message import Host, Message
from rmqlab.message.record import RecordError, body_crc, decode_record, decode_records, encode_record
from rmqlab.message.sysflag import (
    BORNHOST_V6_FLAG,
    STOREHOST_V6_FLAG,
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_PREPARED_TYPE,
    TRANSACTION_ROLLBACK_TYPE,
)
from rmqlab.store.dispatch_request import PutMessageStatus
from rmqlab_tools.live.store.log_scan import LogScan
from tests.proof.clients.batch_send import encode_messages

NOW = 1_609_459_200_000
V6 = Host.parse("[::1]:10911")
FIXED = 91 + len("T")


def put(store, one):
    result = store.commit_log.put_message(one, NOW)
    return result.status.name, result.append_status and result.append_status.name


def test_a_message_that_leaves_fewer_than_8_bytes_goes_to_the_next_file(make_store, message):
    for left, offset in ((8, 0), (7, 1000)):
        store = make_store(mapped_file_size_commit_log=1000)
        put(store, message(b"x" * 100, None))
        first = store.max_phy_offset
        put(store, message(b"x" * (1000 - first - left - FIXED), None))
        assert store.commit_log.mapped_file_queue.mapped_files[-1].file_from_offset == offset
        assert len(store.commit_log.mapped_file_queue.mapped_files) == 1 + offset // 1000
    # the blank record says how many bytes it takes
    assert struct.unpack(">iI", store.commit_log.get_message(first, 8)) == (1000 - first, 0xCBD43194)


def test_a_message_larger_than_a_file_is_told_to_be_stored_and_is_not(make_store, message):
    store = make_store(mapped_file_size_commit_log=1000)
    assert put(store, message(b"x" * 2000)) == ("PUT_OK", "END_OF_FILE")
    assert store.max_phy_offset == 2000
    assert put(store, message()) == ("PUT_OK", "PUT_OK")
    store.dispatch()
    assert store.get_max_offset_in_queue("T", 0) == 1
    assert store.find_consume_queue("T", 0).entry(0)[0] == 2000


def test_limits(make_store, message):
    store = make_store(max_message_size=1000)
    assert put(store, message(b"x" * (1000 - FIXED), None)) == ("PUT_OK", "PUT_OK")
    assert put(store, message(b"x" * (1001 - FIXED), None)) == ("MESSAGE_ILLEGAL", "MESSAGE_SIZE_EXCEEDED")
    assert put(store, message(properties_string="x" * 32768)) == ("MESSAGE_ILLEGAL", "PROPERTIES_SIZE_EXCEEDED")
    large = make_store()
    assert put(large, message(properties_string="x" * 32767)) == ("PUT_OK", "PUT_OK")


def test_a_delayed_message_waits_in_the_queue_of_its_level(make_store, message):
    store = make_store()
    one = message(queue_id=3, properties={"TAGS": "TagA", "DELAY": "3"})
    assert put(store, one) == ("PUT_OK", "PUT_OK")
    stored = store.look_message_by_offset(0)
    assert (stored.topic, stored.queue_id) == ("SCHEDULE_TOPIC_XXXX", 2)
    assert stored.properties == {"TAGS": "TagA", "DELAY": "3", "REAL_TOPIC": "T", "REAL_QID": "3"}
    put(store, message(properties={"DELAY": "99"}))
    assert store.look_message_by_offset(store.commit_log.get_message(0, 4)[3]).queue_id == 17


@pytest.mark.row("F-50")
def test_the_code_of_a_delayed_message_is_the_time_it_is_due(make_store, message):
    store = make_store()
    put(store, message(properties={"TAGS": "TagA", "DELAY": "3"}))
    put(store, message(tag="TagA"))
    put(store, message(tag=None))
    codes = []
    store.dispatchers.insert(0, lambda request: codes.append((request.topic, request.tags_code)))
    store.dispatch()
    assert codes == [("SCHEDULE_TOPIC_XXXX", NOW + 10_000), ("T", 2598919), ("T", 0)]


def test_a_message_sent_to_the_delay_topic_itself_is_due_after_the_last_level_at_most(make_store, message):
    store = make_store()
    due = []
    store.dispatchers.insert(0, lambda request: due.append(request.tags_code))
    for level in (99, 18, 1, 0, -1):
        text = f"TAGS\x01TagA\x02DELAY\x01{level}\x02"
        store.put_message(message(topic="SCHEDULE_TOPIC_XXXX", properties_string=text), NOW)
    assert due == [NOW + 7_200_000, NOW + 7_200_000, NOW + 1000, 2598919, 2598919]


def test_a_delay_that_is_no_number_is_refused_as_java_does(make_store, message):
    with pytest.raises(NumberFormatError):
        put(make_store(), message(properties={"DELAY": "soon"}))


def test_prepared_and_rolled_back_messages_take_no_place_in_a_queue(make_store, message):
    store = make_store()
    kinds = (0, TRANSACTION_PREPARED_TYPE, TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE, 0)
    offsets = []
    for kind in kinds:
        one = message(sys_flag=kind, properties={"DELAY": "1"} if kind == TRANSACTION_PREPARED_TYPE else {})
        offsets.append(store.put_message(one, NOW).logics_offset)
    assert offsets == [0, 0, 1, 0, 2]
    assert store.get_max_offset_in_queue("T", 0) == 3
    assert store.get_max_offset_in_queue("SCHEDULE_TOPIC_XXXX", 0) == 0


def test_ipv6_addresses_need_their_flag_which_only_the_synchronous_path_sets(make_store, message):
    store = make_store()
    one = message(born_host=V6, store_host=V6)
    result = store.put_message(one, NOW)
    assert one.sys_flag == BORNHOST_V6_FLAG | STOREHOST_V6_FLAG
    assert result.wrote_bytes == len(b"hello") + len("TAGS\x01TagA\x02") + FIXED + 24
    assert len(result.msg_id) == 56
    assert store.look_message_by_offset(0).born_host == V6
    for hosts in ({"born_host": V6}, {"store_host": V6}):
        before = store.max_phy_offset
        with pytest.raises(RecordError) as raised:
            put(store, message(**hosts))
        assert raised.value.java_error == "BufferOverflowException"
        assert store.max_phy_offset == before
    assert store.commit_log.topic_queue_table == {"T-0": 1}
    flagged = message(born_host=V6, sys_flag=BORNHOST_V6_FLAG)
    assert put(store, flagged) == ("PUT_OK", "PUT_OK")


def batch(message, parts, **fields):
    body = encode_messages(Message("T", one, 0, {"TAGS": "TagB"}) for one in parts)
    return message(body, properties={"CLUSTER": "c"}, **fields)


def test_a_batch_goes_into_one_file_and_one_queue(make_store, message):
    store = make_store(mapped_file_size_commit_log=1000)
    store.put_message(message(b"x" * 600), NOW)
    result = store.async_put_messages(batch(message, [b"one", b"two", b"three"]), NOW)
    assert (result.wrote_offset, result.msg_num) == (1000, 3)
    assert len(result.msg_id.split(",")) == 3
    records = store.get_message("g", "T", 0, 1, 32, None).messages
    found = decode_records(b"".join(records))
    assert [one.body for one in found] == [b"one", b"two", b"three"]
    assert [one.queue_offset for one in found] == [1, 2, 3]
    assert {one.store_timestamp for one in found} == {NOW}
    assert found[0].properties == {"TAGS": "TagB", "CLUSTER": "c"}


def test_a_batch_too_leaves_8_bytes_at_the_end_of_a_file(make_store, message):
    size = make_store().async_put_messages(batch(message, [b"x"]), NOW).wrote_bytes
    for left, offset in ((8, 0), (7, 1000)):
        result = make_store(mapped_file_size_commit_log=1000).async_put_messages(
            batch(message, [b"x", b"x" * (1000 - left - 2 * size + 1)]), NOW
        )
        assert result.wrote_offset == offset


def test_a_batch_is_neither_delayed_nor_a_transaction_and_not_too_large(make_store, message):
    store = make_store(max_message_size=300)
    delayed = batch(message, [b"one"])
    delayed.delay_time_level = 1
    for one in (delayed, batch(message, [b"one"], sys_flag=TRANSACTION_PREPARED_TYPE)):
        assert store.commit_log.put_messages(one, NOW).status is PutMessageStatus.MESSAGE_ILLEGAL
    assert store.async_put_messages(message(b"x" * 301), NOW).status is PutMessageStatus.MESSAGE_ILLEGAL
    with pytest.raises(RecordError) as raised:
        store.async_put_messages(batch(message, [b"x" * 50, b"x" * 50]), NOW)
    assert raised.value.java_error == "RuntimeException"
    with pytest.raises(RecordError, match="byte 0"):
        store.async_put_messages(message(b"no batch"), NOW)
    assert store.max_phy_offset == 0


@pytest.mark.row("S-27", "S-19")
def test_a_log_that_begins_in_the_middle_of_a_file(make_store, message):
    store = make_store(base_offset=98_843_386_814)
    host = Host("172.16.1.15", 10911)
    results = [store.put_message(message(b"MsgStr", store_host=host), NOW) for _ in range(2)]
    assert results[0].msg_id == "AC10010F00002A9F00000017038663BE"
    assert results[1].wrote_offset == 98_843_386_814 + results[0].wrote_bytes
    assert (store.commit_log.min_offset, store.max_phy_offset) == (
        98_843_386_814,
        results[1].wrote_offset * 2 - 98_843_386_814,
    )
    assert len(store.get_message("g", "T", 0, 0, 32, None).messages) == 2
    assert store.look_message_by_offset(98_843_386_814).body == b"MsgStr"
    assert store.look_message_by_offset(98_843_386_813) is None


def test_recovery_cuts_the_log_behind_the_last_good_record(make_store, message, append_data):
    source = make_store()
    for body in (b"one", b"two", b"three"):
        source.put_message(message(body), NOW)
    data = source.commit_log.get_data(0)
    for damaged, kept in ((data + bytes(100), 3), (data[:-1], 2)):
        store = make_store()
        append_data(store, 0, damaged)
        scan = LogScan(store.commit_log)
        assert len(list(scan.records())) == kept
        scan.repair()
        store.dispatch()
        assert store.get_max_offset_in_queue("T", 0) == kept
        store.commit_log.topic_queue_table["T-0"] = kept
        store.put_message(message(b"next"), NOW)
        assert decode_record(store.get_message("g", "T", 0, kept, 1, None).messages[0]).body == b"next"


def test_bytes_that_are_no_record_make_a_master_skip_the_rest_of_the_file(make_store, message, append_data):
    source = make_store()
    source.put_message(message(), NOW)
    record = source.commit_log.get_data(0)
    store = make_store()
    append_data(store, 0, record + b"?" * 50)
    store.dispatch()
    assert store.get_max_offset_in_queue("T", 0) == 1
    assert store.dispatch_behind_bytes() == 0


def test_a_record_whose_parts_do_not_add_up_is_passed_over(make_store, message, append_data):
    source = make_store()
    source.put_message(message(), NOW)
    record = source.commit_log.get_data(0)
    wrong = struct.pack(">i", len(record) + 3) + record[4:] + b"???"
    store = make_store()
    append_data(store, 0, wrong + record)
    store.dispatch()
    assert store.get_max_offset_in_queue("T", 0) == 1
    assert store.dispatch_behind_bytes() == 0


def test_damage_to_size_magic_or_lengths_is_seen(make_store, message):
    source = make_store()
    source.put_message(message(), NOW)
    record = source.commit_log.get_data(0)
    topic_at = 88 + len(b"hello")
    for position in (0, 3, 4, 7, 84, 87, topic_at, topic_at + 2, topic_at + 3):
        damaged = bytearray(record)
        damaged[position] ^= 0x81
        assert not source.commit_log.check_message_and_return_size(bytes(damaged)).success
    damaged = bytearray(record)
    damaged[88] ^= 1
    check = source.commit_log.check_message_and_return_size
    assert check(bytes(damaged)).success
    assert check(bytes(damaged), check_crc=True).msg_size == -1


@given(st.binary(max_size=200), st.integers(0, 8))
def test_any_bytes_can_be_looked_at(make_store_of, noise, position):
    check = make_store_of(4000, 200, 1).commit_log.check_message_and_return_size
    magic = bytes.fromhex("daa320a7")
    for data in (noise, noise[:4] + magic + noise[4:]):
        request = check(data, min(position, len(data)), check_crc=True)
        assert request.success or request.topic == ""


@given(sizes=st.lists(st.integers(0, 900), max_size=30), file_size=st.integers(1100, 4000))
def test_records_lie_one_behind_the_other_and_files_end_blank(make_store_of, sizes, file_size):
    store = make_store_of(file_size, 200, 10**9)
    make_store_of.put_all(store, sizes)
    log, offsets = store.commit_log, []
    for mapped_file in log.mapped_file_queue.mapped_files:
        data, position = mapped_file.select_from(0), 0
        while position < len(data):
            request = log.check_message_and_return_size(data, position, check_crc=True)
            assert request.success
            if request.msg_size == 0:
                assert int.from_bytes(data[position : position + 4]) == file_size - position
                break
            assert request.commit_log_offset == mapped_file.file_from_offset + position
            offsets.append(request.consume_queue_offset)
            position += request.msg_size
    assert offsets == list(range(len(sizes)))


def test_a_record_that_fits_is_made_at_once_and_is_no_other(make_store, message):
    """Most puts take a short way; the long one, which batches and the ends of files take, writes the same bytes."""
    stores = make_store(), make_store()
    for number in range(12):
        fields = {"sys_flag": TRANSACTION_PREPARED_TYPE if number == 5 else 0, "queue_id": number % 3}
        short, long = (message(b"body %d" % number, **fields) for _ in stores)
        result = stores[0].commit_log.put_message(short, 1_000 + number)
        long.store_timestamp, long.body_crc = 1_000 + number, body_crc(long.body)
        assert stores[1].commit_log._append(long, [encode_record(long)], is_batch=False) == result
        assert (short.queue_offset, short.commit_log_offset) == (result.logics_offset, result.wrote_offset)
        assert short.store_size == result.wrote_bytes
    logs = [store.commit_log for store in stores]
    assert logs[0].get_data(0) == logs[1].get_data(0)
    assert logs[0].topic_queue_table == logs[1].topic_queue_table
    times = {log.mapped_file_queue.last_mapped_file().last_modified for log in logs}
    assert times == {1_011}
