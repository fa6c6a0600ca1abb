"""Numbers read and printed as Java does it; the expected texts came from OpenJDK 17."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.sql92.double_text import double_to_text
from rmqlab.filter.sql92.errors import JavaError
from rmqlab.filter.sql92.values import (
    Long,
    class_name,
    compare,
    compare_doubles,
    java_text,
    parse_double,
    parse_integer,
    parse_long,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (123456.789, "123456.789"),
        (1e23, "9.999999999999999E22"),
        (2e23, "1.9999999999999998E23"),
        (5e-324, "4.9E-324"),
        (sys.float_info.max, "1.7976931348623157E308"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (2.0**63, "9.223372036854776E18"),
        (2.0**53, "9.007199254740992E15"),
        (-1.5, "-1.5"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_print_as_in_openjdk_17(number, text):
    assert double_to_text(number) == text


@given(st.floats(allow_nan=False))
def test_every_printed_double_reads_back_as_itself(number):
    assert math.copysign(1, parse_double(double_to_text(number))) == math.copysign(1, number)
    assert parse_double(double_to_text(number)) == number


@pytest.mark.row("F-16")
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5.0),
        (" \t5.5\n", 5.5),
        ("\x005", 5.0),
        ("+.5e1", 5.0),
        ("5.", 5.0),
        ("5f", 5.0),
        ("5D", 5.0),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("1e-400", 0.0),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("0x1.8p1", 3.0),
        ("-0X.8P2f", -2.0),
        ("0x1p99999", math.inf),
        ("-0x1p99999", -math.inf),
        ("0x1p-99999", 0.0),
    ],
)
def test_texts_that_are_doubles(text, number):
    assert parse_double(text) == number


@pytest.mark.row("F-16")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty String"),
        (" \t", "empty String"),
        ("x", 'For input string: "x"'),
        (" x ", 'For input string: "x"'),
        ("1.2.3", "multiple points"),
        ("inf", 'For input string: "inf"'),
        ("nan", 'For input string: "nan"'),
        ("1_0", 'For input string: "1_0"'),
        ("\uff15", 'For input string: "\uff15"'),
        ("1e", 'For input string: "1e"'),
        (".", 'For input string: "."'),
        ("0x1", 'For input string: "0x1"'),
        ("5l", 'For input string: "5l"'),
        ("\u00a05", 'For input string: "\u00a05"'),
    ],
)
def test_texts_that_are_no_doubles(text, message):
    with pytest.raises(JavaError) as caught:
        parse_double(text)
    assert (caught.value.java_name, caught.value.text) == ("NumberFormatException", message)


@pytest.mark.row("F-16")
@pytest.mark.parametrize("text", ["0", "-0", "+7", "007", "2147483647", "-2147483648", "\u0663\u0664", "\uff11"])
def test_texts_that_are_integers(text):
    assert parse_integer(text) == parse_long(text) == int(text)
    assert isinstance(parse_long(text), Long)


@pytest.mark.row("F-16")
@pytest.mark.parametrize("text", ["", "+", "-", "5.0", " 5", "5 ", "1_0", "0x5", "2147483648", "\U0001d7d3", "--5"])
def test_texts_that_are_no_integers(text):
    with pytest.raises(JavaError) as caught:
        parse_integer(text)
    assert caught.value.text == f'For input string: "{text}"'


def test_texts_too_long_for_a_long():
    assert parse_long("-9223372036854775808") == -(2**63)
    assert parse_long("0" * 10_000 + "9223372036854775807") == 2**63 - 1
    for text in ("9223372036854775808", "1" + "0" * 10_000):
        with pytest.raises(JavaError):
            parse_long(text)


@given(st.floats(), st.floats())
def test_doubles_are_totally_ordered(one, other):
    assert compare_doubles(one, other) == -compare_doubles(other, one)
    if one < other:
        assert compare_doubles(one, other) < 0
    if one == other and math.copysign(1, one) == math.copysign(1, other):
        assert compare_doubles(one, other) == 0


@pytest.mark.parametrize(
    ("left", "right", "sign"),
    [
        (math.nan, math.nan, 0),
        (math.nan, math.inf, 1),
        (-0.0, 0.0, -1),
        (5, Long(5), 0),
        (Long(6), 5, 1),
        (5, 5.5, -1),
        (Long(2**63 - 1), 9.3e18, -1),
        (True, False, 1),
        (True, 1, -1),
        (1, True, -1),
        ("5", 5, 0),
        (5, "05", 0),
        ("true", True, 0),
        ("b", "a", 1),
        ("\uffff", "\U0001f600", 1),
    ],
)
def test_values_of_two_classes(left, right, sign):
    answer = compare(left, right)
    assert (answer > 0) - (answer < 0) == sign


def test_names_and_texts_of_values():
    assert [class_name(v) for v in (None, True, 5, Long(5), 5.0, "5")] == [
        "null", "Boolean", "Integer", "Long", "Double", "String",
    ]  # fmt: skip
    assert [java_text(v) for v in (None, True, 5, 5.0, "x")] == ["null", "true", "5", "5.0", "x"]
