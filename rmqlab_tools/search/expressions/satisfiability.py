"""Messages that pass an expression and messages that do not; and the proof when there are none.

Properties are given values one after another; before each step it is worked out what the whole could still come to,
so that hopeless branches are left early. With all kinds of value tried (`candidates`) finding nothing is a proof.

Values worth trying: one of every kind the expression can tell apart. Around number literals the numbers themselves, and
below, above and in each gap a whole one (what `Integer` and `Long` literals need) and one that is spelled as a decimal
(what only `Double` literals can read), and beside literals of both kinds in digits that only `Integer` and `Long` read;
every text that is named; and texts that are no number, booleans, and nothing at all. A text that is empty is no value:
the broker leaves such a property out when it reads a message (`MessageDecoder.string2messageProperties`).
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from math import ceil, floor
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.filter.sql92.errors import JavaError
from rmqlab.filter.sql92.evaluation import DEEPEST_EVALUATION, closure, negated, nesting
from rmqlab.filter.sql92.nodes import And, Constant, In, Negate, Node, Not, Or, Property, TextTest, chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rmqlab.filter.sql92.evaluation import Closure
    from rmqlab.filter.sql92.values import Value

EVALUATION_BUDGET = 500_000  # conditions that may be worked out in one search
_DEEPEST = 60
_MAX_VALUES = 400
_MAX_TRIALS = 400_000
_MAX_PROPERTIES = 300
_PRODUCT = 500  # combinations of values tried for one condition on several properties

_GENERAL: Final = ("true", "TRUE", "false", "NaN")
_BEYOND_INTEGER: Final = ("3000000000", "-3000000000")
_ARABIC: Final = str.maketrans("0123456789", "".join(map(chr, range(0x660, 0x66A))))
_EXACT_DOUBLES: Final = 2**53


class Can(IntEnum):
    """What a condition can come to; several are joined by `|` (into a plain int)."""

    TRUE = 1
    FALSE = 2
    NULL = 4
    ERROR = 8


ANYTHING = Can.TRUE | Can.FALSE | Can.NULL | Can.ERROR
NOT_TRUE = Can.FALSE | Can.NULL | Can.ERROR


class Found(NamedTuple):
    """A message (`properties`), or None; `proven` says whether None means that there is no such message at all."""

    properties: dict[str, str] | None
    proven: bool = False


class Search:
    """The possible outcomes of one tree (`node`: all of an expression or a part). `tried` counts what was looked at."""

    def __init__(self, node: Node, budget: int = EVALUATION_BUDGET) -> None:
        self._node = node
        self._budget = budget
        self._cost = sum(1 for _ in atoms(node))
        values = candidates(node)
        most = min(_MAX_VALUES, max(_MAX_TRIALS // self._cost, 8))
        self._complete = is_complete(node) and all(len(tried) <= most for tried in values.values())
        self._values = {name: [*tried[: min(len(tried), most) - 1], None] for name, tried in values.items()}
        levels, depth = nesting(node)
        self._overflows = depth > DEEPEST_EVALUATION
        self._searchable = levels <= _DEEPEST and len(self._values) <= _MAX_PROPERTIES
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
        is_found = self._assign(chosen, list(self._values), wanted)
        if is_found:
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
    """The parts that are conditions, larger ones first."""
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


def atoms(root: Node) -> Iterator[Node]:
    """The conditions that AND, OR and NOT are made of."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And | Or | Not):
            waiting.extend(reversed(node.operands))
        else:
            yield node


def names_of(node: Node) -> list[str]:
    """The properties below `node`, in the order of the text, each once."""
    return list(dict.fromkeys(part.name for part in node.walk() if isinstance(part, Property)))


def candidates(root: Node) -> dict[str, list[str | None]]:
    """The values to try for each property (None: the message does not have it), in the order of the text."""
    constants: dict[str, list[Node]] = {name: [] for name in names_of(root)}
    for atom in atoms(root):
        literals = [part for part in atom.walk() if isinstance(part, Constant | Negate | In | TextTest)]
        for name in names_of(atom):
            constants[name].extend(literals)
    return {name: _values(parts) for name, parts in constants.items()}


def is_complete(root: Node) -> bool:
    """Whether `candidates` has a value of every kind, so that what none of them does no message does."""
    for atom in atoms(root):
        if len(names_of(atom)) > 1 or any(isinstance(part, TextTest) for part in atom.walk()):
            return False
    return all(abs(number) <= _EXACT_DOUBLES for number in _literals(root.walk()))


def _values(parts: list[Node]) -> list[str | None]:
    texts = [text for part in parts for text in _texts(part) if text]
    values = list(_literals(parts))
    points = list(_points(sorted({Fraction(value) for value in values})))
    spelled = [text for number in points for text in _spellings(number)]
    if spelled or not texts:
        spelled = [*(spelled or ["1", "1.5", "2"]), *_BEYOND_INTEGER]
    named = set(texts)
    spelled += [_otherwise(text, named) for text in spelled if text in named]
    if len({isinstance(value, float) for value in values}) > 1:
        whole = [str(number.numerator) for number in points if number.denominator == 1]
        spelled += [_otherwise(text.translate(_ARABIC), named) for text in whole]
    return [*dict.fromkeys([*texts, *spelled, _fresh("x", named), *_GENERAL]), None]


def _texts(part: Node) -> Iterable[str]:
    match part:
        case In():
            return part.elements
        case TextTest():
            return (part.search, f"{part.search}x", f"x{part.search}", f"x{part.search}x")
        case Constant() if isinstance(part.value, str):
            return (part.value,)
    return ()


def _literals(parts: Iterable[Node]) -> Iterator[int | float]:
    """The numbers that stand in an expression, with each of the minus signs before them; operands follow operators."""
    known: dict[int, Value] = {}
    for part in reversed(list(parts)):
        match part:
            case Constant():
                known[id(part)] = part.value
            case Negate():
                known[id(part)] = negated(known.get(id(part.operand)))
    yield from (number for number in known.values() if isinstance(number, int | float) and not isinstance(number, bool))


def _points(numbers: list[Fraction]) -> Iterator[Fraction]:
    """Every number, and below, above and in each gap a whole one (if there is one) and one whose decimal fits."""
    if not numbers:
        return
    yield from numbers
    low, high = numbers[0], numbers[-1]
    yield from dict.fromkeys((high + 1, Fraction(floor(high) + 1), low - 1, Fraction(ceil(low) - 1)))
    for low, high in pairwise(numbers):
        # A third of it is never a whole number, as all numbers here are binary fractions.
        yield low + min(Fraction(1), high - low) / 3
        whole = Fraction(floor(low) + 1)
        if whole < high:
            yield whole


def _spellings(number: Fraction) -> Iterable[str]:
    if number.denominator == 1:
        return (str(number.numerator), f"{number.numerator}.0")
    return (repr(float(number)),)


def _otherwise(number: str, taken: set[str]) -> str:
    """Spell a number in a way that no text of the expression is spelled."""
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    while sign + digits in taken:
        digits = f"0{digits}"
    return sign + digits


def _fresh(word: str, taken: set[str]) -> str:
    """A word that no text of the expression is."""
    fresh = word
    while fresh in taken:
        fresh += word
    return fresh
