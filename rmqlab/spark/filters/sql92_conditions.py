"""Conditions of a SQL92 filter as Spark columns, joined by 4.8.0's four-valued rules.

A condition can be true, false, null or an error, and is asked from left to right. It comes in two shapes. As *forms*:
three columns that say where it is true, where false, where no error, made of AND and OR alone, so that Spark stops at
the first term that decides; a term may be mentioned several times. As a *code*: one number from 0 to 3, joined by a
look-up in a table that is packed into an integer; each term is mentioned once, however deep the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.spark.filters.sql92_leaves import ERROR, FALSE, NULL, TRUE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.spark.filters.sql92_leaves import Test

_VALUES: Final = range(4)


class Form(NamedTuple):
    """A column of truth (NULL counts as false), how many tests it mentions, and how deep it is."""

    column: Column
    size: int = 1
    depth: int = 1


class Condition(NamedTuple):
    """A condition: its forms (`fine` None: never an error) and its code with that code's depth."""

    true: Form
    false: Form
    fine: Form | None
    code: Column
    depth: int


def of_test(test: Test) -> Condition:
    """Make a condition of a single test."""
    fine = None if test.fine is None else Form(test.fine)
    return Condition(Form(test.true), Form(test.false), fine, test.code, 1)


def of_code(code: Column, depth: int) -> Condition:
    """Make a condition of a code."""
    true, false, fine = (
        Form(column, 1, depth + 1) for column in (code == F.lit(TRUE), code == F.lit(FALSE), code != F.lit(ERROR))
    )
    return Condition(true, false, fine, code, depth)


def constant(value: int) -> Condition:
    """Make a condition that has one of the four values for every message."""
    forms = [Form(F.lit(value == wanted)) for wanted in (TRUE, FALSE)]
    return Condition(forms[0], forms[1], Form(F.lit(False)) if value == ERROR else None, F.lit(value), 1)


def negation(condition: Condition) -> Condition:
    """Turn true and false round; null and an error stay."""
    code = _look_up(_NOT, condition.code)
    return Condition(condition.false, condition.true, condition.fine, code, condition.depth + 3)


def junction(terms: Sequence[Condition], *, decisive: bool) -> Condition:
    """Join by OR (`decisive` true) or AND (false): asked from left to right until one has the decisive value.

    An error that is met before that is the result; without either, null if one was null.
    """
    decided, undecided = [], []
    for term in terms:
        decided.append(term.true if decisive else term.false)
        undecided.append(term.false if decisive else term.true)
    deciding = _first_of(decided, terms)
    settled = _all(undecided)
    true, false = (deciding, settled) if decisive else (settled, deciding)
    code, depth = _joined_codes(terms, _OR if decisive else _AND)
    return Condition(true, false, _fine(decided, terms), code, depth)


def equality(left: Condition, right: Condition) -> Condition:
    """Compare two conditions by `=`; both are asked.

    A null left is equal to null and else gives null; a null right alone is unequal.
    """
    return of_code(_look_up_pair(_EQUAL, left.code, right.code), max(left.depth, right.depth) + 4)


def equality_with_text(left: Condition, present: Condition) -> Condition:
    """Compare a condition with a text (`present`: null where it is absent): 4.8.0 cannot cast a Boolean to a String."""
    return of_code(_look_up_pair(_CLASS_CAST, left.code, present.code), max(left.depth, present.depth) + 4)


def equality_with_number(condition: Condition, *, number_first: bool) -> Condition:
    """Compare a condition with a number: never equal."""
    return of_code(_look_up(_NUMBER_FIRST if number_first else _NUMBER_LAST, condition.code), condition.depth + 3)


def nothing(asked: Condition | None) -> Condition:
    """Make the null that is left of something asked in vain: only its error remains."""
    return constant(NULL) if asked is None else of_code(_look_up(_ONLY_ERROR, asked.code), asked.depth + 3)


def false_unless_error(asked: Condition) -> Condition:
    """Make false out of anything but an error."""
    return of_code(_look_up(_FALSE_OR_ERROR, asked.code), asked.depth + 3)


def null_left_stops(left: Condition, right: Condition) -> Condition:
    """Order against nothing: null if the left is null (the right is not asked then), else what the right is."""
    return of_code(_look_up_pair(_NULL_STOPS, left.code, right.code), max(left.depth, right.depth) + 4)


