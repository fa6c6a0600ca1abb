"""Small multiples: one figure of a sweep over two axes in each panel, a panel for each value of a third."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Record = Mapping[str, Any]
LINES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (VERMILLION, "D"), (PURPLE, "v"), (SKY, "P"))
PANEL_W, PANEL_H, LEFT, TOP, BOTTOM, GAP = 2.55, 2.3, 0.62, 0.78, 0.92, 0.14
LETTER, LEGEND_MARK, LEGEND_ROW = 0.078, 0.5, 0.2  # inches at the sizes used here


def multiples(
    records: Sequence[Record],
    *,
    value: str,
    x: str,
    lines: str,
    panels: str,
    fixed: Mapping[str, object],
    names: Mapping[str, str],
    title: str,
    law: Callable[[Record], float] | None = None,
) -> Picture:
    """`value` over `x`, a line for each value of `lines`, a panel for each of `panels`; other axes as in `fixed`.

    ``names`` gives every axis and value its words. A ``law`` (of a record) is drawn as a dashed line beside.

    Raises:
        BadInput: an axis twice, or values that leave a place of the grid without a row or with several.
    """
    if len({x, lines, panels}) < 3:
        raise BadInput(f"x, lines and panels are {x!r}, {lines!r}, {panels!r}; give three different axes")
    chosen = [one for one in records if all(one[name] == wanted for name, wanted in fixed.items())]
    at = {(one[panels], one[lines], one[x]): one for one in chosen}
    across, along, over = (_values(chosen, name) for name in (panels, lines, x))
    if len(at) != len(chosen) or len(at) != len(across) * len(along) * len(over):
        raise BadInput(f"{len(chosen)} rows for {len(across)} x {len(along)} x {len(over)} places; fix the other axes")
    most = max(one[value] for one in chosen)
    begin = LEFT + LETTER * max(0, len(f"{most:.0f}") - 3)
    # The last tick of a panel and the first of the next stand side by side, and no word of the legend is cut.
    gap = max(GAP, LETTER * (max(len(_text(one)) for one in over) + 0.5))
    width = begin + len(across) * (PANEL_W + gap) + 0.1
    words = [f"{names[lines]} {_text(line)}" for line in along]
    longest = max(map(len, [*words, names["law"]] if law else words))
    columns = max(1, int(width / (LEGEND_MARK + LETTER * longest)))
    below = BOTTOM + LEGEND_ROW * ((len(words) + bool(law) - 1) // columns)
    height = TOP + PANEL_H + below
    with canvas(width, height) as figure:
        figure.text(0.1 / width, 1 - 0.2 / height, title, fontsize=10.5, fontweight="bold", va="center")
        for number, panel in enumerate(across):
            left = begin + number * (PANEL_W + gap)
            axes = figure.add_axes((left / width, below / height, PANEL_W / width, PANEL_H / height))
            for place, line in enumerate(along):
                colour, mark = LINES[place % len(LINES)]
                axes.plot(
                    range(len(over)), [at[panel, line, one][value] for one in over], color=colour, marker=mark,
                    markeredgecolor=BLACK, markersize=5.5, linewidth=1.8, clip_on=False, zorder=3,
                    label=words[place] if number == 0 else None,
                )  # fmt: skip
            if law is not None:
                axes.plot(
                    range(len(over)), [law(at[panel, along[0], one]) for one in over], color=GREY, linewidth=1.4,
                    linestyle=(0, (4, 3)), zorder=2, label=names["law"] if number == 0 else None,
                )  # fmt: skip
            axes.set_title(f"{names[panels]} {_text(panel)}", fontsize=9, loc="left", pad=5)
            axes.set_xticks(range(len(over)), [_text(one) for one in over])
            axes.set_xlabel(names[x])
            axes.set_ylim(0, max(1e-9, 1.04 * most))
            axes.spines[["top", "right"]].set_visible(False)
            if number == 0:
                axes.set_ylabel(names[value])
            else:
                axes.set_yticklabels([])
        figure.legend(loc="lower left", bbox_to_anchor=(0.1 / width, 0.02), ncols=columns, frameon=False, fontsize=8.5)
        svg = svg_of(figure)
    rows = [
        (_text(panel), _text(line), *(f"{at[panel, line, one][value]:.3g}" for one in over))
        for panel in across
        for line in along
    ]
    headers = (names[panels], names[lines], *(f"{names[x]} {_text(one)}" for one in over))
    return Picture(
        svg, title=title, alt=_told(chosen, value, x, names), table=Table(f"{names[value]}: {title}", headers, rows)
    )


def _values(records: Sequence[Record], name: str) -> list[Any]:
    return sorted({one[name] for one in records})


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}".replace(",", "\u2009") if value >= 10_000 else f"{value:g}"


def _told(records: Sequence[Record], value: str, x: str, names: Mapping[str, str]) -> str:
    low, high = (extreme(records, key=lambda one: one[value]) for extreme in (min, max))
    over = _values(records, x)
    mean = [sum(one[value] for one in records if one[x] == at) / sum(one[x] == at for one in records) for at in over]
    return (
        f"{names[value]}, over {len(records)} rows: from {low[value]:.3g} to {high[value]:.3g}. Mean for {names[x]} "
        + ", ".join(f"{_text(at)}: {found:.3g}" for at, found in zip(over, mean, strict=True))
        + "."
    )
