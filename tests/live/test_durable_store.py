"""Stores on disk: kill -9 at any byte, damaged bytes, missing files, full disks, locks, retention."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rmqlab
from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.client.runtime import RemotingError
from rmqlab.errors import BadInput
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.record import decode_record, decode_records
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab.rules import RULES
from rmqlab.store.clean_service import CleanService
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.dispatch_request import PutMessageStatus
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.live import file_segments, recovery
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.durable_store import DurableStore
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.store.index_service import query_message
from rmqlab_tools.live.store_folder import StoreFolder
from rmqlab_tools.live.system import disk_space

NOW = 1_700_000_000_000
SIZES = {
    "mapped_file_size_commit_log": 4096,
    "mapped_file_size_consume_queue": 200,
    "mapped_file_size_consume_queue_ext": 1024,
    "max_hash_slot_num": 50,
    "max_index_num": 1000,
}


class Opened:
    """A broker over a folder, without sockets: its clock is in the test's hand."""

    def __init__(self, root, *, space=lambda _: (10, 9, 9), version="4.8.0", **settings):
        self.now = NOW
        config = MessageStoreConfig(**{**SIZES, **settings})
        self.folder = StoreFolder(root)
        self.folder.open()
        rules = RULES[version]
        self.store = MessageStore(config, self.folder.segments, rules=rules)
        self.broker = Broker(BrokerConfig(), self.store, rules=rules, now=self.now)
        self.durable = DurableStore(self.folder, self.broker, space=space)
        try:
            self.report = self.durable.load()
        except BaseException:
            self.folder.release(in_order=False)
            raise
        self.durable.start()

    def put(self, topic, body, queue=0, tags=None, keys=None):
        self.now += 10
        message = Message.of(topic, body, tags, keys)
        message.properties["UNIQ_KEY"] = f"U{body.decode('latin-1')}"
        inner = MessageExtBrokerInner.of_broker(message, queue, self.broker.config.store_host, self.now)
        return self.store.put_message(inner, self.now)

    def read(self, topic, queue=0):
        """Everything a consumer gets, pull by pull: (queue offset, body)."""
        messages, offset = [], self.store.get_min_offset_in_queue(topic, queue)
        while True:
            result = self.store.get_message("G", topic, queue, offset, 32, None)
            if result is None or result.next_begin_offset <= offset:
                return messages
            messages += [(record.queue_offset, record.body) for record in decode_records(b"".join(result.messages))]
            offset = result.next_begin_offset

    def by_key(self, topic, key):
        result = query_message(self.store, topic, key, 32, 0, NOW * 2)
        return [decode_record(record).body for record in result.messages]

    def pass_time(self, ms):
        self.now += ms
        self.broker.timers.run(self.now)

    def stop(self):
        self.durable.stop()

    def kill(self):
        """Leave everything as it lies there now."""
        self.durable._executor.shutdown()
        self.folder.release(in_order=False)


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """What a killed process wrote is in the system's memory: waiting for the disk would only cost time here."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(file_segments, "_fdatasync", lambda fd: None)


@pytest.fixture
def opened(tmp_path):
    """Open stores; whatever is still open at the end is killed."""
    running = []

    def open_store(name="store", **settings):
        store = Opened(tmp_path / name, **settings)
        running.append(store)
        return store

    yield open_store
    for store in running:
        store.kill()


def filled(opened, name="store", count=40, **settings):
    store = opened(name, **settings)
    for number in range(count):
        store.put(
            "T", b"%03d" % number + b"x" * (number * 7 % 50), queue=number % 2, tags=f"t{number % 3}", keys=f"k{number}"
        )
    return store


def all_of(store):
    return {queue: store.read("T", queue) for queue in (0, 1)}


def records_of(root):
    """(place in the row of files, size) of every record, in order."""
    records = []
    for path in sorted((root / "commitlog").iterdir()):
        data, at = path.read_bytes(), 0
        while int.from_bytes(data[at + 4 : at + 8]) == 0xDAA320A7:
            size = int.from_bytes(data[at : at + 4])
            records.append((path, at, size))
            at += size
    return records


def test_an_orderly_end_and_a_new_beginning(opened, tmp_path):
    store = filled(opened)
    store.broker.topic_config_manager.update_topic_config(TopicConfig("T", 2, 2, 6))
    store.broker.consumer_offset_manager.commit_offset("c", "G", "T", 0, 7)
    before = all_of(store)
    assert (tmp_path / "store" / "abort").exists()
    store.stop()
    assert not (tmp_path / "store" / "abort").exists()
    again = opened()
    assert all_of(again) == before
    assert again.by_key("T", "k17") == [again.read("T", 1)[8][1]]
    assert again.broker.topic_config_manager.select_topic_config("T").write_queue_nums == 2
    assert again.broker.consumer_offset_manager.query_offset("G", "T", 0) == 7
    result = again.put("T", b"more", queue=1)
    assert result.logics_offset == 20
    assert again.report.holes == []


def test_kill_at_every_record_and_inside(opened, tmp_path, monkeypatch):
    """What was in the log before the cut is served, nothing else is, and its offsets go on."""
    store = filled(opened, count=22)
    store.pass_time(1_000)
    before = all_of(store)
    store.kill()
    base = tmp_path / "store"
    records = records_of(base)
    assert len({path for path, _, _ in records}) > 1
    for number, (path, at, size) in enumerate(records):
        for cut in {0, 1, 4, 8, 20, size // 2, size - 1} if number in {0, 9, 21} else {0, size // 3}:
            for shorten in (False, True) if number % 3 == 0 else (False,):
                shutil.rmtree(tmp_path / "cut", ignore_errors=True)
                shutil.copytree(base, tmp_path / "cut")
                _cut(tmp_path / "cut" / "commitlog", path.name, at + cut, shorten=shorten)
                again = Opened(tmp_path / "cut")
                kept = {0: before[0][: (number + 1) // 2], 1: before[1][: number // 2]}
                assert all_of(again) == kept, (number, cut)
                assert again.put("T", b"new", queue=0).logics_offset == len(kept[0])
                assert again.read("T", 0)[-1] == (len(kept[0]), b"new")
                assert again.by_key("T", f"k{number}") == []
                again.kill()


def _cut(folder, name, position, *, shorten):
    for path in folder.iterdir():
        if path.name > name:
            path.unlink()
    with (folder / name).open("r+b") as file:
        file.truncate(position)
        if not shorten:
            file.truncate(SIZES["mapped_file_size_commit_log"])


@pytest.mark.parametrize("abort", [False, True])
def test_flipped_bytes_in_the_log(opened, tmp_path, abort):
    """The message whose record is damaged is lost, and nobody gets anything false for it; all others are there."""
    store = filled(opened, count=24)
    before = all_of(store)
    store.kill() if abort else store.stop()
    base = tmp_path / "store"
    for number, (path, at, size) in enumerate(records_of(base)):
        for place in (0, 2, 5, 9, 21, 27, 30, 60, 84, 88, 89, size - 3) if number in {0, 23} else (88,):
            shutil.rmtree(tmp_path / "flipped", ignore_errors=True)
            shutil.copytree(base, tmp_path / "flipped")
            target = tmp_path / "flipped" / "commitlog" / path.name
            data = bytearray(target.read_bytes())
            data[at + place] ^= 0x41
            target.write_bytes(data)
            again = Opened(tmp_path / "flipped")
            after = all_of(again)
            queue, index = number % 2, number // 2
            others = {q: [m for m in before[q] if (q, m[0]) != (queue, index)] for q in before}
            got = {q: [m for m in dict.fromkeys(after[q]) if (q, m[0]) != (queue, index)] for q in after}
            assert got == others, (number, place)
            mine = [m for m in after[queue] if m[0] == index]
            assert mine in ([], [before[queue][index]]), (number, place)
            assert again.put("T", b"new", queue=queue).logics_offset in {11, 12}
            again.kill()


def test_flipped_bytes_are_found_when_they_are_served(opened, tmp_path):
    """After an orderly end nobody reads a long log again: damage is noticed by whoever is asked for it."""
    store = filled(opened)
    before = all_of(store)
    path, at, _ = records_of(tmp_path / "store")[10]
    with path.open("r+b") as file:
        file.seek(at + 90)
        file.write(b"\xff")
    after = all_of(store)
    assert after[0] == [message for message in before[0] if message[0] != 5]
    assert after[1] == before[1]


@pytest.mark.parametrize("abort", [False, True])
@pytest.mark.parametrize("gone", ["consumequeue", "index", "consumequeue/T/0", "consumequeue/T/1/00000000000000000000"])
def test_what_is_deleted_is_made_anew(opened, tmp_path, gone, abort):
    store = filled(opened)
    before = all_of(store)
    store.kill() if abort else store.stop()
    target = tmp_path / "store" / gone
    target.unlink() if target.is_file() else shutil.rmtree(target, ignore_errors=True)
    again = opened()
    assert all_of(again) == before
    assert again.by_key("T", "k5") == [dict(before[1])[2]]
    assert again.put("T", b"new", queue=1).logics_offset == 20


def test_flipped_bytes_in_queues_and_index(opened, tmp_path):
    store = filled(opened, count=24)
    before = all_of(store)
    store.kill()
    base = tmp_path / "store"
    for place in (3, 9, 12, 19, 47, 100):
        shutil.rmtree(tmp_path / "flipped", ignore_errors=True)
        shutil.copytree(base, tmp_path / "flipped")
        target = tmp_path / "flipped" / "consumequeue" / "T" / "1" / f"{0:020d}"
        data = bytearray(target.read_bytes())
        data[place] ^= 0x10
        target.write_bytes(data)
        (index,) = (tmp_path / "flipped" / "index").iterdir() if (tmp_path / "flipped" / "index").exists() else [None]
        if index is not None:
            index.write_bytes(bytes(byte ^ 0x55 for byte in index.read_bytes()))
        again = Opened(tmp_path / "flipped")
        assert all_of(again) == before, place
        assert again.by_key("T", "k5") == [dict(before[1])[2]]
        again.kill()


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_every_key_is_found_again_in_a_row_of_index_files(opened, tmp_path, ends):
    """Slots wait in memory until a file is full or the broker stops; killed before, it makes the last file anew."""
    settings = {"max_index_num": 30, "max_hash_slot_num": 4096}
    store = filled(opened, count=20, **settings)
    store.durable._write_index(0)
    for number in range(20, 50):
        store.put("T", b"%03d" % number, keys=f"k{number}")
    store.durable._write_index(0)
    assert len(list((tmp_path / "store" / "index").iterdir())) == 4
    keys = [f"k{number}" for number in range(50)]
    before = [store.by_key("T", key) for key in keys]
    assert [int(body[:3]) for (body,) in before] == list(range(50))
    getattr(store, ends)()
    again = opened(**settings)
    assert [again.by_key("T", key) for key in keys] == before


def test_a_long_log_is_not_read_whole_after_an_orderly_end(opened, monkeypatch):
    monkeypatch.setattr(recovery, "CHECKED_WHOLE_BYTES", 0)
    store = filled(opened, count=200)
    before = all_of(store)
    store.stop()
    again = opened()
    assert 0 < again.report.records < 200
    assert all_of(again) == before
    assert again.put("T", b"new", queue=0).logics_offset == 100


def test_a_long_log_after_a_crash_is_read_from_the_checkpoint(opened, monkeypatch):
    monkeypatch.setattr(recovery, "CHECKED_WHOLE_BYTES", 0)
    store = opened()
    for number in range(200):
        store.now += 100
        store.put("T", b"%03d" % number, queue=number % 2)
    store.pass_time(100_000)  # the checkpoint is written
    store.durable._executor.submit(int).result()
    for number in range(200, 220):
        store.put("T", b"%03d" % number, queue=number % 2)
    before = all_of(store)
    store.kill()
    again = opened()
    assert 20 <= again.report.records < 220
    assert all_of(again) == before


def test_a_topic_made_again_keeps_its_new_messages(opened, tmp_path):
    """The records of the deleted topic are still in the log, under the same offsets."""
    store = filled(opened, count=6)
    CleanService(store.store).clean_unused_topic(())
    for number in range(4):
        store.put("T", b"second %d" % number)
    before = all_of(store)
    assert before == {0: [(n, b"second %d" % n) for n in range(4)], 1: []}
    store.kill()
    again = opened()
    assert all_of(again)[0] == before[0]
    again.kill()
    shutil.rmtree(tmp_path / "store" / "consumequeue")
    rebuilt = opened()
    assert all_of(rebuilt)[0] == before[0]


def test_bytes_of_an_older_log_do_not_come_back(opened, tmp_path):
    """A log cut by an earlier recovery leaves zeros behind, not records that a later crash could take for real."""
    store = filled(opened, count=10)
    store.kill()
    path, at, _ = records_of(tmp_path / "store")[4]
    _cut_only = path.read_bytes()
    path.write_bytes(_cut_only[: at + 10] + b"\xff" * 10 + _cut_only[at + 20 :])
    shutil.rmtree(tmp_path / "store" / "consumequeue")
    again = opened()
    assert [body for _, body in again.read("T", 0)][:2] == [b"000", b"002" + b"x" * 14]
    assert again.report.holes != []
    again.kill()
    third = opened()  # what was mended is whole
    assert third.report.holes == []


def test_extension_units_are_found_again(opened, tmp_path):
    store = filled(opened, count=60, enable_consume_queue_ext=True)
    before = all_of(store)
    assert len(list((tmp_path / "store" / "consumequeue_ext" / "T" / "0").iterdir())) > 0
    store.kill()
    again = opened(enable_consume_queue_ext=True)
    assert all_of(again) == before
    again.put("T", b"new", queue=0)
    assert again.read("T", 0)[-1] == (30, b"new")
    queue = again.store.get_consume_queue("T", 0)
    units = [queue.get_ext(queue.entry(index)[2]) for index in range(31)]
    assert all(unit is not None for unit in units)


def test_without_its_extension_a_queue_is_made_anew(opened, tmp_path):
    store = filled(opened, enable_consume_queue_ext=True)
    before = all_of(store)
    store.stop()
    shutil.rmtree(tmp_path / "store" / "consumequeue_ext")
    again = opened(enable_consume_queue_ext=True)
    assert all_of(again) == before
    queue = again.store.get_consume_queue("T", 1)
    assert queue.get_ext(queue.entry(3)[2]) is not None


def test_without_a_log_there_are_no_queues(opened, tmp_path):
    store = filled(opened)
    store.stop()
    shutil.rmtree(tmp_path / "store" / "commitlog")
    again = opened()
    assert all_of(again) == {0: [], 1: []}
    assert again.put("T", b"first").logics_offset == 0


@pytest.mark.parametrize(
    "topic", ["%RETRY%../../../away", "%RETRY%/away", "%RETRY%a\0away", "..", "%RETRY%" + "\u4e2d" * 110, "\ud800", ""]
)
def test_no_topic_leads_out_of_the_store(opened, tmp_path, topic):
    """A group's name is in its retry topic, and nobody checks what a group is called."""
    store = opened()
    assert store.put(topic, b"1").status is PutMessageStatus.MESSAGE_ILLEGAL
    assert store.put("T", b"2").status is PutMessageStatus.PUT_OK
    assert store.read("T") == [(0, b"2")]
    assert [path.name for path in tmp_path.rglob("*") if "away" in path.name] == []
    assert [path.name for path in (tmp_path / "store" / "consumequeue").iterdir()] == ["T"]


