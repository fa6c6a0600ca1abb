"""Puts and their statuses, offset queries, dispatch, deletion, messages by key."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.java import NumberFormatError
from rmqlab.message.message import Message
from rmqlab.message.record import decode_record
from rmqlab.message.sysflag import TRANSACTION_COMMIT_TYPE, TRANSACTION_PREPARED_TYPE
from rmqlab.store.clean_service import CleanService
from rmqlab.store.config import BrokerRole, FlushDiskType
from rmqlab.store.dispatch_request import PutMessageStatus
from rmqlab_tools.live.store.index_service import query_message
from tests.proof.clients.batch_send import encode_messages

NOW = 1_609_459_200_000
OK = PutMessageStatus.PUT_OK


def test_who_may_not_put(make_store, message):
    store = make_store()
    store.running_flags.is_writeable = False
    assert store.put_message(message(), NOW).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    store.running_flags.is_writeable = True
    store.config.broker_role = BrokerRole.SLAVE
    assert store.put_message(message(), NOW).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    store.config.broker_role = BrokerRole.ASYNC_MASTER
    assert store.put_message(message(), NOW).status is OK
    store.shutdown()
    assert store.async_put_messages(message(), NOW).status is PutMessageStatus.SERVICE_NOT_AVAILABLE


def test_lengths_are_counted_in_characters_first(make_store, message):
    store = make_store()
    assert store.put_message(message(topic="t" * 127), NOW).status is OK
    assert store.put_message(message(topic="t" * 128), NOW).status is PutMessageStatus.MESSAGE_ILLEGAL
    assert store.put_message(message(properties_string="x" * 32768), NOW).append_status is None
    # characters of three bytes pass the check; the length then wraps in its byte, and dispatch cannot read it
    for count in (50, 127):
        assert store.put_message(message(topic="中" * count), NOW).status is OK
        assert list(store.consume_queue_table) == ["t" * 127]
    assert store.put_message(message(topic="中" * 42), NOW).status is OK
    assert store.get_max_offset_in_queue("中" * 42, 0) == 1


def test_what_disk_and_slave_answer(make_store, message):
    store = make_store(flush_disk_type=FlushDiskType.SYNC_FLUSH, broker_role=BrokerRole.SYNC_MASTER)
    careless = {"WAIT": "false"}
    assert store.put_message(message(), NOW).status is PutMessageStatus.SLAVE_NOT_AVAILABLE
    assert store.put_message(message(properties=careless), NOW).status is OK
    assert store.put_message(message(), NOW).is_ok
    assert store.flush_requests == 2
    assert store.get_max_offset_in_queue("T", 0) == 3


def test_counters_of_puts(make_store, message):
    store = make_store(max_message_size=500)
    for body in (b"one", b"two", b"x" * 500):
        store.put_message(message(body), NOW)
    stats = store.store_stats_service
    assert stats.single_put_message_topic_times_total == {"T": 2}
    assert stats.single_put_message_topic_size_total == {"T": store.max_phy_offset}


def test_dispatch_goes_through_the_dispatchers_and_then_tells_who_listens(make_store, message):
    heard = []
    store = make_store()
    store.dispatchers.insert(0, lambda request: setattr(request, "bit_map", b"\1"))
    store.dispatchers.append(lambda request: heard.append(store.get_max_offset_in_queue("T", request.queue_id)))
    store.message_arriving = heard.append
    store.put_message(message(properties={"TAGS": "TagA", "a": "1"}), NOW)
    entered, request = heard
    assert entered == 1
    assert (request.topic, request.queue_id, request.consume_queue_offset, request.tags_code) == ("T", 0, 0, 2598919)
    assert (request.store_timestamp, request.bit_map) == (NOW, b"\1")
    assert request.properties_map == {"TAGS": "TagA", "a": "1"}


def test_dispatch_can_wait(make_store, message):
    store = make_store(max_message_size=5_000_000)
    store.defers_dispatch = True
    for body in (b"x" * 3_000_000, b"y" * 3_000_000, b"z"):
        store.put_message(message(body), NOW)
    assert store.dispatch_behind_bytes() == store.max_phy_offset
    assert store.get_max_offset_in_queue("T", 0) == 0
    store.dispatch()
    assert store.get_max_offset_in_queue("T", 0) == 3
    assert store.dispatch_behind_bytes() == 0
    store.dispatch()
    assert store.get_max_offset_in_queue("T", 0) == 3


def test_a_slave_counts_what_it_dispatches_and_tells_nobody(make_store, filled, append_data):
    source = filled(["TagA"] * 2)
    store = make_store(broker_role=BrokerRole.SLAVE)
    store.message_arriving = lambda *_: pytest.fail("a slave holds no pulls")
    append_data(store, 0, source.commit_log.get_data(0))
    store.dispatch()
    assert store.store_stats_service.single_put_message_topic_times_total == {"T": 2}


@pytest.mark.row("S-96")
def test_a_young_queue_begins_at_0_and_lies_in_memory(filled):
    store = filled(["TagA"] * 3)
    assert store.get_min_offset_in_queue("T", 0) == 0
    assert not store.check_in_disk_by_consume_offset("T", 0, 0)
    small = filled(["TagA"] * 3, physical_memory_size=100)
    assert small.check_in_disk_by_consume_offset("T", 0, 0)


def test_offsets_and_times(filled):
    store = filled(["TagA"] * 10)
    size = store.max_phy_offset // 10
    assert [store.find_consume_queue("T", 0).entry(index)[0] for index in (0, 3, 9)] == [0, 3 * size, 9 * size]
    assert [store.get_message_store_time_stamp("T", 0, index) for index in (0, 9, 10)] == [NOW, NOW + 9, -1]
    assert store.get_earliest_message_time("T", 0) == NOW
    assert store.get_earliest_message_time("T", 1) == -1
    # 4.8.0 wants to read twice the largest message at once, and the log is shorter
    assert store.get_earliest_message_time() == -1
    store.config.max_message_size = size
    assert store.get_earliest_message_time() == NOW


@pytest.mark.parametrize(("asked", "index"), [(-50, 0), (0, 0), (3, 3), (8, 8), (9, 9), (500, 9)])
def test_offset_by_time(filled, asked, index):
    assert filled(["TagA"] * 10).get_offset_in_queue_by_time("T", 0, NOW + asked) == index


def test_offset_by_time_takes_the_nearer_neighbour_and_the_right_file(make_store, message):
    store = make_store(mapped_file_size_consume_queue=100)
    for index in range(12):
        store.put_message(message(), NOW + index * 100)
    asked = {230: 2, 250: 2, 260: 3, 1090: 11, 450: 5}
    assert {ms: store.get_offset_in_queue_by_time("T", 0, NOW + ms) for ms in asked} == asked
    assert store.get_offset_in_queue_by_time("T", 7, NOW) == 0


def test_one_message_by_offset(filled):
    store = filled(["TagA", "TagB"])
    second = store.find_consume_queue("T", 0).entry(1)[0]
    assert store.look_message_by_offset(second).properties["TAGS"] == "TagB"
    assert store.look_message_by_offset(second).queue_offset == 1
    assert store.look_message_by_offset(store.max_phy_offset) is None
    assert store.look_message_by_offset(second, 10_000) is None
    assert store.look_message_by_offset(10**12) is None
    assert store.commit_log.pickup_store_timestamp(second, 50 + 14) == NOW + 1


def three_files(filled, **settings):
    return filled(["TagA"] * 9, body=b"x" * 200, mapped_file_size_commit_log=1000, **settings)


@pytest.mark.row("S-41")
def test_deleting_old_files_moves_the_first_offset(filled):
    store = three_files(filled, mapped_file_size_consume_queue=40)
    clean = CleanService(store)
    assert store.commit_log.mapped_file_queue.delete_first(1) == 1
    assert (store.commit_log.min_offset, store.get_min_offset_in_queue("T", 0)) == (1000, 0)
    clean.clean_consume_queues()
    # entries 0..1 were a file of their own; entry 2 is the first of its file, and its message is gone too
    assert store.get_min_offset_in_queue("T", 0) == 3
    assert store.find_consume_queue("T", 0).mapped_file_queue.mapped_files[0].file_from_offset == 40
    assert store.find_consume_queue("T", 0).get_index_buffer(2) is None
    assert store.commit_log.mapped_file_queue.delete_first(5) == 1
    clean.clean_consume_queues()
    assert store.get_min_offset_in_queue("T", 0) == 6
    assert store.get_max_offset_in_queue("T", 0) == 9


def test_old_files_go_after_three_days_and_never_the_last(filled):
    store = three_files(filled)
    clean, day = CleanService(store), 24 * 3_600_000
    assert clean.delete_expired_commit_log_files(NOW + 2 * day) == 0
    assert clean.delete_expired_commit_log_files(NOW + 3 * day + 5) == 2
    assert clean.delete_expired_commit_log_files(NOW + 30 * day, at_once=True) == 0
    assert CleanService(three_files(filled)).delete_expired_commit_log_files(NOW, at_once=True) == 2


def test_queues_without_topic_are_deleted(filled, message):
    store = three_files(filled)
    store.put_message(message(topic="Other"), NOW)
    store.find_consume_queue("Empty", 0)
    CleanService(store).clean_unused_topic({"T", "Empty"})
    assert set(store.consume_queue_table) == {"T", "Empty"}
    assert "Other-0" not in store.commit_log.topic_queue_table


def test_messages_by_key(make_store, message):
    store = make_store()
    for index, keys in enumerate(("a b", "b", "c  a", "")):
        store.put_message(
            message(str(index).encode(), properties={"KEYS": keys, "UNIQ_KEY": f"id{index}"}), NOW + index
        )

    def found(key, max_num=32, begin=NOW, end=NOW + 10, topic="T"):
        result = query_message(store, topic, key, max_num, begin, end)
        return [decode_record(record).body for record in result.messages]

    assert found("a") == [b"0", b"2"]
    assert found("b") == [b"0", b"1"]
    assert found("id3") == [b"3"]
    assert found("a", max_num=1) == [b"2"]
    assert found("a", topic="U") == []
    assert found("a", begin=NOW + 5000, end=NOW + 6000) == []
    # only the hash code counts: "Aa" and "BB" are one key
    store.put_message(message(b"4", properties={"KEYS": "Aa"}), NOW + 2000)
    assert found("BB", end=NOW + 5000) == [b"4"]
    result = query_message(store, "T", "a", 32, NOW, NOW + 5000)
    assert result.index_last_update_timestamp == NOW + 2000
    assert result.index_last_update_phyoffset == store.find_consume_queue("T", 0).entry(4)[0]
    assert query_message(store, "T", "nothing", 32, NOW, NOW + 5000).index_last_update_timestamp == 0


def test_no_index_when_it_is_switched_off(make_store, message):
    store = make_store(message_index_enable=False)
    store.put_message(message(properties={"KEYS": "a"}), NOW)
    assert query_message(store, "T", "a", 32, NOW, NOW).messages == []


PUTS = st.tuples(
    st.sampled_from(["T", "U", "%RETRY%g"]),
    st.integers(0, 2),
    st.lists(st.binary(max_size=300), max_size=4),
    st.sampled_from(["single", "batch", "prepared", "commit", "delayed"]),
)


@given(puts=st.lists(PUTS, max_size=25), log_file=st.integers(2200, 6000))
def test_every_message_can_be_read_at_its_queue_offset(make_store_of, puts, log_file):
    store = make_store_of(log_file, 100, 10**9)
    expected = {}
    for topic, queue_id, parts, kind in puts:
        if kind == "batch":
            batch = make_store_of.message(
                encode_messages(Message(topic, body) for body in parts), None, topic, queue_id
            )
            begin = store.async_put_messages(batch, NOW).logics_offset
            expected |= {(topic, queue_id, begin + index): body for index, body in enumerate(parts)}
            continue
        for body in parts:
            flag = {"prepared": TRANSACTION_PREPARED_TYPE, "commit": TRANSACTION_COMMIT_TYPE}.get(kind, 0)
            properties = {"DELAY": "2"} if kind == "delayed" else {"TAGS": "x"}
            one = make_store_of.message(body, None, topic, queue_id, sys_flag=flag, properties=properties)
            offset = store.put_message(one, NOW).logics_offset
            if kind != "prepared":
                expected[one.topic, one.queue_id, offset] = body
    for (topic, queue_id, offset), body in expected.items():
        result = store.get_message("g", topic, queue_id, offset, 1, None)
        found = decode_record(result.messages[0])
        assert (found.topic, found.queue_id, found.queue_offset, found.body or b"") == (topic, queue_id, offset, body)
        assert result.next_begin_offset == offset + 1
    for topic, table in store.consume_queue_table.items():
        for queue_id, queue in table.items():
            offsets = {
                offset for key_topic, key_queue, offset in expected if (key_topic, key_queue) == (topic, queue_id)
            }
            assert offsets == set(range(queue.max_offset_in_queue))


names = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "DELAY", "WAIT", "a", "\u00e9", ""])
values = st.one_of(st.sampled_from(["3", "0", "-1", "99", "x", "\u00e9", "\ud800", "", "k1 k2"]), st.text(max_size=5))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["T", "SCHEDULE_TOPIC_XXXX", "\u00e9"]),
            st.one_of(st.none(), st.binary(max_size=300)),
            st.lists(st.tuples(names, values), max_size=4),
            st.sampled_from([0, 4, 8, 12, 1 << 4, 1 << 5, 2]),
        ),
        max_size=6,
    )
)
def test_what_is_dispatched_at_once_is_what_the_log_says(make_store_of, puts):
    """A put is dispatched from the message itself; reading its record gives the same, whatever is in it."""
    store = make_store_of(2048, 200, 1 << 30)
    reput, dispatchers, heard = store.reput_message_service, store.dispatchers[:], []
    for topic, body, properties, sys_flag in puts:
        text = "".join(f"{name}\x01{value}\x02" for name, value in properties)
        one = make_store_of.message(body, None, topic, properties={}, properties_string=text, sys_flag=sys_flag)
        begin = reput.reput_from_offset
        store.dispatchers[:] = [*dispatchers, heard.append]
        with contextlib.suppress(NumberFormatError):
            store.put_message(one, NOW)
        at_once, end = heard[:], reput.reput_from_offset
        heard.clear()
        reput.reput_from_offset = begin
        store.dispatchers[:] = [heard.append]
        store.dispatch()
        assert at_once == heard
        assert reput.reput_from_offset == end
        heard.clear()
