"""The bloom map: cost with the switch / without it, over groups and selectivity, and where the processes disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.bloom.map import SIDES
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.lab.bloom.map import BloomMap, ProfileCell, Side
    from rmqlab.lab.interval import Interval

# Up to this ratio the colour on its right, where the processes agree on the side of 1.
COLOURS: Final = ((0.5, BLUE), (1.0, SKY), (2.0, YELLOW), (3.0, ORANGE), (float("inf"), VERMILLION))
CELL_W, CELL_H, LEFT, TOP, BOTTOM, GAP = 0.44, 0.36, 0.75, 0.95, 0.62, 0.3


def bloom_map(found: BloomMap, expression: str, *, here: ProfileCell | None = None) -> Picture:
    """A panel for our stages and one for the real classes; ``here`` is framed."""
    sides = found.sides
    groups, shares = found.axis("groups"), sorted(found.axis("selectivity"))
    wide, high = CELL_W * len(groups), CELL_H * len(shares)
    width = LEFT + len(sides) * (wide + GAP) + 0.1
    height = TOP + high + BOTTOM
    rows: list[tuple[object, ...]] = []
    told = []
    with canvas(width, height) as figure:
        figure.text(0.1 / width, 1 - 0.2 / height, f"Cost with the switch / without: {expression}", fontsize=10.5,
                    fontweight="bold", va="center")  # fmt: skip
        key = "Medians of the processes. Blue: it pays in each. Pale: they disagree. Yellow to red: it costs in each."
        figure.text(0.1 / width, 1 - 0.44 / height, key, fontsize=8, va="center")
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
                rows.append((SIDES[side], f"{share:.0%}", *(str(cell.interval(side)) for cell in cells)))
            told.append(_told(found, expression, side))
        svg = svg_of(figure)
    headers = ("by", "match", *(f"{many} groups" if many > 1 else "1 group" for many in groups))
    table = Table(f"Cost with the switch / without: {expression}", headers, rows)
    return Picture(svg, title="Where the switch pays", alt=" ".join(told), table=table)


def _panel(axes: Any, found: BloomMap, expression: str, side: Side, here: ProfileCell | None) -> None:
    groups, shares = found.axis("groups"), sorted(found.axis("selectivity"))
    for x, many in enumerate(groups):
        for y, share in enumerate(shares):
            ratio = found.cell(share, many, expression).interval(side)
            colour = _colour(ratio)
            axes.bar(x, 1, bottom=y - 0.5, width=1, color=colour, edgecolor=WHITE, linewidth=1, zorder=1)
            text = f"{ratio.median:.2f}" if ratio.median < 9.95 else f"{ratio.median:.0f}"
            axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=ink(colour), zorder=6)
    if 32 in groups:
        axes.axvline(groups.index(32) + 0.5, color=BLACK, linewidth=0.9, linestyle=(0, (1, 2)), zorder=3.5)
    if here is not None:
        one = here.workload
        axes.bar(groups.index(one.groups), 0.94, bottom=shares.index(one.selectivity) - 0.47, width=0.94, color="none",
                 edgecolor=BLACK, linewidth=2, zorder=5, clip_on=False)  # fmt: skip
    axes.set(xlim=(-0.5, len(groups) - 0.5), ylim=(-0.5, len(shares) - 0.5), yticks=[])
    axes.set_xticks(range(len(groups)), [str(many) for many in groups])
    axes.set_xlabel("groups on the topic (dotted: as many as configured)", fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _colour(ratio: Interval) -> str:
    if not ratio.below(1) and not ratio.above(1):
        return PALE
    return next(colour for limit, colour in COLOURS if ratio.median <= limit)


def _told(found: BloomMap, expression: str, side: Side) -> str:
    parts = [
        f"{'1 group' if many == 1 else f'{many} groups'} {found.turn(many, expression, side)}"
        for many in found.axis("groups")
    ]
    return f"By {SIDES[side]} a gain turns into a loss at these shares of matching messages: {', '.join(parts)}."
