"""Commit log records as Arrow columns: a range of a file in, record batches out, damaged parts as rows of their own."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from rmqlab.message.java import LONG_MAX, LONG_MIN, from_utf8
from rmqlab.message.message import Host
from rmqlab.message.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from rmqlab.message.record import MESSAGE_MAGIC_CODE
from rmqlab.message.sysflag import COMPRESSED_FLAG, CompressionError, uncompress
from rmqlab.spark.files import record_kernel as kernel
from rmqlab.spark.files.commit_log_files import LogRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rmqlab.spark.files.commit_log_files import LogFile

BATCH_ROWS: Final = 32_768
_TEXT_A_ROW: Final = 64
_ITEMS_A_ROW: Final = 16
_BODY_ROOM: Final = 16 << 20
_MAGIC: Final = MESSAGE_MAGIC_CODE.to_bytes(4, "big", signed=True)
_TRANSACTIONS: Final = pa.array(["none", "prepared", "commit", "rollback"])
_PROPERTY_COLUMNS: Final = {
    "tags": PROPERTY_TAGS,
    "keys": PROPERTY_KEYS,
    "uniqKey": PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
}
_RARE: Final = frozenset({"flag", "reconsumeTimes", "bodyCrc", "bornTimestamp", "preparedTransactionOffset"})
_MAP: Final = pa.map_(pa.string(), pa.string())

TYPES: Final[dict[str, pa.DataType]] = {
    "physicalOffset": pa.int64(),
    "size": pa.int32(),
    "topic": pa.string(),
    "queueId": pa.int32(),
    "queueOffset": pa.int64(),
    "tags": pa.string(),
    "keys": pa.string(),
    "uniqKey": pa.string(),
    "offsetMsgId": pa.string(),
    "storeTimestamp": pa.int64(),
    "bornTimestamp": pa.int64(),
    "storeHost": pa.string(),
    "bornHost": pa.string(),
    "flag": pa.int32(),
    "sysFlag": pa.int32(),
    "transaction": pa.string(),
    "compressed": pa.bool_(),
    "reconsumeTimes": pa.int32(),
    "preparedTransactionOffset": pa.int64(),
    "bodyCrc": pa.int32(),
    "bodyLength": pa.int32(),
    "body": pa.binary(),
    "properties": _MAP,
    "propertiesText": pa.string(),
    "corrupt": pa.string(),
}
"""Every column of a record. Times are epoch ms, sizes bytes; `bodyLength` is as stored, `body` restored if compressed.

