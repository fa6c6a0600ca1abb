"""The tables of a store directory besides the commit log: queues, their extension, the index, what is in `config/`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from rmqlab.broker.consumer_filter_manager import decode_filter_data
from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.java import LONG_MIN, parse_int, split, to_utf8
from rmqlab.protocol import fastjson
from rmqlab.protocol.bodies import ConsumerOffsetSerializeWrapper
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper
from rmqlab.store.consume_queue_ext import CqExtUnit, is_ext_addr
from rmqlab_tools.live.config_load import FileState, load_config
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath, store_path
from rmqlab_tools.spark.files.commit_log_files import queue_files, regular, store_directory, together
from rmqlab_tools.spark.files.stored_files import contents, is_dir, open_file, read_bytes, size_of, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rmqlab.filter.message_filter import ConsumerFilterData
    from rmqlab.protocol.topic_config import SubscriptionGroupConfig, TopicConfig
    from rmqlab_tools.live.config_load import ConfigFile, ConfigLoad

T = TypeVar("T")


class StoreConfig:
    """The files of `config/` of one store directory; a file that is not there is an empty one.

    As a broker does at its start, a file that is missing, empty or broken is replaced by its `.bak`
    (`rmqlab_tools.live.config_load`). Where both are no use the table is empty, and `damage` says so: an audit goes on.
    """

    def __init__(self, root: str | StorePath) -> None:
        self._folder = store_path(root) / "config"
        self._loads: dict[str, ConfigLoad[Any]] = {}

    def offsets(self) -> dict[tuple[str, str], dict[int, int]]:
        """The committed offsets: (group, topic) to queue id to the next offset."""
        table = self._read("consumerOffset.json", lambda text: ConsumerOffsetSerializeWrapper.decode(text.encode()))
        committed = {}
        for key, queues in (table.offset_table if table else {}).items():
            parts = split(key, "@")
            if len(parts) == 2:
                committed[parts[1], parts[0]] = dict(queues)
        return committed

    @property
    def offsets_lost(self) -> bool:
        """Whether there were committed offsets that cannot be read any more."""
        self.offsets()
        return self._loads["consumerOffset.json"].is_lost

    def named_offsets(self) -> set[tuple[str, str]]:
        """The (group, topic) that a damaged file of offsets names before the damage; no offset of it is believed."""
        load = self._loads.get("consumerOffset.json")
        if load is None or not load.is_lost:
            return set()
        damaged = [file for file in (load.file, load.backup) if file is not None and file.state is FileState.DAMAGED]
        texts = [_before(file) for file in damaged if file.line]
        return {(group, topic) for text in texts for topic, group in _OFFSET_KEY.findall(text)}

    def groups(self) -> dict[str, SubscriptionGroupConfig]:
        """The consumer groups by name."""
        table = self._read("subscriptionGroup.json", lambda text: SubscriptionGroupWrapper.decode(text.encode()))
        return dict(table.subscription_group_table) if table else {}

    def topics(self) -> dict[str, TopicConfig]:
        """The topics by name."""
        table = self._read("topics.json", lambda text: TopicConfigSerializeWrapper.decode(text.encode()))
        return dict(table.topic_config_table) if table else {}

    def filters(self) -> list[ConsumerFilterData]:
        """The SQL92 subscriptions that the broker remembers; those of TAG are in no file."""
        table = self._read("consumerFilter.json", decode_filter_data)
        return [data for groups in (table or {}).values() for data in groups.values()]

    def request_modes(self) -> dict[tuple[str, str], str]:
        """The mode in which a group reads a topic of a 5.x broker, PULL or POP, by (group, topic), if one was set."""
        modes = self._read("messageRequestMode.json", _request_modes)
        return modes or {}

    @property
    def damage(self) -> list[str]:
        """What is wrong with the files that were read so far, and what 4.8.0 makes of it; a sentence a file."""
        return [says for load in self._loads.values() if (says := load.says())]

    def _read(self, name: str, decode: Callable[[str], T | None]) -> T | None:
        if name not in self._loads:  # once: a running broker writes it anew every few seconds
            self._loads[name] = load_config(self._folder / name, decode, read_bytes)
        value: T | None = self._loads[name].value
        return value


def _request_modes(text: str) -> dict[tuple[str, str], str]:
    """The modes of `MessageRequestModeManager` (5.3.3), by (group, topic)."""
    value = fastjson.read(to_utf8(text))
    table = value.get("messageRequestModeMap") if isinstance(value, dict) else None
    return {
        (str(group), str(topic)): str(entry.get("mode"))
        for topic, groups in (table if isinstance(table, dict) else {}).items()
        for group, entry in (groups if isinstance(groups, dict) else {}).items()
        if isinstance(entry, dict)
    }


def _before(file: ConfigFile) -> str:
    """What stands in a file before its damage, as far as it is still there."""
    try:
        return read_bytes(file.path)[: file.offset].decode("utf-8", "replace")
    except OSError:
        return ""


_INDEX_NAME: Final = re.compile("[0-9]+")
_OFFSET_KEY: Final = re.compile(r'"([^"@\\]+)@([^"@\\]+)"\s*:')
QUEUE_ENTRY: Final = np.dtype([("offset", ">i8"), ("size", ">i4"), ("code", ">i8")])
BLANK_SIZE: Final = 0x7FFFFFFF  # in front of the first entry of a queue that does not begin at 0
_INDEX_HEADER: Final = 40
_INDEX_ENTRY: Final = np.dtype([("hash", ">i4"), ("offset", ">i8"), ("seconds", ">i4"), ("before", ">i4")])
_LONG, _INT, _TEXT, _FLAG = pa.int64(), pa.int32(), pa.string(), pa.bool_()


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


SCHEMAS: Final[dict[str, pa.Schema]] = {
    "consumequeue": _schema(
        topic=_TEXT, queueId=_INT, queueOffset=_LONG, physicalOffset=_LONG, size=_INT, tagsCode=_LONG,
        extAddress=_LONG, corrupt=_TEXT,
    ),
    "ext": _schema(
        topic=_TEXT, queueId=_INT, address=_LONG, tagsCode=_LONG, storeTimestamp=_LONG, bitmap=pa.binary(),
        corrupt=_TEXT,
    ),
    "index": _schema(file=_TEXT, keyHash=_INT, physicalOffset=_LONG, storeTimestamp=_LONG, corrupt=_TEXT),
    "offsets": _schema(group=_TEXT, topic=_TEXT, queueId=_INT, offset=_LONG, damage=_TEXT),
    "subscriptions": _schema(
        group=_TEXT, consumeEnable=_FLAG, consumeFromMinEnable=_FLAG, consumeBroadcastEnable=_FLAG,
        retryQueueNums=_INT, retryMaxTimes=_INT, brokerId=_LONG, notifyConsumerIdsChangedEnable=_FLAG,
        damage=_TEXT,
    ),
    "filters": _schema(
        group=_TEXT, topic=_TEXT, expressionType=_TEXT, expression=_TEXT, bornTime=_LONG, deadTime=_LONG,
        clientVersion=_LONG, bloomBits=_INT, bloomPositions=pa.list_(_INT), damage=_TEXT,
    ),
    "topics": _schema(
        topic=_TEXT, readQueueNums=_INT, writeQueueNums=_INT, perm=_INT, order=_FLAG, topicSysFlag=_INT,
        damage=_TEXT,
    ),
}  # fmt: skip
"""Columns by table. In `consumequeue`, `extAddress` is set instead of `tagsCode` where the entry leads to `ext`.

