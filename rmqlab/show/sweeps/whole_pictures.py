"""The whole core beside the reduced model: every cell of the grid, one cell's runs, and what every order can lose."""

from __future__ import annotations

from itertools import groupby
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.lab.groups.shares_beside import SURE, beside, histogram
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, VERMILLION
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Record = Mapping[str, Any]

AXES: Final = {
    "members": "members", "queues": "queues", "shared": "shared tags", "gap_ms": "gap, ms",
    "delay_us": "frame, µs", "traffic": "traffic",
}  # fmt: skip
_W, _H, _LEFT, _TOP, _BOTTOM, _GAP = 3.3, 3.0, 0.7, 0.62, 0.95, 0.45


def agreement_cells(records: Sequence[Record]) -> Picture:
    """Share delivered by the whole core over that by the model, a mark a cell; a panel for each kind of traffic."""
    kinds = sorted({one["traffic"] for one in records}, reverse=True)
    found = {kind: [beside(one) for one in records if one["traffic"] == kind] for kind in kinds}
    top = 1.08 * max(one.whole.share + one.whole.half for cells in found.values() for one in cells)
    width, height = _LEFT + len(kinds) * (_W + _GAP), _TOP + _H + _BOTTOM
    with canvas(width, height) as figure:
        title = "Two ways to the same share: the whole broker over the small model"
        figure.text(0.1 / width, 1 - 0.2 / height, title, fontsize=10.5, fontweight="bold", va="center")
        for number, kind in enumerate(kinds):
            left = _LEFT + number * (_W + _GAP)
            axes = figure.add_axes((left / width, _BOTTOM / height, _W / width, _H / height))
            axes.plot([0, top], [0, top], color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), label="the same share")
            for agrees, colour, mark, words in (
                (True, BLUE, "o", "cell whose difference may be chance"),
                (False, VERMILLION, "D", "cell that differs by more"),
            ):
                cells = [one for one in found[kind] if one.agrees == agrees]
                axes.errorbar(
                    [one.model.share for one in cells], [one.whole.share for one in cells],
                    yerr=[one.whole.half for one in cells], fmt=mark, color=colour, markersize=4.5, elinewidth=0.9,
                    markeredgecolor=BLACK, markeredgewidth=0.5, label=words,
                )  # fmt: skip
            same = sum(one.agrees for one in found[kind])
            axes.set_title(f"{kind}: {same} of {len(found[kind])} cells agree", fontsize=9, loc="left", pad=5)
            axes.set_xlim(0, top)
            axes.set_ylim(0, top)
            axes.set_xlabel("share delivered by the model")
            axes.spines[["top", "right"]].set_visible(False)
            if number == 0:
                axes.set_ylabel("by the whole broker, 95% interval")
                handles = axes.get_legend_handles_labels()
        figure.legend(
            *handles, loc="lower left", bbox_to_anchor=(0.1 / width, 0.01), ncols=3, frameon=False, fontsize=8.5,
        )  # fmt: skip
        svg = svg_of(figure)
    told = [
        f"{kind}: {sum(one.agrees for one in cells)} of {len(cells)} cells differ by no more than chance; the whole"
        f" broker delivers {mean(one.difference for one in cells):+.3f} on average"
        for kind, cells in found.items()
    ]
    return Picture(svg, title=title, alt=". ".join(told) + ".", table=differences(records))


def differences(records: Sequence[Record]) -> Table:
    """Cells by traffic, frame and gap: how many differ by more than chance, and by how much on average."""

    def key(one: Record) -> tuple[str, int, int]:
        return one["traffic"], one["delay_us"], one["gap_ms"]

    rows: list[tuple[object, ...]] = []
    marked: list[int] = []
    for (traffic, delay, gap), group in groupby(sorted(records, key=key), key):
        cells = [beside(one) for one in group]
        off = sum(not one.agrees for one in cells)
        # of so few cells three off are rarer than one time in fifty
        if off >= 3:
            marked.append(len(rows))
        rows.append((traffic, delay, gap, len(cells), off, f"{mean(one.difference for one in cells):+.3f}"))
    headers = ("traffic", AXES["delay_us"], AXES["gap_ms"], "cells", "off by more than chance", "whole less model")
    return Table("The whole broker less the model, share delivered", headers, rows, frozenset(marked))


def cell_of(records: Sequence[Record], **chosen: object) -> Record:
    """The row of one cell.

    Raises:
        BadInput: no row, or several, have these values.
    """
    found = [one for one in records if all(one.get(axis) == value for axis, value in chosen.items())]
    if len(found) != 1:
        told = ", ".join(f"{axis} {value}" for axis, value in chosen.items())
        raise BadInput(f"{told}: {len(found)} rows; give every axis ({', '.join(AXES)}) a value of the grid")
    return found[0]


