"""The store directory of a recorded set, unpacked for as long as it is needed."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from rmqlab.checkout import folder
from rmqlab.errors import BadInput

RECORDED = "golden/broker-4.8.0"
PACKED = "store.tar.gz"


class RecordedStore:
    """The broker's directory of a recorded set as `store`, and what was seen as `events`. `cleanup` removes it."""

    def __init__(self, recording: str | Path = "audit") -> None:
        """Unpack the set of that name, or the one in that folder. Raises `BadInput` when it has no store."""
        source = recording if isinstance(recording, Path) else folder("data") / RECORDED / recording
        self.events = source / "events.jsonl.gz"
        self._temporary = tempfile.TemporaryDirectory(prefix="rmqlab-store-")
        try:
            shutil.unpack_archive(source / PACKED, self._temporary.name, filter="data")
        except (OSError, ValueError, shutil.ReadError, tarfile.TarError) as error:
            self.cleanup()
            raise BadInput(f"{source}: no store to be had ({error}); a set with {PACKED} is needed") from error
        self.store = Path(self._temporary.name) / "store"

    def cleanup(self) -> None:
        """Remove the copy."""
        self._temporary.cleanup()
