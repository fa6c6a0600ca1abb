"""What the fuzzer of whole stores found: odd names, what is no file, an index that runs in a circle, sizes that lie."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress

import pytest

from rmqlab.errors import BadInput
from rmqlab.message.topics import MAX_QUEUES
from rmqlab_tools.live.index_file import IndexFile, file_size
from rmqlab_tools.spark.files.commit_log_files import LogRange, log_files, queue_files
from rmqlab_tools.spark.files.log_reader import LogReader
from rmqlab_tools.spark.files.record_columns import RecordWalk
from rmqlab_tools.spark.files.store_tables import config_damage, read_piece
from tests.proof.stress.whole_store import audited, opened, put, served, stores

QUEUE = "consumequeue/T/0/00000000000000000000"
LOG = "commitlog/00000000000000000000"


@pytest.fixture
def given(tmp_path):
    """Writes a store with some files changed: bytes, a word for what is no file, None for none."""

    def write(**changes):
        tree = dict(stores()[0])
        for name, data in changes.items():
            tree.pop(name, None)
            if data is not None:
                tree[name] = data
        put(tree, tmp_path / "store")
        return tmp_path / "store"

    return write


@pytest.mark.parametrize("kind", ["folder", "fifo", "loop"])
@pytest.mark.parametrize("name", [QUEUE, LOG])
def test_what_is_no_file_is_named_and_refused(given, name, kind):
    """4.8.0 does not start on a file of another length either (`MappedFileQueue.load`)."""
    for read in (served, audited):
        with pytest.raises(BadInput, match=name):
            read(given(**{name: kind}))


@pytest.mark.parametrize("kind", ["folder", "fifo", "loop"])
def test_an_index_that_is_no_file_is_made_anew_if_that_can_be(given, kind):
    name = "index/20261121074632887"
    with pytest.raises(BadInput, match=name) if kind == "folder" else nullcontext():
        assert served(given(**{name: kind}))
    with pytest.raises(BadInput, match=name):
        audited(given(**{name: kind}))


def test_a_link_that_leads_nowhere_is_a_file_that_is_gone(given):
    store = given(**{QUEUE: "dangling"})
    assert audited(store)
    with pytest.raises(BadInput, match="No such file"):
        served(store)


@pytest.mark.parametrize("name", ["--5", "\u00b2", "99999999999", "x"])
def test_a_queues_folder_whose_name_is_no_number_is_passed_over(given, name):
    """As `DefaultMessageStore.loadConsumeQueue` does."""
    store = given(**{f"consumequeue/T/{name}/00000000000000000000": b"\xff" * 200})
    assert {file.queue_id for file in queue_files(store, "consumequeue") if file.topic == "T"} == {0, 1}
    assert audited(store)
    assert served(store)


def test_a_log_file_whose_name_is_no_offset_is_refused(given):
    for read in (served, audited):
        with pytest.raises(BadInput, match="99999999999999999999: its name is no offset"):
            read(given(**{"commitlog/99999999999999999999": b"x" * 100}))


@pytest.mark.parametrize("size", [1 << 31, 1 << 40])
def test_a_log_file_that_is_larger_than_any_is_refused_unread(given, size):
    """A sparse one takes no room on the disk, and took 10 GB of memory."""
    store = given()
    os.truncate(store / LOG, size)
    with pytest.raises(BadInput, match=f"{size:,} bytes; a file of a commit log has at most 2,147,483,647"):
        audited(store)
    with pytest.raises(BadInput, match=f"{size} bytes, the settings say 4096"):
        served(store)


def test_a_checkpoint_that_is_a_pipe_says_nothing(given):
    assert served(given(checkpoint="fifo"))


@pytest.mark.parametrize("kind", ["fifo", "dangling"])
def test_nothing_is_written_through_what_has_a_new_files_name(given, tmp_path, kind):
    """To open a pipe waited for a reader; a link may lead out of the store."""
    outside = tmp_path / "outside"
    store = given(**{"commitlog/00000000000000008192": None, "consumequeue/T/1/00000000000000000000": None})
    for name in ("consumequeue/T/1/00000000000000000000", "config/topics.json.tmp"):
        path = store / name
        path.parent.mkdir(exist_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(outside)
    with suppress(BadInput):
        served(store)
    assert not outside.exists()


def test_an_index_that_runs_in_a_circle_ends():
    class Memory:
        def __init__(self):
            self.data = bytearray(file_size(5, 20))

        def truncate(self, size):
            pass

        def read(self, position, length):
            return bytes(self.data[position : position + length])

    def entry(file, number, before):
        at = file._entries_at + number * 20
        file.segment.data[at : at + 20] = (7).to_bytes(4) + number.to_bytes(8) + (0).to_bytes(4) + before.to_bytes(4)

    memory = Memory()
    memory.data[36:40] = (1_000).to_bytes(4)  # entries, it says: more than have room
    memory.data[40 + 4 * 2 : 44 + 4 * 2] = (4).to_bytes(4)
    file = IndexFile(memory, 5, 20)
    assert file.index_count == 20
    for number, before in ((4, 3), (3, 2), (2, 4)):
        entry(file, number, before)
    found = []
    file.select_phy_offset(found, 7, 50, 0, 1 << 60)
    assert found == [4, 3, 2]
    memory.data[48:52] = (999).to_bytes(4)  # a slot that leads out of the file
    file.select_phy_offset(found, 7, 50, 0, 1 << 60)
    assert found == [4, 3, 2]


def test_a_record_that_says_it_has_no_size_has_no_time(given):
    broker, durable = opened(given())
    try:
        log = broker.message_store.commit_log
        assert log.pickup_store_timestamp(0, 0) == log.pickup_store_timestamp(0, 30) == -1
        assert log.pickup_store_timestamp(0, 100) > 0
    finally:
        durable.stop()


def test_a_topic_of_two_thousand_million_queues_is_cut_and_that_is_said(given, caplog):
    text = b'{"topicConfigTable":{"T":{"topicName":"T","readQueueNums":2147483647,"writeQueueNums":2147483647}}}'
    broker, durable = opened(given(**{"config/topics.json": text}))
    try:
        topic = broker.topic_config_manager.topic_config_table["T"]
        assert topic.read_queue_nums == topic.write_queue_nums == MAX_QUEUES
        assert "topic 'T': 2147483647 queues; the first 65536 are looked at" in caplog.text
    finally:
        durable.stop()


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1, 1 << 32, 1 << 63, 10**40])
@pytest.mark.parametrize(
    ("table", "file", "text"),
    [
        ("topics", "topics.json", '{"topicConfigTable":{"T":{"topicName":"T","perm":%d}}}'),
        ("topics", "topics.json", '{"topicConfigTable":{"T":{"topicName":"T","readQueueNums":%d}}}'),
        ("topics", "topics.json", '{"topicConfigTable":{"T":{"topicName":"T","topicSysFlag":%d}}}'),
        ("subscriptions", "subscriptionGroup.json", '{"subscriptionGroupTable":{"G":{"retryMaxTimes":%d}}}'),
        ("subscriptions", "subscriptionGroup.json", '{"subscriptionGroupTable":{"G":{"retryQueueNums":%d}}}'),
        ("offsets", "consumerOffset.json", '{"offsetTable":{"T@G":{%d:5}}}'),
        ("filters", "consumerFilter.json",
         '{"filterDataByTopic":{"T":{"groupFilterData":{"G":{"bloomFilterData":{"bitNum":%d}}}}}}'),
        ("filters", "consumerFilter.json",
         '{"filterDataByTopic":{"T":{"groupFilterData":{"G":{"bloomFilterData":{"bitPos":[%d]}}}}}}'),
    ],
)  # fmt: skip
def test_a_file_of_settings_with_a_number_that_is_no_int_is_damaged(given, number, table, file, text):
    """The jar of 4.8.0 does not take it either (fastjson: "parseInt error"); an Arrow column of 32 bits would not."""
    store = given(**{f"config/{file}": (text % number).encode()})
    (damage,) = config_damage(store, table)
    assert f"{number} is not a number of 32 bits" in damage
    (row,) = [row for batch in read_piece(store, table, (), None) for row in batch.to_pylist()]
    assert {name: value for name, value in row.items() if value is not None} == {"damage": damage}
    assert served(store)


def test_the_slots_that_an_index_counts_wrap_as_in_java(given):
    (name,) = (name for name in stores()[0] if name.startswith("index/"))
    index = bytearray(stores()[0][name])
    index[32:36] = (0x7FFFFFFF).to_bytes(4)
    store = given(**{name: bytes(index)})
    assert served(store)
    assert int.from_bytes((store / name).read_bytes()[32:36], signed=True) < 0


def test_an_error_while_a_log_is_read_is_told_as_it_is(given, monkeypatch):
    """The map cannot be closed while the error's frames look into it, and that error hid the first one."""

    def fails(*_):
        raise ZeroDivisionError

    (file, *_) = log_files(given())
    monkeypatch.setattr(RecordWalk, "__call__", fails)
    with pytest.raises(ZeroDivisionError):
        list(LogReader(("topic",)).read(LogRange(file, 0, file.size)))
    assert os.path.exists(file.path)  # noqa: PTH110
