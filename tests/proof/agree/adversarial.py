"""Messages that try to be read differently by two readers: odd numbers, odd digits, odd separators.

Each row is the property text of one message as the commit log has it, made from a seed and the row's number alone.
"""

from __future__ import annotations

import random
import unicodedata
from typing import TYPE_CHECKING, Final

from rmqlab.message.properties import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES: Final = ("a", "b", "c", "TAGS", "$y", "A", "region")
_WEIGHTS: Final = (5, 4, 2, 3, 1, 1, 2)
_USUAL: Final = {"TAGS": ("TagA", "TagB", "TagC"), "region": ("hz", "sh")}
EXPRESSIONS: Final = (
    "a > 5",
    "a <= -5",
    "5 <> a",
    "a = 3000000000",
    "-9223372036854775807 < a",
    "a BETWEEN 0 AND 10",
    "a NOT BETWEEN -5 AND 5",
    "b >= 1.5",
    "10.0 = b",
    "b < 1e308 AND b > -1e308",
    "a < b",
    "a >= b",
    "a = b",
    "a <> c",
    "TAGS IN ('TagA', '5', '+5', 'NaN', 'it''s', '五', 'true')",
    "TAGS NOT IN ('TagA', '٣')",
    "a = TRUE",
    "c <> FALSE",
    "TRUE = c",
    "a",
    "a AND b IS NULL",
    "-a = 5 OR b = 1",
    "TAGS = 'TagA' OR a > 3 AND b < 2.5",
    "NOT (a > 3) OR b IS NULL",
    "(a > 5) = b",
    "a = (b IS NULL)",
    "((a > 5) = (b > 5)) IS NULL",
    "$y = 'TagA' OR A > 0",
    "(TAGS is not null and TAGS in ('TagA','TagB')) and (a is not null and a between 0 and 3)",
    "(region = 'hz' OR NOT (a < 5)) AND (b > 10.5 OR $y is null) AND TAGS <> 'TagC'",
    "a > 1 OR b > 1 OR c > 1 OR region = '1'",
    "a > 1 AND b > 1 AND c > 1 AND region <> '1'",
)

_BOUNDS: Final = (0, 1, 3, 5, 10, 127, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**18, 10**25)
_ZEROS: Final = tuple(
    char for char in map(chr, range(0x20000)) if unicodedata.category(char) == "Nd" and unicodedata.decimal(char) == 0
)
_BLANKS: Final = (*map(chr, range(0x21)), "\x7f", "\x85", "\xa0", "\u2003", "\u3000", "\ufeff", "")
_WORDS: Final = (
    "TagA", "TagB", "TagC", "hz", "true", "TRUE", "tRuE", "false", "NaN", "nan", "NAN", "+NaN", "-NaN", "Infinity",
    "infinity", "-Infinity", "+Infinity", "inf", "-inf", "INF", "it's", "五", "½", "²", "ſ", "\u212a", "é", "e\u0301",
    "\U0001d7d8", "\U0001f600", "0x", "0x1", "0x1p3", "-0X1.8p1d", "0x.8P-2f", "0x1p99999", "1e", "e5", ".", "1.", ".5",
    "+", "-", "++1", "1_000", "1,000", "1 0", "10L", "5d", "5F", "1e5f", "1e400", "-1e400", "1e-400", "-0", "-0.0",
    "0.0", "4.9e-324", "1.7976931348623157e308", "2.4703282292062328e-324", "100000000000000000000000000000d", "null",
    "TagA ", " TagA", "taga", "5\n", "\n5", "5\x00",
)  # fmt: skip


def row(number: int, seed: int = 0) -> str:
    """Make the property text of one message."""
    rng = random.Random(f"{seed}/{number}")
    items = [_item(rng) for _ in range(rng.randrange(9))]
    text = PROPERTY_SEPARATOR.join(items)
    return text + PROPERTY_SEPARATOR if rng.random() < 0.9 else text


def rows(count: int, seed: int = 0) -> Iterator[str]:
    """Make the first `count` rows of a seed."""
    for number in range(count):
        yield row(number, seed)


def _item(rng: random.Random) -> str:
    """Mostly a name and a value; sometimes one without the other, or with a separator where none belongs."""
    (name,) = rng.choices(NAMES, _WEIGHTS)
    usual = _USUAL.get(name)
    value = rng.choice(usual) if usual and rng.random() < 0.5 else rng.choice(_VALUES)(rng)
    odd = rng.random()
    if odd < 0.9:
        return f"{name}{NAME_VALUE_SEPARATOR}{value}"
    between = NAME_VALUE_SEPARATOR
    return rng.choice(
        (
            name,
            f"{name}{between}",
            f"{between}{value}",
            f"{name}{between}{between}{value}",
            f"{name}{between}{value}{between}",
            f"{name}{between}{value}{between}{between}",
            f"{name}{between}{value}{between}{value}",
            f"{name}{between}{value}{PROPERTY_SEPARATOR}{value}",
            f"{name.swapcase()}{between}{value}",
            f" {name}{between}{value}",
        )
    )


def _whole(rng: random.Random) -> str:
    """A whole number near a bound, or small: with a sign, zeros before it, digits of one script or of several."""
    value = rng.choice(_BOUNDS) + rng.randrange(-2, 3) if rng.random() < 0.5 else rng.randrange(-20, 20)
    digits = "0" * rng.choice((0, 0, 0, 1, 25)) + str(abs(value))
    kind = rng.random()
    if kind < 0.3:
        zero = ord(rng.choice(_ZEROS))
        digits = "".join(chr(zero + int(digit)) for digit in digits)
    elif kind < 0.4:
        digits = "".join(chr(ord(rng.choice(_ZEROS)) + int(digit)) if rng.random() < 0.5 else digit for digit in digits)
    sign = "-" if value < 0 else rng.choice(("", "", "+"))
    return sign + digits


def _decimal(rng: random.Random) -> str:
    """A number with a point or an exponent."""
    value = rng.choice((rng.uniform(-20, 20), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-320, 308), 10.5, 1.5, 2.5))
    text = rng.choice(
        (repr, lambda number: f"{number:.3f}", lambda number: f"{number:e}", lambda number: f"{number:.20g}")
    )(value)
    if rng.random() < 0.1:
        text = value.hex()
    return rng.choice(("", "", "", "+", "0")) + text + rng.choice(("", "", "", "", "d", "F", "L", "e0"))


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS)


def _padded(rng: random.Random) -> str:
    """Any of the others with blanks around it that one reader trims and another does not."""
    inside = rng.choice((_whole, _decimal, _word))(rng)
    return rng.choice(_BLANKS) + inside + rng.choice(_BLANKS)


def _digit(rng: random.Random) -> str:
    """Plain small numbers, so that comparisons are true often enough."""
    return str(rng.randrange(12))


_VALUES: Final[tuple[Callable[[random.Random], str], ...]] = (_whole, _decimal, _word, _padded, _digit, _digit)
