"""The cost of filtering by stage, with the switch and without: bars, each pair in units of its layer 2 without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.lab.bloom.profile import (
    ARTICLE_BUILD,
    ARTICLE_WITH,
    ARTICLE_WITHOUT,
    CHECK,
    DECODE,
    DISPATCH,
    EXT_READ,
    EXT_WRITE,
    PULL,
)
from rmqlab.lab.bloom.stored_map import SIDES
from rmqlab.show.figure import Picture, canvas, svg_of
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.bloom.java import RealStages
    from rmqlab.lab.bloom.profile import Profile
    from rmqlab.lab.bloom.stored_map import Cell

BITMAP, EXTENSION, BITS, LAYER_2 = "build bitmap", "extension: write, read", "check bits", "layer 2"
DECODING = "decode, if charged"
AT_DISPATCH, ON_PULL = "all at dispatch", "all on pull"
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


def pairs(profile: Profile, real: Sequence[RealStages]) -> list[tuple[Bar, Bar]]:
    """The article's bars, ours, and those of the real classes (of their processes the middle one)."""
    found = [
        (
            Bar("article", False, {LAYER_2: ARTICLE_WITHOUT}),
            Bar("article", True, {BITMAP: ARTICLE_BUILD, LAYER_2: ARTICLE_WITH}),
        ),
        (
            Bar(SIDES["ours"], False, {LAYER_2: profile.layer_2(False)}),
            Bar(SIDES["ours"], True, {
                BITMAP: profile.build(),
                EXTENSION: profile.stage_us(DISPATCH, True, EXT_WRITE) + profile.stage_us(PULL, True, EXT_READ),
                BITS: profile.stage_us(PULL, True, CHECK),
                LAYER_2: profile.layer_2(True),
                DECODING: profile.stage_us(DISPATCH, True, DECODE),
            }),
        ),
    ]  # fmt: skip
    return [*found, real_pair(real[len(real) // 2])] if real else found


def real_pair(real: RealStages) -> tuple[Bar, Bar]:
    """The bars of the real classes."""
    return (
        Bar(SIDES["java"], False, {LAYER_2: real.layer_2}),
        Bar(SIDES["java"], True, {
            BITMAP: real.build, EXTENSION: real.write_extension + real.read_extension, BITS: real.check,
            LAYER_2: real.layer_2_passed, DECODING: real.decode,
        }),
    )  # fmt: skip


def bloom_cost(profile: Profile, real: Sequence[RealStages]) -> Picture:
    """The article's load test: the article's figures, ours, the real classes'."""
    return _picture(pairs(profile, real), "Cost of filtering, the article's load test")


def cell_cost(cell: Cell) -> Picture:
    """One cell of the map: by our phases, and by the real classes' stages."""
    ours = cell.parts("ours", decode=True)
    found = [(
        Bar(SIDES["ours"], False, {LAYER_2: cell.without("ours")}),
        Bar(SIDES["ours"], True, {AT_DISPATCH: max(ours["dispatch"], 0.0), ON_PULL: max(ours["pull"], 0.0),
                                  DECODING: ours["decode at dispatch"]}),
    )]  # fmt: skip
    if cell.real is not None:
        found.append(real_pair(cell.real))
    many = "1 group" if cell.groups == 1 else f"{cell.groups} groups"
    return _picture(found, f"Cost of filtering: {cell.selectivity:.0%} match, {many}, {cell.expression}")


_PHASE_COLOURS: Final = {AT_DISPATCH: GREEN, ON_PULL: PURPLE}


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
        colour = COLOURS.get(stage) or _PHASE_COLOURS[stage]
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

    names = [name for name in (*COLOURS, *_PHASE_COLOURS) if name in stages]
    patches = [
        Patch(
            facecolor=COLOURS.get(name) or _PHASE_COLOURS[name], edgecolor=GREY,
            hatch="///" if name == DECODING else None, label=name,
        )
        for name in names
    ]  # fmt: skip
    figure.legend(
        handles=patches, loc="upper left", bbox_to_anchor=(0.01, 1 - 0.04 / high), ncols=len(names), frameon=False,
        fontsize=8, handlelength=1.2, columnspacing=1.0,
    )  # fmt: skip