`corrupt` is NULL for a sound record. A damaged part of the log is a row with its `physicalOffset`, its `size` and what
is wrong; a record whose body does not fit its checksum has its columns and says so.
"""
PROPERTY_PREFIX: Final = "property:"
"""A column of this prefix is the property of that exact name."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are wanted: topics and queues (empty: all), store times in epoch ms, both ends included.

    Bodies are those of `body_topics` alone, unless that is empty; the others' are empty.
    """

    topics: tuple[str, ...] = ()
    queues: tuple[int, ...] = ()
    since: int = LONG_MIN
    until: int = LONG_MAX
    body_topics: tuple[str, ...] = ()


@dataclass(slots=True)
class LogReader:
    """Reads ranges of commit log files into record batches with `columns`.

    Rows, damaged parts among them, come in the order of the log, and do not depend on where ranges are cut.
    `check_crc` compares bodies with their checksums.
    """

    columns: Sequence[str]
    wanted: RecordFilter = field(default_factory=RecordFilter)
    check_crc: bool = True
    batch_rows: int = BATCH_ROWS
    reached: int = 0
    """The commit log offset behind the last record of the last range that was read."""

    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return pa.schema([(name, TYPES.get(name, pa.string())) for name in self.columns])

    def read(self, part: LogRange) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one range. A file that is cut, empty or missing gives rows, no error."""
        file = part.file
        if file is None:
            yield self._damage(part.low, part.high - part.low, "a file is missing")
            return
        if file.size:
            try:
                stream = open(file.path, "rb")  # noqa: PTH123, SIM115 - closed below, where the rest is read
            except FileNotFoundError:
                # a broker deletes old files, and at its end one that it made for later
                if not file.last and part.high == file.size:
                    yield self._damage(file.base, file.size, "the file was deleted meanwhile")
                return
            with stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                data = np.frombuffer(mapped, np.uint8)
                try:
                    yield from self._records(data[: file.size], mapped, part)
                finally:
                    # the map cannot be closed while an array looks into it
                    del data
        if not file.last and file.base + file.size < file.next_base and part.high == file.size:
            yield self._damage(file.base + file.size, file.next_base - file.base - file.size, "the file is cut off")

    def _records(self, data: NDArray[np.uint8], mapped: mmap.mmap, part: LogRange) -> Iterator[pa.RecordBatch]:
        file = part.file
        assert file is not None  # noqa: S101 - for the type checker
        at, body_room = part.begin, _BODY_ROOM
        walk = _Walk(self.columns, self.wanted, check_crc=self.check_crc)
        self.reached = file.base + at
        while at < part.high:
            before = at
            rows, at, how, detail, buffers = walk(data, at, part, self.batch_rows, body_room)
            if at > before:
                self.reached = file.base + at
            if rows:
                yield _batch(walk, buffers, rows)
            if how == kernel.BIG:
                body_room = int(detail)
            elif how in {kernel.EMPTY, kernel.BAD} and _is_record(data, at, file.base):
                continue  # a broker wrote it in the meantime
            elif how not in {kernel.FULL, kernel.DONE}:
                size, reason = _gap(data, mapped, at, file, how, detail)
                if not size:
                    return
                if reason and at >= part.low:
                    yield self._damage(file.base + at, size, reason)
                at += size

    def _damage(self, offset: int, size: int, reason: str) -> pa.RecordBatch:
        known: dict[str, Any] = {"physicalOffset": offset, "size": min(size, 0x7FFFFFFF), "corrupt": reason}
        arrays = [pa.array([known.get(one.name)], one.type) for one in self.schema()]
        return pa.record_batch(arrays, schema=self.schema())


def log_end(files: Sequence[LogFile], begin: int, until: int | None = None) -> int:
    """Return the commit log offset behind the last whole record, walking from `begin`, where a record begins.

    With `until`, the first place at or behind it where a record begins. What is damaged in between is walked over;
    damage with nothing whole behind it may be a record that is still being written, and ends the walk.
    """
    end = begin
    for file in files:
        if file.base + file.size <= end:
            continue
        if until is not None and end >= until:
            break
        high = file.size if until is None else min(until - file.base, file.size)
        reader = LogReader((), check_crc=False)
        # No record begins behind the file's end, so nothing is decoded on the way.
        for _ in reader.read(LogRange(file, file.size, high, max(end - file.base, 0))):
            pass
        if file.last:
            # Several may be: files made for later, or one whose beginning is damaged.
            end = max(end, reader.reached) if reader.reached != file.base else end
            continue
        # What is damaged up to the file's end is walked over, but not what lies behind `until`.
        is_until = reader.reached >= file.base + high < file.base + file.size
        end = reader.reached if is_until else file.next_base
    return end


def _gap(data: NDArray[np.uint8], mapped: mmap.mmap, at: int, file: LogFile, how: int, detail: int) -> tuple[int, str]:
    """Return how many bytes at `at` are no record, and what is wrong ("": nothing). Size 0: nothing more is written."""
    if how == kernel.BLANK:
        if int.from_bytes(data[at : at + 4].tobytes()) == file.next_base - file.base - at:
            return len(data) - at, ""
        detail = kernel.SIZE
    if file.last and not data[at:].any():
        return 0, ""
    good = _next_record(data, mapped, at, file.base)
    if good is None:
        end = len(data)
        if file.last:
            # behind the damaged part, nothing has been written yet
            end -= int(np.argmax(data[at:][::-1] != 0))
        reason = "nothing is written here" if how == kernel.EMPTY else kernel.REASONS[detail]
        return end - at, reason
    return good - at, "nothing is written here" if how == kernel.EMPTY else kernel.REASONS[detail]


