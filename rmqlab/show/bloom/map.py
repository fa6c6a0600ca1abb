"""The bloom map: cost with the switch / without it, over groups and selectivity, with the line where it turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.bloom.stored_map import SIDES
from rmqlab.show.figure import Picture, canvas, svg_of
from rmqlab.show.palette import BLACK, BLUE, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.bloom.stored_map import BloomMap, Cell, Side

# Up to this ratio the colour on its right.
COLOURS: Final = ((0.5, BLUE), (0.9, SKY), (1.1, PALE), (2.0, YELLOW), (3.0, ORANGE), (float("inf"), VERMILLION))
CELL_W, CELL_H, LEFT, TOP, BOTTOM, GAP = 0.44, 0.36, 0.75, 0.95, 0.62, 0.3


def bloom_map(found: BloomMap, expression: str, *, here: Cell | None = None) -> Picture:
    """A panel for our stages and one for the real classes; ``here`` is framed."""
    sides = found.cells[0].sides
    groups, shares = found.axis("groups"), sorted(found.axis("selectivity"))
    wide, high = CELL_W * len(groups), CELL_H * len(shares)
    width = LEFT + len(sides) * (wide + GAP) + 0.1
    height = TOP + high + BOTTOM
    rows: list[tuple[object, ...]] = []
    told = []
    with canvas(width, height) as figure:
        figure.text(0.1 / width, 1 - 0.2 / height, f"Cost with the switch / without: {expression}", fontsize=10.5,
                    fontweight="bold", va="center")  # fmt: skip
        figure.text(0.1 / width, 1 - 0.44 / height, "Below the line the switch pays. Solid: decoding at dispatch is "
                    "done anyway, as in 4.8.0; dashed: charged to the switch.", fontsize=8, va="center")  # fmt: skip
        for number, side in enumerate(sides):
            left = LEFT + number * (wide + GAP)
            axes = figure.add_axes((left / width, BOTTOM / height, wide / width, high / height))
            _panel(axes, found, expression, side, here)
            axes.set_title(SIDES[side], fontsize=9.5, loc="left", pad=4)
            if number == 0:
                axes.set_ylabel("share of messages that match")
                axes.set_yticks(range(len(shares)), [f"{share:.0%}" for share in shares])
            for share in shares:
                cells = [found.cell(share, many, expression) for many in groups]
                rows.append((SIDES[side], f"{share:.0%}", *(f"{cell.ratio(side):.2f}" for cell in cells)))
            told.append(_told(found, expression, side))
        svg = svg_of(figure)
    headers = ("by", "match", *(f"{many} groups" if many > 1 else "1 group" for many in groups))
    table = Table(f"Cost with the switch / without: {expression}", headers, rows)
    return Picture(svg, title="Where the switch pays", alt=" ".join(told), table=table)


def _panel(axes: Any, found: BloomMap, expression: str, side: Side, here: Cell | None) -> None:
    groups, shares = found.axis("groups"), sorted(found.axis("selectivity"))
    for x, many in enumerate(groups):
        for y, share in enumerate(shares):
            ratio = found.cell(share, many, expression).ratio(side)
            colour = next(one for limit, one in COLOURS if ratio <= limit)
            axes.bar(x, 1, bottom=y - 0.5, width=1, color=colour, edgecolor=WHITE, linewidth=1, zorder=1)
            axes.text(x, y, f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}", ha="center", va="center", fontsize=7.5,
                      color=ink(colour), zorder=6)  # fmt: skip
    for decode, style in ((False, "-"), (True, (0, (2.5, 2)))):
        line = [found.crossover(many, expression, side, decode=decode) for many in groups]
        xs, ys = _steps(line, shares)
        axes.plot(xs, ys, color=BLACK, linewidth=2, linestyle=style, zorder=4, clip_on=False)
    if 32 in groups:
        axes.axvline(groups.index(32) + 0.5, color=BLACK, linewidth=0.9, linestyle=(0, (1, 2)), zorder=3.5)
    if here is not None:
        axes.bar(groups.index(here.groups), 1, bottom=shares.index(here.selectivity) - 0.5, width=1, color="none",
                 edgecolor=BLACK, linewidth=2.4, zorder=5)  # fmt: skip
    axes.set(xlim=(-0.5, len(groups) - 0.5), ylim=(-0.5, len(shares) - 0.5), yticks=[])
    axes.set_xticks(range(len(groups)), [str(many) for many in groups])
    axes.set_xlabel("groups on the topic (dotted: as many as configured)", fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _steps(line: Sequence[float | None], shares: Sequence[float]) -> tuple[list[float], list[float]]:
    """The line through the middles of the columns, on the rows' scale; at the foot where the switch never pays."""
    xs, ys = [], []
    for x, at in enumerate(line):
        xs += [x - 0.5, x + 0.5]
        ys += [_place(at, shares)] * 2
    return xs, ys


def _place(at: float | None, shares: Sequence[float]) -> float:
    if at is None:
        return -0.5
    if at >= 1:
        return len(shares) - 0.5
    upper = next(number for number, share in enumerate(shares) if share > at)
    low, high = shares[upper - 1], shares[upper]
    return upper - 1 + (at - low) / (high - low)


def _told(found: BloomMap, expression: str, side: Side) -> str:
    parts = []
    for many in found.axis("groups"):
        at = found.crossover(many, expression, side)
        name = "1 group" if many == 1 else f"{many} groups"
        below = "never" if at is None else "always" if at >= 1 else f"below {at:.0%}"
        parts.append(f"{name} {below}")
    return f"By {SIDES[side]} the switch pays with {', '.join(parts)} of messages that match."
