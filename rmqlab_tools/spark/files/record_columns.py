"""Commit log records as Arrow columns: which there are, and how the arrays that a walk fills become them."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from rmqlab.message.java import from_utf8
from rmqlab.message.message import Host
from rmqlab.message.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from rmqlab.message.sysflag import COMPRESSED_FLAG, CompressionError, uncompress
from rmqlab_tools.spark.files import record_kernel as kernel
from rmqlab_tools.spark.files.body_checksums import CRC_TABLES
from rmqlab_tools.spark.files.commit_log_files import (
    CODED_TAGS,
    CODED_TOPIC,
    INNER_TYPES,
    PROPERTY_PREFIX,
    STORE_HOST_BYTES,
)
from rmqlab_tools.spark.files.text_codes import SLOTS_A_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rmqlab_tools.spark.files.commit_log_files import LogRange, RecordFilter

BATCH_ROWS: Final = 32_768
_TEXT_A_ROW: Final = 64
_ITEMS_A_ROW: Final = 16
_TRANSACTIONS: Final = pa.array(["none", "prepared", "commit", "rollback"])
_PROPERTY_COLUMNS: Final = {
    "tags": PROPERTY_TAGS,
    "keys": PROPERTY_KEYS,
    "uniqKey": PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    CODED_TAGS: PROPERTY_TAGS,
}
_OF_HOSTS: Final = frozenset({"storeHost", "bornHost", "offsetMsgId", STORE_HOST_BYTES})
_HEX: Final = np.frombuffer(bytes(range(256)).hex().upper().encode(), np.uint16)
_RARE: Final = frozenset({"flag", "reconsumeTimes", "bodyCrc", "bornTimestamp", "preparedTransactionOffset"})


class RecordWalk:
    """Walks over records of a file and keeps one set of columns of those that a filter lets pass."""

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
            kernel.WANT_HOSTS: not _OF_HOSTS.isdisjoint(columns),
            kernel.WANT_MAP: "properties" in columns,
            kernel.WANT_BODY: "body" in columns,
            kernel.WANT_CRC: check_crc and "corrupt" in columns,
            kernel.WANT_PROPERTIES: bool(self.names),
            kernel.WANT_REST: not _RARE.isdisjoint(columns),
            kernel.WANT_TOPIC: "topic" in columns or CODED_TOPIC in columns,
            kernel.WANT_TOPIC_CODE: CODED_TOPIC in columns,
        }
        self._is_coded = not {CODED_TOPIC, CODED_TAGS}.isdisjoint(columns)
        # A name with the separator behind it: so a short one can be told from others by one comparison.
        names = _joined([name + NAME_VALUE_SEPARATOR for name in self.names])
        self._wanted = kernel.Wanted(
            sum(bit for bit, is_wanted in bits.items() if is_wanted),
            *names,
            _heads(*names),
            self.property_rows.get(CODED_TAGS, -1),
            *_joined(wanted.topics),
            np.array(wanted.queues, np.int64),
            wanted.since,
            wanted.until,
        )

    def __call__(
        self, data: NDArray[np.uint8], begin: int, at: int, part: LogRange, buffers: kernel.Columns, rows: int
    ) -> tuple[int, int, int, int]:
        """Walk from `at` to the end of `part` at most; see `record_kernel.walk` for what is returned.

        `data` lies in the file from place `begin` on. `buffers` have `rows` rows by now.
        """
        assert part.file is not None  # noqa: S101 - for the type checker
        filled, place, how, detail = kernel.walk(
            data,
            at - begin,
            part.low - begin,
            part.high - begin,
            part.file.base + begin,
            self._wanted,
            buffers,
            rows,
            CRC_TABLES,
        )
        return int(filled), begin + int(place), int(how), int(detail)

    def buffers(self, rows: int, span: int, body_room: int) -> kernel.Columns:
        """Empty columns for so many rows, or all records of `span` bytes. Arrow takes the memory over from a batch."""
        want = self._wanted.want
        # No more than fits a small range: touching memory for nothing costs more than reading it.
        rows = min(rows, span // kernel.MIN_SIZE + 2)
        texts = kernel.FIRST_PROPERTY + len(self.names)
        room = rows * _TEXT_A_ROW * (4 if want & kernel.WANT_TEXT else 1) + 2 * kernel.SPARE_TEXT_BYTES
        has_map = bool(want & kernel.WANT_MAP)
        items = rows * _ITEMS_A_ROW + (1 << 15) if has_map else 0
        item_room = 4 * rows * _TEXT_A_ROW + 2 * kernel.SPARE_TEXT_BYTES if has_map else 0
        columns = kernel.Columns(
            ints=np.empty((len(kernel.INTS), rows), np.int32),
            longs=np.empty((len(kernel.LONGS), rows), np.int64),
            damaged=np.empty(rows, np.uint8),
            texts=np.empty(texts * room, np.uint8),
            ends=np.empty((texts, rows + 1), np.int32),
            found=np.empty((len(self.names), rows), np.uint8),
            items=np.empty(2 * item_room, np.uint8),
            item_ends=np.empty((2, items + 1), np.int32),
            list_ends=np.zeros(rows + 1, np.int32),
            bodies=np.empty(body_room if want & kernel.WANT_BODY else 0, np.uint8),
            body_ends=np.zeros(rows + 1, np.int32),
            codes=np.empty((2, rows if self._is_coded else 0), np.int32),
            slots=np.zeros((2, (1 << (SLOTS_A_TEXT * rows).bit_length()) + 1 if self._is_coded else 1), np.int32),
        )
        columns.ends[:, 0] = 0
        columns.item_ends[:, 0] = 0
        return columns

    def batch(self, buffers: kernel.Columns, rows: int) -> pa.RecordBatch:
        """The first `rows` rows of what a walk filled."""
        notes: list[str | None] = [None] * rows if buffers.damaged[:rows].any() or "body" in self.columns else []
        for row in np.flatnonzero(buffers.damaged[:rows]):
            notes[row] = "the body does not fit its checksum"
        made = {name: _column(name, self, buffers, rows, notes) for name in self.columns if name != "corrupt"}
        if "corrupt" in self.columns:
            made["corrupt"] = pa.array(notes, pa.string()) if notes else pa.nulls(rows, pa.string())
        batch = pa.record_batch([made[name] for name in self.columns], list(self.columns))
        # a few rows, of a stretch with big bodies, do not keep the memory of many
        return batch.take(pa.array(np.arange(rows))) if 8 * rows < buffers.ints.shape[1] else batch


def _joined(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(data) for data in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded) or b"\0", np.uint8), ends


def _heads(names: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The first 8 bytes of each name as a number, and which of its bits count."""
    begins = [0, *ends.tolist()][: len(ends)]
    heads = [names[begin:end].tobytes()[:8] for begin, end in zip(begins, ends.tolist(), strict=True)]
    numbers = [int.from_bytes(head, "little") for head in heads], [(1 << 8 * len(head)) - 1 for head in heads]
    return np.array(numbers, np.uint64).reshape(2, len(ends))


