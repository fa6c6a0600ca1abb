"""A recorded set on disk: the broker's settings and every line the recorder wrote.

A line of `frames.jsonl` (or `frames.jsonl.gz`) has `t`, the ms since the recorder started, and one of: `conn` with
`open`; `conn`, `dir` with `close`; `conn` with `client`; `control` with `conns`; `conn`, `dir` with `frame`, the whole
frame in hex, its length first. `dir` is c2s (to the broker) or s2c. Frames `to` the name server stand apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.files import is_dir, is_file, json_lines, read_properties, read_text
from rmqlab.language import _
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.wire.frame_codec import decode_frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class LineKind(Enum):
    """The kind of a line."""

    OPEN = auto()
    CLOSE = auto()
    CLIENT = auto()
    CONTROL = auto()
    FRAME = auto()


@dataclass(slots=True)
class RecordedLine:
    """One line. `t` in ms with a fraction; `conn` 0 for a control line, whose connections are in `conns`."""

    number: int
    t: float
    kind: LineKind
    conn: int = 0
    to_broker: bool = False
    command: RemotingCommand | None = None
    client: str = ""
    control: str = ""
    conns: tuple[int, ...] = ()
    argument: str = ""


@dataclass(slots=True)
class Recording:
    """The lines of a set in the order the recorder saw them, and the settings of broker.conf as text.

    `namesrv_lines` are the name server's frames and the ends of its connections, as far as they were recorded.
    """

    name: str
    properties: dict[str, str]
    lines: list[RecordedLine] = field(default_factory=list)
    namesrv_lines: list[RecordedLine] = field(default_factory=list)

    @property
    def began_ms(self) -> int | None:
        """The epoch ms of time 0, as a tap says it; None where nothing does."""
        began = (line for line in self.lines if line.kind is LineKind.CONTROL and line.control == "began")
        line = next(began, None)
        return int(line.argument) - round(line.t) if line is not None and line.argument.isdecimal() else None


FRAMES_NAMES = ("frames.jsonl", "frames.jsonl.gz")
MAX_MS = 366 * 24 * 3_600_000  # the broker's timers run all the time: nobody waits for more than a year of them


def frames_folder(path: Path) -> Path | None:
    """The folder of the recording that `path` names, a file or a folder; None if it is none, or has events."""
    folder = path if is_dir(path) else path.parent
    is_named = path.name in FRAMES_NAMES if is_file(path) else not any(folder.glob("events*"))
    return folder if is_named and any(is_file(folder / name) for name in FRAMES_NAMES) else None


def read_recording(folder: Path) -> Recording:
    """Read a recorded set.

    Raises:
        BadInput: a folder, file, line or field that is not as described above.
    """
    if not is_dir(folder):
        raise BadInput(
            _("{folder}: there is no such folder; a recorded set has broker.conf and frames.jsonl[.gz]", folder=folder)
        )
    properties = _properties(folder / "broker.conf")
    plain, packed = (folder / name for name in FRAMES_NAMES)
    path = packed if is_file(packed) or not is_file(plain) else plain
    text = read_text(path, "a folder with frames.jsonl or frames.jsonl.gz")
    recording = Recording(folder.resolve().name, properties)
    of_namesrv: set[int] = set()
    last = 0.0
    for line, to in _lines(path, text):
        if line.t < last:
            where = _("{path}, line {number}, field t", path=path, number=line.number)
            raise BadInput(
                _(
                    "{where}: {t} comes after {last}; lines stand in the order of time",
                    where=where,
                    t=f"{line.t:g}",
                    last=f"{last:g}",
                )
            )
        last = line.t
        if to == "namesrv":
            of_namesrv.add(line.conn)
            recording.namesrv_lines.append(line)
            continue
        recording.lines.append(line)
        if line.kind is LineKind.CLOSE and line.conn in of_namesrv:
            recording.namesrv_lines.append(line)
    return recording


def _properties(path: Path) -> dict[str, str]:
    try:
        return read_properties(path)
    except BadInput as error:
        raise BadInput(_("{error}; the recorded broker's settings are needed", error=error)) from error


def _lines(path: Path, text: str) -> Iterator[tuple[RecordedLine, str]]:
    for number, fields in json_lines(text, path):
        if not isinstance(fields, dict):
            raise BadInput(
                _(
                    "{path}, line {number}: expected an object, got {kind}",
                    path=path,
                    number=number,
                    kind=type(fields).__name__,
                )
            )
        to = fields.get("to", "broker")
        if to not in ("broker", "namesrv"):
            raise BadInput(
                _(
                    "{path}, line {number}, field to: expected broker or namesrv, got {to}",
                    path=path,
                    number=number,
                    to=f"{to!r}",
                )
            )
        yield _line(_("{path}, line {number}", path=path, number=number), number, fields), to


def _line(where: str, number: int, fields: dict[str, object]) -> RecordedLine:
    t = fields.get("t")
    if isinstance(t, bool) or not isinstance(t, int | float) or not 0 <= t <= MAX_MS:
        raise BadInput(
            _("{where}, field t: expected milliseconds since the recording began, got {t}", where=where, t=f"{t!r}")
        )
    if "control" in fields:
        conns = fields.get("conns", [])
        if not isinstance(conns, list) or not all(isinstance(conn, int) for conn in conns):
            raise BadInput(
                _("{where}, field conns: expected connection numbers, got {conns}", where=where, conns=f"{conns!r}")
            )
        return RecordedLine(
            number,
            t,
            LineKind.CONTROL,
            control=str(fields["control"]),
            conns=tuple(conns),
            argument=str(fields.get("arg", "")),
        )
    conn = fields.get("conn")
    if isinstance(conn, bool) or not isinstance(conn, int):
        raise BadInput(
            _("{where}, field conn: expected a connection number, got {conn}", where=where, conn=f"{conn!r}")
        )
    if "open" in fields:
        return RecordedLine(number, t, LineKind.OPEN, conn)
    if "client" in fields:
        return RecordedLine(number, t, LineKind.CLIENT, conn, client=str(fields["client"]))
    direction = fields.get("dir")
    if direction not in ("c2s", "s2c"):  # no set: what a file says may not be hashable
        raise BadInput(
            _("{where}, field dir: expected c2s or s2c, got {direction}", where=where, direction=f"{direction!r}")
        )
    if "close" in fields:
        return RecordedLine(number, t, LineKind.CLOSE, conn, direction == "c2s")
    if "frame" not in fields:
        raise BadInput(_("{where}: expected one of open, close, client, control and frame", where=where))
    return RecordedLine(number, t, LineKind.FRAME, conn, direction == "c2s", _command(where, fields["frame"]))


def _command(where: str, frame: object) -> RemotingCommand:
    try:
        data = bytes.fromhex(str(frame))
    except ValueError:
        raise BadInput(_("{where}, field frame: expected hex digits", where=where)) from None
    length = int.from_bytes(data[:4])
    if len(data) != 4 + length:
        raise BadInput(
            _(
                "{where}, field frame: its length says {length} bytes, {following} follow",
                where=where,
                length=length,
                following=len(data) - 4,
            )
        )
    try:
        return decode_frame(data[4:])
    except FrameError as error:
        raise BadInput(_("{where}, field frame: {error}", where=where, error=error)) from error
