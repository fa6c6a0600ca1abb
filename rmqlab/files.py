"""Files that somebody names: one clear line for what cannot be read; files written whole; where a file's data ends."""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final, cast

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.java_properties import MalformedEscapeError, load_properties

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

MOST_TEXT_BYTES: Final = 512 << 20
"""Bytes of a text file that is read at once, unpacked: what holds more is no file of ours."""
_CHUNK: Final = 1 << 20  # bytes looked at together


def open_regular(path: Path) -> IO[bytes]:
    """Open a file to read. A pipe or a device may have no end, so none is read but standard input, by its name.

    Raises:
        OSError: it cannot be opened, or is no regular file; `strerror` says what it is instead.
    """
    _check_regular(_stat(path))
    # should it be another one by now: to open a pipe must not wait for a writer
    stream = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    try:
        _check_regular(os.fstat(stream.fileno()))
        os.set_blocking(stream.fileno(), True)
    except BaseException:
        stream.close()
        raise
    return stream


def seen(path: Path) -> os.stat_result | None:
    """What lies at a path; None where nothing does, or could (a name that is too long, or has a zero byte).

    Raises:
        BadInput: a folder on the way may not be entered: so it is not known.
    """
    try:
        return _stat(path)
    except PermissionError as error:
        raise _unreadable(path, error) from error
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise _unreadable(path, error) from error


_NOTHING_THERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL}


def exists(path: Path) -> bool:
    """Whether something lies at a path.

    Raises:
        BadInput: as `seen` does.
    """
    return seen(path) is not None


def is_file(path: Path) -> bool:
    """Whether a regular file lies at a path.

    Raises:
        BadInput: as `seen` does.
    """
    about = seen(path)
    return about is not None and stat.S_ISREG(about.st_mode)


def is_dir(path: Path) -> bool:
    """Whether a folder lies at a path.

    Raises:
        BadInput: as `seen` does.
    """
    about = seen(path)
    return about is not None and stat.S_ISDIR(about.st_mode)


def contents(folder: Path) -> list[Path]:
    """What lies in a folder, by name; nothing where there is no folder.

    Raises:
        BadInput: where it may not be read.
    """
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(path: Path, error: OSError) -> BadInput:
    return BadInput(_("{path}: cannot be read ({strerror})", path=path, strerror=error.strerror or error))


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except ValueError as error:  # a zero byte, which no name has
        raise OSError(errno.EINVAL, str(error)) from error


def _check_regular(state: os.stat_result) -> None:
    mode = state.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kind = _("a device")
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        try:
            if os.path.samestat(state, os.fstat(0)):
                return
        except OSError:
            pass
        kind = _("a pipe") if stat.S_ISFIFO(mode) else _("a socket")
    raise OSError(errno.EINVAL, _("it is {kind}, and only files are read", kind=kind))


