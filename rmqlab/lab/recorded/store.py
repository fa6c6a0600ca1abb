"""A broker's store directory, wherever it lies: as it is, packed, or in a recorded set beside its events."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.checkout import folder
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = "golden/broker-4.8.0"
PACKED = "store.tar.gz"
LOG = "commitlog"
CONF = "broker.conf"
EVENTS = ("events.jsonl.gz", "events.jsonl", "events")


class StorePathError(BadInput):
    """A path at which there is no store directory."""


class OpenedStore(NamedTuple):
    """A store directory, and beside it: events that were recorded (a file, or a folder of files), broker.conf."""

    store: Path
    events: Path | None
    conf: Path | None


class RecordedStore:
    """The broker's directory of a recorded set as `store`, and what was seen as `events`. `cleanup` removes it."""

    def __init__(self, recording: str | Path = "audit") -> None:
        """Unpack the set of that name, or the one in that folder. Raises `BadInput` when it has no store."""
        source = recording if isinstance(recording, Path) else folder("data") / RECORDED / recording
        self.events = source / EVENTS[0]
        self._temporary = tempfile.TemporaryDirectory(prefix="rmqlab-store-")
        try:
            _unpack(source / PACKED, Path(self._temporary.name))
            self.store = _inside(source / PACKED, Path(self._temporary.name))
        except BadInput as error:
            self.cleanup()
            raise StorePathError(f"{source}: no store to be had ({error}); a set with {PACKED} is needed") from error

    def cleanup(self) -> None:
        """Remove the copy."""
        self._temporary.cleanup()


@contextmanager
def open_store(path: Path) -> Iterator[OpenedStore]:
    """Give the store directory at `path`, in a folder there as `store/` or packed, or packed there (tar, zip).

    What is packed is unpacked for as long as it is open. Raises `StorePathError`.
    """
    if (path / LOG).is_dir():
        yield OpenedStore(path, None, _conf(path))
        return
    if (path / "store" / LOG).is_dir():
        yield OpenedStore(path / "store", _events(path), _conf(path / "store"))
        return
    packed = path / PACKED if (path / PACKED).is_file() else path
    if not packed.is_file():
        raise StorePathError(_wrong(path))
    with tempfile.TemporaryDirectory(prefix="rmqlab-store-") as temporary:
        _unpack(packed, Path(temporary))
        store = _inside(packed, Path(temporary))
        # A packed store that is named itself is meant alone, without what lies beside it.
        yield OpenedStore(store, _events(path) or _events(store.parent), _conf(packed) or _conf(store))


def _events(path: Path) -> Path | None:
    return next((path / name for name in EVENTS if (path / name).exists()), None) if path.is_dir() else None


def _conf(store: Path) -> Path | None:
    found = store.resolve().parent / CONF
    return found if found.is_file() else None


def _unpack(packed: Path, into: Path) -> None:
    try:
        if tarfile.is_tarfile(packed):
            with tarfile.open(packed) as archive:
                archive.extractall(into, filter="data")
        else:
            shutil.unpack_archive(packed, into, "zip")
    except (OSError, ValueError, EOFError, shutil.ReadError, tarfile.TarError) as error:
        raise StorePathError(
            f"{packed}: {error}; a store directory, or one packed as .tar.gz or .zip, is needed"
        ) from error


def _inside(packed: Path, unpacked: Path) -> Path:
    found = sorted(one.parent for one in unpacked.rglob(LOG) if one.is_dir())
    if not found:
        raise StorePathError(f"{packed}: no folder {LOG!r} in it, so no store directory is packed there")
    return found[0]


def _wrong(path: Path) -> str:
    if not path.exists():
        return f"{path}: there is no such file or folder; name a store directory, which has a folder {LOG!r}"
    if path.name == LOG or any(one.name.isdecimal() and len(one.name) == 20 for one in path.iterdir()):
        return f"{path}: this is a commit log; name its store directory, the folder it lies in: {path.resolve().parent}"
    inside = sorted(one.name for one in path.iterdir() if any((one / name).exists() for name in (LOG, "store", PACKED)))
    if inside:
        return f"{path}: no store directory, but in it are some: {', '.join(inside[:8])}; name one of them"
    return f"{path}: no store directory, since it has no folder {LOG!r}, and no {PACKED}"
