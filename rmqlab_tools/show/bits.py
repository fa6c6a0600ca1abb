"""Bytes and bits: an array of bits, who set them and what each name finds in it; a consume queue entry byte by byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import UNIT
from rmqlab_tools.show.canvas import WIDTH, Canvas, cut, painted
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab_tools.show.tables import Table, as_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

IN_BYTE, BYTES_IN_LINE = 8, 4
NAME_COLOURS = (BLUE, ORANGE, SKY, YELLOW, BLACK)  # of names that set bits, in their order


@dataclass(frozen=True)
class BitArrayLayout:
    """Sizes of an array of bits and of an entry, in inches."""

    bit: float = 0.24
    byte_gap: float = 0.07
    line: float = 0.31
    margin: float = 0.12
    left: float = 0.75
    top: float = 0.5
    name_line: float = 0.29
    bits_at: float = 2.1
    found_at: float = 5.9


BIT_ARRAY = BitArrayLayout()


ARRAY_WIDTH = BIT_ARRAY.left + BYTES_IN_LINE * (IN_BYTE * BIT_ARRAY.bit + BIT_ARRAY.byte_gap) + BIT_ARRAY.margin
MAX_BIT_NAMES, MAX_BITS, LONGEST_BIT_NAME = 12, 640, 22
# Of an entry.
BYTE, SIDE, MAX_BYTE_WIDTH, MAX_ENTRY_BYTES = 0.42, 0.15, 0.55, 16


class _Name(NamedTuple):
    name: str
    positions: list[int]
    sets: bool
    zeros: list[int]

    @property
    def by_others(self) -> bool:
        """Whether all its bits are set, none of them by it."""
        return not self.sets and not self.zeros

    @property
    def found(self) -> str:
        """What it finds at its positions."""
        if self.zeros:
            return _("bit {zeros} is 0", zeros=self.zeros[0])
        return _("all are set") if self.sets else _("all are set, by others")


def bit_array(rows: object, *, size: int, title: str, bits: bytes | Collection[int] | None = None) -> Picture:
    """An array of `size` bits. Each row has a `name`, its `positions`, and whether it `sets` them (yes if not said).

    `bits` says what is set: positions, or bytes (bit p is bit p % 8 of byte p // 8). Without it the rows that set do.

    >>> rows = [{"name": "A", "positions": [1, 4]}, {"name": "B", "positions": [4, 6], "sets": False}]
    >>> bit_array(rows, size=8, title="Two names").alt
    'Two names: 2 of 8 bits are set, by 1 of 2 names. Of the other 1, 0 find all their bits set by others.'

    Raises:
        BadInput: a row without name or positions, or a position outside the array.
    """
    names = _names(as_rows(rows), size)
    taken = _positions(bits, {place for entry in names if entry.sets for place in entry.positions})
    names = [entry._replace(zeros=[place for place in entry.positions if place not in taken]) for entry in names]
    setting = [entry for entry in names if entry.sets]
    colours = {entry.name: NAME_COLOURS[number % len(NAME_COLOURS)] for number, entry in enumerate(setting)}
    shown, count = _shown(names), min(size, MAX_BITS)
    below = BIT_ARRAY.top + -(-count // (IN_BYTE * BYTES_IN_LINE)) * BIT_ARRAY.line + (0.55 if count < size else 0.25)

    def draw(canvas: Canvas) -> None:
        words = _(
            "{title}: {taken} of {size} bits are set. A number in a box: so many names share the bit",
            title=title,
            taken=len(taken),
            size=size,
        )
        canvas.heading(words)
        for position in range(count):
            owners = [entry.name for entry in setting if position in entry.positions]
            _bit(canvas, position, position in taken, owners, colours)
        if count < size:
            canvas.text(
                BIT_ARRAY.left,
                below - 0.3,
                ngettext("… and {count} more bit", "… and {count} more bits", size - count),
                ha="left",
                colour=GREY,
            )
        for number, entry in enumerate(shown):
            _line(canvas, below + BIT_ARRAY.name_line * number, entry, colours)
        if len(shown) < len(names):
            words = ngettext("… and {count} more name", "… and {count} more names", len(names) - len(shown))
            canvas.text(BIT_ARRAY.margin, below + BIT_ARRAY.name_line * len(shown), words, ha="left", colour=GREY)

    svg = painted(ARRAY_WIDTH, below + BIT_ARRAY.name_line * (len(shown) + (len(shown) < len(names))) + 0.02, draw)
    others = [entry for entry in names if not entry.sets]
    alt = _(
        "{title}: {taken} of {size} bits are set, by {setting} of {names} names. Of the other "
        "{others}, {by_others} find all their bits set by others.",
        title=title,
        taken=len(taken),
        size=size,
        setting=len(setting),
        names=len(names),
        others=len(others),
        by_others=sum(entry.by_others for entry in others),
    )
    table = Table(
        _("{title} (marked: all its bits are set by others)", title=title),
        (_("name"), _("sets its bits"), _("its bits"), _("finds")),
        [(entry.name, "yes" if entry.sets else _("no"), entry.positions, entry.found) for entry in names],
        frozenset(number for number, entry in enumerate(names) if entry.by_others),
    )
    return Picture(svg, title=title, alt=alt, table=table)


def _names(rows: Sequence[Mapping[str, Any]], size: int) -> list[_Name]:
    for row in rows:
        if "name" not in row or "positions" not in row:
            raise BadInput(
                _('bit_array: {row} is no row; right is {{"name": "A", "positions": [1, 4]}}', row=dict(row))
            )
        for place in row["positions"]:
            if not 0 <= place < size:
                raise BadInput(
                    _(
                        "bit_array: {name} has position {place}; there are 0 to {size}",
                        name=row["name"],
                        place=place,
                        size=size - 1,
                    )
                )
    return [_Name(str(row["name"]), list(row["positions"]), bool(row.get("sets", True)), []) for row in rows]


def _positions(bits: bytes | Collection[int] | None, setting: set[int]) -> set[int]:
    if bits is None:
        return setting
    if isinstance(bits, bytes | bytearray):
        return {place for place in range(len(bits) * IN_BYTE) if bits[place // IN_BYTE] >> place % IN_BYTE & 1}
    return set(bits)


def _shown(names: Sequence[_Name]) -> list[_Name]:
    """As many names as fit, in their order: half of them set bits, and of the others those that find all set first."""
    setting = [entry for entry in names if entry.sets]
    others = sorted((entry for entry in names if not entry.sets), key=lambda entry: not entry.by_others)
    half = MAX_BIT_NAMES // 2
    kept = setting[: max(half, MAX_BIT_NAMES - len(others))] + others[: max(half, MAX_BIT_NAMES - len(setting))]
    return [entry for entry in names if entry in kept]


def _bit(canvas: Canvas, position: int, is_set: bool, owners: Sequence[str], colours: Mapping[str, str]) -> None:
    line, column = divmod(position, BYTES_IN_LINE * IN_BYTE)
    x, y = (
        BIT_ARRAY.left + column * BIT_ARRAY.bit + column // IN_BYTE * BIT_ARRAY.byte_gap,
        BIT_ARRAY.top + line * BIT_ARRAY.line,
    )
    if column == 0:
        canvas.text(
            BIT_ARRAY.left - 0.1,
            y + BIT_ARRAY.line / 2,
            _("bit {position}", position=position),
            colour=GREY,
            ha="right",
        )
    colour = (colours[owners[0]] if len(owners) == 1 else GREY) if is_set else PALE
    with canvas.saying(
        _("bit {position}: set{owners}", position=position, owners=" by " + joined(", ", owners) if owners else "")
        if is_set
        else _("bit {position}: 0{owners}", position=position, owners=" by " + joined(", ", owners) if owners else "")
    ):
        canvas.block(x, y, BIT_ARRAY.bit, BIT_ARRAY.line, colour, edge=WHITE, edge_width=1.2)
        if is_set:
            canvas.text(
                x + BIT_ARRAY.bit / 2, y + BIT_ARRAY.line / 2, str(max(1, len(owners))), colour=ink(colour), bold=True
            )


def _line(canvas: Canvas, y: float, entry: _Name, colours: Mapping[str, str]) -> None:
    canvas.block(BIT_ARRAY.margin, y - 0.09, 0.18, 0.18, colours.get(entry.name, WHITE), edge=GREY, edge_width=0.8)
    canvas.text(BIT_ARRAY.margin + 0.28, y, cut(entry.name, LONGEST_BIT_NAME), ha="left", bold=True)
    places = joined(", ", entry.positions)
    canvas.text(
        BIT_ARRAY.margin + BIT_ARRAY.bits_at,
        y,
        _("sets {places}", places=places) if entry.sets else _("looks at {places}", places=places),
        ha="left",
    )
    if entry.by_others:
        canvas.block(BIT_ARRAY.margin + BIT_ARRAY.found_at - 0.26, y - 0.09, 0.18, 0.18, VERMILLION)
    mark = "✗" if entry.zeros else "✓"
    canvas.text(BIT_ARRAY.margin + BIT_ARRAY.found_at, y, f"{mark} {entry.found}", ha="left", bold=entry.by_others)


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
    if len(raw) != ENTRY.size:
        raise BadInput(_("queue_entry: {raw} bytes; an entry has {size}", raw=len(raw), size=ENTRY.size))
    offset, size, number = ENTRY.unpack(raw)
    meaning = f"{number}{': ' if code else ''}{code}" if unit is None else _("address of the unit below")
    parts = [
        EntryField(_("commit log offset"), raw[:8], SKY, str(offset)),
        EntryField("size", raw[8:12], YELLOW, _("{size} bytes", size=size)),
        EntryField(_("tags code"), raw[12:], BLUE, meaning),
    ]
    behind = [] if unit is None else _unit(unit, code)

    def draw(canvas: Canvas) -> None:
        canvas.heading(_("One entry of the consume queue: 20 bytes"))
        _bytes(canvas, 0.36, parts)
        if unit is not None:
            title = _("Its unit in the extension: {unit} bytes", unit=len(unit))
            canvas.heading(title, y=1.58)
            _bytes(canvas, 1.76, behind)

    svg = painted(WIDTH, 1.35 + (1.4 if behind else 0), draw)
    rows = [(_("entry"), part.name, len(part.data), part.meaning) for part in parts]
    rows += [("unit", part.name, len(part.data), part.meaning) for part in behind]
    alt = _(
        "20 bytes: {name}.", name=joined(", ", (f"{part.name} ({len(part.data)}) {part.meaning}" for part in parts))
    )
    if unit is not None:
        alt += " " + _("The unit in the extension takes {unit} bytes.", unit=len(unit))
    table = Table(_("Fields"), (_("of"), _("field"), _("bytes"), _("says")), rows)
    return Picture(svg, title=_("A consume queue entry"), alt=alt, table=table)


def _unit(unit: bytes, code: str) -> list[EntryField]:
    size, number, stored, bits = UNIT.unpack_from(unit)
    parts = [
        EntryField("size", unit[:2], YELLOW, str(size)),
        EntryField(_("tags code"), unit[2:10], BLUE, f"{number}{': ' if code else ''}{code}"),
        EntryField(_("store time"), unit[10:18], SKY, str(stored)),
        EntryField("n", unit[18:20], PALE, str(bits)),
    ]
    return [*parts, EntryField(_("bitmap"), unit[20:], ORANGE, _("{bits} bits", bits=bits * 8))] if bits else parts


def _bytes(canvas: Canvas, y: float, parts: list[EntryField]) -> None:
    """Each byte in a box with its hexadecimal value, each field over a bracket; a long last field is cut."""
    shown = [part.data if len(part.data) <= MAX_ENTRY_BYTES else part.data[: MAX_ENTRY_BYTES - 1] for part in parts]
    size = min(MAX_BYTE_WIDTH, (WIDTH - 2 * SIDE - 0.3) / sum(map(len, shown)))
    left = SIDE
    for part, data in zip(parts, shown, strict=True):
        right = left + len(data) * size
        with canvas.saying(
            _("{name}, {data} bytes: {meaning}", name=part.name, data=len(part.data), meaning=part.meaning)
        ):
            for number, value in enumerate(data):
                canvas.block(left + number * size, y, size, BYTE, part.colour, edge=WHITE, edge_width=1)
                canvas.text(left + (number + 0.5) * size, y + BYTE / 2, f"{value:02x}", colour=ink(part.colour),
                           monospace=True)  # fmt: skip
        if len(data) < len(part.data):
            canvas.text(right + 0.05, y + BYTE / 2, "…", ha="left")
        line = GREY if part.colour == PALE else BLACK
        canvas.line((left + 0.03, right - 0.03), (y + BYTE + 0.08,) * 2, line, 2)
        canvas.text((left + right) / 2, y + BYTE + 0.24, part.name, bold=True)
        canvas.text((left + right) / 2, y + BYTE + 0.44, part.meaning)
        left = right