def test_one_process_per_store(opened, tmp_path):
    opened()
    with pytest.raises(BadInput, match="another broker has it"):
        opened()
    code = (
        "import sys; from pathlib import Path; from rmqlab_tools.live.store_folder import StoreFolder\n"
        "StoreFolder(Path(sys.argv[1])).open()"
    )
    second = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")],
        capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip
    assert "another broker has it" in second.stderr


def test_files_of_another_size_are_refused(opened, tmp_path):
    filled(opened).stop()
    with pytest.raises(BadInput, match=r"4096 bytes.*mappedFileSizeCommitLog"):
        opened(mapped_file_size_commit_log=2048)
    assert all_of(opened(max_index_num=10))[0] != []  # an index of another size is made anew
    assert len(list((tmp_path / "store" / "index").iterdir())) == 0


class FullDisk:
    """Refuses writes beyond a number of bytes, in the middle of one if need be."""

    def __init__(self, monkeypatch, room, code=errno.ENOSPC):
        self.room, self._write, self.code = room, os.pwrite, code
        monkeypatch.setattr(file_segments.os, "pwrite", self.write)

    def write(self, fd, data, position):
        if self.room <= 0:
            raise OSError(self.code, os.strerror(self.code))
        written = self._write(fd, data[: self.room], position)
        self.room -= written
        return written


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_full_disk_refuses_and_loses_nothing(opened, monkeypatch, code):
    for room in (0, 10, 150, 210, 230, 390):
        store = opened(f"store{room}")
        for number in range(3):
            assert store.put("T", b"%d" % number).status is PutMessageStatus.PUT_OK
        disk = FullDisk(monkeypatch, room, code)
        statuses = [store.put("T", b"full %d" % number).status for number in range(3)]
        taken = [number for number, status in enumerate(statuses) if status is PutMessageStatus.PUT_OK]
        refused = [status for status in statuses if status is not PutMessageStatus.PUT_OK]
        assert set(refused) == {PutMessageStatus.SERVICE_NOT_AVAILABLE}
        disk.room = 1 << 40
        store.pass_time(11_000)  # the disk is looked at again
        assert store.put("T", b"after").status is PutMessageStatus.PUT_OK
        expected = [b"0", b"1", b"2", *(b"full %d" % number for number in taken), b"after"]
        assert store.read("T") == list(enumerate(expected))
        store.kill()
        monkeypatch.undo()
        assert opened(f"store{room}").read("T") == list(enumerate(expected))


