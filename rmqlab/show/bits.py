"""A bit array: which bits are set, by which names, and what each name finds when it looks at its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.show.brush import Brush, cut, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table, as_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# Inches.
BIT, BYTE_GAP, LINE, MARGIN, LEFT, TOP = 0.31, 0.12, 0.31, 0.12, 0.8, 0.5
NAME_LINE, BITS_AT, FOUND_AT = 0.29, 2.6, 7.4
IN_BYTE, BYTES_IN_LINE = 8, 4
WIDTH = LEFT + BYTES_IN_LINE * (IN_BYTE * BIT + BYTE_GAP) + MARGIN
COLOURS = (BLUE, ORANGE, SKY, YELLOW, BLACK)
MOST_NAMES, MOST_BITS, LONGEST = 12, 640, 22


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
            return f"bit {self.zeros[0]} is 0"
        return "all are set" if self.sets else "all are set, by others"


def bit_array(rows: object, *, size: int, title: str, bits: bytes | Collection[int] | None = None) -> Picture:
    """An array of `size` bits. Each row has a `name`, its `positions`, and whether it `sets` them (yes if not said).

    `bits` says what is set: positions, or bytes (bit p is bit p % 8 of byte p // 8). Without it the rows that set do.

    >>> rows = [{"name": "A", "positions": [1, 4]}, {"name": "B", "positions": [4, 6], "sets": False}]
    >>> bit_array(rows, title="Two names").alt
    'Two names: 2 of 8 bits are set, by 1 of 2 names. Of the other 1, 0 find all their bits set by others.'

    Raises:
        BadInput: a row without name or positions, or a position outside the array.
    """
    names = _names(as_rows(rows), size)
    taken = _positions(bits, {place for one in names if one.sets for place in one.positions})
    names = [one._replace(zeros=[place for place in one.positions if place not in taken]) for one in names]
    setting = [one for one in names if one.sets]
    colours = {one.name: COLOURS[number % len(COLOURS)] for number, one in enumerate(setting)}
    shown, count = _shown(names), min(size, MOST_BITS)
    below = TOP + -(-count // (IN_BYTE * BYTES_IN_LINE)) * LINE + (0.55 if count < size else 0.25)

    def draw(brush: Brush) -> None:
        words = f"{title}: {len(taken)} of {size} bits are set. A number in a box: so many names share the bit"
        brush.heading(words)
        for position in range(count):
            owners = [one.name for one in setting if position in one.positions]
            _bit(brush, position, position in taken, owners, colours)
        if count < size:
            brush.text(LEFT, below - 0.3, f"… and {size - count} more bits", ha="left", colour=GREY)
        for number, one in enumerate(shown):
            _line(brush, below + NAME_LINE * number, one, colours)
        if len(shown) < len(names):
            words = f"… and {len(names) - len(shown)} more names"
            brush.text(MARGIN, below + NAME_LINE * len(shown), words, ha="left", colour=GREY)

    svg = painted(WIDTH, below + NAME_LINE * (len(shown) + (len(shown) < len(names))) + 0.02, draw)
    others = [one for one in names if not one.sets]
    alt = (
        f"{title}: {len(taken)} of {size} bits are set, by {len(setting)} of {len(names)} names. "
        f"Of the other {len(others)}, {sum(one.by_others for one in others)} find all their bits set by others."
    )
    table = Table(
        f"{title} (marked: all its bits are set by others)",
        ("name", "sets its bits", "its bits", "finds"),
        [(one.name, "yes" if one.sets else "no", one.positions, one.found) for one in names],
        frozenset(number for number, one in enumerate(names) if one.by_others),
    )
    return Picture(svg, title=title, alt=alt, table=table)


def _names(rows: Sequence[Mapping[str, Any]], size: int) -> list[_Name]:
    for row in rows:
        if "name" not in row or "positions" not in row:
            raise BadInput(f'bit_array: {dict(row)} is no row; right is {{"name": "A", "positions": [1, 4]}}')
        for place in row["positions"]:
            if not 0 <= place < size:
                raise BadInput(f"bit_array: {row['name']} has position {place}; there are 0 to {size - 1}")
    return [_Name(str(row["name"]), list(row["positions"]), bool(row.get("sets", True)), []) for row in rows]


def _positions(bits: bytes | Collection[int] | None, setting: set[int]) -> set[int]:
    if bits is None:
        return setting
    if isinstance(bits, bytes | bytearray):
        return {place for place in range(len(bits) * IN_BYTE) if bits[place // IN_BYTE] >> place % IN_BYTE & 1}
    return set(bits)


def _shown(names: Sequence[_Name]) -> list[_Name]:
    """As many names as fit, in their order: half of them set bits, and of the others those that find all set first."""
    setting = [one for one in names if one.sets]
    others = sorted((one for one in names if not one.sets), key=lambda one: not one.by_others)
    half = MOST_NAMES // 2
    kept = setting[: max(half, MOST_NAMES - len(others))] + others[: max(half, MOST_NAMES - len(setting))]
    return [one for one in names if one in kept]


def _bit(brush: Brush, position: int, is_set: bool, owners: Sequence[str], colours: Mapping[str, str]) -> None:
    line, column = divmod(position, BYTES_IN_LINE * IN_BYTE)
    x, y = LEFT + column * BIT + column // IN_BYTE * BYTE_GAP, TOP + line * LINE
    if column == 0:
        brush.text(LEFT - 0.1, y + LINE / 2, f"bit {position}", colour=GREY, ha="right")
    colour = (colours[owners[0]] if len(owners) == 1 else GREY) if is_set else PALE
    with brush.saying(f"bit {position}: {'set' if is_set else '0'}{' by ' + ', '.join(owners) if owners else ''}"):
        brush.block(x, y, BIT, LINE, colour, edge=WHITE, edge_width=1.2)
        if is_set:
            words = "1" if len(owners) < 2 else str(len(owners))
            brush.text(x + BIT / 2, y + LINE / 2, words, colour=ink(colour), bold=True)


def _line(brush: Brush, y: float, one: _Name, colours: Mapping[str, str]) -> None:
    brush.block(MARGIN, y - 0.09, 0.18, 0.18, colours.get(one.name, WHITE), edge=GREY, edge_width=0.8)
    brush.text(MARGIN + 0.28, y, cut(one.name, LONGEST), ha="left", bold=True)
    places = ", ".join(map(str, one.positions))
    brush.text(MARGIN + BITS_AT, y, f"sets {places}" if one.sets else f"looks at {places}", ha="left")
    if one.by_others:
        brush.block(MARGIN + FOUND_AT - 0.26, y - 0.09, 0.18, 0.18, VERMILLION)
    mark = "✗" if one.zeros else "✓"
    brush.text(MARGIN + FOUND_AT, y, f"{mark} {one.found}", ha="left", bold=one.by_others)
