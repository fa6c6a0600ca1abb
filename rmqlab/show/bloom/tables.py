"""The tables of notebook 05."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.lab.bloom.map import SIDES
from rmqlab.lab.bloom.stages import (
    ARTICLE_BUILD,
    ARTICLE_RATIO,
    ARTICLE_WITH,
    ARTICLE_WITHOUT,
    DISPATCH,
    PULL,
    Stages,
    counted,
    counted_calls,
    timed_stages,
)
from rmqlab.lab.interval import Interval
from rmqlab.show.explore import LIVE, Live
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.bloom.map import BloomMap, ProfileCell, Side
    from rmqlab.lab.bloom.workload import Workload
    from rmqlab.show.explore import Mode

# What a count is called, and the function whose calls it counts.
COUNTS: Final = (
    (DISPATCH, "properties decoded", "string_to_properties"),
    (DISPATCH, "expressions evaluated", "CompiledSql92.evaluate"),
    (DISPATCH, "groups' bits set", "BloomFilter.hash_to"),
    (DISPATCH, "units written to the extension", "ConsumeQueueExt.put"),
    (PULL, "units read from the extension", "ConsumeQueueExt.get"),
    (PULL, "groups' bits checked", "BloomFilter.is_hit"),
    (PULL, "properties decoded", "string_to_properties"),
    (PULL, "expressions evaluated", "CompiledSql92.evaluate"),
)
NOW_ROUNDS: Final = 7
FAR: Final = 1.5  # farther from 1 than rounds of one workload lie from each other


def guessed(guess: float, cell: ProfileCell) -> Table:
    """The guess beside the article and both measurements: filtering with the switch / without."""
    rows = [
        ("your guess", f"{guess:g}"),
        (f"article: ({ARTICLE_BUILD} % + {ARTICLE_WITH} %) / {ARTICLE_WITHOUT} %", f"{ARTICLE_RATIO:.2f}"),
        *(
            (f"{SIDES[side]}, the same two parts", str(cell.interval(side, Stages.as_the_article)))
            for side in cell.sides
        ),
    ]
    return Table("Cost with the switch / without, the article's load test", ("by", "ratio"), rows)


def parts(found: BloomMap, cell: ProfileCell) -> Table:
    """What goes into the ratio, step by step: by the article, and measured on messages with and without properties."""
    figures = {
        "bitmap + layer 2": Stages.as_the_article,
        "and the extension, and checking bits": Stages.ratio,
        "and decoding at dispatch, were it charged": Stages.ratio_charged,
    }
    measured = [(one, side) for one in (cell, found.bare) if one is not None for side in one.sides]
    rows = [
        (what, None if number else f"{ARTICLE_RATIO:.2f}", *(str(one.interval(side, figure)) for one, side in measured))
        for number, (what, figure) in enumerate(figures.items())
    ]
    names = [f"{SIDES[side]}, {properties_of(one.workload)} properties" for one, side in measured]
    return Table("Cost with the switch / without it", ("counted", "article", *names), rows)


def properties_of(workload: Workload) -> int:
    """How many properties a message of a workload has."""
    return len(workload.properties()[0])


def points(cell: ProfileCell) -> Table:
    """What the switch adds to all CPU of a broker whose layer 2 takes the article's share of it without the switch."""
    rows = [
        ("article", f"{ARTICLE_BUILD + ARTICLE_WITH:.2f} %", f"{ARTICLE_BUILD + ARTICLE_WITH - ARTICLE_WITHOUT:+.2f}")
    ]
    for side in cell.sides:
        for what, figure in (("the same two parts", Stages.as_the_article), ("all stages", Stages.ratio)):
            of = cell.interval(side, figure).scaled(ARTICLE_WITHOUT)
            more = of.plus(-ARTICLE_WITHOUT)
            rows.append(
                (
                    f"{SIDES[side]}, {what}",
                    f"{of.median:.1f} %",
                    f"{more.median:+.1f} ({more.low:+.1f} to {more.high:+.1f})",
                )
            )
    headers = ("by", "filtering with the switch", "points of all CPU more than without")
    return Table(f"If filtering takes {ARTICLE_WITHOUT} % of all CPU without the switch", headers, rows)


def layer_2(cell: ProfileCell) -> Table:
    """Layer 2 alone with the switch on / off: the article has it halved."""
    rows = [("article", f"{ARTICLE_WITH / ARTICLE_WITHOUT:.2f}")]
    rows += [(SIDES[side], str(cell.interval(side, Stages.layer_2_ratio))) for side in cell.sides]
    return Table("Layer 2 with the switch on / off", ("by", "ratio"), rows, frozenset({0}))


