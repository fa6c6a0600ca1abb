"""Single tests of a SQL92 filter as Spark columns: a property against a literal, a list, another property.

Each test comes as three columns: where it is true, where it is false, where it is no error (`fine`, None: nowhere an
error). NULL in any of them counts as false. A row in none of the first two that is fine is null.

Spark's `try_cast` reads more than Java does: it trims whole numbers, takes ASCII digits only, and knows `inf` and `nan`
in any case. So a number counts only where its text has Java's form, and digits of other scripts are translated first.
"""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.filter.sql92.numbers import Long

if TYPE_CHECKING:
    from rmqlab.filter.sql92.nodes import In, TextTest
    from rmqlab.filter.sql92.numbers import Value

_Operator = Callable[["Column", "Column"], "Column"]
OPERATORS: Final[dict[str, _Operator]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "<>": operator.ne,
}
FALSE, TRUE, NULL, ERROR = range(4)
OUTCOMES: Final = ("false", "true", "null", "error")
OPPOSITE: Final = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "<>"}
MIRRORED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "=="}
# Java's Character.digit sees single UTF-16 units, so digits beyond U+FFFF are none for it.
_DIGITS: Final = "".join(char for char in map(chr, range(0x80, 0x10000)) if unicodedata.category(char) == "Nd")
_ASCII_DIGITS: Final = "".join(str(unicodedata.decimal(char)) for char in _DIGITS)
_WHOLE: Final = r"\A[+-]?\p{Nd}+\z"
_NAMED: Final = r"\A[\x00-\x20]*[+-]?(NaN|Infinity)[\x00-\x20]*\z"


class Test(NamedTuple):
    """One test: the rows where it is `true`, where it is `false`, where it is `fine` (None: everywhere).

    `code` tells the same by one number: 0 false, 1 true, 2 null, 3 an error.
    """

    true: Column
    false: Column
    fine: Column | None
    code: Column


def make_test(true: Column, false: Column) -> Test:
    """Make a test that is never an error."""
    return Test(true, false, None, F.when(true, F.lit(TRUE)).when(false, F.lit(FALSE)).otherwise(F.lit(NULL)))


class Number(NamedTuple):
    """A text read as a Java number: its `value` (NULL where Spark finds none), and whether Java reads it too.

    `valid` means something only where there is a value, and is quickest on usual texts.
    """

    value: Column
    valid: Column

    def is_there(self) -> Column:
        """Where the text is a number for Java."""
        return self.value.isNotNull() & self.valid


def read_number(text: Column, kind: str) -> Number:
    """Read `text` as Java's `valueOf` of a class: kind `int` (Integer), `bigint` (Long) or `double` (Double)."""
    value = text.try_cast(kind)
    if kind == "double":
        # A name that only Spark knows begins, after blanks and a sign, with i or n; and every one has an n in it.
        begins_as_number = (text >= F.lit(".")) & (text < F.lit(":"))
        return Number(value, begins_as_number | ~(text.contains("n") | text.contains("N")) | text.rlike(_NAMED))
    foreign = F.when(F.length(text) != F.octet_length(text), F.translate(text, _DIGITS, _ASCII_DIGITS)).try_cast(kind)
    # Most texts are what their number is printed as, which is quicker to see than that they have Java's form.
    return Number(F.coalesce(value, foreign), (value.cast("string") == text) | text.rlike(_WHOLE))


def kind_of(value: Value) -> str:
    """Name the Spark type of a number literal's Java class."""
    if isinstance(value, float):
        return "double"
    return "bigint" if isinstance(value, Long) else "int"


def against_number(text: Column, symbol: str, value: float, *, literal_first: bool = False) -> Test:
    """Compare by `symbol` (`==` too); the text is converted to the literal's class, or the test is an error.

    An absent property gives null, save for `literal = property`, which is false then.
    """
    kind = kind_of(value)
    number, literal = read_number(text, kind), F.lit(value).cast(kind)
    answer = OPERATORS[symbol](number.value, literal)
    false = OPERATORS[OPPOSITE[symbol]](number.value, literal) & number.valid
    absent = NULL
    if literal_first and symbol == "==":
        absent, false = FALSE, text.isNull() | false
    code = F.when(text.isNull(), F.lit(absent)).when(number.is_there(), answer.cast("int")).otherwise(F.lit(ERROR))
    return Test(answer & number.valid, false, text.isNull() | number.is_there(), code)


def against_text(text: Column, value: str, *, literal_first: bool = False) -> Test:
    """Compare for equality with a text literal."""
    if not _is_text(value):
        never = F.lit(False)
        return make_test(never, F.lit(True) if literal_first else text.isNotNull())
    false = text != F.lit(value)
    return make_test(text == F.lit(value), text.isNull() | false if literal_first else false)


def is_null(present: Column) -> Test:
    """Ask for absence."""
    return make_test(~present, present)


def as_boolean(text: Column) -> Test:
    """Read a text as `Boolean.valueOf`: true for "true" in any case."""
    is_true = F.lower(text) == "true"
    return make_test(is_true, ~is_true)


def is_present(present: Column) -> Test:
    """A property where a condition is needed: false when it is there (4.8.0 `BooleanCast` of a text)."""
    return make_test(F.lit(False), present)


def is_in(text: Column, node: In) -> Test:
    """Look a text up in a list."""
    found = text.isin(sorted(filter(_is_text, node.members)))
    return make_test(~found, found) if node.negated else make_test(found, ~found)


def text_test(text: Column, node: TextTest) -> Test:
    """5.3.3's CONTAINS, STARTSWITH, ENDSWITH: false without a text, negated or not."""
    if not _is_text(node.search):
        found = F.lit(False)
    elif node.operator == "CONTAINS":
        found = text.contains(node.search)
    else:
        found = text.startswith(node.search) if node.operator == "STARTSWITH" else text.endswith(node.search)
    true = text.isNotNull() & (~found if node.negated else found)
    return make_test(true, ~true)


def same_text(left: Column, right: Column) -> Test:
    """Compare two properties for equality: two absent ones are equal, one absent at the right is unequal."""
    both_absent = left.isNull() & right.isNull()
    return make_test((left == right) | both_absent, (left != right) | (left.isNotNull() & right.isNull()))


def in_order(left: Column, symbol: str, right: Column) -> Test:
    """Compare two properties by order: both are read as doubles, -0.0 being below 0.0 and NaN above everything."""
    first, second = read_number(left, "double"), read_number(right, "double")
    both = first.valid & second.valid
    zeros = (first.value == 0.0) & (second.value == 0.0)

    def answer(symbol: str) -> Column:
        # Spark takes the two zeros for equal; as texts, "-0.0" is below "0.0".
        by_text = OPERATORS[symbol](first.value.cast("string"), second.value.cast("string"))
        return F.when(zeros, by_text).otherwise(OPERATORS[symbol](first.value, second.value)) & both

    absent, there = left.isNull() | right.isNull(), first.is_there() & second.is_there()
    true = answer(symbol)
    code = F.when(absent, F.lit(NULL)).when(there, true.cast("int")).otherwise(F.lit(ERROR))
    return Test(true, answer(OPPOSITE[symbol]), absent | there, code)


def _is_text(value: str) -> bool:
    """Tell whether a text can stand in a Spark column; no property there equals one with a lone surrogate."""
    return not any("\ud800" <= char <= "\udfff" for char in value)