def _column(name: str, walk: RecordWalk, buffers: kernel.Columns, rows: int, notes: list[str | None]) -> pa.Array:
    if name in kernel.INTS:
        return pa.array(buffers.ints[kernel.INTS.index(name), :rows])
    if name in kernel.LONGS:
        return pa.array(buffers.longs[kernel.LONGS.index(name), :rows])
    if name == CODED_TAGS:
        return _coded(buffers, rows, kernel.PROPERTY_CODE, kernel.FIRST_PROPERTY + walk.property_rows[name])
    if name in walk.property_rows:
        row = walk.property_rows[name]
        text = kernel.FIRST_PROPERTY + row
        return _texts(buffers.ends[text], buffers.text(text), rows, buffers.found[row, :rows])
    if name in _MAKERS:
        return _MAKERS[name](buffers, rows)
    return _bodies(buffers, rows, notes)


def _texts(
    ends: NDArray[np.int32], data: NDArray[np.uint8], rows: int, present: NDArray[np.uint8] | None = None
) -> pa.Array:
    valid = None if present is None or present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    used = data[: ends[rows]]
    array = pa.Array.from_buffers(pa.string(), rows, [valid, pa.py_buffer(ends[: rows + 1]), pa.py_buffer(used)])
    if used.size and used.max() > 127:
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            raw = array.view(pa.binary()).to_pylist()
            return pa.array([None if text is None else from_utf8(text) for text in raw], pa.string())
    return array


def _coded(buffers: kernel.Columns, rows: int, kind: int, text: int) -> pa.Array:
    texts = _texts(buffers.ends[text], buffers.text(text), int(buffers.slots[kind, -1]))
    numbers = buffers.codes[kind, :rows]
    codes = pa.array(numbers, mask=numbers < 0) if kind == kernel.PROPERTY_CODE else pa.array(numbers)
    coded = pa.DictionaryArray.from_arrays(codes, texts)
    # two that are no UTF-8 may read the same
    return coded if len(texts.unique()) == len(texts) else coded.dictionary_decode().dictionary_encode()


def _hosts(buffers: kernel.Columns, rows: int, kind: int) -> pa.Array:
    raw = buffers.text(kind)[: 21 * rows].reshape(rows, 21)
    coded = pa.Array.from_buffers(pa.binary(21), rows, [None, pa.py_buffer(raw)]).dictionary_encode()
    hosts = [_host(host) for host in coded.dictionary.to_pylist()]
    return pa.array(hosts, pa.string()).take(coded.indices)


