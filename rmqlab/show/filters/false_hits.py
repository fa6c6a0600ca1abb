"""False hits against theory: the curve, the points that were counted, and what the broker was configured for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.bloom import BloomFilter
from rmqlab.lab.bloom.rates import TRIALS, rates, theory
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.bloom.rates import Rate

WIDTH, HEIGHT = 8.2, 3.6
STEPS = 9


def false_hits(error_rate: int, expected: int, *, matching: int | None = None, trials: int = TRIALS) -> Picture:
    """The rate of false hits over the number of groups that match, for a broker configured with these two numbers.

    ``matching`` is a number of groups of one's own; the dots are counted in ``trials`` trials.
    """
    bloom = BloomFilter.create_by_fn(error_rate, expected)
    end = max(2 * expected, matching or 0)
    points = tuple(
        sorted({round(end * step / (STEPS - 1)) for step in range(STEPS)} | {expected, matching or expected})
    )
    found = rates(bloom, points, trials)
    with canvas(WIDTH, HEIGHT) as figure:
        axes = figure.add_axes((0.09, 0.17, 0.88, 0.68))
        curve = range(0, end + 1, max(1, end // 80))
        axes.plot(list(curve), [100 * theory(bloom, groups) for groups in curve], color=BLUE, linewidth=2)
        axes.plot(
            [one.groups for one in found], [100 * one.counted for one in found], "o", color=ORANGE,
            markeredgecolor=BLACK, markersize=7, clip_on=False, zorder=4,
        )  # fmt: skip
        axes.axhline(error_rate, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.axvline(expected, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
        if matching is not None:
            axes.axvline(matching, color=BLACK, linewidth=2)
            axes.text(matching + end * 0.01, 84, f"here: {matching} groups", fontsize=8.5, color=BLACK)
        axes.set(xlim=(0, end), ylim=(0, 102))
        axes.set_xlabel("groups whose expression is true for the message")
        axes.set_ylabel("false hits, %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.text(end * 0.01, error_rate + 1.5, f"configured: {error_rate} %", fontsize=8.5, color=BLACK)
        axes.text(expected + end * 0.01, 96, f"configured: {expected} groups", fontsize=8.5, color=BLACK)
        axes.set_title(
            f"{bloom.k} bits a group, {bloom.m} bits = {bloom.m // 8} bytes a message. Line: theory. Dots: counted",
            fontsize=9.5, loc="left", fontweight="bold",
        )  # fmt: skip
        svg = svg_of(figure)
    at_expected = next(one for one in found if one.groups == expected)
    alt = (
        f"With {bloom.k} bits a group out of {bloom.m}, false hits rise from 0 to {100 * found[-1].theory:.0f} % at "
        f"{end} matching groups. At the {expected} groups it was configured for, theory says "
        f"{100 * at_expected.theory:.1f} %, counted are {100 * at_expected.counted:.1f} %, configured: {error_rate} %."
    )
    return Picture(svg, title="False hits of layer 1", alt=alt, table=_table(found, expected))


def _table(found: Sequence[Rate], expected: int) -> Table:
    rows = [(one.groups, f"{100 * one.theory:.1f} %", f"{100 * one.counted:.1f} %") for one in found]
    marked = frozenset(number for number, row in enumerate(rows) if row[0] == expected)
    return Table(
        "False hits (marked: what it was configured for)", ("matching groups", "theory", "counted"), rows, marked
    )