def test_a_file_that_cannot_be_made(opened, monkeypatch):
    store = opened()
    store.put("T", b"x" * 1800)

    def refuse(*_):
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(file_segments.os, "ftruncate", refuse)
    assert store.put("T", b"y" * 1800).status is PutMessageStatus.CREATE_MAPEDFILE_FAILED
    monkeypatch.undo()
    assert store.put("T", b"z" * 1800).status is PutMessageStatus.PUT_OK
    assert [body[:1] for _, body in store.read("T")] == [b"x", b"z"]


def test_a_disk_that_fills_up_is_noticed_before_it_is_full(opened):
    free = [50]
    store = opened(space=lambda _: (100, free[0], free[0]))
    assert store.put("T", b"1").status is PutMessageStatus.PUT_OK
    free[0] = 5
    store.pass_time(1_000)
    assert store.put("T", b"2").status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    free[0] = 50
    store.pass_time(10_000)
    assert store.put("T", b"3").status is PutMessageStatus.PUT_OK


@pytest.mark.parametrize(
    ("version", "usable", "status"),
    [
        ("4.8.0", 24, PutMessageStatus.PUT_OK),
        ("4.8.0", 0, PutMessageStatus.PUT_OK),
        ("5.5.0", 24, PutMessageStatus.PUT_OK),
        ("5.5.0", 4, PutMessageStatus.SERVICE_NOT_AVAILABLE),
    ],
)
def test_what_is_kept_for_special_users_is_not_in_use(opened, version, usable, status):
    """Of 252 GiB, 68 are in use: for 4.8.0 27 %; 5.x counts as df does, so that 4 usable ones are 95 %."""
    store = opened(space=lambda _: (252, 184, usable), version=version)
    store.pass_time(1_000)
    assert store.put("T", b"1").status is status


