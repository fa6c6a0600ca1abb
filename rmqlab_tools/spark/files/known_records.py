"""Where in a commit log's file at an address a record begins for certain: what its queue says, not what looks like one.

A body may hold bytes that look like a record. An entry of a consume queue is written by the broker alone, and says
where its record lies: a place counts where a record that is whole names an entry that names this very place.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.message.record import LAYOUTS, MESSAGE_MAGIC_CODE, layout_at
from rmqlab_tools.spark.files.stored_files import RangeReader, listed_files

if TYPE_CHECKING:
    from rmqlab_tools.spark.files.addresses import AddressPath
    from rmqlab_tools.spark.files.stored_files import Listed

_MAGIC: Final = MESSAGE_MAGIC_CODE.to_bytes(4, "big", signed=True)
_WINDOWS: Final = (64 << 10, 1 << 20, 8 << 20)
_TRIED: Final = 64
_ENTRY: Final = struct.Struct(">qi8x")
_HEAD: Final = LAYOUTS[16, 16].size


class _Place(NamedTuple):
    """What a record says of itself: its size, and its place in its queue."""

    size: int
    topic: str
    queue_id: int
    queue_offset: int


def known_record(root: AddressPath, log: AddressPath, base: int, size: int, place: int) -> int | None:
    """The first place from `place` on of the file `log` of the store at `root` where a record begins for certain.

    None where no queue names one within 8 MiB: deleted queues, records in no queue. `base` is the file's commit log
    offset, `size` its bytes.

    Raises:
        OSError: the log cannot be read.
    """
    with RangeReader(log) as reader:
        for window in _WINDOWS:
            end = min(place + window, size)
            data = reader.read(place, end)
            magic_at = data.find(_MAGIC, 4)
            tried = 0
            while magic_at >= 0 and tried < _TRIED:
                at = magic_at - 4
                record = _record(reader, data, at, place, base, size)
                if record is not None:
                    tried += 1
                    if _entry(root, record) == (base + place + at, record.size):
                        return place + at
                magic_at = data.find(_MAGIC, magic_at + 1)
            if tried or end == size:
                break
    return None


def _record(reader: RangeReader, data: bytes, at: int, place: int, base: int, size: int) -> _Place | None:
    """The record that seems to begin at `at` of `data`, which lies at `place` of its file; None where there is none."""
    if at + _HEAD > len(data):
        return None
    layout = layout_at(data, at)
    fields = layout.fields.unpack_from(data, at)
    total, body = fields[0], fields[-1]
    known = dict(zip(layout.offsets, fields, strict=True))
    begin = place + at
    if known["commit_log_offset"] != base + begin or body < 0 or total < layout.size + body + 3 or begin + total > size:
        return None
    topic_at = layout.size + body
    rest = data[at + topic_at : at + topic_at + 128]
    if len(rest) < 128:
        rest = reader.read(begin + topic_at, min(begin + topic_at + 128, size))
    topic = rest[1 : 1 + rest[0]].decode("utf-8", "replace") if rest else ""
    return _Place(total, topic, known["queue_id"], known["queue_offset"])


def _entry(root: AddressPath, record: _Place) -> tuple[int, int] | None:
    """What the queue of a record says: commit log offset and size; None where it has no such entry."""
    place = record.queue_offset * _ENTRY.size
    files = [file for file in _queue(root, record.topic, record.queue_id) if int(file.path.name) <= place]
    if not files:
        return None
    path, size, _ = files[-1]
    begin = place - int(path.name)
    if begin + _ENTRY.size > size:
        return None
    try:
        with RangeReader(path) as reader:
            offset, length = _ENTRY.unpack(reader.read(begin, begin + _ENTRY.size))
    except (OSError, struct.error):
        return None
    return offset, length


@lru_cache(4096)
def _queue(root: AddressPath, topic: str, queue_id: int) -> tuple[Listed, ...]:
    """The files of a queue, by the place of their first byte."""
    folder = root / "consumequeue" / topic / str(queue_id)
    return tuple(file for file in listed_files(folder) if file.path.name.isdecimal())