def _host_bytes(buffers: kernel.Columns, rows: int) -> pa.Array:
    used = buffers.text(kernel.STORE)[: 21 * rows]
    return pa.Array.from_buffers(INNER_TYPES[STORE_HOST_BYTES], rows, [None, pa.py_buffer(used)])


def message_ids(hosts: pa.Array, offsets: NDArray[np.int64]) -> pa.Array:
    """The ids that `create_message_id` makes: address, port and commit log offset in hex.

    `hosts` is a column `STORE_HOST_BYTES` without NULL, `offsets` has the commit log offsets.
    """
    rows = len(hosts)
    raw = np.frombuffer(hosts.buffers()[1], np.uint8)[21 * hosts.offset :][: 21 * rows].reshape(rows, 21)
    if not (raw[:, 20] == 4).all():
        places = zip(raw.tolist(), offsets.tolist(), strict=True)
        return pa.array([_message_id(bytes(host), offset) for host, offset in places], pa.string())
    parts = (raw[:, :4], raw[:, 16:20], offsets.astype(">i8").view(np.uint8).reshape(rows, 8))
    digits = _HEX.take(np.concatenate(parts, axis=1)).view(np.uint8)
    ends = np.arange(0, 32 * rows + 1, 32, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(ends), pa.py_buffer(digits)])


def _message_id(raw: bytes, offset: int) -> str:
    port = int.from_bytes(raw[16:20], "big", signed=True)
    # as `read_record`: an IPv4 address mapped into 16 bytes makes a short id where a long one has room
    address = Host.of_address(raw[: raw[20]], 0).address
    return (address + struct.pack(">iq", port, offset)).hex().upper().ljust(2 * (raw[20] + 12), "0")


@lru_cache(maxsize=4096)
def _host(raw: bytes) -> str:
    port = int.from_bytes(raw[16:20], "big", signed=True)
    host = Host.of_address(raw[: raw[20]], 0)
    return f"[{host.ip}]:{port}" if ":" in host.ip else f"{host.ip}:{port}"


def _map(buffers: kernel.Columns, rows: int) -> pa.Array:
    items = int(buffers.list_ends[rows])
    keys, values = (_texts(buffers.item_ends[side], buffers.item(side), items) for side in (0, 1))
    return pa.MapArray.from_arrays(pa.array(buffers.list_ends[: rows + 1]), keys, values)


def _bodies(buffers: kernel.Columns, rows: int, notes: list[str | None]) -> pa.Array:
    ends = buffers.body_ends
    array = pa.Array.from_buffers(
        pa.binary(), rows, [None, pa.py_buffer(ends[: rows + 1]), pa.py_buffer(buffers.bodies[: ends[rows]])]
    )
    compressed = np.flatnonzero(buffers.ints[kernel.INTS.index("sysFlag"), :rows] & COMPRESSED_FLAG)
    if not len(compressed):
        return array
    bodies = array.to_pylist()
    for row in compressed:
        if not bodies[row]:
            continue
        try:
            bodies[row] = uncompress(bodies[row])
        except CompressionError:
            bodies[row] = None
            notes[row] = notes[row] or "the compressed body cannot be restored"
    return pa.array(bodies, pa.binary())


def _flag(buffers: kernel.Columns, rows: int) -> NDArray[np.int32]:
    flags: NDArray[np.int32] = buffers.ints[kernel.INTS.index("sysFlag"), :rows]
    return flags


_MAKERS: Final[dict[str, Callable[[kernel.Columns, int], pa.Array]]] = {
    CODED_TOPIC: lambda buffers, rows: _coded(buffers, rows, kernel.TOPIC_CODE, kernel.TOPIC_COLUMN),
    "topic": lambda buffers, rows: _texts(buffers.ends[kernel.TOPIC_COLUMN], buffers.text(kernel.TOPIC_COLUMN), rows),
    "propertiesText": lambda buffers, rows: _texts(
        buffers.ends[kernel.TEXT_COLUMN], buffers.text(kernel.TEXT_COLUMN), rows
    ),
    STORE_HOST_BYTES: _host_bytes,
    "offsetMsgId": lambda buffers, rows: message_ids(
        _host_bytes(buffers, rows), buffers.longs[kernel.LONGS.index("physicalOffset"), :rows]
    ),
    "bornHost": lambda buffers, rows: _hosts(buffers, rows, kernel.BORN),
    "storeHost": lambda buffers, rows: _hosts(buffers, rows, kernel.STORE),
    "transaction": lambda buffers, rows: _TRANSACTIONS.take(pa.array(_flag(buffers, rows) >> 2 & 3)),
    "compressed": lambda buffers, rows: pa.array((_flag(buffers, rows) & COMPRESSED_FLAG).astype(bool)),
    "properties": _map,
}
