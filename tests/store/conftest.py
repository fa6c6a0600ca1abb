"""Stores and messages to try, and the store directories that real brokers left behind."""

from __future__ import annotations

import re
import struct
import tarfile
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from rmqlab.message.message import Host, MessageExtBrokerInner
from rmqlab.message.properties import properties_to_string
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.live.store.log_scan import LogScan

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_609_459_200_000
HOST = Host("127.0.0.1", 10911)
_INDEX_SLOTS_END = 40 + 5_000_000 * 4
_FILE = re.compile(r"store/(commitlog|consumequeue(?:_ext)?/[^/]+/\d+)/\d{20}")


def append_data(store, start_offset, data):
    """Put raw bytes behind the commit log, as from another broker."""
    assert store.commit_log.mapped_file_queue.last_mapped_file_or_new(start_offset).append(data)


def message(body=b"hello", tag="TagA", topic="T", queue_id=0, **fields):
    """A message as the broker hands it to the store; `properties` replaces the tag."""
    properties = fields.pop("properties", {"TAGS": tag} if tag else {})
    defaults = {"born_timestamp": NOW - 1, "born_host": Host("192.168.1.7", 43210), "store_host": HOST}
    text = fields.pop("properties_string", properties_to_string(properties))
    return MessageExtBrokerInner(
        topic=topic,
        body=body,
        properties=dict(properties),
        queue_id=queue_id,
        properties_string=text,
        **{**defaults, **fields},
    )


@pytest.fixture(name="append_data")
def _append_data():
    return append_data


@pytest.fixture(name="message")
def _message():
    return message


@pytest.fixture
def make_store():
    """Build a store; keyword arguments that the store takes itself, all others are settings."""

    def make(**settings):
        own = ("base_offset", "physical_memory_size", "broker_id", "segments")
        arguments = {name: settings.pop(name) for name in own if name in settings}
        return MessageStore(MessageStoreConfig(**settings), **arguments)

    return make


@pytest.fixture
def filled(make_store):
    """Build a store and put messages into queue 0 of topic T: one for each tag, a millisecond apart."""

    def fill(tags, body=b"hello", **settings):
        store = make_store(**settings)
        for index, tag in enumerate(tags):
            store.put_message(message(body, tag), NOW + index)
        return store

    return fill


@pytest.fixture(scope="session")
def make_store_of():
    """Build stores of odd file sizes and fill them; for tests that try many."""

    class Maker:
        message = staticmethod(message)

        def __call__(self, log_file, queue_file, memory):
            config = MessageStoreConfig(mapped_file_size_commit_log=log_file, mapped_file_size_consume_queue=queue_file)
            return MessageStore(config, physical_memory_size=memory)

        @staticmethod
        def put_all(store, sizes):
            bodies = [bytes([index % 251]) * size or None for index, size in enumerate(sizes)]
            for index, body in enumerate(bodies):
                store.put_message(message(body), NOW + index)
            return bodies

    return Maker()


class RecordedStore:
    """Files of `store.tar.gz` by directory and name, and the settings of `broker.conf`."""

    def __init__(self, folder: Path) -> None:
        lines = (folder / "broker.conf").read_text().splitlines()
        self.settings = dict(line.split("=", 1) for line in lines if "=" in line)
        self.files: dict[str, bytes] = {}
        with tarfile.open(folder / "store.tar.gz") as archive:
            for member in archive:
                if member.isfile() and _FILE.fullmatch(member.name):
                    self.files[member.name.removeprefix("store/")] = archive.extractfile(member).read()
                elif member.isfile() and member.name.startswith("store/index/"):
                    self.index = self._index(archive.extractfile(member))

    @staticmethod
    def _index(file):
        """Read an index file (sparse, 420 MB): key hash -> (commit log offset, seconds since the first message)."""
        count = int.from_bytes(file.read(40)[36:])
        file.seek(_INDEX_SLOTS_END)
        index = {}
        # the entry 0 is never used
        for key_hash, offset, seconds, _ in list(struct.iter_unpack(">iqii", file.read(count * 20)))[1:]:
            index.setdefault(key_hash, []).append((offset, seconds))
        return index

    def under(self, folder):
        """The files of one kind."""
        return {name: data for name, data in self.files.items() if name.startswith(f"{folder}/")}

    def rebuild(self, prepare=lambda _: None, **changed):
        """Feed the commit log to a store of ours and let it dispatch; `prepare` may add dispatchers before."""
        config = MessageStoreConfig.from_properties(self.settings)
        for name, value in changed.items():
            setattr(config, name, value)
        store = MessageStore(config)
        prepare(store)
        for name, data in sorted(self.under("commitlog").items()):
            append_data(store, int(name.rpartition("/")[2]), data)
        scan = LogScan(store.commit_log)
        assert list(scan.records())
        scan.repair()
        store.dispatch()
        return store


@pytest.fixture(scope="session")
def recorded(golden):
    """Read a recorded store directory, once a run."""
    return lru_cache(lambda name: RecordedStore(golden / "broker-4.8.0" / name))


def files_of(queue):
    """What a MappedFileQueue would have on disk: whole files, zeros behind what is written."""
    return {
        f"{queue.directory}/{one.file_from_offset:020d}": (one.select_from(0) or b"").ljust(one.file_size, b"\0")
        for one in queue.mapped_files
    }


@pytest.fixture(scope="session")
def logic_files():
    """Return the consume queue files and the extension files of a store."""

    def read(store):
        queues = [queue for table in store.consume_queue_table.values() for queue in table.values()]
        entries, units = {}, {}
        for queue in queues:
            entries |= files_of(queue.mapped_file_queue)
            if queue.consume_queue_ext is not None:
                units |= files_of(queue.consume_queue_ext.mapped_file_queue)
        return entries, units

    return read
