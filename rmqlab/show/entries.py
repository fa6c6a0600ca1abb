"""A consume queue entry, byte by byte: commit log offset, size, tags code; with its extension unit if there is one."""

from __future__ import annotations

from typing import NamedTuple

from rmqlab.errors import BadInput
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, SKY, WHITE, YELLOW, ink
from rmqlab.show.tables import Table
from rmqlab.store.config import CQ_STORE_UNIT_SIZE

# Inches.
WIDTH, ROW, MARGIN = 11.4, 0.42, 0.15
MAX_BYTE = 0.55
MORE = 16


class EntryField(NamedTuple):
    """A field: name, its bytes, colour, and what it says."""

    name: str
    data: bytes
    colour: str
    meaning: str


def queue_entry(raw: bytes, *, code: str = "", unit: bytes | None = None) -> Picture:
    r"""The 20 bytes of an entry, field by field; `code` says what its tags code is, `unit` is its extension unit.

    >>> queue_entry(bytes([0] * 7 + [5, 0, 0, 0, 100] + [0] * 8)).alt
    '20 bytes: commit log offset (8) 5, size (4) 100 bytes, tags code (8) 0.'

    Raises:
        BadInput: these are not 20 bytes.
    """
    if len(raw) != CQ_STORE_UNIT_SIZE:
        raise BadInput(f"queue_entry: {len(raw)} bytes; an entry has {CQ_STORE_UNIT_SIZE}")
    number = int.from_bytes(raw[12:], "big", signed=True)
    told = f"{number}{': ' if code else ''}{code}" if unit is None else "address of the unit below"
    parts = [
        EntryField("commit log offset", raw[:8], SKY, str(int.from_bytes(raw[:8], "big"))),
        EntryField("size", raw[8:12], YELLOW, f"{int.from_bytes(raw[8:12], 'big')} bytes"),
        EntryField("tags code", raw[12:], BLUE, told),
    ]
    behind = [] if unit is None else _unit(unit, code)

    def draw(brush: Brush) -> None:
        brush.heading("One entry of the consume queue: 20 bytes")
        _bytes(brush, 0.36, parts)
        if unit is not None:
            title = f"Its unit in the extension: {len(unit)} bytes"
            brush.heading(title, y=1.58)
            _bytes(brush, 1.76, behind)

    svg = painted(WIDTH, 1.35 + (1.4 if behind else 0), draw)
    rows = [("entry", part.name, len(part.data), part.meaning) for part in parts]
    rows += [("unit", part.name, len(part.data), part.meaning) for part in behind]
    alt = f"20 bytes: {', '.join(f'{part.name} ({len(part.data)}) {part.meaning}' for part in parts)}."
    if unit is not None:
        alt += f" The unit in the extension takes {len(unit)} bytes."
    table = Table("Fields", ("of", "field", "bytes", "says"), rows)
    return Picture(svg, title="A consume queue entry", alt=alt, table=table)


def _unit(unit: bytes, code: str) -> list[EntryField]:
    size, number, stored, bits = (
        int.from_bytes(unit[start:end], "big", signed=start == 2)
        for start, end in ((0, 2), (2, 10), (10, 18), (18, 20))
    )
    parts = [
        EntryField("size", unit[:2], YELLOW, str(size)),
        EntryField("tags code", unit[2:10], BLUE, f"{number}{': ' if code else ''}{code}"),
        EntryField("store time", unit[10:18], SKY, str(stored)),
        EntryField("n", unit[18:20], PALE, str(bits)),
    ]
    return [*parts, EntryField("bitmap", unit[20:], ORANGE, f"{bits * 8} bits")] if bits else parts


def _bytes(brush: Brush, y: float, parts: list[EntryField]) -> None:
    """Each byte in a box with its hexadecimal value, each field over a bracket; a long last field is cut."""
    shown = [part.data if len(part.data) <= MORE else part.data[: MORE - 1] for part in parts]
    size = min(MAX_BYTE, (WIDTH - 2 * MARGIN - 0.3) / sum(map(len, shown)))
    left = MARGIN
    for part, data in zip(parts, shown, strict=True):
        right = left + len(data) * size
        with brush.saying(f"{part.name}, {len(part.data)} bytes: {part.meaning}"):
            for number, value in enumerate(data):
                brush.block(left + number * size, y, size, ROW, part.colour, edge=WHITE, edge_width=1)
                brush.text(left + (number + 0.5) * size, y + ROW / 2, f"{value:02x}", colour=ink(part.colour),
                           monospace=True)  # fmt: skip
        if len(data) < len(part.data):
            brush.text(right + 0.05, y + ROW / 2, "…", ha="left")
        line = GREY if part.colour == PALE else BLACK
        brush.line((left + 0.03, right - 0.03), (y + ROW + 0.08,) * 2, line, 2)
        brush.text((left + right) / 2, y + ROW + 0.24, part.name, bold=True)
        brush.text((left + right) / 2, y + ROW + 0.44, part.meaning)
        left = right
