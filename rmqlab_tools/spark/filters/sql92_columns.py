"""A SQL92 condition that Spark decides by itself, with the evaluator's answers.

The literals of a leaf cut all texts into a few classes: absent, a text that is named, any other; or a number below, at
or above one that is named, and what is no number. All texts of a class get one answer. So the evaluator is asked for
one text of each class, and Spark only finds the class. Not decided here is what has no such classes: two properties in
one comparison, a property beside TRUE, literals of two Java classes for one property, 5.3.3's tests of texts.

Spark's `try_cast` reads more than Java does (blanks around a whole number, `inf` and `nan` in any case) and less
(digits of other scripts), so a number counts only where its text has Java's form.
"""

from __future__ import annotations

import math
import unicodedata
from functools import reduce
from itertools import groupby
from operator import and_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.nodes import And, BooleanCast, Comparison, Constant, Equal, In, Negate, Node, Property
from rmqlab.filter.sql92.values import Long, java_text
from rmqlab_tools.spark.filters.sql92_dictionary import (
    ERROR_CODE,
    OUTCOMES,
    PRESENCE,
    TRUE_CODE,
    DictionaryFilter,
    Leaf,
    Outcomes,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rmqlab.filter.sql92.values import Value

    Number = int | Long | float

_MAX_LEAVES: Final = 6  # with more of them Spark often only interprets the column, slower than Python decides it
# Java's Character.digit sees single UTF-16 units, so digits beyond U+FFFF are none for it.
_DIGITS: Final = "".join(char for char in map(chr, range(0x80, 0x10000)) if unicodedata.category(char) == "Nd")
_ASCII_DIGITS: Final = "".join(str(unicodedata.decimal(char)) for char in _DIGITS)
_WHOLE: Final = r"\A[+-]?\p{Nd}+\z"
_NAMED: Final = r"\A[\x00-\x20]*[+-]?(NaN|Infinity)[\x00-\x20]*\z"


class Decided(NamedTuple):
    """A part of a condition: its `code` (a place in `OUTCOMES`), and where it is `true`, asked sooner.

    `fine`: where it is no error; None: nowhere one. NULL in `true` and `fine` stands for false.
    """

    code: Column
    true: Column
    fine: Column | None = None


def native(wanted: DictionaryFilter, columns: Mapping[str, Column]) -> Decided | None:
    """Decide a condition by columns that Spark computes without Python; None where it cannot tell the value by itself.

    `columns` has a text column for each of `wanted.value_names`, and for each of its `presence_names` a boolean one
    with `PRESENCE` after the name.
    """
    literals = {id(leaf.node): _literals(leaf) for leaf in wanted.leaves}
    if not 0 < len(literals) <= _MAX_LEAVES or None in literals.values():
        return None

    def leaf_decided(leaf: Leaf) -> Decided:
        if not leaf.names:
            return _by_code(F.lit(leaf.code()), {leaf.code()})
        (name,) = leaf.names
        if leaf.by_presence and name + PRESENCE in columns:
            there, absent = leaf.code(""), leaf.code(None)
            return _by_code(F.when(columns[name + PRESENCE], there).otherwise(absent), {there, absent})
        met = literals[id(leaf.node)] or []
        return (_by_text if all(isinstance(literal, str) for literal in met) else _by_number)(leaf, columns[name], met)

    return wanted.joined(leaf_decided, _join)


def _by_code(code: Column, possible: Collection[int]) -> Decided:
    return Decided(code, code == TRUE_CODE, code != ERROR_CODE if ERROR_CODE in possible else None)


def _join(node: Node, left: Decided, right: Decided | None = None) -> Decided:
    """Look the code up in a table; where AND and OR can be Spark's own, they stop at the side that decides."""
    codes = np.arange(len(OUTCOMES), dtype=np.uint8)
    if right is None:
        return _looked_up(join(node, Outcomes.of(codes)), left.code, can_fail=left.fine is not None)
    of_both = join(node, Outcomes.of(codes.repeat(len(codes))), Outcomes.of(np.tile(codes, len(codes))))
    can_fail = left.fine is not None or right.fine is not None
    both = _looked_up(of_both, left.code * len(codes) + right.code, can_fail=can_fail)
    if isinstance(node, And):
        return both._replace(true=left.true & right.true)
    return both._replace(true=left.true | (right.true if left.fine is None else right.true & left.fine))


def _looked_up(table: Outcomes, place: Column, *, can_fail: bool) -> Decided:
    return _by_code(F.get(F.lit(table.codes.tolist()), place), [ERROR_CODE] if can_fail else [])


def _literals(leaf: Leaf) -> list[Any] | None:
    """The texts, or the numbers of one Java class, that a leaf's property meets; None where it meets other things.

    They go up, each once.
    """
    met_values: list[Any] = []
    for node in leaf.node.walk():
        if any(isinstance(operand, Property) for operand in node.operands):
            met = _met_by_property(node)
            if met is None:
                return None
            met_values += met
    # 4.8.0 has no literal 0.0, below which "-0.0" would be a class of its own.
    if (
        len(leaf.names) > 1
        or len(set(map(type, met_values))) > 1
        or any(isinstance(value, float) and not value for value in met_values)
    ):
        return None
    return sorted(set(met_values))


def _met_by_property(node: Node) -> list[Any] | None:
    """The literals that decide what a node makes of its property; None where something else decides."""
    match node:
        case BooleanCast():
            return []
        case In():
            return list(node.members)
        case Comparison(operands=operands) | Equal(operands=operands):
            first, second = operands
            value = _value(second if isinstance(first, Property) else first)
            # An order between two texts is one between numbers.
            undecided = bool if isinstance(node, Equal) else bool | str
            return None if isinstance(value, undecided) else [] if value is None else [value]
    return None


def _value(node: Node) -> Value:
    """The value of a literal, with a minus before it or not; False for anything else."""
    if isinstance(node, Constant | Negate) and not any(isinstance(part, Property) for part in node.walk()):
        return evaluate_in_steps(node, None).root.value
    return False


def _by_text(leaf: Leaf, text: Column, named: Sequence[str]) -> Decided:
    """Tell the texts that are named from absence and from all others."""
    absent, other = leaf.code(None), leaf.code("?" * (1 + max(map(len, named), default=0)))  # longer than all
    texts_of: dict[int, list[str]] = {}
    for text_met in filter(_is_in_spark, named):
        texts_of.setdefault(leaf.code(text_met), []).append(text_met)
    is_one = {value: text.isin(texts) for value, texts in texts_of.items()}
    code = F.when(text.isNull(), absent)
    for value, is_match in is_one.items():
        code = code.when(is_match, value)
    true = is_one.get(TRUE_CODE, F.lit(False))
    if other == TRUE_CODE:
        true = reduce(and_, (~is_one[value] for value in is_one if value != TRUE_CODE), text.isNotNull())
    decided = _by_code(code.otherwise(other), leaf.codes)
    return decided._replace(true=text.isNull() | true if absent == TRUE_CODE else true)


def _is_in_spark(text: str) -> bool:
    """Whether a text can stand in a Spark column; no property there equals one with a lone surrogate."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _by_number(leaf: Leaf, text: Column, numbers: Sequence[Number]) -> Decided:
    """Where among the literals a number stands, and what is no number."""
    value, is_java = _java_number(text, numbers[0])
    # Going up: below the first literal, at it, between it and the next one, and so on.
    inside = [_neighbour(numbers[0], -1), *(bound for number in numbers for bound in (number, _neighbour(number, 1)))]
    is_over = [over for number in numbers for over in (value >= F.lit(number), value > F.lit(number))]
    is_under = [under for number in numbers for under in (value < F.lit(number), value <= F.lit(number))]
    answers = [leaf.code(java_text(bound)) for bound in inside]
    absent, other = leaf.code(None), leaf.code("no number")
    code, true = F.when(text.isNull(), absent), F.lit(False)
    for answer, run in groupby(range(len(inside)), key=answers.__getitem__):
        first, *_, last = [*run] * 2
        bounds = [*is_over[first - 1 : first], *is_under[last : last + 1]] or [value.isNotNull()]
        code = code.when(bounds[-1] & is_java, answer)
        true = true | (reduce(and_, bounds) & is_java) if answer == TRUE_CODE else true
    decided = _by_code(code.otherwise(other), leaf.codes)
    if TRUE_CODE in {absent, other} or ERROR_CODE in {absent, *answers}:
        return decided
    return Decided(decided.code, true, text.isNull() | (value.isNotNull() & is_java) if other == ERROR_CODE else None)


def _neighbour(number: Number, step: int) -> Number:
    """The next number of the same Java class, upwards for 1 and downwards for -1."""
    if isinstance(number, float):
        return math.nextafter(number, step * math.inf)
    return type(number)(number + step)


def _java_number(text: Column, like: Number) -> tuple[Column, Column]:
    """Read texts as `valueOf` of the Java class of `like` does, and tell where Java reads a number too.

    The second means something only where the first is no NULL; it is the slower one to ask.
    """
    if isinstance(like, float):
        # A name that only Spark knows begins, after blanks and a sign, with i or n; and every one has an n in it.
        begins_as_number = (text >= F.lit(".")) & (text < F.lit(":"))
        has_no_name = ~(text.contains("n") | text.contains("N"))
        return text.try_cast("double"), begins_as_number | has_no_name | text.rlike(_NAMED)
    kind = "bigint" if isinstance(like, Long) else "int"
    value = text.try_cast(kind)
    # Most texts are what their number is printed as, which is quicker to see than that they have Java's form.
    is_java = (value.cast("string") == text) | text.rlike(_WHOLE)
    return F.coalesce(value, F.translate(text, _DIGITS, _ASCII_DIGITS).try_cast(kind)), is_java
