"""Paths of a store: of this machine, or below an address that Arrow's file systems know (s3://, hdfs://, gs://, abfs://).

Readers of stores take either. What lies at an address is read by ranges where it lies, and is not copied first.
Credentials come from where the file system's own tools look: environment, files of the home folder, the machine's role.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

from rmqlab import files
from rmqlab.errors import BadInput
from rmqlab.language import N_, _

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE: Final = 8 << 20
"""Bytes that one request asks for."""
REQUESTS: Final = 8
"""Requests under way at a time, in one process."""
MARK: Final = "://"


@dataclass(frozen=True, slots=True, order=True)
class AddressPath:
    """A file or folder below an address; as a text it has neither options nor credentials of that address.

    `root` is the address as it was given, `inner` the path in its file system, `shown` what people see.
    """

    root: str
    inner: str
    shown: str

    @classmethod
    def of(cls, address: str) -> AddressPath:
        """The folder that an address names.

        Raises:
            BadInput: Arrow knows no such address.
        """
        return cls(address, filesystem_of(address)[1].rstrip("/"), shown_address(address))

    def __truediv__(self, name: str) -> AddressPath:
        """What lies in this folder under a name."""
        return AddressPath(self.root, f"{self.inner}/{name}", f"{self.shown}/{name}")

    def __str__(self) -> str:
        """The address without options and credentials."""
        return self.shown

    @property
    def name(self) -> str:
        """The last part."""
        return self.inner.rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path in the file system."""
        return PurePosixPath(self.inner).parts

    @property
    def parent(self) -> AddressPath:
        """The folder that this lies in."""
        return AddressPath(self.root, self.inner.rpartition("/")[0], self.shown.rpartition("/")[0])

    def with_name(self, name: str) -> AddressPath:
        """What lies beside this under another name."""
        return self.parent / name

    @property
    def filesystem(self) -> Any:
        """The file system, opened once in each process."""
        return filesystem_of(self.root)[0]


StorePath = Path | AddressPath


class Listed(NamedTuple):
    """A file below a folder at an address, its size in bytes, and when it was put there (epoch ns)."""

    path: AddressPath
    size: int
    put_ns: int


def is_address(where: object) -> bool:
    """Whether this is an address, not a path of this machine.

    >>> is_address("s3://bucket/store"), is_address("/var/store")
    (True, False)
    """
    return isinstance(where, AddressPath) or (not isinstance(where, Path) and MARK in str(where))


def store_path(where: str | StorePath) -> StorePath:
    """A path of this machine, or of an address; `file://` is one of this machine.

    Raises:
        BadInput: Arrow knows no such address.
    """
    if isinstance(where, Path | AddressPath):
        return where
    if not is_address(where):
        return Path(where)
    import pyarrow.fs as pafs

    filesystem, inner = filesystem_of(where)
    return Path(inner) if isinstance(filesystem, pafs.LocalFileSystem) else AddressPath.of(where)


def shown_address(address: str) -> str:
    """An address as people may see it.

    >>> shown_address("s3://key:secret@bucket/store/?region=eu-west-1")
    's3://bucket/store'
    """
    scheme, mark, rest = address.partition("?")[0].partition(MARK)
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}".rstrip("/")


@cache
def filesystem_of(address: str) -> tuple[Any, str]:
    """Arrow's file system of an address, and the path in it.

    Raises:
        BadInput: Arrow knows no such address.
    """
    import pyarrow.fs as pafs

    try:
        filesystem, inner = pafs.FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise BadInput(
            _(
                "{place}: {error}; right is a folder, or an address such as s3://BUCKET/FOLDER",
                place=shown_address(address),
                error=reason_at(error).replace(address, shown_address(address)),
            )
        ) from error
    if not inner.strip("/"):
        raise BadInput(
            _(
                "{place}: it names no bucket; right is a folder, or an address such as s3://BUCKET/FOLDER",
                place=shown_address(address),
            )
        )
    return filesystem, inner


_OF_AWS: Final = re.compile(r"AWS Error (\w+) during \w+ operation: (.*)", re.DOTALL)
_REASONS: Final = {
    "NO_SUCH_BUCKET": N_("there is no such bucket"),
    "ACCESS_DENIED": N_("access is denied: the credentials of this machine may not read it, or there are none"),
    "INVALID_ACCESS_KEY_ID": N_("access is denied: nobody there knows the access key"),
    "SIGNATURE_DOES_NOT_MATCH": N_("access is denied: the secret key is another one"),
    "NETWORK_CONNECTION": N_("nobody answers there"),
}


def reason_at(error: Exception) -> str:
    """What a file system says is wrong, in one line; Arrow's texts have request ids and C++ in them."""
    found = _OF_AWS.search(str(error))
    if found:
        return _(_REASONS.get(found[1], "{says}"), says=found[2].partition(" (Request ID")[0].partition("\n")[0])
    if isinstance(error, OSError) and error.errno:
        return files.reason_of(error)
    return (str(error).splitlines() or [type(error).__name__])[0]


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
        path.filesystem.get_file_info(pafs.FileSelector(path.inner))
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error


def listed_files(folder: AddressPath) -> list[Listed]:
    """The files below a folder, however deep, by path; nothing where there is no folder.

    Raises:
        BadInput: where it may not be read.
    """
    found = [
        Listed(folder / about.path[len(folder.inner) + 1 :], int(about.size), int(about.mtime_ns or 0))
        for about in _infos(folder, recursive=True)
        if about.is_file
    ]
    return sorted(found, key=lambda file: file.path.parts)


def _infos(folder: AddressPath, *, recursive: bool = False) -> list[Any]:
    import pyarrow.fs as pafs

    selector = pafs.FileSelector(folder.inner, allow_not_found=True, recursive=recursive)
    try:
        found: list[Any] = folder.filesystem.get_file_info(selector)
    except OSError as error:
        raise unreadable(folder, error) from error
    return found


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
        return bool(path.filesystem.get_file_info(path.inner).type.name == name)
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
        info = path.filesystem.get_file_info(path.inner)
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
    with path.filesystem.open_input_file(path.inner) as stream:
        return bytes(stream.read())


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
        self._stream = path.filesystem.open_input_file(path.inner)

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` on and before `end`, fewer where the file ends."""
        return bytes(self._stream.read_at(end - begin, begin)) if begin < end else b""

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
