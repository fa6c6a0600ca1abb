"""Messages lost over the pause between restarts, a line for each way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.charts import LINES
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK
from rmqlab.show.plans.bars import WORDS
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.search.plan.planner import PauseLoss

WIDTH, HEIGHT = 8.2, 3.5


def pauses(found: Sequence[PauseLoss]) -> Picture:
    """The most that each way lost, for each pause."""
    ways = list(dict.fromkeys((one.procedure, one.producers) for one in found))
    over = sorted({one.pause_ms for one in found})
    worst = {(one.procedure, one.producers, one.pause_ms): one.worst for one in found}
    whole = all(one.exhausted for one in found)
    tried = "in every order" if whole else f"in {max(one.runs for one in found)} schedules"
    title = f"Going slowly: the most messages lost {tried}, over the pause between two restarts"
    with canvas(WIDTH, HEIGHT) as figure:
        figure.text(0.01, 0.95, title, fontsize=10.5, fontweight="bold", va="center")
        axes = figure.add_axes((0.08, 0.15, 0.54, 0.72))
        for number, way in enumerate(ways):
            colour, mark = LINES[number % len(LINES)]
            axes.plot(
                range(len(over)), [worst[*way, pause] for pause in over], color=colour, marker=mark,
                markeredgecolor=BLACK, markersize=6, linewidth=1.8, clip_on=False, zorder=3 + number,
                label=f"{way[0]}, producers {WORDS[way[1]]}",
            )  # fmt: skip
        axes.set_xticks(range(len(over)), [f"{pause / 1_000:g} s" for pause in over])
        axes.set_xlabel("pause")
        axes.set_ylabel("messages lost")
        axes.set_ylim(0, 1.04 * max([1, *worst.values()]))
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="upper left", bbox_to_anchor=(0.63, 0.88), frameon=False, fontsize=8.5)
        svg = svg_of(figure)
    rows = [(way[0], f"{WORDS[way[1]]}", *(worst[*way, pause] for pause in over)) for way in ways]
    headers = ("procedure", "producers", *(f"pause {pause / 1_000:g} s" for pause in over))
    said = "; ".join(f"{name}, producers {words}: {', '.join(map(str, counts))}" for name, words, *counts in rows)
    alt = f"Messages lost for pauses of {', '.join(f'{pause / 1_000:g}' for pause in over)} s. {said}."
    return Picture(svg, title=title, alt=alt, table=Table(f"Most messages lost {tried}", headers, rows))
