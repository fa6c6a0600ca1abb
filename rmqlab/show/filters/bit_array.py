"""The bit array of one message: which bits are set, by which groups, and what each group reads from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.bloom import BITS_PER_BYTE, BitsArray
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.filter.bloom import BloomFilter

# Inches.
BIT, BYTE_GAP, ROW, MARGIN, LEFT = 0.3, 0.1, 0.3, 0.15, 0.75
BYTES_IN_ROW = 4
COLOURS = (BLUE, ORANGE, SKY, YELLOW, BLACK)
SHARED = "+"
MOST_GROUPS = 12
MOST_BITS = 640
LONGEST = 22


def bit_array(bloom: BloomFilter, topic: str, groups: Mapping[str, bool], bitmap: bytes | None = None) -> Picture:
    """Groups by name, and whether the message matches each one's expression.

    ``bitmap`` is what the broker stored; without it the bits of the matching groups are set here, by the same filter.
    """
    positions = {group: bloom.calc_bit_positions(f"{group}#{topic}") for group in groups}
    bits = BitsArray.of_length(bloom.m) if bitmap is None else BitsArray.from_bytes(bitmap)
    if bitmap is None:
        for group, matches in groups.items():
            if matches:
                bloom.hash_to(positions[group], bits)
    owners: dict[int, list[str]] = {}
    for group, matches in groups.items():
        for position in set(positions[group]) if matches else ():
            owners.setdefault(position, []).append(group)
    hits = {group: bloom.is_hit(positions[group], bits) for group in groups}
    colours = {
        group: COLOURS[n % len(COLOURS)] for n, group in enumerate(g for g, matches in groups.items() if matches)
    }
    false = [group for group in groups if hits[group] and not groups[group]]
    shown = _shown(groups, hits)
    per_row = BYTES_IN_ROW * BITS_PER_BYTE
    count = min(bloom.m, MOST_BITS)
    rows = -(-count // per_row)
    width = LEFT + per_row * BIT + BYTES_IN_ROW * BYTE_GAP + MARGIN
    top = 0.62
    below = top + rows * ROW + 0.3

    def draw(brush: Brush) -> None:
        number = sum(bits.get_bit(position) for position in range(bloom.m))
        title = f"{bloom.m} bits = {bloom.m // BITS_PER_BYTE} bytes, {number} of them set"
        brush.text(MARGIN, 0.2, title, size=10, ha="left", bold=True)
        others = len(groups) - sum(groups.values())
        text = f"False hits: {len(false)} of {others} that do not match. A number in a box: as many groups share it"
        brush.text(MARGIN, 0.42, text, ha="left", size=8.5)
        for position in range(count):
            _bit(brush, position, top, bits.get_bit(position), owners.get(position, []), colours)
        for row in range(rows):
            brush.text(LEFT - 0.12, top + ROW * (row + 0.5), f"bit {row * per_row}", size=7.5, colour=GREY, ha="right")
        if count < bloom.m:
            brush.text(LEFT, below - 0.18, f"… and {bloom.m - count} more bits", ha="left", colour=GREY)
        for number, group in enumerate(shown):
            _group(brush, below + 0.27 * number, group, positions[group], bits, groups[group], hits[group], colours)
        if len(shown) < len(groups):
            text = f"… and {len(groups) - len(shown)} more groups"
            brush.text(MARGIN, below + 0.27 * len(shown), text, ha="left", colour=GREY)

    svg = painted(width, below + 0.27 * (len(shown) + (len(shown) < len(groups))) + 0.05, draw)
    table_rows = [
        (group, _yes(groups[group]), ", ".join(map(str, positions[group])), _reads(groups[group], hits[group]))
        for group in groups
    ]
    marked = frozenset(number for number, group in enumerate(groups) if group in false)
    headers = ("group", "expression is true", "its bits", "layer 1")
    matching = sum(groups.values())
    alt = (
        f"{matching} of {len(groups)} groups match and set {bloom.k} bits each out of {bloom.m}. Of the "
        f"{len(groups) - matching} others {len(false)} find all their bits set by chance: false hits."
    )
    return Picture(
        svg, title="Bit array of one message", alt=alt,
        table=Table("Groups and their bits (marked: false hits)", headers, table_rows, marked),
    )  # fmt: skip


def _shown(groups: Mapping[str, bool], hits: Mapping[str, bool]) -> list[str]:
    """As many groups as fit, in their order: half of them match, and false hits come before what layer 1 drops."""
    matching = [group for group in groups if groups[group]]
    others = sorted((group for group in groups if not groups[group]), key=lambda group: not hits[group])
    half = MOST_GROUPS // 2
    kept = {*matching[: max(half, MOST_GROUPS - len(others))], *others[: max(half, MOST_GROUPS - len(matching))]}
    return [group for group in groups if group in kept]


def _bit(
    brush: Brush, position: int, top: float, is_set: bool, owners: Sequence[str], colours: Mapping[str, str]
) -> None:
    row, column = divmod(position, BYTES_IN_ROW * BITS_PER_BYTE)
    x = LEFT + column * BIT + column // BITS_PER_BYTE * BYTE_GAP
    y = top + row * ROW
    colour = (colours[owners[0]] if len(owners) == 1 else GREY) if is_set else PALE
    brush.block(x, y, BIT, ROW, colour, edge=WHITE, edge_width=1.2)
    if is_set:
        text = "1" if len(owners) < 2 else str(len(owners))
        brush.text(x + BIT / 2, y + ROW / 2, text, size=8, colour=ink(colour), bold=True)


def _group(
    brush: Brush, y: float, group: str, positions: Sequence[int], bits: BitsArray, matches: bool, hit: bool,
    colours: Mapping[str, str],
) -> None:  # fmt: skip
    brush.block(MARGIN, y - 0.09, 0.18, 0.18, colours.get(group, WHITE), edge=GREY, edge_width=0.8)
    name = group if len(group) <= LONGEST else f"{group[: LONGEST - 1]}…"
    brush.text(MARGIN + 0.28, y, name, size=9, ha="left", bold=True)
    said = "matches, sets" if matches else "does not match; looks at"
    brush.text(MARGIN + 2.5, y, f"{said} bits {', '.join(map(str, positions))}", size=8.5, ha="left")
    zeros = [position for position in positions if not bits.get_bit(position)]
    if hit:
        text = "✓ all set: may match" if matches else "✗ all set by others: FALSE HIT, layer 2 must look"
    else:
        text = f"bit {zeros[0]} is 0: certainly not wanted"
    if hit and not matches:
        brush.block(MARGIN + 5.85, y - 0.09, 0.18, 0.18, VERMILLION)
    brush.text(MARGIN + 6.1, y, text, size=8.5, ha="left", bold=hit)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _reads(matches: bool, hit: bool) -> str:
    if not hit:
        return "drops it"
    return "passes it" if matches else "passes it: a false hit"
