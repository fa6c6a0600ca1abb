"""The graph of an exploration: states in which something is open, what each option leads to, and which choices decide.

A node is a state, an edge one of its options. Equal states are one node, so the graph has far fewer nodes than the
space has schedules; a schedule is a path from the root to an ending. Every move goes forward in the run, so there are
no circles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab_tools.search.explorer.explanation import move

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.run.run import Outcome


UNKNOWN_TARGET = None
Target = int  # a node's number, or -1 - the number of an ending


@dataclass(slots=True)
class ChoiceNode:
    """A state with a choice: what was asked there, and where each option leads (None: not tried)."""

    label: str
    targets: list[Target | None]


@dataclass(slots=True)
class ChoiceGraph:
    """Nodes by number; `root` is where a run begins. `merged` counts options that led to a state known already."""

    nodes: list[ChoiceNode] = field(default_factory=list)
    root: Target | None = None
    merged: int = 0

    def add(self, label: str, options: int) -> int:
        """A new node; its number."""
        self.nodes.append(ChoiceNode(label, [UNKNOWN_TARGET] * options))
        return len(self.nodes) - 1

    def lead(self, source: tuple[int, int] | None, target: Target) -> None:
        """Note where an option (node, option) leads; the beginning of a run is None."""
        if source is None:
            self.root = target
        else:
            self.nodes[source[0]].targets[source[1]] = target

    @property
    def complete(self) -> bool:
        """Whether every option was looked at."""
        return self.root is not None and all(UNKNOWN_TARGET not in node.targets for node in self.nodes)

    def shares(self) -> dict[int, float]:
        """How likely each ending is when every option of a node is equally likely; of a complete graph."""
        return self._carry(lambda weight, options: weight / options)

    def schedules(self) -> dict[int, int]:
        """How many schedules, that is paths from the root, lead to each ending; of a complete graph."""
        return self._carry(lambda paths, _: paths)

    def _carry(self, given_on: Callable[[Any, int], Any]) -> dict[int, Any]:
        """What arrives at each ending when the root has 1 and each node gives its weight on to all its options."""
        weight: dict[Target | None, Any] = {self.root: 1}
        for number in self.order():
            targets = self.nodes[number].targets
            part = given_on(weight[number], len(targets))
            for target in targets:
                weight[target] = weight.get(target, 0) + part
        return {-1 - target: total for target, total in weight.items() if target is not None and target < 0}

    def order(self) -> list[int]:
        """All nodes, each after every node that leads to it."""
        order: list[int] = []
        seen: set[int] = set()
        stack: list[tuple[int, int]] = []
        if self.root is not None and self.root >= 0:
            stack.append((self.root, 0))
            seen.add(self.root)
        while stack:
            number, index = stack.pop()
            targets = self.nodes[number].targets
            while index < len(targets):
                target = targets[index]
                index += 1
                if target is not None and target >= 0 and target not in seen:
                    stack.append((number, index))
                    seen.add(target)
                    stack.append((target, 0))
                    break
            else:
                order.append(number)
        order.reverse()
        return order


Odds = dict[int, float]  # number of an outcome -> how likely it is
SMALLEST = 0.004  # a branch that is less likely is not followed further
DEEPEST_TREE = 3  # a race of two is a long ladder: the first rungs show how it goes


@dataclass(frozen=True, slots=True)
class Decision:
    """A place in the tree: how likely it is to come here (`share`, 0..1), and the `odds` from here on.

    `branches` are the options of what is asked next that matters, those with the same odds together; none: it is
    decided, or so unlikely or so deep that it was not followed. `made`: the moves taken together, as labels have them.
    """

    share: float
    odds: Odds
    made: tuple[str, ...] = ()
    branches: tuple[Decision, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Share, odds by outcome, branches."""
        odds = {str(number): share for number, share in sorted(self.odds.items())}
        record: dict[str, Any] = {"share": self.share, "odds": odds}
        if self.made:
            record["made"] = [move(text) for text in self.made]
        if self.branches:
            record["branches"] = [branch.as_json() for branch in self.branches]
        return record


def decisions(graph: ChoiceGraph, endings: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Decision:
    """The tree of a complete graph. `endings`: the outcome of each ending; `outcomes` numbers them for the odds."""
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
            groups = _grouped([odds(target_node) for target_node in graph.nodes[target].targets])
            if len(groups) > 1:
                break
            target = graph.nodes[target].targets[0]
        if target is None or target < 0 or len(here) == 1 or depth == DEEPEST_TREE or share < SMALLEST:
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
    for option, odds_of_option in enumerate(odds):
        key = tuple(sorted((outcome, round(share, 9)) for outcome, share in odds_of_option.items()))
        groups.setdefault(key, []).append(option)
    return list(groups.values())