def _is_record(data: NDArray[np.uint8], at: int, base: int) -> bool:
    return at + kernel.LEAST <= len(data) and bool(kernel._check(data, at, len(data), base) == 0)  # noqa: SLF001 - as below


def _next_record(data: NDArray[np.uint8], mapped: mmap.mmap, at: int, base: int) -> int | None:
    """Return where the next record that is whole and in its place begins behind `at`."""
    found = mapped.find(_MAGIC, at + 5)
    while found >= 4 and found + 87 <= len(data):
        if kernel._check(data, found - 4, len(data), base) == 0:  # noqa: SLF001 - the walk's own rule
            return found - 4
        found = mapped.find(_MAGIC, found + 1)
    return None


class _Buffers:
    """What one walk fills; Arrow takes the memory over, so each batch has its own."""

    def __init__(self, rows: int, span: int, wanted: int, *, want: int, body_room: int) -> None:
        # No more than fits a small range: touching memory for nothing costs more than reading it.
        rows = min(rows, span // kernel.LEAST + 2)
        texts = kernel.FIRST_PROPERTY + wanted
        more = 4 if want & kernel.WANT_TEXT else 1
        self.room = rows * _TEXT_A_ROW * more + 2 * kernel.ROOM
        self.ints = np.empty((len(kernel.INTS), rows), np.int32)
        self.longs = np.empty((len(kernel.LONGS), rows), np.int64)
        self.damaged = np.empty(rows, np.uint8)
        self.texts = np.empty(texts * self.room, np.uint8)
        self.ends = np.empty((texts, rows + 1), np.int32)
        self.ends[:, 0] = 0
        self.found = np.empty((wanted, rows), np.uint8)
        has_map = bool(want & kernel.WANT_MAP)
        items = rows * _ITEMS_A_ROW + (1 << 15) if has_map else 0
        self.item_room = 4 * rows * _TEXT_A_ROW + 2 * kernel.ROOM if has_map else 0
        self.items = np.empty(2 * self.item_room, np.uint8)
        self.item_ends = np.empty((2, items + 1), np.int32)
        self.item_ends[:, 0] = 0
        self.list_ends = np.zeros(rows + 1, np.int32)
        self.bodies = np.empty(body_room, np.uint8)
        self.body_ends = np.zeros(rows + 1, np.int32)

    def text(self, row: int) -> NDArray[np.uint8]:
        """The bytes of one text column."""
        return self.texts[row * self.room : (row + 1) * self.room]

    def item(self, side: int) -> NDArray[np.uint8]:
        """The bytes of the names (0) or the values (1) of properties."""
        return self.items[side * self.item_room : (side + 1) * self.item_room]


class _Walk:
    """The kernel's arguments for one set of columns."""

    def __init__(self, columns: Sequence[str], wanted: RecordFilter, *, check_crc: bool) -> None:
        self.columns = columns
        by_column = {
            name: _PROPERTY_COLUMNS.get(name) or name.removeprefix(PROPERTY_PREFIX)
            for name in columns
            if name in _PROPERTY_COLUMNS or name.startswith(PROPERTY_PREFIX)
        }
        self.names = list(dict.fromkeys(by_column.values()))
        self.property_rows = {column: self.names.index(name) for column, name in by_column.items()}
        bits = {
            kernel.WANT_TEXT: "propertiesText" in columns,
            kernel.WANT_ID: "offsetMsgId" in columns,
            kernel.WANT_HOSTS: "storeHost" in columns or "bornHost" in columns,
            kernel.WANT_MAP: "properties" in columns,
            kernel.WANT_BODY: "body" in columns,
            kernel.WANT_CRC: check_crc and "corrupt" in columns,
            kernel.WANT_PROPERTIES: bool(self.names),
            kernel.WANT_REST: not _RARE.isdisjoint(columns),
            kernel.WANT_TOPIC: "topic" in columns,
        }
        self.want = sum(bit for bit, is_wanted in bits.items() if is_wanted)
        # Each with the separator behind it: so a short one can be told from others by one comparison.
        self._names = _joined([name + NAME_VALUE_SEPARATOR for name in self.names])
        self._heads = _heads(*self._names)
        self._topics = _joined(wanted.topics)
        self._body_topics = _joined(wanted.body_topics)
        self._queues = np.array(wanted.queues, np.int64)
        self._since, self._until = wanted.since, wanted.until

    def __call__(
        self, data: NDArray[np.uint8], at: int, part: LogRange, rows: int, body_room: int
    ) -> tuple[int, int, int, int, _Buffers]:
        buffers = _Buffers(
            rows,
            max(part.high - max(part.low, at), 0),
            len(self.names),
            want=self.want,
            body_room=body_room if self.want & kernel.WANT_BODY else 0,
        )
        assert part.file is not None  # noqa: S101 - for the type checker
        filled, at, how, detail = kernel.walk(
            data, at, part.low, part.high, part.file.base, self.want, *self._names, self._heads, *self._topics,
            *self._body_topics, self._queues, self._since, self._until, buffers.ints, buffers.longs, buffers.damaged,
            buffers.texts, buffers.ends, buffers.found, buffers.items, buffers.item_ends, buffers.list_ends,
            buffers.bodies, buffers.body_ends, kernel.CRC_TABLES,
        )  # fmt: skip
        return int(filled), int(at), int(how), int(detail), buffers


def _joined(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded) or b"\0", np.uint8), ends


