"""A store's folder: who holds it, how the last broker left it, what lies beside the messages.

`lock`, `abort`, `checkpoint` and `config/*.json` with their `.bak`, as 4.8.0 keeps them (`DefaultMessageStore`,
`StoreCheckpoint`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.files import read_bytes
from rmqlab.language import _
from rmqlab_tools.live.config_load import load_config
from rmqlab_tools.live.configuration_files import string_to_file
from rmqlab_tools.live.file_segments import FileSegments, sync_folder

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.broker.config_manager import ConfigManager

logger = logging.getLogger(__name__)

_CHECKPOINT = struct.Struct(">qqq")
_CHECKPOINT_BYTES = 4096
_held: set[Path] = set()


class Checkpoint(NamedTuple):
    """Store times (epoch ms) of the last message that is on disk for sure: in the log, in its queue, in the index."""

    physic_msg_timestamp: int = 0
    logics_msg_timestamp: int = 0
    index_msg_timestamp: int = 0


class StoreFolder:
    """One broker's folder. `open` takes it, `release` gives it back; `last_exit_ok` says how it was left."""

    def __init__(self, root: Path, *, commit_log: Path | None = None) -> None:
        self.root = root
        self.segments = FileSegments(root, commit_log=commit_log)
        self.last_exit_ok = True
        self._lock: int | None = None

    def open(self) -> None:
        """Take the folder for this process, make it if need be, and look how it was left.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            self.last_exit_ok = not (self.root / "abort").exists()
        except OSError as error:
            raise BadInput(
                _("store {root}: {reason}; name a folder that can be written", root=self.root, reason=error.strerror)
            ) from error

    def _take_lock(self) -> None:
        """Lock the first byte of `lock`, as Java does: a real broker keeps us out, and we keep it out."""
        path = self.root / "lock"
        key = self.root.resolve()
        if key in _held:
            raise self._taken()
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock_first_byte(lock)
        except OSError:
            os.close(lock)
            raise self._taken() from None
        os.pwrite(lock, b"lock", 0)
        _held.add(key)
        self._lock = lock

    def _taken(self) -> BadInput:
        return BadInput(_("store {root}: another broker has it; stop that one, or name another folder", root=self.root))

    def release(self, *, in_order: bool) -> None:
        """Give the folder back. `in_order`: everything is written, so the next broker need not look."""
        self.segments.close()
        if in_order:
            with contextlib.suppress(OSError):
                (self.root / "abort").unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            _held.discard(self.root.resolve())

    def mark_running(self) -> None:
        """Leave `abort` until an orderly end.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        try:
            (self.root / "abort").touch()
            sync_folder(self.root)
        except OSError as error:
            raise BadInput(_("store {root}: {reason}", root=self.root, reason=error.strerror)) from error

    # checkpoint

    def checkpoint(self) -> Checkpoint:
        """Read the checkpoint; one that is missing or too short says nothing."""
        try:
            data = read_bytes(self.root / "checkpoint")
        except OSError:
            return Checkpoint()
        return Checkpoint(*_CHECKPOINT.unpack_from(data)) if len(data) >= _CHECKPOINT.size else Checkpoint()

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write the checkpoint and bring it to disk.

        Raises:
            OSError: the file cannot be written.
        """
        fd = os.open(self.root / "checkpoint", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            os.pwrite(fd, _CHECKPOINT.pack(*checkpoint).ljust(_CHECKPOINT_BYTES, b"\0"), 0)
            os.fsync(fd)
        finally:
            os.close(fd)

    # config

    def load_config(self, table: ConfigManager) -> None:
        """Take in a table's file of `config/`, or its `.bak`, as `config_load` says; log what is wrong.

        Raises:
            BadInput: where 4.8.0 does not start: when both cannot be read.
        """
        path = self.root / "config" / table.file_name
        loaded = load_config(path, table.decode)
        warning = loaded.says()
        if not loaded.starts:
            raise BadInput(_("{folder}: {told}; mend one of them, or delete both", folder=path.parent, told=warning))
        if warning:
            logger.warning("%s: %s", path.parent, warning)

    def persist(self, table: ConfigManager) -> None:
        """Write a table's file of `config/`; what it held becomes its `.bak`.

        Raises:
            OSError: the file cannot be written.
        """
        path = self.root / "config" / table.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        string_to_file(path, table.encode().encode("utf-8", "surrogatepass"))


def _lock_first_byte(fd: int) -> None:
    """Lock byte 0 for this process. Without such locks on a system: nothing.

    Raises:
        OSError: when another has it.
    """
    try:
        import fcntl
    except ImportError:
        return
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
