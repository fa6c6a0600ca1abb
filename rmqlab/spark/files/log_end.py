"""Where a commit log ends that a broker may be writing to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.spark.files.commit_log_files import LogRange
from rmqlab.spark.files.record_columns import LogReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.spark.files.commit_log_files import LogFile


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
