"""The tables of notebook 05."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from rmqlab.lab.bloom.cell import counted_cell
from rmqlab.lab.bloom.java import RealStages
from rmqlab.lab.bloom.profile import (
    ARTICLE_BUILD,
    ARTICLE_RATIO,
    ARTICLE_WITH,
    ARTICLE_WITHOUT,
    DISPATCH,
    PULL,
    counted_calls,
)
from rmqlab.lab.bloom.stored_map import SIDES
from rmqlab.lab.bloom.workload import BloomBroker, Workload
from rmqlab.show.bloom.cost import LAYER_2, pairs
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.lab.bloom.profile import Profile
    from rmqlab.lab.bloom.stored_map import BloomMap, Cell

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


def guessed(guess: float, profile: Profile, real: Sequence[RealStages]) -> Table:
    """The guess beside the article and both measurements: filtering with the switch / without."""
    rows = [
        ("your guess", f"{guess:g}"),
        (f"article: ({ARTICLE_BUILD} % + {ARTICLE_WITH} %) / {ARTICLE_WITHOUT} %", f"{ARTICLE_RATIO:.2f}"),
    ]
    rows += [(f"{SIDES['ours']}, the same two parts", f"{profile.as_the_article():.2f}")]
    if real:
        rows += [(f"{SIDES['java']}, the same two parts", _spread(real, RealStages.as_the_article))]
    return Table("Cost with the switch / without, the article's load test", ("by", "ratio"), rows)


def parts(profile: Profile, real: Sequence[RealStages]) -> Table:
    """What goes into the ratio, step by step, by the article, our stages and the real classes."""
    told = profile.ratios()
    figures: tuple[Callable[[RealStages], float], ...] = (
        RealStages.as_the_article,
        RealStages.ratio,
        lambda one: one.as_the_article(decode=True),
        lambda one: one.ratio(decode=True),
    )
    there = [_spread(real, figure) if real else None for figure in figures]
    whole = profile.all_stages() + told["as_the_article_decode_charged"] - told["as_the_article"]
    rows = [
        ("bitmap + layer 2", f"{ARTICLE_RATIO:.2f}", f"{told['as_the_article']:.2f}", there[0]),
        ("and the extension, and checking bits", None, f"{told['all_stages']:.2f}", there[1]),
        ("bitmap + layer 2, decoding charged to it", None, f"{told['as_the_article_decode_charged']:.2f}", there[2]),
        ("all of it, decoding charged", None, f"{whole:.2f}", there[3]),
        ("dispatch and pull, all that is not filtering too", None, f"{told['whole']:.2f}", None),
    ]
    return Table("Cost with the switch / without it", ("counted", "article", "ours", "real classes"), rows)


def layer_2(profile: Profile, real: Sequence[RealStages]) -> Table:
    """Layer 2 alone with the switch on / off: the article has it halved."""
    rows = []
    for off, on in pairs(profile, real):
        rows.append((on.who, f"{on.stages[LAYER_2] / off.stages[LAYER_2]:.2f}"))
    return Table("Layer 2 with the switch on / off", ("by", "ratio"), rows, frozenset({0}))


def _spread(real: Sequence[RealStages], figure: Callable[[RealStages], float]) -> str:
    """The median of the processes, with the lowest and the highest."""
    values = [figure(one) for one in real]
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def calls(workload: Workload) -> Table:
    """Calls for a message without the switch and with it, counted now: exact."""
    found = counted_calls(workload)
    rows = [
        (phase, what, f"{found[phase, False][function]:g}", f"{found[phase, True][function]:g}")
        for phase, what, function in COUNTS
    ]
    groups = "1 group" if workload.groups == 1 else f"{workload.groups} groups"
    caption = f"Calls for a message: {groups}, {workload.selectivity:.0%} match"
    marked = frozenset(number for number, row in enumerate(rows) if row[2] != row[3])
    return Table(caption, ("phase", "what", "without", "with"), rows, marked)


def worst(found: BloomMap) -> Table:
    """For each number of groups the selectivity at which the switch costs most, expressions and both sides apart."""
    rows = []
    for expression in found.axis("expression"):
        for side in found.cells[0].sides:
            worst_at = [
                max((cell.ratio(side), cell.selectivity) for cell in found.row(many, expression))[1]
                for many in found.axis("groups")
            ]
            rows.append((expression, SIDES[side], *(f"{one:.0%}" for one in worst_at)))
    everything = sum(row[2:].count("100%") for row in rows)
    caption = (
        f"The share of matches at which the switch costs most: {everything} of {sum(len(row) - 2 for row in rows)}"
    )
    headers = ("expression", "by", *(f"{many} groups" if many > 1 else "1 group" for many in found.axis("groups")))
    return Table(f"{caption} times it is 100 %", headers, rows)


def crossovers(found: BloomMap) -> Table:
    """The share of matches below which the switch pays."""
    rows = []
    for side in found.cells[0].sides:
        for expression in found.axis("expression"):
            for decode in (False, True):
                line = [found.crossover(many, expression, side, decode=decode) for many in found.axis("groups")]
                words = ["never" if at is None else "always" if at >= 1 else f"{at:.0%}" for at in line]
                rows.append((SIDES[side], expression, "charged" if decode else "not charged", *words))
    headers = (
        "by",
        "expression",
        "decoding",
        *(f"{many} groups" if many > 1 else "1 group" for many in found.axis("groups")),
    )
    marked = frozenset(number for number, row in enumerate(rows) if row[2] == "not charged")
    return Table(
        "The switch pays below this share of matching messages (marked: as 4.8.0 does it)", headers, rows, marked
    )


def counted_again(cell: Cell) -> Table:
    """One cell's counts, made again now from its seed, beside those stored."""
    from rmqlab.lab.bloom.cell import messages_for

    workload = Workload(
        messages=messages_for(cell.groups), groups=cell.groups, selectivity=cell.selectivity,
        expression=cell.expression, user_properties=True, expected=cell.expected, seed=cell.seed,
    )  # fmt: skip
    broker = BloomBroker(workload, switch=True)
    broker.dispatch()
    found, _ = counted_cell(broker)
    names = {"messages": "messages", "matched": "pairs that match", "passed": "pairs that layer 1 lets pass",
             "false_hits": "false hits"}  # fmt: skip
    rows = [(words, getattr(cell, name), found[name]) for name, words in names.items()]
    marked = frozenset(number for number, row in enumerate(rows) if row[1] != row[2])
    caption = f"Run again from row {cell.row}: {'the same counts' if not marked else 'not the same counts'}"
    return Table(caption, ("counted", "stored", "now"), rows, marked)


def advice(found: BloomMap, side: str) -> Table:
    """How many cells are halved, cheaper, dearer, doubled, by the number of groups."""
    rows = []
    for many in found.axis("groups"):
        ratios = [cell.ratio(side) for cell in found.cells if cell.groups == many]  # type: ignore[arg-type]
        rows.append((
            many, len(ratios), sum(one <= 0.5 for one in ratios), sum(0.5 < one < 1 for one in ratios),
            sum(1 <= one < 2 for one in ratios), sum(one >= 2 for one in ratios),
        ))  # fmt: skip
    headers = ("groups", "cells", "halved or better", "cheaper", "dearer", "doubled or worse")
    return Table(f"Cells of the map by what the switch does to the cost, by {SIDES[side]}", headers, rows)  # type: ignore[index]