def test_this_machines_disk_is_measured(tmp_path):
    total, free, usable = disk_space(tmp_path)
    assert total > free >= usable >= 0
    assert disk_space(tmp_path / "nowhere") == (0, 0, 0)


def test_old_files_are_deleted_at_their_hour(opened, tmp_path):
    store = filled(opened, count=100, delete_when="25", file_reserved_time=1)
    log = tmp_path / "store" / "commitlog"
    files = len(list(log.iterdir()))
    assert files > 4
    store.durable._clean(NOW + 2 * 3_600_000)
    assert len(list(log.iterdir())) == files  # old enough, but not the hour
    store.store.config.delete_when = ";".join(map(str, range(24)))
    store.durable._clean(NOW + 2 * 3_600_000)
    assert len(list(log.iterdir())) == max(files - 10, 1)
    assert store.store.get_min_offset_in_queue("T", 0) > 0
    rest = all_of(store)
    assert rest[0][0][0] == store.store.get_min_offset_in_queue("T", 0)
    store.kill()
    again = opened(delete_when="25")
    assert all_of(again) == rest


def test_old_files_are_deleted_when_space_is_needed(opened, tmp_path):
    free = [50]
    store = filled(opened, count=100, space=lambda _: (100, free[0], free[0]), delete_when="25")
    log = tmp_path / "store" / "commitlog"
    files = len(list(log.iterdir()))
    free[0] = 13  # above 85 %: whatever their age
    store.durable._clean(store.now)
    assert len(list(log.iterdir())) == max(files - 10, 1)


