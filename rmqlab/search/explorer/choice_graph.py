"""The graph of an exploration: states in which something is open, and what each option leads to.

A node is a state, an edge one of its options. Equal states are one node, so the graph has far fewer nodes than the
space has schedules; a schedule is a path from the root to an ending. Every move goes forward in the run, so there are
no circles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

UNKNOWN = None
Target = int  # a node's number, or -1 - the number of an ending


@dataclass(slots=True)
class Node:
    """A state with a choice: what was asked there, and where each option leads (None: nobody has looked)."""

    label: str
    targets: list[Target | None]


@dataclass(slots=True)
class ChoiceGraph:
    """Nodes by number; ``root`` is where a run begins. ``merged`` counts options that led to a state known already."""

    nodes: list[Node] = field(default_factory=list)
    root: Target | None = None
    merged: int = 0

    def add(self, label: str, options: int) -> int:
        """A new node; its number."""
        self.nodes.append(Node(label, [UNKNOWN] * options))
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
        return self.root is not None and all(UNKNOWN not in node.targets for node in self.nodes)

    def shares(self) -> dict[int, float]:
        """How likely each ending is when every option of a node is equally likely; of a complete graph."""
        weight = [0.0] * len(self.nodes)
        endings: dict[int, float] = {}

        def give(target: Target | None, amount: float) -> None:
            if target is None:
                return
            if target < 0:
                endings[-1 - target] = endings.get(-1 - target, 0.0) + amount
            else:
                weight[target] += amount

        give(self.root, 1.0)
        for number in self.order():
            targets = self.nodes[number].targets
            for target in targets:
                give(target, weight[number] / len(targets))
        return endings

    def schedules(self) -> dict[int, int]:
        """How many schedules, that is paths from the root, lead to each ending; of a complete graph."""
        paths = [0] * len(self.nodes)
        endings: dict[int, int] = {}

        def give(target: Target | None, amount: int) -> None:
            if target is None:
                return
            if target < 0:
                endings[-1 - target] = endings.get(-1 - target, 0) + amount
            else:
                paths[target] += amount

        give(self.root, 1)
        for number in self.order():
            for target in self.nodes[number].targets:
                give(target, paths[number])
        return endings

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
