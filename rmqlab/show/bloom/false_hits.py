"""False hits counted in the cells of the bloom map, beside theory: what becomes of layer 1 with too many groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.lab.bloom.map import BloomMap

STYLES: Final = ((GREEN, "o"), (SKY, "s"), (BLUE, "^"), (PURPLE, "D"), (ORANGE, "v"), (VERMILLION, "P"))
LABEL_GAP: Final = 5.5  # %


def bloom_false_hits(found: BloomMap) -> Picture:
    """A line by theory for each selectivity over the number of groups, and what was counted."""
    counted = [one for one in found.false_hits() if 0 < one[1] < 1]
    groups, expected = found.axis("groups"), found.cells[0].workload.expected
    with canvas(8.2, 3.6) as figure:
        axes = figure.add_axes((0.09, 0.17, 0.72, 0.7))
        shares = sorted({one[1] for one in counted})
        label = -2 * LABEL_GAP
        for share, (colour, mark) in zip(shares, STYLES, strict=False):
            mine = [one for one in counted if one[1] == share]
            xs = [groups.index(one[0]) for one in mine]
            axes.plot(xs, [100 * one[4] for one in mine], color=colour, linewidth=1.8)
            axes.plot(
                xs, [100 * hits / others for _, _, hits, others, _ in mine], mark, color=colour, markeredgecolor=BLACK,
                markersize=6.5, clip_on=False, zorder=4,
            )  # fmt: skip
            label = max(100 * mine[-1][4], label + LABEL_GAP)
            axes.text(len(groups) - 0.9, label, f"{share:.0%} match", fontsize=8.5, va="center")
        if expected in groups:
            axes.axvline(groups.index(expected), color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
            axes.text(groups.index(expected) - 0.07, 92, f"configured: {expected} groups", fontsize=8.5, ha="right")
        axes.set(xlim=(0, len(groups) - 1), ylim=(0, 100))
        axes.set_xticks(range(len(groups)), [str(many) for many in groups])
        axes.set_xlabel("groups on the topic")
        axes.set_ylabel("false hits of layer 1, %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title("Lines: theory. Marks: counted", fontsize=9.5, loc="left", fontweight="bold")
        svg = svg_of(figure)
    rows = [
        (many, f"{share:.0%}", hits, others, f"{100 * hits / others:.2f} %", f"{100 * theory:.2f} %")
        for many, share, hits, others, theory in counted
    ]
    most = max(counted, key=lambda one: one[4])
    alt = (
        f"False hits rise with the number of groups and the share that match. With {most[0]} groups of which "
        f"{most[1]:.0%} match, {100 * most[2] / most[3]:.1f} % were counted and theory says {100 * most[4]:.1f} %. "
        f"The widest gap between the two is {_gap(counted):.1f} points."
    )
    headers = ("groups", "match", "false hits", "pairs that do not match", "counted", "theory")
    return Picture(svg, title="False hits and theory", alt=alt, table=Table("False hits counted", headers, rows))


def _gap(counted: list[tuple[int, float, int, int, float]]) -> float:
    return max(abs(100 * hits / others - 100 * theory) for _, _, hits, others, theory in counted)