def test_damaged_settings_files(opened, tmp_path):
    store = opened()
    store.broker.topic_config_manager.update_topic_config(TopicConfig("T", 2, 2, 6))
    store.durable.persist_changed()
    store.broker.topic_config_manager.update_topic_config(TopicConfig("U", 2, 2, 6))
    store.durable.persist_changed()
    store.kill()
    path = tmp_path / "store" / "config" / "topics.json"
    path.write_text('{"topicConfigTable":{"T"', encoding="utf-8")
    again = opened()
    assert again.broker.topic_config_manager.select_topic_config("T") is not None  # of the .bak
    assert again.broker.topic_config_manager.select_topic_config("U") is None
    again.kill()
    for store in (path, path.with_name("topics.json.bak")):
        store.write_text("{", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"topics.json.bak is damaged at line 1, column 2: it ends in the middle: 4.8.0 does not start"
    ):
        opened()


def test_the_layout_is_that_of_4_8_0(opened, tmp_path):
    store = filled(opened, count=60)
    store.stop()
    root = tmp_path / "store"
    assert sorted(path.name for path in root.iterdir()) == [
        "checkpoint", "commitlog", "config", "consumequeue", "index", "lock",
    ]  # fmt: skip
    assert {path.stat().st_size for path in (root / "commitlog").iterdir()} == {4096}
    assert sorted(path.name for path in (root / "commitlog").iterdir())[1] == f"{4096:020d}"
    queue = (root / "consumequeue" / "T" / "0" / f"{0:020d}").read_bytes()
    assert len(queue) == 200
    offset, size, code = ENTRY.unpack_from(queue, 20)
    assert (offset > 0, size > 0, code) == (True, True, 3646)  # "t2".hashCode()
    (index,) = (root / "index").iterdir()
    assert len(index.name) == 17
    assert index.stat().st_size == 40 + 4 * 50 + 20 * 1000
    physic, logics, indexed = (int.from_bytes((root / "checkpoint").read_bytes()[at : at + 8]) for at in (0, 8, 16))
    assert physic == logics == indexed == NOW + 600
    assert (root / "checkpoint").stat().st_size == 4096
    assert {path.name for path in (root / "config").iterdir()} >= {
        "topics.json", "subscriptionGroup.json", "consumerOffset.json", "consumerFilter.json", "delayOffset.json",
    }  # fmt: skip


