"""What lies at a path of a store: files and folders, their sizes, and their bytes, of an address by ranges.

Files of this machine are left to `rmqlab.files`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

from rmqlab import files
from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath
from rmqlab_tools.spark.files.filesystem_failures import reason_at

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE: Final = 8 << 20
"""Bytes that one request asks for."""
REQUESTS: Final = 8
"""Requests under way at a time, in one process."""


class Listed(NamedTuple):
    """A file below a folder at an address, its size in bytes, and when it was put there (epoch ns)."""

    path: AddressPath
    size: int
    put_ns: int


def unreadable(path: StorePath, error: OSError) -> BadInput:
    """The line for a file or folder that cannot be read."""
    return BadInput(_("{path}: cannot be read ({strerror})", path=path, strerror=reason_at(error)))


def contents(folder: StorePath) -> list[StorePath]:
    """What lies in a folder, by name; nothing where there is no folder.

    Raises:
        BadInput: where it may not be read.
    """
    if isinstance(folder, Path):
        return list(files.contents(folder))
    return sorted(folder / about.base_name for about in _infos(folder))


def require_bucket(path: AddressPath) -> None:
    """Raise `BadInput` if what an address lies in is not there, or may not be listed; a folder may be missing."""
    import pyarrow.fs as pafs

    try:
        path.ask(lambda filesystem, inner: filesystem.get_file_info(pafs.FileSelector(inner)))
    except FileNotFoundError as error:
        if not _has_bucket(path):
            raise unreadable(path, OSError(_("there is no such bucket"))) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _has_bucket(path: AddressPath) -> bool:
    """Whether the bucket or container is there, as far as this machine may ask; HDFS has none."""
    bucket = path.inner.strip("/").partition("/")[0]
    try:
        return path.filesystem.type_name == "hdfs" or bool(
            path.ask(lambda filesystem, _inner: filesystem.get_file_info(bucket).type.name != "NotFound")
        )
    except OSError:  # who may read what is in a bucket need not have a right to ask about it
        return True


def listed_files(folder: AddressPath) -> list[Listed]:
    """The files below a folder, however deep, by path; nothing where there is no folder.

    Raises:
        BadInput: where it may not be read.
    """
    listed = [
        Listed(folder / about.path[len(folder.inner) + 1 :], int(about.size), int(about.mtime_ns or 0))
        for about in _infos(folder, recursive=True)
        if about.is_file
    ]
    return sorted(listed, key=lambda file: file.path.parts)


def _infos(folder: AddressPath, *, recursive: bool = False) -> list[Any]:
    import pyarrow.fs as pafs

    selector = pafs.FileSelector(folder.inner, allow_not_found=True, recursive=recursive)
    try:
        infos: list[Any] = folder.ask(lambda filesystem, _inner: filesystem.get_file_info(selector))
    except OSError as error:
        raise unreadable(folder, error) from error
    return infos


def is_dir(path: StorePath) -> bool:
    """Whether a folder lies at a path.

    Raises:
        BadInput: that cannot be found out.
    """
    return files.is_dir(path) if isinstance(path, Path) else _is_type(path, "Directory")


def is_file(path: StorePath) -> bool:
    """Whether a regular file lies at a path.

    Raises:
        BadInput: that cannot be found out.
    """
    return files.is_file(path) if isinstance(path, Path) else _is_type(path, "File")


def _is_type(path: AddressPath, name: str) -> bool:
    try:
        return bool(path.ask(lambda filesystem, inner: filesystem.get_file_info(inner).type.name == name))
    except OSError as error:
        raise unreadable(path, error) from error


def size_of(path: StorePath) -> int | None:
    """The bytes of a file; None where there is none.

    Raises:
        BadInput: that cannot be found out.
    """
    if isinstance(path, Path):
        about = files.seen(path)
        return None if about is None else about.st_size
    try:
        info = path.ask(lambda filesystem, inner: filesystem.get_file_info(inner))
    except OSError as error:
        raise unreadable(path, error) from error
    return int(info.size) if info.is_file else None


def read_bytes(path: StorePath) -> bytes:
    """What a file holds.

    Raises:
        OSError: it is not there, or cannot be read.
    """
    if isinstance(path, Path):
        return files.read_bytes(path)

    def whole(filesystem: Any, inner: str) -> bytes:
        with filesystem.open_input_file(inner) as stream:
            return bytes(stream.read())

    return path.ask(whole)


def open_file(path: StorePath) -> IO[bytes]:
    """A file to read; one at an address is in memory then.

    Raises:
        OSError: it is not there, or cannot be read.
    """
    return files.open_regular(path) if isinstance(path, Path) else BytesIO(read_bytes(path))


class RangeReader:
    """Reads ranges of one file at an address, the pieces of a large one side by side.

    Raises:
        OSError: the file is not there, or cannot be read.
    """

    def __init__(self, path: AddressPath) -> None:
        self._path = path
        self._stream = path.ask(lambda filesystem, inner: filesystem.open_input_file(inner))

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` on and before `end`, fewer where the file ends."""
        return bytes(self._path.ask(lambda *_: self._stream.read_at(end - begin, begin))) if begin < end else b""

    def pieces(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The same in pieces, each with its place in the file, in order; at most `REQUESTS` are in memory."""
        places = range(begin, end, PIECE)
        with ThreadPoolExecutor(min(REQUESTS, max(len(places), 1))) as pool:
            for first in range(0, len(places), REQUESTS):
                some = places[first : first + REQUESTS]
                parts = pool.map(lambda place: self.read(place, min(place + PIECE, end)), some)
                yield from zip(some, parts, strict=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()


def end_of_data(path: AddressPath, size: int) -> int:
    """Where the last byte of a file ends that is not zero: a broker makes its files in full size."""
    try:
        with RangeReader(path) as reader:
            end, zeros = size, bytes(PIECE)
            while end > 0:
                begin = max(end - PIECE * REQUESTS, 0)
                ends = [
                    place + len(data.rstrip(b"\0"))
                    for place, data in reader.pieces(begin, end)
                    if data != zeros[: len(data)]
                ]
                if ends:
                    return ends[-1]
                end = begin
    except FileNotFoundError:  # made for later, and gone
        return 0
    except OSError as error:
        raise unreadable(path, error) from error
    return 0