def open_new(path: Path) -> IO[bytes]:
    """Open a file to write it anew.

    Raises:
        OSError: also for a link or a pipe of that name: nothing goes through.
    """
    extra = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))
    return os.fdopen(os.open(path, sum(extra, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 0o666), "wb")


def read_bytes(path: Path) -> bytes:
    """What a file holds; errors are those of `open_regular`, and `OSError` for more than a text may have."""
    with open_regular(path) as stream:
        data = stream.read(MOST_TEXT_BYTES + 1)
    if len(data) > MOST_TEXT_BYTES:
        raise OSError(errno.EFBIG, _("it holds more than {most} bytes", most=f"{MOST_TEXT_BYTES:,}"))
    return data


@contextmanager
def opened(path: Path, wanted: str) -> Iterator[IO[bytes]]:
    """A file to read, unpacked if its name ends in .gz or it begins as gzip does.

    Raises:
        BadInput: the file is not there or cannot be read; `wanted` says what would be right.
    """
    try:
        with open_regular(path) as raw:
            if path.suffix == ".gz" or cast("BufferedReader", raw).peek(2)[:2] == b"\x1f\x8b":
                with gzip.open(raw) as stream:
                    yield cast("IO[bytes]", stream)
            else:
                yield raw
    except FileNotFoundError as error:
        raise BadInput(_("{path}: there is no such file; give {wanted}", path=path, wanted=wanted)) from error
    except gzip.BadGzipFile as error:
        raise BadInput(
            _("{path}: its name ends in .gz, and it is not packed so; give {wanted}", path=path, wanted=wanted)
        ) from error
    except (EOFError, zlib.error) as error:
        raise BadInput(
            _("{path}: cannot be unpacked to its end ({error}); give {wanted}", path=path, error=error, wanted=wanted)
        ) from error
    except OSError as error:
        raise BadInput(
            _(
                "{path}: cannot be read ({strerror}); give {wanted}",
                path=path,
                strerror=error.strerror or error,
                wanted=wanted,
            )
        ) from error


def read_text(path: Path, wanted: str) -> str:
    """The text of a UTF-8 file, unpacked if need be; errors are those of `opened`."""
    try:
        with opened(path, wanted) as stream:
            data = stream.read(MOST_TEXT_BYTES + 1)
            if len(data) > MOST_TEXT_BYTES:
                most = f"{MOST_TEXT_BYTES:,}"
                raise BadInput(_("{path}: more than {most} bytes; give {wanted}", path=path, most=most, wanted=wanted))
            return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            _(
                "{path}: this is no UTF-8 text (byte {start}); give {wanted}",
                path=path,
                start=error.start,
                wanted=wanted,
            )
        ) from error


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text that comes from outside.

    >>> json_value('{"a": 1}')
    {'a': 1}

    Raises:
        ValueError: it is no JSON, or lists lie in lists so deep that no reader of ours follows.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(_("lists or objects lie in each other too deep to be read")) from None


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a JSON-lines text that hold something, each with its number, the first being 1."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def json_lines(text: str, name: object, *, wanted: str = _("one JSON object a line is")) -> Iterator[tuple[int, Any]]:
    """The values of a JSON-lines text, each with the number of its line.

    Raises:
        BadInput: a line is not JSON; the text names it ("NAME, line 1") and says what is `wanted`.
    """
    for number, line in lines_of(text):
        try:
            value = json_value(line)
        except ValueError as error:
            raise BadInput(
                _(
                    "{name}, line {number}: not JSON ({error}); {wanted} needed",
                    name=name,
                    number=number,
                    error=error,
                    wanted=wanted,
                )
            ) from error
        yield number, value


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; it takes the place of `path` when all went well, else it is removed.

    Readers see the old file until the new one is complete. Its name begins with a dot: Parquet's readers pass it over.
    An `OSError` of the block that names no file (a full disk) names `path`.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename in {None, str(part)}:
            error.filename, error.strerror = str(path), reason_of(error)
        raise
    finally:
        part.unlink(missing_ok=True)


def reason_of(error: OSError) -> str:
    """What the system says is wrong, in its own words: Arrow has others."""
    return os.strerror(error.errno) if error.errno else str(error)


def replace_text(path: Path, text: str, encoding: str = "ascii") -> None:
    """Write a text, whole or not at all; a pipe or a device is written to.

    Raises:
        OSError: the file cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding=encoding)
        return
    with atomic_write(path) as part:
        part.write_text(text, encoding=encoding)


def end_of_data(fd: int, size: int) -> int:
    """Where the last byte that is not zero ends; holes of a sparse file are passed over unread."""
    end, zeros = _last_extent(fd, size), bytes(_CHUNK)
    while end > 0:
        begin = max(end - _CHUNK, 0)
        data = os.pread(fd, end - begin, begin)
        if data != zeros[: len(data)]:  # ten times as fast as to strip what is nothing but zeros
            return begin + len(data.rstrip(b"\0"))
        end = begin
    return 0


def _last_extent(fd: int, size: int) -> int:
    """Where the last part of a file ends that is no hole."""
    if not hasattr(os, "SEEK_DATA"):
        return size
    end = at = 0
    try:
        while at < size:
            at = os.lseek(fd, at, os.SEEK_DATA)
            at = end = os.lseek(fd, at, os.SEEK_HOLE)
    except OSError:  # no data behind here
        return min(end, size)
    return min(end, size)


def read_properties(path: Path) -> dict[str, str]:
    """Names and values of a settings file, by the rules of `load_properties`.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    try:
        return load_properties(read_bytes(path))
    except OSError as error:
        raise BadInput(
            _("{path}: cannot be read ({reason}); give a file of lines name=value", path=path, reason=error.strerror)
        ) from error
    except MalformedEscapeError as error:
        raise BadInput(f"{path}: {error}") from error