def test_a_broker_that_stops_under_load_says_nothing_and_loses_no_answer(tmp_path, caplog, net):
    """Four producers that never stop, a disk that takes its time: requests after the stop are nobody's."""
    config = ServeConfig.of(
        {"diskMaxUsedSpaceRatio": "99", "flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": "20"}, where="test",
        listen="127.0.0.1:0", namesrv="127.0.0.1:0", store=tmp_path / "store",
    )  # fmt: skip

    async def produce(address, answered):
        async with net.client() as runtime:
            while True:
                header = SendMessageRequestHeaderV2("P", "T", "TBW102", 4, 0, 0, 0, 0, "", 0, unit_mode=False)
                request = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, header, b"body")
                answered.append(await runtime.invoke(address, request, 5_000))

    async def run():
        startup, answered = BrokerStartup(config), []
        await startup.start()
        segments = startup._folder.segments
        flush = segments.flush

        def slow(*arguments):
            time.sleep(0.03)
            flush(*arguments)

        segments.flush = slow
        producers = [asyncio.create_task(produce(startup.broker_addr, answered)) for _ in range(4)]
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await startup.stop()
        took = time.monotonic() - began
        await asyncio.gather(*producers, return_exceptions=True)
        return answered, took

    answered, took = asyncio.run(run())
    assert answered
    assert took < 10
    assert not [record for record in caplog.records if record.exc_info or record.name == "asyncio"]