def runs_of_a_cell(record: Record) -> Picture:
    """How many messages arrived, run by run: the share of the runs of the whole core, and of the model's."""
    sent, found = record["sent"], beside(record)
    whole, model = histogram(record["each"], sent), record["model_each"]
    most = max(number for number in range(sent + 1) if whole[number] or model[number])
    width, height = 7.6, 3.3
    cell = ", ".join(f"{words} {record[axis]}" for axis, words in AXES.items())
    title = f"Messages that arrive, of {sent}, run by run"
    across = range(most + 1)
    with canvas(width, height) as figure:
        figure.text(0.1 / width, 1 - 0.2 / height, title, fontsize=10.5, fontweight="bold", va="center")
        figure.text(0.1 / width, 1 - 0.45 / height, cell, fontsize=8.5, va="center", color=GREY)
        axes = figure.add_axes((0.65 / width, 0.95 / height, (width - 0.85) / width, (height - 1.65) / height))
        axes.bar(
            across, [whole[number] / found.whole.runs for number in across], width=0.8, color=ORANGE, edgecolor=BLACK,
            linewidth=0.6, hatch="//",
            label=f"the whole broker, {found.whole.runs} runs: {found.whole.share:.3f} ± {found.whole.half:.3f}",
        )  # fmt: skip
        axes.plot(
            across, [model[number] / found.model.runs for number in across], color=BLUE, marker="o", markersize=4.5,
            markeredgecolor=BLACK, linewidth=1.8, zorder=3,
            label=f"the model, {found.model.runs:,} runs: {found.model.share:.3f} ± {found.model.half:.3f}",
        )  # fmt: skip
        axes.set_xlabel("messages that arrive")
        axes.set_ylabel("share of the runs")
        axes.set_xlim(-0.6, most + 0.6)
        axes.set_xticks(range(0, most + 1, 2 if most > 8 else 1))
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="lower left", bbox_to_anchor=(0.1 / width, 0.0), ncols=2, frameon=False, fontsize=8.5)
        svg = svg_of(figure)
    rows = [
        ("runs", found.whole.runs, f"{found.model.runs:,}"),
        ("share delivered", f"{found.whole.share:.3f} ± {found.whole.half:.3f}",
         f"{found.model.share:.3f} ± {found.model.half:.3f}"),
        ("fewest and most that arrive", *(_ends(counts) for counts in (whole, model))),
        ("the last to start wins", f"{record['last_wins']:.2f}", f"{record['model_last_wins']:.2f}"),
    ]  # fmt: skip
    verdict = "no more than chance" if found.agrees else "more than chance"
    alt = (
        f"{cell}: the whole broker delivers {found.whole.share:.3f} of the messages in {found.whole.runs} runs, the"
        f" model {found.model.share:.3f} in {found.model.runs:,}: they differ by {verdict} ({SURE} standard errors)."
    )
    return Picture(svg, title=title, alt=alt, table=Table(cell, ("", "whole broker", "model"), rows))


def play_cells(records: Sequence[Record], *, mode: Mode = "live", **start: object) -> None:
    """One cell of the sweep `loss_whole`, its runs beside the model's; each axis a slider that begins at ``start``.

    Raises:
        BadInput: ``start`` leaves an axis out, or names a value that the sweep does not have.
    """
    cell_of(records, **start)

    def draw(**chosen: object) -> Picture:
        return runs_of_a_cell(cell_of(records, **chosen))

    controls = {
        axis: ChoiceControl(
            words.capitalize(),
            {str(value): value for value in sorted({record[axis] for record in records})},
            start=str(start[axis]),
            slider=True,
        )
        for axis, words in AXES.items()
    }
    explore(draw, mode=mode, **controls)


def orders(records: Sequence[Record], **fixed: object) -> Table:
    """What the orders of frames that were reached can lose; rows with the values ``fixed``, the most open first."""
    chosen = [one for one in records if all(one[axis] == value for axis, value in fixed.items())]
    chosen = sorted(
        chosen, key=lambda one: (one["traffic"] != "starting", one["members"], one["queues"], one["gap_ms"])
    )
    rows = [
        (
            one["traffic"], one["members"], one["queues"], one["gap_ms"], one["outcomes"],
            f"{one['lost_min']}, {one['lost_median']}, {one['lost_max']} of {one['sent']}",
            "yes" if one["exhausted"] else "no",
        )
        for one in chosen
    ]  # fmt: skip
    marked = frozenset(number for number, one in enumerate(chosen) if one["lost_min"] < one["lost_max"])
    headers = (
        "traffic",
        "members",
        "queues",
        AXES["gap_ms"],
        "outcomes",
        "lost: least, median, most",
        "all orders there are",
    )
    return Table("What the orders of frames lose that a budget of runs reached", headers, rows, marked)


def kept_and_now(name: str, record: Record, rerun_row: Callable[..., Sequence[Any]]) -> Table:
    """A kept row of the sweep `name` beside the same row run now; of long figures their number and sum.

    Raises:
        BadInput: the row cannot be run.
    """
    found = rerun_row(name, record)
    rows = [(one.name, _short(one.kept), _short(one.now), "same" if one.same else "differs") for one in found]
    marked = frozenset(number for number, one in enumerate(found) if not one.same)
    return Table(f"Row {record['row']}, seed {record['seed']}", ("figure", "kept", "now", ""), rows, marked)


def _short(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} numbers, sum {sum(value)}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _ends(counts: Sequence[int]) -> str:
    there = [number for number, count in enumerate(counts) if count]
    return f"{there[0]} and {there[-1]}"