def calls(workload: Workload) -> Table:
    """Calls for a message without the switch and with it, counted now: exact."""
    found = counted_calls(workload)
    rows = [
        (phase, what, f"{found[phase, False][function]:g}", f"{found[phase, True][function]:g}")
        for phase, what, function in COUNTS
    ]
    caption = f"Calls for a message: {_groups(workload.groups)}, {workload.selectivity:.0%} match"
    marked = frozenset(number for number, row in enumerate(rows) if row[2] != row[3])
    return Table(caption, ("phase", "what", "without", "with"), rows, marked)


def measured_now(workloads: Sequence[Workload], rounds: int = NOW_ROUNDS, *, mode: Mode = "live") -> None:
    """Measure workloads in this kernel, by our classes, and show it.

    A first table has what comes out the same each time: counts, and whether the median of the rounds lies above 1.5,
    below 1 / 1.5, or between. Ratios differ from run to run: they are shown below it where a kernel runs, and no
    stored page keeps them.
    """
    from IPython.display import display

    certain, live = [], []
    for one, (counts, spent) in zip(workloads, timed_stages(workloads, rounds), strict=True):
        ratios = [Stages(*each).ratio() for each in spent]
        name = f"{_groups(one.groups)}, {one.selectivity:.0%} match"
        pairs = one.messages * one.groups
        middle = Interval.of(ratios).median
        verdict = f"more than {FAR}" if middle > FAR else f"less than 1 / {FAR}" if middle * FAR < 1 else "in between"
        certain.append((name, one.messages, pairs, pairs + counts.passed, verdict))
        live.append((name, str(Interval.of(ratios))))
    headers = ("workload", "messages", "evaluated without", "evaluated with", "cost with / without")
    display(Table("Measured just now, by our classes", headers, certain))
    if mode == LIVE:
        caption = f"Cost with the switch / without, just now: median of {rounds} rounds (lowest to highest)"
        display(Live(Table(caption, ("workload", "ratio"), live), "The ratios of this run"))


def worst(found: BloomMap) -> Table:
    """For each number of groups the shares at which the switch may cost most: no other's interval lies above theirs."""
    rows, alone, among = [], 0, 0
    for expression in found.axis("expression"):
        for side in found.sides:
            told = []
            for many in found.axis("groups"):
                ratios = {cell.workload.selectivity: cell.interval(side) for cell in found.row(many, expression)}
                most = max(one.low for one in ratios.values())
                left = [share for share, one in ratios.items() if one.high >= most]
                among += left[-1] == 1
                alone += left == [1]
                told.append(f"{left[0]:.0%}" if len(left) == 1 else f"{left[0]:.0%} to {left[-1]:.0%}")
            rows.append((expression, SIDES[side], *told))
    caption = (
        f"The share of matches at which the switch costs most: 100 % alone in {alone} of "
        f"{len(rows) * len(found.axis('groups'))}, among those that the intervals leave in {among}"
    )
    return Table(caption, ("expression", "by", *map(_groups, found.axis("groups"))), rows)


def turns(found: BloomMap) -> Table:
    """Between which shares of matching messages the switch turns from a gain into a loss, as far as intervals tell."""
    rows = [
        (SIDES[side], expression, *(str(found.turn(many, expression, side)) for many in found.axis("groups")))
        for side in found.sides
        for expression in found.axis("expression")
    ]
    caption = (
        "Between these shares of matching messages the switch turns from a gain into a loss (nowhere: it only costs)"
    )
    return Table(caption, ("by", "expression", *map(_groups, found.axis("groups"))), rows)


def counted_again(cell: ProfileCell) -> Table:
    """One cell's counts, made again now from its seed, beside those stored."""
    now, stored = counted(cell.workload), cell.counts
    rows = [
        ("pairs that match", stored.matched, now.matched),
        ("pairs that layer 1 lets pass", stored.passed, now.passed),
        ("false hits", stored.passed - stored.matched, now.passed - now.matched),
    ]
    marked = frozenset(number for number, row in enumerate(rows) if row[1] != row[2])
    told = "the same counts" if not marked else "not the same counts"
    return Table(f"Run again with seed {cell.workload.seed}: {told}", ("counted", "stored", "now"), rows, marked)


def advice(found: BloomMap, side: Side) -> Table:
    """How many cells are halved, cheaper, undecided, dearer, doubled in every process, by the number of groups."""
    rows = []
    for many in found.axis("groups"):
        ratios = [cell.interval(side) for cell in found.row(many)]
        halved, doubled = sum(one.high <= 0.5 for one in ratios), sum(one.low >= 2 for one in ratios)
        pays, costs = sum(one.below(1) for one in ratios), sum(one.above(1) for one in ratios)
        rows.append((many, len(ratios), halved, pays - halved, len(ratios) - pays - costs, costs - doubled, doubled))
    headers = ("groups", "cells", "halved or better", "cheaper", "processes disagree", "dearer", "doubled or worse")
    return Table(
        f"Cells of the map by what the switch does to the cost in every process, by {SIDES[side]}", headers, rows
    )


def _groups(many: int) -> str:
    return "1 group" if many == 1 else f"{many} groups"