def test_records_held_back_can_be_read_and_are_written_at_once(opened, monkeypatch):
    store = opened()
    written = []
    pwrite = os.pwrite

    def write(fd, data, at):
        written.append(at)
        return pwrite(fd, data, at)

    monkeypatch.setattr(os, "pwrite", write)
    store.durable.hold()
    for number in range(6):
        store.put("T", b"%d" % number)
    assert written == []  # neither the log nor the queue
    assert store.durable.held_records == 6
    assert store.read("T") == [(number, b"%d" % number) for number in range(6)]
    assert store.durable.write_held()
    assert len(written) == 2
    store.durable.release()
    store.put("T", b"6")
    assert len(written) == 4
    before = store.read("T")
    store.kill()
    assert opened().read("T") == before


@pytest.mark.parametrize("cut", [0, 5, 100, 301])
def test_a_kill_in_the_middle_of_a_write_keeps_what_was_written_before(opened, cut):
    """Of a write of many records some bytes may be there: whole records are kept, and none was acknowledged."""
    store = filled(opened, count=7)
    before = all_of(store)
    store.durable.hold()
    for number in range(7, 14):
        store.put("T", b"%03d" % number, queue=number % 2)
    for segment in list(store.folder.segments.held):
        if segment.reserves:
            os.pwrite(segment.fd(), b"".join(segment._held)[:cut], segment.written)
        segment._held.clear()
    store.kill()
    again = opened()
    served = all_of(again)
    assert {queue: messages[: len(before[queue])] for queue, messages in served.items()} == before
    new = [body for messages in served.values() for _, body in messages if int(body[:3]) >= 7]
    assert sorted(new) == [b"%03d" % number for number in range(7, 7 + len(new))]
    assert len(new) <= cut // 100
    number = again.put("T", b"after").logics_offset
    assert again.read("T")[-1] == (number, b"after")


