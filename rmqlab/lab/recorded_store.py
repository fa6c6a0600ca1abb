"""The store directory of a recorded set, unpacked for as long as it is needed."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from rmqlab.checkout import folder
from rmqlab.errors import BadInput

RECORDED = "golden/broker-4.8.0"


class RecordedStore:
    """The broker's directory of the set `name` as `store`, and what was seen as `events`. `cleanup` removes it."""

    def __init__(self, name: str = "audit") -> None:
        """Unpack it. Raises `BadInput` when there is no such set, or it has no store."""
        source = folder("data") / RECORDED / name
        self.events = source / "events.jsonl.gz"
        self._temporary = tempfile.TemporaryDirectory(prefix="rmqlab-store-")
        try:
            shutil.unpack_archive(source / "store.tar.gz", self._temporary.name, filter="data")
        except (OSError, ValueError, shutil.ReadError, tarfile.TarError) as error:
            self.cleanup()
            raise BadInput(f"{source}: no store to be had ({error}); a set with store.tar.gz is needed") from error
        self.store = Path(self._temporary.name) / "store"

    def cleanup(self) -> None:
        """Remove the copy."""
        self._temporary.cleanup()