def _any(forms: Sequence[Form]) -> Form:
    return _balanced(forms, lambda left, right: left | right)


def _all(forms: Sequence[Form]) -> Form:
    return _balanced(forms, lambda left, right: left & right)


def _balanced(forms: Sequence[Form], join: Callable[[Column, Column], Column]) -> Form:
    """Join pairwise, so that a long chain makes a shallow tree."""
    if len(forms) == 1:
        return forms[0]
    middle = (len(forms) + 1) // 2
    left, right = _balanced(forms[:middle], join), _balanced(forms[middle:], join)
    return Form(join(left.column, right.column), left.size + right.size, max(left.depth, right.depth) + 1)


def _joined_codes(terms: Sequence[Condition], table: int) -> tuple[Column, int]:
    """Join codes pairwise; the rule is associative, so the pairs may be any neighbours."""
    if len(terms) == 1:
        return terms[0].code, terms[0].depth
    middle = (len(terms) + 1) // 2
    (left, left_depth), (right, right_depth) = (_joined_codes(half, table) for half in (terms[:middle], terms[middle:]))
    return _look_up_pair(table, left, right), max(left_depth, right_depth) + 4


def _first_of(decided: Sequence[Form], terms: Sequence[Condition]) -> Form:
    """Where one term decides before any is an error."""
    run: list[Form] = []
    result: Form | None = None
    for form, term in zip(reversed(decided), reversed(terms), strict=True):
        # A term that may be an error lets those behind it have a say only where it is none.
        if term.fine is not None and (run or result is not None):
            behind = _any([*reversed(run), *([] if result is None else [result])])
            result, run = _all([behind, term.fine]), []
        run.append(form)
    return _any([*reversed(run), *([] if result is None else [result])])


def _fine(decided: Sequence[Form], terms: Sequence[Condition]) -> Form | None:
    """Where no error is met before a term decides."""
    result: Form | None = None
    for form, term in zip(reversed(decided), reversed(terms), strict=True):
        if term.fine is not None:
            rest = term.fine if result is None else _all([term.fine, result])
            result = rest if term is terms[-1] else _any([form, rest])
        elif result is not None:
            result = _any([form, result])
    return result


def _pack(answers: Sequence[int]) -> int:
    """Pack answers of two bits each into a signed 32-bit number, the first one lowest."""
    packed = sum(answer << 2 * index for index, answer in enumerate(answers))
    return packed - (1 << 32) if packed >= 1 << 31 else packed


def _table(rule: Callable[[int, int], int]) -> int:
    return _pack([rule(left, right) for left in _VALUES for right in _VALUES])


def _joined(decisive: int) -> Callable[[int, int], int]:
    def rule(left: int, right: int) -> int:
        if left in {decisive, ERROR}:
            return left
        if right in {decisive, ERROR}:
            return right
        return NULL if NULL in {left, right} else right

    return rule


def _equal(left: int, right: int) -> int:
    if ERROR in {left, right}:
        return ERROR
    if left == NULL:
        return TRUE if right == NULL else NULL
    return TRUE if left == right else FALSE


def _class_cast(left: int, right: int) -> int:
    return ERROR if NULL not in {left, right} else _equal(left, right)


def _null_stops(left: int, right: int) -> int:
    if left in {NULL, ERROR}:
        return left
    return ERROR if right == ERROR else NULL


_OR: Final = _table(_joined(TRUE))
_AND: Final = _table(_joined(FALSE))
_EQUAL: Final = _table(_equal)
_CLASS_CAST: Final = _table(_class_cast)
_NULL_STOPS: Final = _table(_null_stops)
_NOT: Final = _pack((TRUE, FALSE, NULL, ERROR))
_NUMBER_LAST: Final = _pack((FALSE, FALSE, NULL, ERROR))
_NUMBER_FIRST: Final = _pack((FALSE, FALSE, FALSE, ERROR))
_ONLY_ERROR: Final = _pack((NULL, NULL, NULL, ERROR))
_FALSE_OR_ERROR: Final = _pack((FALSE, FALSE, FALSE, ERROR))


def _look_up(table: int, code: Column) -> Column:
    # The shift is by a column, which only the SQL function takes.
    return F.call_function("shiftright", F.lit(table), code * F.lit(2)).bitwiseAND(F.lit(3))


def _look_up_pair(table: int, left: Column, right: Column) -> Column:
    return _look_up(table, left * F.lit(4) + right)