`damage` says what is wrong with the file of `config/`: that its `.bak`, which is older, was read; or, in a row of its
own, that nothing could be.
"""


def pieces(root: StorePath, table: str, piece_bytes: int) -> list[tuple[str | AddressPath, ...]]:
    """The work of reading a table, in pieces that can be read anywhere: file paths, none for `config/`."""
    if table not in _FILE_READERS:
        return [()]
    if table == "index":
        paths = [path for path in contents(root / table) if _INDEX_NAME.fullmatch(path.name)]
        sizes = [(path, _size(path)) for path in paths]
        sized = [(str(path) if isinstance(path, Path) else path, size) for path, size in sizes if size is not None]
    else:
        folder = {"ext": "consumequeue_ext"}.get(table, table)
        sized = [(file.path, file.size) for file in queue_files(root, folder)]
    return together(sized, piece_bytes)


def _size(path: StorePath) -> int | None:
    """The bytes of a file of a store; errors are those of `regular`."""
    if isinstance(path, AddressPath):
        return size_of(path)
    about = regular(path)
    return None if about is None else about.st_size


def read_piece(
    root: StorePath, table: str, paths: Sequence[str | AddressPath], hash_slots: int | None
) -> Iterator[pa.RecordBatch]:
    """The rows of one piece of a table."""
    if table in _FILE_READERS:
        for path in paths:
            yield from _of_file(table, path, hash_slots)
    else:
        config = StoreConfig(root)
        rows = _CONFIG_READERS[table](config)
        for says in config.damage:
            rows = [{**row, "damage": says} for row in rows or [{}]]
        yield pa.RecordBatch.from_pylist(rows, schema=SCHEMAS[table])


def config_damage(path: str | StorePath, table: str) -> list[str]:
    """What is wrong with the file of `config/` that a table is read from: its `.bak` is taken, or nothing is known."""
    if table not in _CONFIG_READERS or not is_dir(store_path(path)):
        return []
    config = StoreConfig(store_directory(path))
    _CONFIG_READERS[table](config)
    return config.damage


def _of_file(table: str, path: str | AddressPath, hash_slots: int | None) -> Iterator[pa.RecordBatch]:
    """The rows of one file; one row that says so where a broker has deleted it since it was listed."""
    try:
        with open_file(store_path(path)) as stream:
            yield from _FILE_READERS[table](path, stream, hash_slots)
    except FileNotFoundError:
        known: dict[str, Any] = {"file": store_path(path).name}
        if table != "index":
            known["topic"], known["queueId"], _ignored = _place(path)
        yield filled(SCHEMAS[table], 1, **known, corrupt="the file was deleted meanwhile")
    except OSError as error:
        raise unreadable(store_path(path), error) from error


def _place(path: str | AddressPath) -> tuple[str, int, int]:
    """Topic, queue id and the first byte's place in the queue, from the path of a queue's file."""
    parts = store_path(path).parts
    return parts[-3], parse_int(parts[-2]), int(parts[-1])


def filled(schema: pa.Schema, rows: int, **known: Any) -> pa.RecordBatch:
    """A batch of so many rows: a column is an array, one value for all rows, or NULL where nothing is known."""
    arrays = []
    for field in schema:
        value = known.get(field.name)
        if value is None:
            arrays.append(pa.nulls(rows, field.type))
        elif isinstance(value, str | int):
            arrays.append(pa.repeat(pa.scalar(value, field.type), rows))
        else:
            arrays.append(value if isinstance(value, pa.Array) else pa.array(value, field.type))
    return pa.record_batch(arrays, schema=schema)


def _queue(path: str | AddressPath, stream: IO[bytes], _: int | None) -> Iterator[pa.RecordBatch]:
    topic, queue_id, base = _place(path)
    entries = _numbers(stream, QUEUE_ENTRY, _length(stream) // QUEUE_ENTRY.itemsize)
    written = (entries["size"] > 0) & (entries["offset"] >= 0)
    blank = (entries["size"] == BLANK_SIZE) & (entries["offset"] == 0)
    last = int(np.flatnonzero(written | (entries["offset"] != 0) | (entries["code"] != 0)).max(initial=-1)) + 1
    kept = np.flatnonzero(~blank[:last])
    entries, good = entries[kept], written[kept]
    codes = entries["code"].astype(np.int64)
    # as is_ext_addr, for all at once
    far = codes <= -(1 << 31) - 1
    assert not far.any() or is_ext_addr(int(codes[far].max()))  # noqa: S101 - the two must stay one rule
    yield filled(
        SCHEMAS["consumequeue"],
        len(kept),
        topic=topic,
        queueId=queue_id,
        queueOffset=kept + base // QUEUE_ENTRY.itemsize,
        physicalOffset=entries["offset"].astype(np.int64),
        size=entries["size"].astype(np.int32),
        tagsCode=pa.array(codes, mask=far),
        extAddress=pa.array(codes, mask=~far),
        corrupt=pa.array(["no entry of a message" if not is_good else None for is_good in good.tolist()], _TEXT),
    )


def _extension(path: str | AddressPath, stream: IO[bytes], _: int | None) -> Iterator[pa.RecordBatch]:
    topic, queue_id, base = _place(path)
    data = stream.read()
    rows: list[dict[str, Any]] = []
    place = 0
    while (unit := CqExtUnit.decode(data[place : place + 0x8000])) is not None:
        row = {"topic": topic, "queueId": queue_id, "address": base + place + LONG_MIN}
        if place + unit.size > len(data):
            rows.append({**row, "corrupt": "the unit is cut off"})
            break
        rows.append(
            {**row, "tagsCode": unit.tags_code, "storeTimestamp": unit.msg_store_time, "bitmap": unit.filter_bit_map}
        )
        place += unit.size
    yield pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["ext"])


def _index(path: str | AddressPath, stream: IO[bytes], hash_slots: int | None) -> Iterator[pa.RecordBatch]:
    length = _length(stream)
    header = _numbers(stream, np.dtype(">i8"), _INDEX_HEADER // 8)
    if len(header) < _INDEX_HEADER // 8:
        yield filled(SCHEMAS["index"], 1, file=store_path(path).name, corrupt="the file is shorter than its header")
        return
    # Java makes four entries for each slot unless it is told otherwise.
    slots, rest = (hash_slots, 0) if hash_slots else divmod(length - _INDEX_HEADER, 84)
    if rest:
        raise BadInput(
            _(
                "{path}: {length} bytes are no index with four entries for each slot; set option hashSlotNum",
                path=path,
                length=length,
            )
        )
    count = int(header[4]) & 0xFFFFFFFF
    begin = _INDEX_HEADER + 4 * slots + _INDEX_ENTRY.itemsize
    room = max(0, (length - begin) // _INDEX_ENTRY.itemsize)
    stream.seek(begin)
    entries = _numbers(stream, _INDEX_ENTRY, min(max(count - 1, 0), room))
    yield filled(
        SCHEMAS["index"],
        len(entries),
        file=store_path(path).name,
        keyHash=entries["hash"].astype(np.int32),
        physicalOffset=entries["offset"].astype(np.int64),
        storeTimestamp=entries["seconds"].astype(np.int64) * 1000 + int(header[0]),
    )


def _length(stream: IO[bytes]) -> int:
    """The bytes of a file that was opened now."""
    length = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    return length


def _numbers(stream: IO[bytes], kind: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    """So many entries, fewer where the file ends."""
    data = stream.read(count * kind.itemsize)
    return np.frombuffer(data, kind, len(data) // kind.itemsize)


def _offsets(config: StoreConfig) -> list[dict[str, Any]]:
    return [
        {"group": group, "topic": topic, "queueId": queue_id, "offset": offset}
        for (group, topic), queues in sorted(config.offsets().items())
        for queue_id, offset in sorted(queues.items())
    ]


def _by_name(table: str, records: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table whose first column is the name of what the others tell."""
    first, *names, _damage = SCHEMAS[table].names
    return [{first: name, **_fields(names, record)} for name, record in sorted(records.items())]


