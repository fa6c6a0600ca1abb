"""The cost of filtering by stage, with the switch and without: bars, each pair in units of its layer 2 without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.lab.bloom.map import SIDES
from rmqlab.lab.bloom.stages import ARTICLE_BUILD, ARTICLE_WITH, ARTICLE_WITHOUT
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, SKY, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.bloom.map import ProfileCell
    from rmqlab.lab.bloom.stages import Stages

BITMAP, EXTENSION, BITS, LAYER_2 = "build bitmap", "extension: write, read", "check bits", "layer 2"
DECODING = "decode, if charged"
COLOURS: Final = {BITMAP: ORANGE, EXTENSION: SKY, BITS: YELLOW, LAYER_2: BLUE, DECODING: PALE}
LEAST_LABEL: Final = 0.045  # of the axis


class Bar(NamedTuple):
    """One bar: who measured, with the switch or without, and the cost of each stage; a unit common to its pair."""

    who: str
    switch: bool
    stages: dict[str, float]

    @property
    def cost(self) -> float:
        """What filtering costs; decoding at dispatch is not part of it, for it is done in any case."""
        return sum(value for stage, value in self.stages.items() if stage != DECODING)


def bloom_cost(cell: ProfileCell, *, article: bool = False) -> Picture:
    """A cell by stage, of our classes and of the real ones the process in the middle; and the article's figures."""
    found = [_pair(SIDES[side], cell.middle(side)) for side in cell.sides]
    if article:
        found.insert(0, (
            Bar("article", False, {LAYER_2: ARTICLE_WITHOUT}),
            Bar("article", True, {BITMAP: ARTICLE_BUILD, LAYER_2: ARTICLE_WITH}),
        ))  # fmt: skip
    one = cell.workload
    many = "1 group" if one.groups == 1 else f"{one.groups} groups"
    return _picture(found, f"Cost of filtering: {one.selectivity:.0%} match, {many}, {one.expression}")


def _pair(who: str, stages: Stages) -> tuple[Bar, Bar]:
    return (
        Bar(who, False, {LAYER_2: stages.layer_2}),
        Bar(who, True, {
            BITMAP: stages.build, EXTENSION: stages.write_extension + stages.read_extension, BITS: stages.check,
            LAYER_2: stages.layer_2_passed, DECODING: stages.decode,
        }),
    )  # fmt: skip


def _picture(every: Sequence[tuple[Bar, Bar]], title: str) -> Picture:
    high = 0.52 * 2 * len(every) + 1.15
    most = max((bar.cost + bar.stages.get(DECODING, 0)) / off.cost for off, on in every for bar in (off, on))
    rows: list[tuple[object, ...]] = []
    with canvas(8.3, high) as figure:
        axes = figure.add_axes((0.24, 0.62 / high, 0.73, 1 - 1.1 / high))
        y = 0.0
        for off, on in every:
            for bar in (off, on):
                _bar(axes, bar, y, off.cost, most)
                name = f"{bar.who}, {'with' if bar.switch else 'without'}"
                axes.text(-0.012 * most, y, name, ha="right", va="center", fontsize=9, color=BLACK)
                rows += [(name, stage, f"{value / off.cost:.2f}") for stage, value in bar.stages.items()]
                rows.append((name, "sum", f"{bar.cost / off.cost:.2f}"))
                y += 1
            y += 0.35
        axes.axvline(1, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=0.5)
        axes.set(xlim=(0, most * 1.28), ylim=(y - 0.85, -0.6), yticks=[])
        axes.set_xlabel("cost of filtering a message; 1 is layer 2 without the switch")
        axes.spines[["top", "right", "left"]].set_visible(False)
        _legend(figure, [stage for off, on in every for stage in (*off.stages, *on.stages)], high)
        svg = svg_of(figure)
    told = [f"{on.who}: {on.cost / off.cost:.2f} times the cost with the switch" for off, on in every]
    alt = f"{'. '.join(told)}. Parts: {', '.join(f'{name} {stage} {share}' for name, stage, share in rows)}."
    return Picture(svg, title=title, alt=alt, table=Table(title, ("measured by", "stage", "cost"), rows))


def _bar(axes: Any, bar: Bar, y: float, unit: float, most: float) -> None:
    left = 0.0
    for stage, value in bar.stages.items():
        share = value / unit
        charged = stage == DECODING
        colour = COLOURS[stage]
        end = bar.cost / unit if charged else left
        axes.barh(
            y, share, left=end, height=0.78, color=colour, edgecolor=GREY if charged else WHITE,
            hatch="///" if charged else None, linewidth=0.8, zorder=1,
        )  # fmt: skip
        if share > LEAST_LABEL * most and not charged:
            label = {"ha": "center", "va": "center", "fontsize": 8, "color": ink(colour), "zorder": 3}
            axes.text(end + share / 2, y, f"{share:.2f}", **label)
        left += 0 if charged else share
    extra = bar.stages.get(DECODING, 0) / unit
    text = f"{left:.2f}" + (f", charged {left + extra:.2f}" if extra else "")
    axes.text(left + extra + 0.01 * most, y, text, ha="left", va="center", fontsize=9, fontweight="bold", zorder=3)


def _legend(figure: Any, stages: Sequence[str], high: float) -> None:
    from matplotlib.patches import Patch

    names = [name for name in COLOURS if name in stages]
    patches = [
        Patch(
            facecolor=COLOURS[name], edgecolor=GREY,
            hatch="///" if name == DECODING else None, label=name,
        )
        for name in names
    ]  # fmt: skip
    figure.legend(
        handles=patches, loc="upper left", bbox_to_anchor=(0.01, 1 - 0.04 / high), ncols=len(names), frameon=False,
        fontsize=8, handlelength=1.2, columnspacing=1.0,
    )  # fmt: skip
