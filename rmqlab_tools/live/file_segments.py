"""The store's segments as files, laid out as 4.8.0 lays them out: `commitlog/00000000000000000000` and so on.

Files are as large as their segment from the beginning and sparse. Bytes are written with `pwrite`, not through a
mapping: a full disk is an error to answer then, where a mapping would end the process. While they are held back
(`FileSegments.is_holding`), those of many appends are written at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from typing import TYPE_CHECKING

from rmqlab.files import end_of_data, open_new
from rmqlab.message.java import LONG_MAX
from rmqlab.store.mapped_file_queue import Segment, SegmentCreateError, SegmentError, Segments, StoredSegment
from rmqlab_tools.live.index_file import DIRECTORY as INDEX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_OPEN_FILES = 2_000
PAGE = 4096
_LONGEST_NAME = 255  # bytes
_RESERVED_BYTES = 1024 * 1024
_fallocate = getattr(os, "posix_fallocate", None)
_fdatasync = getattr(os, "fdatasync", os.fsync)


class FileSegment:
    """One file. With `reserves` nothing is held back that the disk may have no room for."""

    def __init__(self, files: FileSegments, path: Path, capacity: int, *, reserves: bool = False) -> None:
        self._files = files
        self.reserves = reserves
        self._fd: int | None = None
        self.path = path
        self.capacity = capacity
        self.size = 0
        self.flushed = 0
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._reserved = 0

    @property
    def written(self) -> int:
        """Bytes that the system has: they survive the end of this process, however it ends."""
        return self.size - self._held_bytes

    def append(self, data: bytes) -> None:
        """Write `data` after what is there, or hold it back until `FileSegments.write_held`.

        Raises:
            SegmentError: and then the segment is as before.
        """
        size, files, length = self.size, self._files, len(data)
        if not files.is_holding or (self.reserves and not self._has_room(size + length)):
            self.write_held()
            self._write(data, size)
            self.size = size + length
            files.dirty.add(self)
            return
        is_first = not self._held
        self._held.append(data)
        self._held_bytes += length
        self.size = size + length
        if self.reserves:
            files.held_records += 1
        if is_first:  # no flush takes it from those with bytes to write while it has some
            files.held.add(self)
            files.dirty.add(self)

    def write_held(self) -> None:
        """Write what is held back.

        Raises:
            SegmentError: it is held back still.
        """
        if self._held:
            self._write(self._held[0] if len(self._held) == 1 else b"".join(self._held), self.written)
            self._held.clear()
            self._held_bytes = 0
        self._files.held.discard(self)

    def _has_room(self, size: int) -> bool:
        """Whether the disk keeps room for the first `size` bytes; it is asked for more than that.

        What is held back will be acknowledged, so a disk that is full has to say so before.
        """
        if size <= self._reserved:
            return True
        if _fallocate is None:
            return False
        wanted = min(-(-size // _RESERVED_BYTES) * _RESERVED_BYTES, self.capacity)
        try:
            _fallocate(self.fd(), self.size, wanted - self.size)
        except OSError:  # whether what is to be written now fits is found by writing it
            return False
        self._reserved = wanted
        return True

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer when the written part ends before.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        length = min(length, self.size - position)
        if length <= 0:
            return b""
        if self._held and position + length > self.written:
            self.write_held()
        try:
            return os.pread(self.fd(), length, position)
        except OSError as error:
            raise SegmentError(f"{self.path}: {error.strerror}") from error

    def overwrite(self, position: int, data: bytes) -> None:
        """Write `data` over bytes that are there.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        self.write_held()
        self._write(data, position)
        self.flushed = min(self.flushed, position)
        self._files.dirty.add(self)

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and after: zeros are there then, and no older bytes.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        if size < self.size:
            self.write_held()
            with _named(self.path):
                self._blank_from(size)
        self.size = size
        self.flushed = min(self.flushed, size)

    def delete(self) -> None:
        """Delete the file, and its folder when that is empty now.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        self.close()
        self._files.dirty.discard(self)
        self._files.held.discard(self)
        with _named(self.path):
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()

    def fd(self) -> int:
        """The open file."""
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDWR)
            self._files.opened(self)
        return self._fd

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            self._files.closed(self)

    def _write(self, data: bytes, position: int) -> None:
        try:
            fd = self.fd()
            written = os.pwrite(fd, data, position)
            while written < len(data):
                written += os.pwrite(fd, data[written:], position + written)
        except OSError as error:
            if position >= self.size:
                with contextlib.suppress(OSError):
                    self._blank_from(position)  # a part may have been written
            raise SegmentError(f"{self.path}: {error.strerror}") from error

    def _blank_from(self, size: int) -> None:
        self._reserved = 0
        os.ftruncate(self.fd(), size)
        os.ftruncate(self.fd(), self.capacity)


class FileSegments(Segments):
    """Makes and finds segments below a folder. `dirty` are those with bytes that are not on disk for sure.

    While `is_holding` appended bytes may wait in memory, those of the log where the disk has room for them: whoever
    wants to be sure of them calls `write_held`. `held` are the segments that have some, `held_records` counts
    what was ever held back of the log.

    `commit_log` is the folder of the commit log, when that is elsewhere (`storePathCommitLog`).
    """

    def __init__(self, root: Path, *, commit_log: Path | None = None) -> None:
        self.root = root
        self.commit_log = commit_log or root / "commitlog"
        self.dirty: set[FileSegment] = set()
        self.held: set[FileSegment] = set()
        self.is_holding = False
        self.held_records = 0
        self._open: dict[int, FileSegment] = {}

    def __call__(self, directory: str, file_from_offset: int, capacity: int) -> Segment:
        """Make a file.

        Raises:
            SegmentCreateError: the file cannot be made.
        """
        path = self.folder(directory) / f"{file_from_offset:0{_digits(directory)}d}"
        segment = FileSegment(self, path, capacity, reserves=directory == "commitlog")
        if directory != "commitlog" and not all(map(is_file_name, directory.split("/"))):
            raise SegmentCreateError(f"{directory!r}: no folder in the store can have this name")
        with _named(path, SegmentCreateError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open_new(path) as file:
                os.ftruncate(file.fileno(), capacity)
            sync_folder(path.parent)
        return segment

    def takes_topic(self, topic: str) -> bool:
        """Whether a topic's queues can have a folder."""
        return is_file_name(topic)

    def folder(self, directory: str) -> Path:
        """Where the files of a directory of the store lie."""
        return self.commit_log if directory == "commitlog" else self.root / directory

    def load(self, directory: str, capacity: int) -> list[StoredSegment]:
        """The files of a directory; a file too short is one whose end was never written.

        Raises:
            SegmentError: files that are too large, or not where files of that size begin.
        """
        folder = self.folder(directory)
        if not folder.is_dir():
            return []
        segments = []
        named = re.compile(rf"[0-9]{{{_digits(directory)}}}")
        for path in sorted(path for path in folder.iterdir() if named.fullmatch(path.name)):
            state = _regular(path)
            if int(path.name) > LONG_MAX:
                raise SegmentError(f"{path}: its name is no offset")
            if state.st_size > capacity or (directory != INDEX and int(path.name) % capacity):
                raise SegmentError(
                    f"{path} has {state.st_size} bytes, the settings say {capacity}: {_setting(directory)} must be as "
                    "it was when the file was made"
                )
            segment = FileSegment(self, path, capacity, reserves=directory == "commitlog")
            with _named(path):
                if state.st_size < capacity:
                    os.ftruncate(segment.fd(), capacity)
                segment.size = segment.flushed = end_of_data(segment.fd(), state.st_size)
            segments.append(StoredSegment(int(path.name), segment, state.st_mtime_ns // 1_000_000))
        return segments

    def delete_all(self, directory: str) -> None:
        """Delete every file of a directory, whatever its name.

        Raises:
            SegmentError: what is none.
        """
        for path in sorted(self.folder(directory).iterdir()):
            with _named(path):
                path.unlink()

    def directories(self, directory: str) -> list[str]:
        """The names of the folders in a directory of the store, sorted."""
        folder = self.root / directory
        return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []

    def write_held(self) -> None:
        """Write what waits in memory, each file at once.

        Raises:
            SegmentError: a file cannot be written; what it does not take waits on.
        """
        for segment in list(self.held):
            segment.write_held()

    def flush(self, directory: str | None = None, least_pages: int = 0) -> None:
        """Bring what was written to disk; may be called on another thread than the one that appends.

        Only files below `directory`, and only those with `least_pages` pages or more to write, or full ones (4.8.0
        `isAbleToFlush`).

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        folder = None if directory is None else self.folder(directory)
        for segment in list(self.dirty):
            if folder is not None and not segment.path.is_relative_to(folder):
                continue
            size = segment.written
            if size // PAGE - segment.flushed // PAGE < least_pages and size < segment.capacity:
                continue
            _sync_file(segment.path)
            segment.flushed = max(segment.flushed, size)
            if segment.flushed >= segment.size:
                self.dirty.discard(segment)
                if segment.flushed < segment.size:  # appended to in this very moment
                    self.dirty.add(segment)

    def opened(self, segment: FileSegment) -> None:
        """Note an open file; the one that was opened longest ago is closed when there are too many."""
        self._open[id(segment)] = segment
        if len(self._open) > MAX_OPEN_FILES:
            next(iter(self._open.values())).close()

    def closed(self, segment: FileSegment) -> None:
        """Note a closed file."""
        self._open.pop(id(segment), None)

    def close(self) -> None:
        """Close every file."""
        for segment in list(self._open.values()):
            segment.close()


@contextlib.contextmanager
def _named(path: Path, failure: type[SegmentError] = SegmentError) -> Iterator[None]:
    """Which file it is that the system refuses."""
    try:
        yield
    except OSError as error:
        raise failure(f"{path}: {error.strerror}") from error


def _regular(path: Path) -> os.stat_result:
    """About a file of the store.

    Raises:
        SegmentError: when something else has its name: no broker makes that.
    """
    with _named(path):
        state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise SegmentError(f"{path} is {'a folder' if stat.S_ISDIR(state.st_mode) else 'no regular file'}")
    return state


def is_file_name(name: str) -> bool:
    """Whether a name stands for one file or folder right where it is put."""
    if not name or name in {".", ".."} or "/" in name or "\\" in name or "\0" in name:
        return False
    try:
        return len(name.encode()) <= _LONGEST_NAME
    except UnicodeEncodeError:
        return False


def _sync_file(path: Path) -> None:
    """Bring a file to disk, opened for this once: its owner may close it on another thread.

    Raises:
        SegmentError: a file of the store cannot be read or written.
    """
    with _named(path), contextlib.suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDWR)
        try:
            _fdatasync(fd)
        finally:
            os.close(fd)


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to disk, where the system can do that."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _digits(directory: str) -> int:
    """How long file names are: an offset, or for the index a time."""
    return 17 if directory == INDEX else 20


def _setting(directory: str) -> str:
    if directory == INDEX:
        return "maxHashSlotNum and maxIndexNum"
    if directory == "commitlog":
        return "mappedFileSizeCommitLog"
    return "mappedFileSizeConsumeQueueExt" if directory.startswith("consumequeue_ext") else "mappedFileSizeConsumeQueue"
