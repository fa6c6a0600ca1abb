"""A broker's store, all of it, changed by chance: commit log, consume queues and their extension, index, `config/`.

Also what lies beside them: `checkpoint`, `abort`, folders and files that no broker made. The readers are those of
`serve` (recovery, then consumers, searches by key and time, and a message more), of `audit` (all its tables and the
scan of its tasks, without Spark's own part), and of `explain`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.checkout import checkout_path
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.record import decode_record, decode_records
from rmqlab.message.sysflag import TRANSACTION_PREPARED_TYPE
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.live.durable_store import DurableStore
from rmqlab_tools.live.store.index_service import query_message
from rmqlab_tools.live.store_folder import StoreFolder
from rmqlab_tools.recordings.store import PACKED
from tests.proof.stress.mutations import changed, with_odd_bytes, with_odd_fields

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Mapping, Sequence

    Tree = Mapping[str, bytes | str]
    """Paths in the store: the bytes of files, or a word of ``_ODD_KINDS``."""


class Changed(NamedTuple):
    """A store, and the folders and files at its top in which something was changed."""

    files: Tree
    where: frozenset[str]


NOW: Final = 1_700_000_000_000
SIZES: Final = {
    "mapped_file_size_commit_log": 4096, "mapped_file_size_consume_queue": 200,
    "mapped_file_size_consume_queue_ext": 1024, "max_hash_slot_num": 50, "max_index_num": 200,
    "enable_consume_queue_ext": True,
}  # fmt: skip
MOST_PULLS: Final = 60
_ODD_KINDS: Final = ("folder", "fifo", "dangling", "loop")
_ODD_NAMES: Final = (
    "commitlog/00000000000000000001", "commitlog/00000000000000008192", "commitlog/99999999999999999999",
    "commitlog/\u0660" + "0" * 19, "commitlog/x", "consumequeue/T/--5/00000000000000000000",
    "consumequeue/T/\u0663/00000000000000000000", "consumequeue/T/99999999999/00000000000000000000",
    "consumequeue/T/-1/00000000000000000000", "consumequeue/T/0/00000000000000000017", "consumequeue/T/0/5",
    "consumequeue/T/\u00b2/00000000000000000000", "consumequeue/x", "consumequeue/\x1b[2J/0/00000000000000000000",
    "consumequeue/T/0/99999999999999999980", "consumequeue_ext/T/0/00000000000000001024", "index/1",
    "index/20261121074632887", "index/99999999999999999", "config/topics.json.bak", "abort", "checkpoint", "lock",
    "00000000000000000000",
)  # fmt: skip
_RECORDS: Final = {"consumequeue": (20, 0), "index": (20, 40 + 4 * 50), "checkpoint": (8, 0)}
_UNQUOTED: Final = re.compile(rb"([{,]\s*)(\d+):")
_OFFSETS: Final = 3
_CHANGES: Final = (1, 1, 1, 2, 3, 5)


@cache
def stores() -> list[Tree]:
    """Small stores: stopped in order, killed, and with what 4.8.0 has written into `config/`, of offsets a part."""
    with tempfile.TemporaryDirectory() as scratch:
        made = [_made(Path(scratch) / "stopped", in_order=True), _made(Path(scratch) / "killed", in_order=False)]
    config = {}
    with tarfile.open(checkout_path("data") / "golden" / "broker-4.8.0" / "base" / PACKED) as archive:
        for name in ("consumerFilter.json", "consumerOffset.json", "delayOffset.json"):
            stream = archive.extractfile(f"store/config/{name}")
            config[f"config/{name}"] = stream.read() if stream else b""
    offsets = json.loads(_UNQUOTED.sub(rb'\1"\2":', config["config/consumerOffset.json"]))["offsetTable"]
    text = json.dumps({"offsetTable": dict(sorted(offsets.items())[:_OFFSETS])}, indent=1)
    return [*made, {**made[0], **config, "config/consumerOffset.json": text.encode()}]


def _made(root: Path, *, in_order: bool) -> Tree:
    """A store as our broker leaves it: two queues, delays, a transaction, SQL92 filters, several files of a kind."""
    broker, durable = opened(root)
    store = broker.message_store
    broker.consumer_filter_manager.register_topic("T", "G", "a > 1", "SQL92", 1)
    for number in range(30):
        topic = "T" if number % 3 else "U"
        message = Message.of(topic, b"body %d" % number * (number % 5 + 1), f"t{number % 3}", f"k{number % 4} k9")
        message.properties |= {"UNIQ_KEY": f"U{number}", "a": str(number)}
        if number % 10 == 5:
            message.properties["DELAY"] = "3"
        inner = MessageExtBrokerInner.of_broker(message, number % 2, broker.config.store_host, NOW + number)
        if number % 10 == 6:
            inner.sys_flag |= TRANSACTION_PREPARED_TYPE
        store.put_message(inner, NOW + number)
        store.dispatch()
    broker.consumer_offset_manager.commit_offset("c", "G", "T", 0, 3)
    durable.stop()
    tree = _tree(root)
    return tree if in_order else {**tree, "abort": b""}


def _tree(root: Path) -> Tree:
    paths = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def opened(root: Path) -> tuple[Broker, DurableStore]:
    """A broker over a folder, without sockets, that has taken in what is there. Raises `BadInput`."""
    place = StoreFolder(root)
    place.open()
    broker = Broker(
        BrokerConfig(enable_calc_filter_bit_map=True, enable_property_filter=True),
        MessageStore(MessageStoreConfig(**SIZES), place.segments),  # type: ignore[arg-type]
        now=NOW + 1_000,
    )
    durable = DurableStore(place, broker, space=lambda _: (10, 9, 9))
    try:
        durable.load()
    except BaseException:
        durable._executor.shutdown()  # noqa: SLF001 - else its thread would stay
        place.release(in_order=False)
        raise
    durable.start()
    return broker, durable


def unchanged(tree: Tree) -> Changed:
    """A store as it is, for readers that read all of it."""
    return Changed(tree, frozenset(name.partition("/")[0] for name in tree))


def changed_store(tree: Tree, choose: random.Random, others: Sequence[Tree]) -> Changed:
    """Return a store with one to five of its files changed, cut, lost, renamed, exchanged, or made something else."""
    files = dict(tree)
    for _ in range(choose.choice(_CHANGES)):
        names = sorted(files)
        if not names:
            break
        kind = choose.choice(sorted({name.partition("/")[0] for name in names}))
        name = choose.choice([known for known in names if known.partition("/")[0] == kind])
        data = files[name]
        other = choose.choice(sorted(choose.choice(others)))
        match choose.randrange(12):
            case 0:
                del files[name]
            case 1:
                files[choose.choice(_ODD_NAMES)] = files.pop(name) if choose.random() < 0.5 else data
            case 2:
                files[name] = choose.choice((b"", b"\0" * 4096, b"\xff" * 200, *_ODD_KINDS))
            case 3 if other in files:
                files[name] = files[other]
            case 4:
                files[choose.choice(_ODD_NAMES)] = choose.choice((b"", b"\0" * 200, *_ODD_KINDS))
            case _ if isinstance(data, bytes):
                files[name] = _changed_file(kind, data, choose)
            case _:
                pass
    where = {name.partition("/")[0] for name in files.keys() | tree.keys() if files.get(name) is not tree.get(name)}
    return Changed(files, frozenset(where))


def _changed_file(kind: str, data: bytes, choose: random.Random) -> bytes:
    if kind == "config":
        return changed(data, choose, [data])
    if kind in _RECORDS and choose.random() < 0.6:
        if kind == "index" and choose.random() < 0.4:  # its header and its slots
            return with_odd_fields(data[:240], choose, 4) + data[240:]
        return with_odd_fields(data, choose, *_RECORDS[kind])
    written = len(data.rstrip(b"\0")) + 30
    return with_odd_bytes(data[:written], choose, [data]) + data[written:]


def put(tree: Mapping[str, bytes | str], root: Path) -> None:
    """Write a store where another one may lie."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, data in sorted(tree.items()):
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            match data:
                case bytes():
                    path.write_bytes(data)
                case "folder":
                    path.mkdir(exist_ok=True)
                case "fifo":
                    os.mkfifo(path)
                case "dangling":
                    path.symlink_to("nowhere")
                case _:
                    path.symlink_to(path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue  # a file stands where this one's folder would be


_TABLES: Final = {
    "commitlog": ("commitlog",), "consumequeue": ("consumequeue",), "consumequeue_ext": ("ext",), "index": ("index",),
    "config": ("offsets", "subscriptions", "filters", "topics"),
}  # fmt: skip


def served(root: Path) -> int:
    """What `serve` does on a store: recovery, consumers of every queue, searches, a message more, an orderly end."""
    broker, durable = opened(root)
    try:
        messages = _consumed(broker)
        store = broker.message_store
        for topic, key in (("T", "k1"), ("T", "k9"), ("U", "k2"), ("T", "U3")):
            records = query_message(store, topic, key, 32, 0, LONG_MAX).messages
            messages += sum(decode_record(record) is not None for record in records)
        inner = MessageExtBrokerInner.of_broker(
            Message.of("T", b"one more", "t1", "k1"), 0, broker.config.store_host, NOW + 5_000
        )
        store.put_message(inner, NOW + 5_000)
        store.dispatch()
        for passed in (6_000, 10_500):
            broker.run_timers(NOW + passed)
    finally:
        durable.stop()
    return messages


def _consumed(broker: Broker) -> int:
    store, count = broker.message_store, 0
    for topic, queues in sorted(store.consume_queue_table.items()):
        for queue in sorted(queues):
            offset = store.get_min_offset_in_queue(topic, queue)
            store.get_offset_in_queue_by_time(topic, queue, NOW + 10)
            store.get_earliest_message_time(topic, queue)
            for _ in range(MOST_PULLS):
                got = store.get_message("G", topic, queue, offset, 32, None)
                if got is None or got.next_begin_offset <= offset:
                    break
                count += len(decode_records(b"".join(got.messages)))
                offset = got.next_begin_offset
    return count


def audited(root: Path, where: Collection[str] = tuple(_TABLES)) -> int:
    """What the tasks of `audit` do on a store: its tables, and the scan that compares log and queues.

    Only what is read from the folders in `where`: the rest was read before, unchanged.
    """
    from rmqlab_tools.spark.audit.scan import Scan
    from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
    from rmqlab_tools.spark.store_source import RocketMQStore

    rows: int = 0
    for table in (name for kind in where for name in _TABLES.get(kind, ())):
        source = RocketMQStore({"path": str(root), "table": table, "hashSlotNum": "50"})
        reader = source.reader(source.schema())
        for part in reader.partitions():
            rows += sum(batch.num_rows for batch in reader.read(part))  # type: ignore[union-attr]
    if not {"commitlog", "consumequeue"} & set(where):
        return rows
    parts = log_ranges(log_files(root), 4_000)
    scanned = Scan({}, LONG_MIN, LONG_MAX, check_crc=True, root=root).run(parts)
    return rows + sum(len(batch) for batch in scanned)


def explained(root: Path) -> str:
    """What `explain` says of a store."""
    from rmqlab_tools.doctor.evidence.door import explain

    return repr(explain(root))
