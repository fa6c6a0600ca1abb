"""The store of a recorded set, unpacked for as long as a test or a benchmark needs it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.run.run import OUTCOME_EVENTS
from rmqlab_tools.recordings.store import PACKED, RECORDED, _inside, _unpack


class RecordedStore:
    """The broker's directory of a recorded set as `store`, and what was seen as `events`. `cleanup` removes it."""

    def __init__(self, recording: str | Path = "audit") -> None:
        """Unpack the set of that name, or the one in that folder. Raises `BadInput` when it has no store."""
        source = recording if isinstance(recording, Path) else checkout_path("data") / RECORDED / recording
        self.events = source / OUTCOME_EVENTS[0]
        self._temporary = tempfile.TemporaryDirectory(prefix="rmqlab-store-")
        try:
            _unpack(source / PACKED, Path(self._temporary.name))
            self.store = _inside(source / PACKED, Path(self._temporary.name))
        except BadInput as error:
            self.cleanup()
            raise BadInput(f"{source}: no store to be had ({error}); a set with {PACKED} is needed") from error

    def cleanup(self) -> None:
        """Remove the copy."""
        self._temporary.cleanup()
