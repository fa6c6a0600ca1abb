"""A broker's store directory: as it is, packed, or in a recorded set beside its events; or written by a simulation."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rmqlab.errors import BadInput
from rmqlab.files import contents, exists, is_dir, is_file
from rmqlab.language import _, joined
from rmqlab.run.run import OUTCOME_EVENTS
from rmqlab_tools.live.store_folder import StoreFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.broker.broker import Broker
    from rmqlab.store.mapped_file_queue import MappedFileQueue

T = TypeVar("T")
RECORDED = "golden/broker-4.8.0"
PACKED = "store.tar.gz"
COMMIT_LOG_FOLDER = "commitlog"
CONF = "broker.conf"
MOST_UNPACKED = 16 << 30
"""Bytes that an archive may hold: a larger store is unpacked by who has it, where room is."""
MOST_FILES = 100_000


class OpenedStore(NamedTuple):
    """A store directory, and beside it: events that were recorded (a file, or a folder of files), broker.conf."""

    store: Path
    events: Path | None
    conf: Path | None


@contextmanager
def open_store(path: Path) -> Iterator[OpenedStore]:
    """The store directory at `path`, in a folder there as `store/` or packed, or packed there (tar, zip).

    What is packed is unpacked for as long as it is open.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    if is_dir(path / COMMIT_LOG_FOLDER):
        yield OpenedStore(path, None, _conf(path))
        return
    if is_dir(path / "store" / COMMIT_LOG_FOLDER):
        yield OpenedStore(path / "store", _events(path), _conf(path / "store"))
        return
    packed = path / PACKED if is_file(path / PACKED) else path
    if not is_file(packed):
        raise BadInput(_wrong(path))
    with tempfile.TemporaryDirectory(prefix="rmqlab-store-") as temporary:
        _unpack(packed, Path(temporary))
        store = _inside(packed, Path(temporary))
        # A packed store that is named itself is meant alone, without what lies beside it.
        yield OpenedStore(store, _events(path) or _events(store.parent), _conf(packed) or _conf(store))


def _events(path: Path) -> Path | None:
    return next((path / name for name in OUTCOME_EVENTS if exists(path / name)), None) if is_dir(path) else None


def _conf(store: Path) -> Path | None:
    path = store.resolve().parent / CONF
    return path if is_file(path) else None


def _unpack(packed: Path, into: Path) -> None:
    """Unpack a tar or zip archive, as long as it stays within `MOST_UNPACKED`, `MOST_FILES` and the free room."""
    room = _Room(packed, min(MOST_UNPACKED, shutil.disk_usage(into).free))
    try:
        if tarfile.is_tarfile(packed):
            with tarfile.open(packed) as archive:
                archive.extractall(into, members=(room.taken(member, member.size) for member in archive), filter="data")
        else:
            with zipfile.ZipFile(packed) as archive:
                for member in archive.infolist():
                    archive.extract(room.taken(member, member.file_size), into)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise BadInput(
            _("{packed}: no archive; a store directory, or one packed as .tar.gz or .zip, is needed", packed=packed)
        ) from error
    except (OSError, ValueError, EOFError, tarfile.TarError) as error:
        raise BadInput(
            _(
                "{packed}: {error}; a store directory, or one packed as .tar.gz or .zip, is needed",
                packed=packed,
                error=error,
            )
        ) from error


class _Room:
    """Counts what an archive unpacks to, before it is written."""

    def __init__(self, packed: Path, most: int) -> None:
        self._packed, self._most = packed, most
        self._bytes = self._files = 0

    def taken(self, member: T, size: int) -> T:
        """The member, if there is still room for it.

        Raises:
            BadInput: otherwise.
        """
        self._bytes += size
        self._files += 1
        if self._bytes > self._most or self._files > MOST_FILES:
            raise BadInput(
                _(
                    "{packed}: it unpacks to more than {most} bytes or {files} files; unpack it where there is room, "
                    "and name the store directory",
                    packed=self._packed,
                    most=f"{self._most:,}",
                    files=f"{MOST_FILES:,}",
                )
            )
        return member


def _inside(packed: Path, unpacked: Path) -> Path:
    folders = sorted(log.parent for log in unpacked.rglob(COMMIT_LOG_FOLDER) if log.is_dir())
    if not folders:
        raise BadInput(
            _(
                "{packed}: no folder {log} in it, so no store directory is packed there",
                packed=packed,
                log=f"{COMMIT_LOG_FOLDER!r}",
            )
        )
    return folders[0]


def _wrong(path: Path) -> str:
    if not exists(path):
        return _(
            "{path}: there is no such file or folder; name a store directory, which has a folder {log}",
            path=path,
            log=f"{COMMIT_LOG_FOLDER!r}",
        )
    if not is_dir(path):
        return _(
            "{path}: neither a folder nor a file; name a store directory, or one packed as .tar.gz or .zip", path=path
        )
    if path.name == COMMIT_LOG_FOLDER or any(
        entry.name.isdecimal() and len(entry.name) == 20 for entry in contents(path)
    ):
        return _(
            "{path}: this is a commit log; name its store directory, the folder it lies in: {parent}",
            path=path,
            parent=path.resolve().parent,
        )
    inside = [
        entry.name
        for entry in contents(path)
        if any(exists(entry / name) for name in (COMMIT_LOG_FOLDER, "store", PACKED))
    ]
    if inside:
        return _(
            "{path}: no store directory, but in it are some: {inside}; name one of them",
            path=path,
            inside=joined(", ", inside[:8]),
        )
    return _(
        "{path}: no store directory, since it has no folder {log}, and no {packed}",
        path=path,
        log=f"{COMMIT_LOG_FOLDER!r}",
        packed=PACKED,
    )


def write_store(broker: Broker, folder: Path) -> Path:
    """Write commit log, consume queues and `config/` into `folder`, which must be new or empty. No index is written.

    Raises:
        BadInput: the folder is not empty, cannot be written, or another broker has it.
    """
    if any(contents(folder)):
        raise BadInput(_("store {folder}: there is something in it; name a new folder", folder=folder))
    target = StoreFolder(folder)
    target.open()
    try:
        for queue in _files(broker):
            for mapped_file in queue.mapped_files:
                written = target.segments(queue.directory, mapped_file.file_from_offset, mapped_file.file_size)
                written.append(bytes(mapped_file.start) + mapped_file.segment.read(0, mapped_file.segment.size))
        for table in broker.config_managers:
            target.persist(table)
    finally:
        target.release(in_order=True)
    return folder


def _files(broker: Broker) -> Iterator[MappedFileQueue]:
    store = broker.message_store
    yield store.commit_log.mapped_file_queue
    for queues in store.consume_queue_table.values():
        for queue in queues.values():
            yield queue.mapped_file_queue
            if queue.consume_queue_ext is not None:
                yield queue.consume_queue_ext.mapped_file_queue