def _filters(config: StoreConfig) -> list[dict[str, Any]]:
    names, rows = SCHEMAS["filters"].names[1:-3], []
    for filter_data in config.filters():
        bloom = filter_data.bloom_filter_data
        bits = {"bloomBits": bloom and bloom.bit_num, "bloomPositions": bloom and bloom.bit_pos}
        rows.append({"group": filter_data.consumer_group, **_fields(names, filter_data), **bits})
    return sorted(rows, key=lambda row: (str(row["topic"]), str(row["group"])))


def _fields(names: Sequence[str], value: Any) -> dict[str, Any]:
    """The columns that `value` has under the same names, written the Python way."""
    return {name: getattr(value, re.sub("([A-Z])", r"_\1", name).lower()) for name in names}


_FILE_READERS: Final[dict[str, Callable[[str | AddressPath, IO[bytes], int | None], Iterator[pa.RecordBatch]]]] = {
    "consumequeue": _queue,
    "ext": _extension,
    "index": _index,
}
_CONFIG_READERS: Final[dict[str, Callable[[StoreConfig], list[dict[str, Any]]]]] = {
    "offsets": _offsets,
    "subscriptions": lambda config: _by_name("subscriptions", config.groups()),
    "filters": _filters,
    "topics": lambda config: _by_name("topics", config.topics()),
}
