"""Messages that pass an expression and messages that do not; and the proof when there are none.

Properties are given values one after another; before each step it is worked out what the whole could still come to,
so that hopeless branches are left early. With all kinds of value tried (`candidates`) finding nothing is a proof.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.sql92.candidates import atoms, candidates, is_complete, names_of
from rmqlab.filter.sql92.closures import closure, nesting
from rmqlab.filter.sql92.errors import JavaError
from rmqlab.filter.sql92.nodes import And, Node, Not, Or, chain
from rmqlab.filter.sql92.steps import DEEPEST_EVALUATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.filter.sql92.closures import Closure

BUDGET = 500_000  # conditions that may be worked out in one search
_DEEPEST = 60
_MOST_VALUES = 400
_MOST_TRIALS = 400_000
_MOST_PROPERTIES = 300
_PRODUCT = 500  # combinations of values tried for one condition on several properties


class Can(IntEnum):
    """What a condition can come to; several are joined by `|` (into a plain int)."""

    TRUE = 1
    FALSE = 2
    NULL = 4
    ERROR = 8


ANYTHING = Can.TRUE | Can.FALSE | Can.NULL | Can.ERROR
NOT_TRUE = Can.FALSE | Can.NULL | Can.ERROR


class Found(NamedTuple):
    """A message (`properties`), or None; `proven` tells whether None means that there is no such message at all."""

    properties: dict[str, str] | None
    proven: bool = False


class Search:
    """The possible outcomes of one tree (`node`: all of an expression or a part). `tried` counts what was looked at."""

    def __init__(self, node: Node, budget: int = BUDGET) -> None:
        self._node = node
        self._budget = budget
        self._cost = sum(1 for _ in atoms(node))
        values = candidates(node)
        most = min(_MOST_VALUES, max(_MOST_TRIALS // self._cost, 8))
        self._complete = is_complete(node) and all(len(tried) <= most for tried in values.values())
        self._values = {name: [*tried[: min(len(tried), most) - 1], None] for name, tried in values.items()}
        levels, depth = nesting(node)
        self._overflows = depth > DEEPEST_EVALUATION
        self._searchable = levels <= _DEEPEST and len(self._values) <= _MOST_PROPERTIES
        self._closures: dict[int, tuple[Closure, list[str]]] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._left = 0
        self.tried = 0

    def find(self, wanted: int) -> Found:
        """Look for a message with one of the `wanted` outcomes, with as few properties as possible."""
        if self._overflows:
            return Found({}) if wanted & Can.ERROR else Found(None, proven=True)
        if not self._searchable:
            return Found(None)
        self._left = self._budget
        chosen: dict[str, str | None] = {}
        found = self._assign(chosen, list(self._values), wanted)
        if found:
            return Found({name: value for name, value in chosen.items() if value is not None})
        return Found(None, proven=self._complete and self._left > 0)

    def near_miss(self, passing: Mapping[str, str]) -> dict[str, str] | None:
        """Change one property of a passing message so that it does not pass: to false if possible, else otherwise."""
        self._left = self._budget
        for wanted in (Can.FALSE, NOT_TRUE):
            for name, values in self._values.items():
                for value in values:
                    self._left -= self._cost
                    if self._left <= 0:
                        return None
                    changed: dict[str, str | None] = {**dict.fromkeys(self._values), **passing, name: value}
                    if self._possible(self._node, changed) & wanted:
                        return {key: text for key, text in changed.items() if text is not None}
        return None

    def _assign(self, chosen: dict[str, str | None], names: list[str], wanted: int) -> bool:
        self._left -= self._cost
        self.tried += 1
        if self._left <= 0 or not self._may_come_to(chosen, wanted):
            return False
        if not names:
            return True
        name, *others = names
        for value in sorted(self._values[name], key=lambda value: value is not None):
            chosen[name] = value
            if self._assign(chosen, others, wanted):
                return True
        del chosen[name]
        return False

    def _may_come_to(self, chosen: Mapping[str, str | None], wanted: int) -> bool:
        """Whether the properties that have no value yet may still lead to one of the `wanted` outcomes."""
        return bool(self._possible(self._node, chosen) & wanted)

    def _possible(self, node: Node, chosen: Mapping[str, str | None]) -> int:
        match node:
            case And():
                return reduce(_both, (self._possible(term, chosen) for term in chain(node)))
            case Or():
                return _negated(reduce(_both, (_negated(self._possible(term, chosen)) for term in chain(node))))
            case Not():
                return _negated(self._possible(node.operand, chosen))
        return self._of_atom(node, chosen)

    def _of_atom(self, atom: Node, chosen: Mapping[str, str | None]) -> int:
        if id(atom) not in self._closures:
            self._closures[id(atom)] = closure(atom), names_of(atom)
        evaluate, names = self._closures[id(atom)]
        key = (id(atom), *((name in chosen, chosen.get(name)) for name in names))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._tried(evaluate, names, chosen)
        return known

    def _tried(self, evaluate: Closure, names: list[str], chosen: Mapping[str, str | None]) -> int:
        columns = [[chosen[name]] if name in chosen else self._values[name] for name in names]
        outcomes = 0
        for count, row in enumerate(product(*columns)):
            if count >= _PRODUCT or outcomes == ANYTHING:
                return ANYTHING
            outcomes |= _outcome(evaluate, dict(zip(names, row, strict=True)))
        return outcomes


def conditions(root: Node) -> Iterator[Node]:
    """Give the parts that are conditions, larger ones first."""
    waiting = deque([root])
    while waiting:
        node = waiting.popleft()
        yield node
        if isinstance(node, And | Or):
            waiting.extend(chain(node))
        elif isinstance(node, Not):
            waiting.append(node.operand)


def _outcome(evaluate: Closure, row: dict[str, str | None]) -> int:
    try:
        value = evaluate(row.get)
    except JavaError:
        return Can.ERROR
    if value is None:
        return Can.NULL
    return Can.TRUE if value is True else Can.FALSE


def _negated(can: int) -> int:
    swapped = can & (Can.NULL | Can.ERROR)
    if can & Can.TRUE:
        swapped |= Can.FALSE
    return swapped | Can.TRUE if can & Can.FALSE else swapped


def _both(left: int, right: int) -> int:
    """What `left AND right` can come to; the right is not asked after a false or an error at the left."""
    result = left & (Can.FALSE | Can.ERROR)
    if left & Can.TRUE:
        result |= right
    if left & Can.NULL:
        result |= right & (Can.FALSE | Can.ERROR)
        if right & (Can.TRUE | Can.NULL):
            result |= Can.NULL
    return result
