"""Which choices decide: the graph of an exhausted search, cut down to the choices after which the odds are others.

Most choices change nothing: whichever frame comes first, the outcomes that can still follow are as likely as before.
Those are left out, and options after which the odds are the same are taken together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.search.explorer.blame import move

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab.lab.run import Outcome
    from rmqlab.search.explorer.choice_graph import ChoiceGraph, Target

Odds = dict[int, float]  # number of an outcome -> how likely it is
SMALLEST = 0.004  # a branch that is less likely is not followed further
DEEPEST = 3  # a race of two is a long ladder: the first rungs show how it goes


@dataclass(frozen=True, slots=True)
class Decision:
    """A place in the tree: how likely it is to come here (``share``, 0..1), and the ``odds`` from here on.

    ``branches`` are the options of what is asked next that matters, those with the same odds together; none: it is
    decided, or so unlikely or so deep that nobody followed it. ``made``: the moves taken together, as labels have them.
    """

    share: float
    odds: Odds
    made: tuple[str, ...] = ()
    branches: tuple[Decision, ...] = ()

    @property
    def decided(self) -> int | None:
        """The number of the only outcome left, None while several are."""
        return next(iter(self.odds)) if len(self.odds) == 1 else None

    def walk(self) -> Iterator[Decision]:
        """This place and all behind it."""
        yield self
        for branch in self.branches:
            yield from branch.walk()

    def as_json(self) -> dict[str, Any]:
        """Share, odds by outcome, branches."""
        odds = {str(number): share for number, share in sorted(self.odds.items())}
        told: dict[str, Any] = {"share": self.share, "odds": odds}
        if self.made:
            told["made"] = [move(text) for text in self.made]
        if self.branches:
            told["branches"] = [branch.as_json() for branch in self.branches]
        return told


def decisions(graph: ChoiceGraph, endings: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Decision:
    """The tree of a complete graph. ``endings``: the outcome of each ending; ``outcomes`` numbers them for the odds."""
    numbers = [outcomes.index(outcome) for outcome in endings]
    known: dict[int, Odds] = {}

    def odds(target: Target | None) -> Odds:
        if target is None:
            return {}
        return {numbers[-1 - target]: 1.0} if target < 0 else known[target]

    for number in reversed(list(graph.order())):
        targets = graph.nodes[number].targets
        mixed: Odds = {}
        for target in targets:
            for outcome, share in odds(target).items():
                mixed[outcome] = mixed.get(outcome, 0.0) + share / len(targets)
        known[number] = mixed

    def build(target: Target | None, share: float, depth: int, made: tuple[str, ...] = ()) -> Decision:
        here = odds(target)
        while target is not None and target >= 0:
            groups = _grouped([odds(one) for one in graph.nodes[target].targets])
            if len(groups) > 1:
                break
            target = graph.nodes[target].targets[0]
        if target is None or target < 0 or len(here) == 1 or depth == DEEPEST or share < SMALLEST:
            return Decision(share, here, made)
        node = graph.nodes[target]
        texts = node.label.split(" | ")
        branches = []
        for options in groups:
            taken = tuple(texts[option] if len(texts) > 1 else f"option {option}" for option in options)
            part = share * len(options) / len(node.targets)
            branches.append(build(node.targets[options[0]], part, depth + 1, taken))
        return Decision(share, here, made, tuple(branches))

    return build(graph.root, 1.0, 0)


def _grouped(odds: Sequence[Odds]) -> list[list[int]]:
    """Options after which the odds are the same, in order of their first."""
    groups: dict[tuple[tuple[int, float], ...], list[int]] = {}
    for option, one in enumerate(odds):
        key = tuple(sorted((outcome, round(share, 9)) for outcome, share in one.items()))
        groups.setdefault(key, []).append(option)
    return list(groups.values())
