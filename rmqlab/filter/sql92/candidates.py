"""Values worth trying for each property of an expression: one of every kind the expression can tell apart.

Around each number literal: the number itself, one below, one above, one in each gap, spelled as a whole number (what
`Integer` and `Long` literals need) and as a decimal (what only `Double` literals can read), and beside literals of
both kinds in digits that only `Integer` and `Long` read; every text that is named; and texts that are no number,
booleans, and nothing at all.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.nodes import And, Constant, In, Negate, Not, Or, Property, TextTest
from rmqlab.filter.sql92.steps import evaluate_in_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.filter.sql92.nodes import Node

_GENERAL: Final = ("", "true", "TRUE", "false", "NaN")
_BEYOND_INTEGER: Final = ("3000000000", "-3000000000")
_ARABIC: Final = str.maketrans("0123456789", "".join(map(chr, range(0x660, 0x66A))))
_EXACT_DOUBLES: Final = 2**53


def atoms(root: Node) -> Iterator[Node]:
    """Give the conditions that AND, OR and NOT are made of."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And | Or | Not):
            waiting.extend(reversed(node.operands))
        else:
            yield node


def names_of(node: Node) -> list[str]:
    """Give the properties below `node`, in the order of the text, each once."""
    return list(dict.fromkeys(part.name for part in node.walk() if isinstance(part, Property)))


def candidates(root: Node) -> dict[str, list[str | None]]:
    """Give the values to try for each property (None: the message does not have it), in the order of the text."""
    constants: dict[str, list[Node]] = {name: [] for name in names_of(root)}
    for atom in atoms(root):
        found = [part for part in atom.walk() if isinstance(part, Constant | Negate | In | TextTest)]
        for name in names_of(atom):
            constants[name].extend(found)
    return {name: _values(parts) for name, parts in constants.items()}


def is_complete(root: Node) -> bool:
    """Tell whether `candidates` has a value of every kind, so that what none of them does no message does."""
    for atom in atoms(root):
        if len(names_of(atom)) > 1 or any(isinstance(part, TextTest) for part in atom.walk()):
            return False
    return all(abs(number) <= _EXACT_DOUBLES for number in _literals(root.walk()))


def _values(parts: list[Node]) -> list[str | None]:
    texts = [text for part in parts for text in _texts(part)]
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
    for part in parts:
        if isinstance(part, Constant | Negate):
            value = evaluate_in_steps(part, None).root.value
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield value


def _points(numbers: list[Fraction]) -> Iterator[Fraction]:
    """Give every number, one in each gap (a whole one if there is one, and a broken one), one before and one behind."""
    if not numbers:
        return
    yield from numbers
    yield numbers[-1] + 1
    yield numbers[0] - 1
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
    """Give a word that no text of the expression is."""
    fresh = word
    while fresh in taken:
        fresh += word
    return fresh