def _heads(names: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the first 8 bytes of each name as a number, and which of its bits count."""
    begins = [0, *ends.tolist()][: len(ends)]
    heads = [names[begin:end].tobytes()[:8] for begin, end in zip(begins, ends.tolist(), strict=True)]
    numbers = [int.from_bytes(head, "little") for head in heads], [(1 << 8 * len(head)) - 1 for head in heads]
    return np.array(numbers, np.uint64).reshape(2, len(ends))


def _batch(walk: _Walk, buffers: _Buffers, rows: int) -> pa.RecordBatch:
    notes: list[str | None] = [None] * rows if buffers.damaged[:rows].any() or "body" in walk.columns else []
    for row in np.flatnonzero(buffers.damaged[:rows]):
        notes[row] = "the body does not fit its checksum"
    made = {name: _column(name, walk, buffers, rows, notes) for name in walk.columns if name != "corrupt"}
    if "corrupt" in walk.columns:
        made["corrupt"] = pa.array(notes, pa.string()) if notes else pa.nulls(rows, pa.string())
    return pa.record_batch([made[name] for name in walk.columns], list(walk.columns))


def _column(name: str, walk: _Walk, buffers: _Buffers, rows: int, notes: list[str | None]) -> pa.Array:
    if name in kernel.INTS:
        return pa.array(buffers.ints[kernel.INTS.index(name), :rows])
    if name in kernel.LONGS:
        return pa.array(buffers.longs[kernel.LONGS.index(name), :rows])
    if name in walk.property_rows:
        row = walk.property_rows[name]
        text = kernel.FIRST_PROPERTY + row
        return _texts(buffers.ends[text], buffers.text(text), rows, buffers.found[row, :rows])
    if name in _MAKERS:
        return _MAKERS[name](buffers, rows)
    return _bodies(buffers, rows, notes)


def _texts(
    ends: NDArray[np.int32], data: NDArray[np.uint8], rows: int, found: NDArray[np.uint8] | None = None
) -> pa.Array:
    valid = None if found is None or found.all() else pa.py_buffer(np.packbits(found, bitorder="little"))
    used = data[: ends[rows]]
    array = pa.Array.from_buffers(pa.string(), rows, [valid, pa.py_buffer(ends[: rows + 1]), pa.py_buffer(used)])
    if used.size and used.max() > 127:
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            raw = array.view(pa.binary()).to_pylist()
            return pa.array([None if one is None else from_utf8(one) for one in raw], pa.string())
    return array


def _hosts(kind: int) -> Callable[[_Buffers, int], pa.Array]:
    def make(buffers: _Buffers, rows: int) -> pa.Array:
        raw = buffers.text(kind)[: 21 * rows].reshape(rows, 21)
        if (raw[:, 20] == 4).all():
            # address and port of version 4 are 8 bytes: numbers are told apart far sooner than texts
            short = np.concatenate((raw[:, :4], raw[:, 16:20]), axis=1).view(np.uint64).ravel()
            coded = pa.array(short).dictionary_encode()
            found = [one.as_py().to_bytes(8, "little") for one in coded.dictionary]
            hosts = [_host(one[:4].ljust(16, b"\0") + one[4:] + b"\4") for one in found]
        else:
            coded = pa.array(np.ascontiguousarray(raw).view("V21").ravel().tolist(), pa.binary(21)).dictionary_encode()
            hosts = [_host(one) for one in coded.dictionary.to_pylist()]
        return pa.array(hosts, pa.string()).take(coded.indices)

    return make


@lru_cache(maxsize=4096)
def _host(raw: bytes) -> str:
    port = int.from_bytes(raw[16:20], "big", signed=True)
    host = Host.of_address(raw[: raw[20]], 0)
    return f"[{host.ip}]:{port}" if ":" in host.ip else f"{host.ip}:{port}"


def _map(buffers: _Buffers, rows: int) -> pa.Array:
    items = int(buffers.list_ends[rows])
    keys, values = (_texts(buffers.item_ends[side], buffers.item(side), items) for side in (0, 1))
    return pa.MapArray.from_arrays(pa.array(buffers.list_ends[: rows + 1]), keys, values)


def _bodies(buffers: _Buffers, rows: int, notes: list[str | None]) -> pa.Array:
    ends = buffers.body_ends
    array = pa.Array.from_buffers(
        pa.binary(), rows, [None, pa.py_buffer(ends[: rows + 1]), pa.py_buffer(buffers.bodies[: ends[rows]])]
    )
    compressed = np.flatnonzero(buffers.ints[kernel.INTS.index("sysFlag"), :rows] & COMPRESSED_FLAG)
    if not len(compressed):
        return array
    bodies = array.to_pylist()
    for row in compressed:
        if not bodies[row]:  # not among the topics whose bodies are wanted
            continue
        try:
            bodies[row] = uncompress(bodies[row])
        except CompressionError:
            bodies[row] = None
            notes[row] = notes[row] or "the compressed body cannot be restored"
    return pa.array(bodies, pa.binary())


def _flag(buffers: _Buffers, rows: int) -> NDArray[np.int32]:
    flags: NDArray[np.int32] = buffers.ints[kernel.INTS.index("sysFlag"), :rows]
    return flags


_MAKERS: Final[dict[str, Callable[[_Buffers, int], pa.Array]]] = {
    "topic": lambda buffers, rows: _texts(buffers.ends[kernel.TOPIC], buffers.text(kernel.TOPIC), rows),
    "propertiesText": lambda buffers, rows: _texts(buffers.ends[kernel.TEXT], buffers.text(kernel.TEXT), rows),
    "offsetMsgId": lambda buffers, rows: _texts(buffers.ends[kernel.MESSAGE_ID], buffers.text(kernel.MESSAGE_ID), rows),
    "bornHost": _hosts(kernel.BORN),
    "storeHost": _hosts(kernel.STORE),
    "transaction": lambda buffers, rows: _TRANSACTIONS.take(pa.array(_flag(buffers, rows) >> 2 & 3)),
    "compressed": lambda buffers, rows: pa.array((_flag(buffers, rows) & COMPRESSED_FLAG).astype(bool)),
    "properties": _map,
}