def test_a_disk_that_fills_up_refuses_what_it_has_no_room_for_before_it_is_held_back(opened, monkeypatch):
    store = filled(opened, count=4)
    before = all_of(store)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_segments, "_fallocate", full)
    monkeypatch.setattr(os, "pwrite", full)
    store.durable.hold()
    assert store.put("T", b"refused").status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert not store.folder.segments.held
    monkeypatch.undo()
    assert all_of(store) == before


@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="needs a system with /proc to know which file is written"
)
def test_what_a_broken_disk_does_not_take_is_not_acknowledged_and_not_forgotten(tmp_path, net, monkeypatch):
    """The room was there, the write fails all the same: the connection ends without an answer; others go on."""
    config = ServeConfig.of(
        {"diskMaxUsedSpaceRatio": "99"}, where="test", listen="127.0.0.1:0", namesrv="127.0.0.1:0",
        store=tmp_path / "store",
    )  # fmt: skip
    pwrite, broken = os.pwrite, []

    def write(fd, data, at):
        if broken and Path(f"/proc/self/fd/{fd}").readlink().parent.name == "commitlog":
            raise OSError(errno.EIO, "Input/output error")
        return pwrite(fd, data, at)

    def request():
        header = SendMessageRequestHeaderV2("P", "T", "TBW102", 4, 0, 0, 0, 0, "", 0, unit_mode=False)
        return RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, header, b"body")

    async def run():
        startup = BrokerStartup(config)
        await startup.start()
        try:
            async with net.client() as runtime, net.client() as other:
                assert (await runtime.invoke(startup.broker_addr, request(), 3_000)).code == 0
                monkeypatch.setattr(os, "pwrite", write)
                broken.append(True)
                with pytest.raises(RemotingError):
                    await runtime.invoke(startup.broker_addr, request(), 500)
                refused = await other.invoke(startup.broker_addr, request(), 3_000)
                assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
                broken.clear()
                startup._durable._try_again(0)
                startup.broker.message_store.running_flags.is_writeable = True
                assert (await other.invoke(startup.broker_addr, request(), 3_000)).code == 0
        finally:
            await startup.stop()

    asyncio.run(run())
    with rmqlab.serve(store=tmp_path / "store") as broker:
        assert len(broker.messages("T")) == 3


def test_answers_of_one_flush_leave_together_and_say_when_it_takes_too_long(tmp_path, net):
    config = ServeConfig.of(
        {"diskMaxUsedSpaceRatio": "99", "flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": "500"}, where="test",
        listen="127.0.0.1:0", namesrv="127.0.0.1:0", store=tmp_path / "store",
    )  # fmt: skip

    async def run():
        startup, disk_is_free, flushes = BrokerStartup(config), threading.Event(), []
        disk_is_free.set()
        await startup.start()
        flush = startup._folder.segments.flush

        def counted(*arguments):
            flushes.append(arguments)
            disk_is_free.wait()
            flush(*arguments)

        startup._folder.segments.flush = counted
        try:
            async with net.client() as store, net.client() as two:

                async def send(runtime):
                    header = SendMessageRequestHeaderV2("P", "T", "TBW102", 4, 0, 0, 0, 0, "", 0, unit_mode=False)
                    request = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, header, b"body")
                    return (await runtime.invoke(startup.broker_addr, request, 5_000)).code

                await asyncio.gather(send(store), send(two))
                flushes.clear()
                codes = await asyncio.gather(*(send(runtime) for runtime in (store, two) for _ in range(10)))
                assert set(codes) == {ResponseCode.SUCCESS}
                assert len([arguments for arguments in flushes if arguments == ("commitlog",)]) < 10
                disk_is_free.clear()
                assert await send(store) == ResponseCode.FLUSH_DISK_TIMEOUT
                disk_is_free.set()
                await startup._durable.flushed()
                assert await send(store) == ResponseCode.SUCCESS
        finally:
            disk_is_free.set()
            await startup.stop()

    asyncio.run(run())
