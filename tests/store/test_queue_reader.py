"""Reading a queue: every status, bound and branch of 4.8.0 `getMessage`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.message.java import string_hash
from rmqlab.message.record import decode_record
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import is_the_batch_full
from rmqlab.store import queue_reader
from rmqlab.store.clean_service import CleanService
from rmqlab.store.config import BrokerRole, MessageStoreConfig
from rmqlab.store.queue_reader import GetMessageStatus, QueueReader

NOW = 1_609_459_200_000
TAG_A, TAG_B = string_hash("TagA"), string_hash("TagB")


class Filter:
    """A message filter with the answers given; keeps what it was asked, in order."""

    def __init__(self, layer_1=lambda _code, _unit: True, layer_2=lambda _record: True):
        self.layer_1, self.layer_2, self.asked = layer_1, layer_2, []
        self.by_tags_code = False

    def is_matched_by_consume_queue(self, tags_code, cq_ext_unit=None):
        self.asked.append(("consume_queue", tags_code))
        return self.layer_1(tags_code, cq_ext_unit)

    def is_matched_by_commit_log(self, record, properties=None):
        self.asked.append(("commit_log", decode_record(record).queue_offset, properties))
        return self.layer_2(record)


def only(code):
    return Filter(lambda tags_code, _unit: tags_code == code)


def read(store, offset, count=32, message_filter=None, **more):
    return store.get_message("g", "T", 0, offset, count, message_filter, **more)


def bodies(result):
    return [decode_record(record).body for record in result.messages]


def place(result):
    return result.status.name, result.next_begin_offset, result.min_offset, result.max_offset


@pytest.mark.row("S-37")
def test_a_store_that_was_shut_down_or_is_unreadable_answers_nothing(filled):
    store = filled(["TagA"])
    store.running_flags.is_readable = False
    assert read(store, 0) is None
    store.running_flags.is_readable = True
    assert bodies(read(store, 0)) == [b"hello"]
    store.shutdown()
    assert read(store, 0) is None


@pytest.mark.row("S-39")
def test_without_a_queue(filled):
    store = filled(["TagA"])
    result = store.queue_reader.get_message(None, "g", 7, 32, None, None)
    assert place(result) == ("NO_MATCHED_LOGIC_QUEUE", 0, 0, 0)
    store.config.broker_role = BrokerRole.SLAVE
    assert store.queue_reader.get_message(None, "g", 7, 32, None, None).next_begin_offset == 7
    assert store.store_stats_service.get_message_times_total_miss == 2


@pytest.mark.row("S-38", "S-40")
def test_an_unknown_queue_is_made_and_empty(make_store):
    store = make_store()
    result = read(store, 7)
    assert place(result) == ("NO_MESSAGE_IN_QUEUE", 0, 0, 0)
    assert result.messages == []
    assert store.get_consume_queue("T", 0) is not None


def trimmed(filled, **settings):
    """A store of three commit log files with three messages each, of which the first is deleted."""
    store = filled(["TagA"] * 9, body=b"x" * 200, mapped_file_size_commit_log=1000, **settings)
    assert [store.find_consume_queue("T", 0).entry(index)[0] // 1000 for index in range(9)] == [
        0, 0, 0, 1, 1, 1, 2, 2, 2,
    ]  # fmt: skip
    assert store.commit_log.mapped_file_queue.delete_first(1) == 1
    return store


@pytest.mark.row("S-41")
def test_offset_below_the_first_message(filled):
    store = trimmed(filled)
    CleanService(store).clean_consume_queues()
    assert place(read(store, 0)) == ("OFFSET_TOO_SMALL", 3, 3, 9)
    assert place(read(store, -1)) == ("OFFSET_TOO_SMALL", 3, 3, 9)
    assert place(read(store, 3)) == ("FOUND", 9, 3, 9)


@pytest.mark.row("S-42")
def test_offset_at_the_end(filled):
    assert place(read(filled(["TagA"] * 2), 2)) == ("OFFSET_OVERFLOW_ONE", 2, 0, 2)


@pytest.mark.row("S-43")
def test_offset_beyond_the_end_goes_to_the_first_message_or_else_to_the_last(filled):
    assert place(read(filled(["TagA"] * 2), 3)) == ("OFFSET_OVERFLOW_BADLY", 0, 0, 2)
    store = trimmed(filled)
    CleanService(store).clean_consume_queues()
    assert place(read(store, 10)) == ("OFFSET_OVERFLOW_BADLY", 9, 3, 9)


@pytest.mark.row("S-44")
def test_a_missing_index_file_leads_to_the_next_one(filled):
    store = filled(["TagA"] * 12, mapped_file_size_consume_queue=100)
    del store.find_consume_queue("T", 0).mapped_file_queue.mapped_files[0]
    assert place(read(store, 2)) == ("OFFSET_FOUND_NULL", 5, 0, 12)
    assert read(store, 5).status is GetMessageStatus.FOUND


@pytest.mark.row("S-45")
def test_reading_stops_at_the_end_of_an_index_file(filled):
    store = filled(["TagA"] * 12, mapped_file_size_consume_queue=100)
    assert place(read(store, 0)) == ("FOUND", 5, 0, 12)
    assert place(read(store, 5)) == ("FOUND", 10, 0, 12)
    assert place(read(store, 10)) == ("FOUND", 12, 0, 12)


@pytest.mark.row("S-46", "S-51")
def test_one_read_looks_at_800_entries_and_passes_them_for_good(filled):
    store = filled(["TagA"] * 900 + ["TagB"])
    rejected = []
    result = read(store, 0, message_filter=only(TAG_B), on_filtered=lambda *what: rejected.append(what))
    assert place(result) == ("NO_MATCHED_MESSAGE", 800, 0, 901)
    assert rejected == [(offset, "consume_queue") for offset in range(800)]
    assert place(read(store, 800, message_filter=only(TAG_B))) == ("FOUND", 901, 0, 901)


@pytest.mark.row("S-46")
def test_a_client_that_asks_for_more_than_800_lets_more_be_looked_at(filled):
    store = filled(["TagA"] * 900)
    assert read(store, 0, 850, only(TAG_B)).next_begin_offset == 850
    # the product with 20 wraps in Java's int and turns negative
    assert read(store, 0, 2**31 - 1, only(TAG_B)).next_begin_offset == 800


@pytest.mark.row("S-47", "S-52")
def test_a_deleted_commit_log_file_is_passed_over_at_once(filled, monkeypatch):
    store = trimmed(filled)
    looked_up = []
    get_message = type(store.commit_log).get_message

    def spy(log, offset, size):
        looked_up.append(offset)
        return get_message(log, offset, size)

    monkeypatch.setattr(type(store.commit_log), "get_message", spy)
    result = read(store, 1, 32)
    assert place(result) == ("FOUND", 9, 0, 9)
    assert len(result.messages) == 6
    # the entry of offset 2 lies in the same deleted file: it is not looked up any more
    first, second = store.find_consume_queue("T", 0).entry(1)[0], store.find_consume_queue("T", 0).entry(3)[0]
    assert looked_up[:2] == [first, second]


@pytest.mark.row("S-52")
def test_nothing_but_deleted_messages(filled):
    store = filled(["TagA"] * 5, body=b"x" * 200, mapped_file_size_commit_log=1000, mapped_file_size_consume_queue=60)
    store.commit_log.mapped_file_queue.delete_first(1)
    assert place(read(store, 1)) == ("MESSAGE_WAS_REMOVING", 3, 0, 5)


def test_offset_0_of_the_log_is_looked_for_in_whichever_file_comes_first(filled):
    store = trimmed(filled)
    first = read(store, 0, 1)
    # 4.8.0 answers bytes of the first file that is left
    assert place(first) == ("FOUND", 1, 0, 9)
    assert first.messages == [store.commit_log.get_message(1000, len(first.messages[0]))]


@pytest.mark.row("S-48", "S-49")
def test_messages_that_left_memory_come_eight_at_a_time(filled):
    tags = ["TagA"] * 40
    size = len(read(filled(tags), 0, 1).messages[0])
    assert read(filled(tags), 0).next_begin_offset == 32
    # 40 percent of the memory holds just over the last 20 messages: those before have to come from disk
    store = filled(tags, physical_memory_size=int(20.5 * size / 0.4))
    assert read(store, 0).next_begin_offset == 8
    # memory begins with message 20 here, so a read from 15 on gets the eighth from memory and goes on
    assert read(store, 15).next_begin_offset == 40
    assert store.check_in_disk_by_consume_offset("T", 0, 19)
    assert not store.check_in_disk_by_consume_offset("T", 0, 20)
    assert not store.check_in_disk_by_consume_offset("T", 0, 40)


CONFIG = MessageStoreConfig()
FULL = [
    # size, asked for, bytes so far, messages so far, on disk, full
    (10**9, 0, 0, 0, False, False),
    (10**9, 1, 0, 5, True, False),
    (1, 32, 100, 31, False, False),
    (1, 32, 100, 32, False, True),
    (1, 2, 100, 2, False, True),
    (1, 64, 100, 32, False, True),
    (144, 64, 262_000, 5, False, False),
    (145, 64, 262_000, 5, False, True),
    (1, 64, 100, 7, True, False),
    (1, 64, 100, 8, True, True),
    (536, 64, 65_000, 5, True, False),
    (537, 64, 65_000, 5, True, True),
]


@pytest.mark.row("S-49")
@pytest.mark.parametrize(("size", "asked", "total", "count", "on_disk", "full"), FULL)
def test_batch_is_full(size, asked, total, count, on_disk, full):
    bounds = (65_536, 8) if on_disk else (262_144, 32)
    assert is_the_batch_full(size, asked, total, count, *bounds) is full


@pytest.mark.row("S-49")
def test_the_first_message_always_comes_and_256_kib_end_the_answer(filled):
    big = b"x" * 200_000
    assert len(read(filled(["TagA"] * 3, big), 0).messages) == 1
    assert len(read(filled(["TagA"] * 3, b"x" * 300_000), 0).messages) == 1
    assert len(read(filled(["TagA"] * 3, b"x" * 100_000), 0).messages) == 2
    assert len(read(filled(["TagA"] * 3), 0, 0).messages) == 1


@pytest.mark.row("S-50")
def test_the_extension_gives_the_code_and_a_lost_unit_lets_the_message_pass_layer_1(filled):
    store = filled(["TagA", "TagB"], enable_consume_queue_ext=True)
    units = []
    seen = Filter(lambda code, unit: units.append((code, unit and unit.msg_store_time)) or code != TAG_B)
    assert read(store, 0, message_filter=seen).next_begin_offset == 2
    assert units == [(TAG_A, NOW), (TAG_B, NOW + 1)]
    store.find_consume_queue("T", 0).consume_queue_ext.destroy()
    lost = Filter(lambda code, unit: code is None and unit is None)
    assert len(read(store, 0, message_filter=lost).messages) == 2


@pytest.mark.row("F-71", "S-51", "S-53", "S-54")
def test_layer_1_then_the_log_then_layer_2(filled):
    store = filled(["TagA", "TagB", "TagA", "TagA"])
    trace = Filter(lambda code, _unit: code == TAG_A, lambda record: decode_record(record).queue_offset != 2)
    rejected = []
    result = read(store, 0, message_filter=trace, on_filtered=lambda *what: rejected.append(what))
    assert trace.asked == [
        ("consume_queue", TAG_A),
        ("commit_log", 0, None),
        ("consume_queue", TAG_B),
        ("consume_queue", TAG_A),
        ("commit_log", 2, None),
        ("consume_queue", TAG_A),
        ("commit_log", 3, None),
    ]
    assert rejected == [(1, "consume_queue"), (2, "commit_log")]
    assert [decode_record(record).queue_offset for record in result.messages] == [0, 3]
    assert store.store_stats_service.get_message_transfered_msg_count == 2


@pytest.mark.row("S-53")
def test_nothing_left_by_layer_2(filled):
    store = filled(["TagA"] * 3)
    assert place(read(store, 0, message_filter=Filter(layer_2=lambda _: False))) == ("NO_MATCHED_MESSAGE", 3, 0, 3)


@pytest.mark.row("S-55")
def test_how_far_behind_a_group_is_and_when_a_slave_is_suggested(filled):
    store = filled(["TagA"] * 10, physical_memory_size=1000)
    result = read(store, 2, 3)
    # the fourth entry was looked at and did not fit any more
    behind = store.max_phy_offset - store.find_consume_queue("T", 0).entry(5)[0]
    assert result.next_begin_offset == 5
    assert store.store_stats_service.disk_fall_behind_size == {("g", "T", 0): behind}
    assert behind > 400
    assert result.suggest_pulling_from_slave
    assert not read(store, 8).suggest_pulling_from_slave
    silent = filled(["TagA"], disk_fall_recorded=False)
    read(silent, 0)
    assert silent.store_stats_service.disk_fall_behind_size == {}


@pytest.mark.row("S-56")
def test_counters(filled):
    store = filled(["TagA"] * 2)
    read(store, 0)
    read(store, 2)
    read(store, 0, message_filter=only(TAG_B))
    stats = store.store_stats_service
    assert (stats.get_message_times_total_found, stats.get_message_times_total_miss) == (1, 2)


@pytest.mark.row("S-57")
def test_a_slave_keeps_the_offset_it_was_asked_for(filled):
    store = filled(["TagA"] * 2)
    store.config.broker_role = BrokerRole.SLAVE
    assert place(read(store, 5)) == ("OFFSET_OVERFLOW_BADLY", 5, 0, 2)
    store.config.offset_check_in_slave = True
    assert place(read(store, 5)) == ("OFFSET_OVERFLOW_BADLY", 0, 0, 2)


@given(
    bodies=st.lists(st.integers(0, 3000), min_size=1, max_size=40),
    log_file=st.integers(4000, 20_000),
    queue_file=st.integers(20, 400),
    asked=st.integers(-1, 40),
    memory=st.integers(1000, 100_000),
)
def test_walking_a_queue_gives_every_message_once_within_the_limits(
    make_store_of, bodies, log_file, queue_file, asked, memory
):
    store = make_store_of(log_file, queue_file, memory)
    expected = make_store_of.put_all(store, bodies)
    seen, offset = [], 0
    while offset < len(bodies):
        result = read(store, offset, asked)
        assert result.status is GetMessageStatus.FOUND
        assert result.next_begin_offset == offset + len(result.messages)
        count, size = len(result.messages), sum(map(len, result.messages))
        assert count <= max(asked, 1)
        assert count <= 32
        assert count == 1 or size <= 256 * 1024
        seen += [decode_record(record).body for record in result.messages]
        offset = result.next_begin_offset
    assert seen == expected


def test_queues_whose_messages_are_all_gone_are_deleted_and_empty_ones_stay(filled, message):
    """`cleanExpiredConsumerQueue`, which the admin tool asks for (CLEAN_EXPIRED_CONSUMEQUEUE)."""
    store = filled(["TagA"] * 3, body=b"x" * 200, mapped_file_size_commit_log=1000)
    later = message(b"x" * 200, "TagA", "U")
    store.put_message(later, 1_700_000_000_000)
    store.find_consume_queue("U", 1)
    CleanService(store).clean_expired_consume_queues()
    assert {topic: set(queues) for topic, queues in store.consume_queue_table.items()} == {"T": {0}, "U": {0, 1}}
    assert store.commit_log.mapped_file_queue.delete_first(1) == 1  # the three of T
    CleanService(store).clean_expired_consume_queues()
    assert {topic: set(queues) for topic, queues in store.consume_queue_table.items()} == {"U": {0, 1}}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400)), min_size=1, max_size=60),
    st.integers(1, 40), st.integers(0, 30), st.sampled_from([1, 2, 16]),
)  # fmt: skip
def test_records_read_at_once_are_those_read_one_by_one(make_store_of, sizes, wanted, offset, at_once):
    """Whatever lies between a queue's messages: other queues', the ends of files, files that are gone."""
    store = make_store_of(2_048, 400, 1 << 30)
    for queue, size in sizes:
        store.put_message(make_store_of.message(b"x" * size, queue_id=queue), NOW)
    if len(store.commit_log.mapped_file_queue.mapped_files) > 2:
        store.commit_log.mapped_file_queue.delete_first(1)
    store.queue_reader.verify_reads = at_once == 2
    found = []
    for number in (at_once, 0):
        with pytest.MonkeyPatch.context() as patched:
            if number == 0:
                patched.setattr(QueueReader, "_read_ahead", lambda *_: b"")
            else:
                patched.setattr(queue_reader, "AT_ONCE", (number, 8))
            found.append(store.get_message("G", "T", 0, offset, wanted, None))
    assert found[0] == found[1]


@given(
    st.lists(st.tuples(st.sampled_from(["TagA", "TagB", None]), st.integers(0, 80)), min_size=1, max_size=40),
    st.sampled_from(["TagA", "TagA || TagB", "*"]), st.integers(1, 12), st.integers(0, 20), st.integers(200, 2_000),
)  # fmt: skip
def test_what_is_asked_once_is_as_if_every_entry_were_asked(make_store_of, sent, expression, most, offset, most_bytes):
    """The tags code and the room that is left are asked for once as long as the answer stands."""
    store = make_store_of(1 << 20, 400, 1 << 30)
    for tag, size in sent:
        store.put_message(make_store_of.message(b"x" * size, tag), NOW)
    store.config.max_transfer_bytes_on_message_in_memory = most_bytes
    message_filter = ExpressionMessageFilter(build_subscription("T", expression, None))
    assert message_filter.by_tags_code
    rejected = []
    result = store.get_message("G", "T", 0, offset, most, message_filter, lambda *what: rejected.append(what))
    records, dropped, total = [], [], 0
    for index in range(offset, len(sent)):
        _, size, code = store.find_consume_queue("T", 0).entry(index)
        if is_the_batch_full(size, most, total, len(records), most_bytes, 32):
            break
        if message_filter.is_matched_by_consume_queue(code):
            records.append(index)
            total += size
        else:
            dropped.append((index, "consume_queue"))
    assert [decode_record(record).queue_offset for record in result.messages] == records
    assert rejected == dropped
    if offset < len(sent):
        assert result.next_begin_offset == offset + len(records) + len(dropped)
        assert (result.status is GetMessageStatus.FOUND) == bool(records)
