"""A recorded set being written: `frames.jsonl` and `broker.conf`, in the format `rmqlab replay` reads.

While a recording runs its lines are in `frames.jsonl.part`; only a finished one is called `frames.jsonl`.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.message.java_properties import properties_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FRAMES, SETTINGS = "frames.jsonl", "broker.conf"
# Folders and the like: of the machine that was recorded, and no part of a recording.
_LEFT_OUT = ("storePath", "rocketmqHome", "brokerIP2")


class TapRecording:
    """Writes one set into `folder`, which is made; times are ms since the tap started."""

    def __init__(self, folder: Path) -> None:
        """Begin. Raises BadInput when the folder cannot be written or holds a recording already."""
        self.folder = folder
        self.frames = 0
        self._path, self._part = folder / FRAMES, folder / f"{FRAMES}.part"
        for taken in (self._path, folder / f"{FRAMES}.gz"):
            if taken.exists():
                raise BadInput(f"{taken} is there already: name another folder, or move that recording away")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._part.open("w", encoding="ascii")
        except OSError as error:
            raise BadInput(f"{folder}: {error.strerror}; name a folder that can be written") from error

    @property
    def is_open(self) -> bool:
        """Tell whether lines are still taken."""
        return not self._file.closed

    def opened(self, t: float, conn: int) -> None:
        """A client connected."""
        self._write({"t": t, "conn": conn, "open": True})

    def closed(self, t: float, conn: int, direction: str) -> None:
        """One side of a connection has ended."""
        self._write({"t": t, "conn": conn, "dir": direction, "close": True})

    def client(self, t: float, conn: int, client_id: str) -> None:
        """A connection has said whose it is."""
        self._write({"t": t, "conn": conn, "client": client_id})

    def control(self, t: float, verb: str, argument: str, conns: list[int]) -> None:
        """Connections were frozen, cut or marked; or the tap "began", at the epoch ms in `argument`."""
        self._write({"t": t, "control": verb, "arg": argument, "conns": conns})
        self.flush()

    def frame(self, t: float, conn: int, to: str, direction: str, frame: bytes) -> None:
        """A whole frame, its length first, went to its receiver."""
        self.frames += 1
        self._write({"t": t, "conn": conn, "to": to, "dir": direction, "frame": frame.hex()})

    def settings(self, properties: Mapping[str, str]) -> None:
        """Write the broker's settings, without its folders."""
        lines = [properties_line(*one) for one in properties.items() if not one[0].startswith(_LEFT_OUT)]
        part = self.folder / f"{SETTINGS}.part"
        part.write_text("".join(lines), encoding="ascii")
        part.replace(self.folder / SETTINGS)

    def flush(self) -> None:
        """Hand what was written to the system."""
        if self.is_open:
            self._file.flush()

    def discard(self) -> None:
        """Leave nothing of a recording that could not begin."""
        self._file.close()
        self._part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in it
            self.folder.rmdir()

    def finish(self) -> None:
        """End the recording and give it its name; a second call does nothing."""
        if self.is_open:
            self._file.close()
            self._part.replace(self._path)

    def _write(self, row: dict[str, object]) -> None:
        if self.is_open:
            self._file.write(json.dumps(row) + "\n")
