"""`Double.toString` of OpenJDK 17 and before, which does not always print the shortest text (`1e23` does not).

Written from the algorithm's description: digits are made one by one from scaled fractions and stop as soon as the
rest cannot matter; the exponent is estimated first and the last digit rounded in the end (JDK `FloatingDecimal`).
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from rmqlab.message.java import to_int32, to_int64

_FRACTION_BITS = 52
_BIAS = 1023
_POWERS_OF_FIVE = 27  # those that fit into 63 bits; longer ones are taken for three bits a power


class _Digits(NamedTuple):
    """0.`text` times ten to the `exponent`."""

    text: str
    exponent: int


def double_to_text(value: float) -> str:
    """Print a double as OpenJDK 17 does."""
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    return f"{sign}0.0" if value == 0 else sign + _layout(_digits(abs(value)))


def _layout(digits: _Digits) -> str:
    text, exponent = digits
    if 0 < exponent < 8:
        return f"{text[:exponent].ljust(exponent, '0')}.{text[exponent:] or '0'}"
    if -3 < exponent <= 0:
        return f"0.{'0' * -exponent}{text}"
    return f"{text[0]}.{text[1:] or '0'}E{exponent - 1}"


def _digits(value: float) -> _Digits:
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    exponent, fraction = bits >> _FRACTION_BITS, bits & ((1 << _FRACTION_BITS) - 1)
    if exponent:
        fraction |= 1 << _FRACTION_BITS
        significant = _FRACTION_BITS + 1
    else:
        significant = fraction.bit_length()
        shift = _FRACTION_BITS + 1 - significant
        fraction <<= shift
        exponent = 1 - shift
    exponent -= _BIAS
    tail_zeros = (fraction & -fraction).bit_length() - 1
    fraction_bits = _FRACTION_BITS + 1 - tail_zeros
    tiny_bits = max(0, fraction_bits - exponent - 1)
    if tiny_bits == 0 and -21 <= exponent <= 62 and fraction_bits < 64:
        return _whole_number(fraction, exponent, significant)
    return _fraction(fraction, exponent, significant, tail_zeros)


def _whole_number(fraction: int, exponent: int, significant: int) -> _Digits:
    number = (
        fraction << (exponent - _FRACTION_BITS)
        if exponent >= _FRACTION_BITS
        else fraction >> (_FRACTION_BITS - exponent)
    )
    dropped = 0
    if exponent > significant:
        power = exponent - significant - 1
        dropped = int(power * math.log10(2)) if power > 1 else 0
    number, residue = divmod(number, 10**dropped)
    if dropped and residue >= 10**dropped >> 1:
        number += 1
    text = str(number)
    return _Digits(text.rstrip("0"), len(text) + dropped)


def _bits_of_power(power: int) -> int:
    return (5**power).bit_length() if 0 < power < _POWERS_OF_FIVE else 3 * power


def _fraction(fraction: int, exponent: int, significant: int, tail_zeros: int) -> _Digits:
    """Divide step by step: value = rest / scale, and half a unit in the last place = margin / scale."""
    fraction_bits = _FRACTION_BITS + 1 - tail_zeros
    tiny_bits = max(0, fraction_bits - exponent - 1)
    decimal = _estimate(fraction, exponent)
    rest5, scale5 = max(0, -decimal), max(0, decimal)
    rest2, scale2 = rest5 + tiny_bits + exponent, scale5 + tiny_bits
    margin2 = rest2 - significant
    rest2 -= fraction_bits - 1
    common = min(rest2, scale2)
    rest2, scale2, margin2 = rest2 - common, scale2 - common, margin2 - common
    if fraction_bits == 1:
        margin2 -= 1
    if margin2 < 0:
        rest2, scale2, margin2 = rest2 - margin2, scale2 - margin2, 0
    rest_bits = fraction_bits + rest2 + _bits_of_power(rest5)
    scale_bits = scale2 + 1 + _bits_of_power(scale5 + 1)
    rest = (fraction >> tail_zeros) * 5**rest5 << rest2
    scale = 5**scale5 << scale2
    margin = 5**rest5 << margin2
    # Small cases run in int or long arithmetic and wrap around; the others compare "not below" instead of "above".
    exact = not (rest_bits < 64 and scale_bits < 64)
    wrap = (lambda n: n) if exact else to_int32 if rest_bits < 32 and scale_bits < 32 else to_int64
    tens = scale * 10
    digits: list[int] = []
    low = high = False
    first = True
    while first or not (low or high):
        digit, rest = divmod(rest, scale)
        rest *= 10
        margin = wrap(margin * 10)
        if margin > 0:
            low = rest < margin
            high = rest + margin >= tens if exact else wrap(rest + margin) > tens
        else:
            low = high = True
        if first and digit == 0 and not high:
            decimal -= 1
        else:
            digits.append(digit)
        if first and (decimal < -3 or decimal >= 8):
            low = high = False
        first = False
    if high and (not low or _rounds_up(rest, tens, digits[-1])):
        decimal += _round_up(digits)
    return _Digits("".join(map(str, digits)), decimal + 1)


def _estimate(fraction: int, exponent: int) -> int:
    mantissa = 1 + (fraction & ((1 << _FRACTION_BITS) - 1)) / (1 << _FRACTION_BITS)
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


def _rounds_up(rest: int, tens: int, last: int) -> bool:
    return rest * 2 > tens or (rest * 2 == tens and last % 2 == 1)


def _round_up(digits: list[int]) -> int:
    """Add one to the last digit, in place; return 1 if the number got a digit longer (9.9 to 10), else 0."""
    index = len(digits) - 1
    while digits[index] == 9 and index > 0:
        digits[index] = 0
        index -= 1
    if digits[index] == 9:
        digits[0] = 1
        return 1
    digits[index] += 1
    return 0
