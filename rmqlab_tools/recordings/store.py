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
from rmqlab.run.run import EVENTS
from rmqlab_tools.live.store_folder import StoreFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.broker.broker import Broker
    from rmqlab.store.mapped_file_queue import MappedFileQueue

T = TypeVar("T")
RECORDED = "golden/broker-4.8.0"
PACKED = "store.tar.gz"
LOG = "commitlog"
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
    """Give the store directory at `path`, in a folder there as `store/` or packed, or packed there (tar, zip).

    What is packed is unpacked for as long as it is open. Raises `BadInput`.
    """
    if is_dir(path / LOG):
        yield OpenedStore(path, None, _conf(path))
        return
    if is_dir(path / "store" / LOG):
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
    return next((path / name for name in EVENTS if exists(path / name)), None) if is_dir(path) else None


def _conf(store: Path) -> Path | None:
    found = store.resolve().parent / CONF
    return found if is_file(found) else None


def _unpack(packed: Path, into: Path) -> None:
    """Unpack a tar or zip archive, as long as it stays within ``MOST_UNPACKED``, ``MOST_FILES`` and the free room."""
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
        """The member, if there is still room for it; raises `BadInput` otherwise."""
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
    found = sorted(one.parent for one in unpacked.rglob(LOG) if one.is_dir())
    if not found:
        raise BadInput(
            _("{packed}: no folder {log} in it, so no store directory is packed there", packed=packed, log=f"{LOG!r}")
        )
    return found[0]


def _wrong(path: Path) -> str:
    if not exists(path):
        return _(
            "{path}: there is no such file or folder; name a store directory, which has a folder {log}",
            path=path,
            log=f"{LOG!r}",
        )
    if not is_dir(path):
        return _(
            "{path}: neither a folder nor a file; name a store directory, or one packed as .tar.gz or .zip", path=path
        )
    if path.name == LOG or any(one.name.isdecimal() and len(one.name) == 20 for one in contents(path)):
        return _(
            "{path}: this is a commit log; name its store directory, the folder it lies in: {parent}",
            path=path,
            parent=path.resolve().parent,
        )
    inside = [one.name for one in contents(path) if any(exists(one / name) for name in (LOG, "store", PACKED))]
    if inside:
        return _(
            "{path}: no store directory, but in it are some: {inside}; name one of them",
            path=path,
            inside=joined(", ", inside[:8]),
        )
    return _(
        "{path}: no store directory, since it has no folder {log}, and no {packed}",
        path=path,
        log=f"{LOG!r}",
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
            for one in queue.mapped_files:
                written = target.segments(queue.directory, one.file_from_offset, one.file_size)
                written.append(bytes(one.start) + one.segment.read(0, one.segment.size))
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
