"""A consume queue entry, byte by byte: commit log offset, size, and the tag's hash; with its extension unit if any."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import string_hash
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, GREY, ORANGE, PALE, SKY, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.lab.filters.filter_bench import Entry

# Inches.
BYTE, ROW, MARGIN = 0.4, 0.4, 0.15
UNIT_BYTE = 0.27
LONGEST_TAG = 24


class Part(NamedTuple):
    """A field: name, number of bytes, colour, and what it says."""

    name: str
    length: int
    colour: str
    meaning: str


def queue_entry(entry: Entry, tag: str | None) -> Picture:
    """The 20 bytes of an entry, for a message with this tag."""
    code = "address of the unit below" if entry.unit else f"{entry.tags_code}: {_origin(entry, tag)}"
    parts = [
        Part("commit log offset", 8, SKY, str(entry.commit_log_offset)),
        Part("size", 4, YELLOW, f"{entry.size} bytes"),
        Part("tags code", 8, BLUE, code),
    ]
    unit = _unit_parts(entry, tag)
    width = max(2 * MARGIN + 20 * BYTE, 2 * MARGIN + sum(part.length for part in unit) * UNIT_BYTE)
    height = 1.3 + (1.3 if unit else 0)

    def draw(brush: Brush) -> None:
        brush.text(MARGIN, 0.18, "One entry of the consume queue: 20 bytes, always", size=10, ha="left",
                   bold=True)  # fmt: skip
        _bytes(brush, 0.36, entry.raw, parts, BYTE)
        if unit and entry.unit_raw:
            title = f"Its unit in the extension: {len(entry.unit_raw)} bytes"
            brush.text(MARGIN, 1.48, title, size=10, ha="left", bold=True)
            _bytes(brush, 1.66, entry.unit_raw, unit, UNIT_BYTE)

    svg = painted(width, height, draw)
    rows = [("entry", part.name, part.length, part.meaning) for part in parts]
    rows += [("unit", part.name, part.length, part.meaning) for part in unit]
    alt = f"20 bytes: commit log offset (8) {parts[0].meaning}, size (4) {parts[1].meaning}, tags code (8) {code}."
    if entry.unit_raw:
        alt += f" The unit in the extension takes {len(entry.unit_raw)} bytes."
    return Picture(
        svg, title="A consume queue entry", alt=alt, table=Table("Fields", ("of", "field", "bytes", "says"), rows)
    )


def _unit_parts(entry: Entry, tag: str | None) -> list[Part]:
    if entry.unit is None or entry.unit_raw is None:
        return []
    bitmap = len(entry.unit.filter_bit_map or b"")
    origin = f"{entry.unit.tags_code}: {_origin_of(entry.unit.tags_code, tag)}"
    parts = [
        Part("size", 2, YELLOW, str(len(entry.unit_raw))),
        Part("tags code", 8, BLUE, origin),
        Part("store time", 8, SKY, str(entry.unit.msg_store_time)),
        Part("n", 2, PALE, str(bitmap)),
    ]
    return [*parts, Part("bitmap", bitmap, ORANGE, f"{bitmap * 8} bits")] if bitmap else parts


def _origin(entry: Entry, tag: str | None) -> str:
    return _origin_of(entry.tags_code, tag)


def _origin_of(code: int, tag: str | None) -> str:
    if not tag:
        return "no tag"
    if code == string_hash(tag):
        shown = tag if len(tag) <= LONGEST_TAG else f"{tag[: LONGEST_TAG - 1]}…"
        return f"hash of {shown!r}"
    return "not the tag's hash"


def _bytes(brush: Brush, y: float, data: bytes, parts: list[Part], size: float) -> None:
    """Each byte in a box with its hexadecimal value, each field under a bracket."""
    place = 0
    for part in parts:
        left = MARGIN + place * size
        for number in range(part.length):
            brush.block(left + number * size, y, size, ROW, part.colour, edge=WHITE, edge_width=1)
            value = f"{data[place + number]:02x}"
            brush.text(left + (number + 0.5) * size, y + ROW / 2, value, size=8.5 if size == BYTE else 7,
                       colour=ink(part.colour), monospace=True)  # fmt: skip
        right = left + part.length * size
        brush.line((left + 0.03, right - 0.03), (y + ROW + 0.07,) * 2, part.colour if part.colour != PALE else GREY, 3)
        brush.text((left + right) / 2, y + ROW + 0.2, part.name, size=8.5, bold=True)
        brush.text((left + right) / 2, y + ROW + 0.38, part.meaning, size=7.5)
        place += part.length
