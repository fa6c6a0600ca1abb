"""What expressions are worth: the articles' tables, three-valued logic, conversions, errors."""

from __future__ import annotations

import itertools

import pytest

from rmqlab.filter.sql92 import JavaError, compile_sql92
from rmqlab.filter.sql92.evaluation import DEEPEST_EVALUATION, evaluate_in_steps

TEN = [{"TAGS": "Tag" + "ABC"[i % 3], "a": str(i)} for i in range(10)]
NUMBER = ("RuntimeException", "NumberFormatException")
CAST = ("ClassCastException", None)


def value(text, version="4.8.0", **properties):
    """The value, or (error, cause); the two ways to evaluate must agree."""
    compiled = compile_sql92(text, version)
    root = evaluate_in_steps(compiled.root, properties).root
    in_steps = root.value if root.error is None else (root.error.java_name, root.error.cause_name)
    try:
        result = compiled.evaluate(properties)
    except JavaError as error:
        result = error.java_name, error.cause_name
    assert in_steps == result
    return result


@pytest.mark.row("F-10", "F-11", "F-12")
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(TAGS is not null and TAGS in ('TagA', 'TagB'))and (a is not null and a between 0 and 3)", [0, 1, 3]),
        ("TAGS is not null and TAGS in ('TagA', 'TagB')", [0, 1, 3, 4, 6, 7, 9]),
    ],
)
def test_the_ten_messages(text, numbers):
    compiled = compile_sql92(text)
    assert [i for i, properties in enumerate(TEN) if compiled.matches(properties)] == numbers


@pytest.mark.row("F-13", "F-14", "F-17", "F-18", "F-19", "F-20", "F-22", "F-24")
@pytest.mark.parametrize(
    ("text", "properties", "expected"),
    [
        ("a IS NULL", {}, True),
        ("a IS NULL", {"a": "1"}, False),
        ("a IS NOT NULL", {}, False),
        ("a IS NOT NULL", {"a": "1"}, True),
        ("a IS NOT NULL AND a > 100", {"a": "101"}, True),
        ("a IS NOT NULL AND a > 100", {"a": "100"}, False),
        ("a IS NOT NULL AND a > 100", {}, False),
        *(
            ("a IS NOT NULL AND (a BETWEEN 10 AND 100)", {"a": str(n)}, inside)
            for n, inside in ((10, True), (100, True), (9, False), (101, False))
        ),
        *(
            ("a IS NOT NULL AND (a NOT BETWEEN 10 AND 100)", {"a": str(n)}, outside)
            for n, outside in ((9, True), (101, True), (10, False), (100, False))
        ),
        ("a NOT BETWEEN 10 AND 100", {}, None),
        ("a IS NOT NULL AND (a IN ('abc','def'))", {"a": "abc"}, True),
        ("a IS NOT NULL AND (a IN ('abc','def'))", {"a": "x"}, False),
        ("a NOT IN ('abc','def')", {"a": "x"}, True),
        ("a NOT IN ('abc','def')", {"a": "abc"}, False),
        ("a NOT IN ('abc','def')", {}, None),
        ("a IS NOT NULL AND (a='abc' OR a<>'def')", {"a": "abc"}, True),
        ("a IS NOT NULL AND (a='abc' OR a<>'def')", {"a": "xyz"}, True),
        ("a IS NOT NULL AND (a='abc' OR a<>'def')", {"a": "def"}, False),
        ("a IS NOT NULL AND (a='abc' OR a<>'def')", {}, False),
        ("a <> 'def'", {}, None),
        ("a IS NOT NULL AND (a > 100) OR (b IS NULL)", {}, True),
        ("a IS NOT NULL AND (a > 100) OR (b IS NULL)", {"a": "50", "b": "1"}, False),
        ("a IS NOT NULL AND (a > 100) OR (b IS NULL)", {"a": "101", "b": "1"}, True),
    ],
)
def test_the_grammar_table(text, properties, expected):
    assert value(text, **properties) is expected


@pytest.mark.row("F-07")
def test_names_are_case_sensitive_and_the_tag_is_called_tags():
    assert value("A > 1", a="2") is None
    assert value("TAGS = 'TagA'", TAGS="TagA") is True


@pytest.mark.row("F-15", "F-16")
@pytest.mark.parametrize(
    ("text", "a", "expected"),
    [
        ("a > 100", "101", True),
        ("a > 100", "100.5", NUMBER),
        ("a > 100.0", "100.5", True),
        ("a > 100", "3000000000", NUMBER),
        ("a > 3000000000", "3000000001", True),
        ("a = 100", "100.0", NUMBER),
        ("a = 100.0", "100", True),
        ("a > 100", "", NUMBER),
        ("a > 1", "+2", True),
        ("a = 7", "007", True),
        ("a > 1", " 2", NUMBER),
        ("a > 1.5", " 2 ", True),
        ("a > 1.5", "2d", True),
        ("a > 1.5", "0x1p1", True),
        ("a > 1.5", "NaN", True),
        ("a > 4", "\uff15", True),
        ("a > 4.5", "\uff15", NUMBER),
        ("a > 1", "\U0001d7d3", NUMBER),
        ("a > 1", "1_0", NUMBER),
        ("a > 1", "0" * 5000 + "2", True),
        ("a > 1", "2" * 5000, NUMBER),
        ("a > -2147483648", "-2147483649", False),
        ("a > -2147483647", "-2147483649", NUMBER),
        ("1 < a", "2", True),
        ("a = TRUE", "tRuE", True),
        ("a = FALSE", "anything", True),
        ("TRUE = a", "true", CAST),
        ("a = -5", "-5", True),
        ("-a = 5", "5", None),
        ("a = 5", "x", NUMBER),
        ("a = 'x'", "x", True),
        ("'x' = a", "y", False),
    ],
)
def test_a_text_is_read_in_the_class_of_the_other_side(text, a, expected):
    assert value(text, a=a) == expected


@pytest.mark.row("F-16")
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("2", "10", False),
        ("1e1", "9.5", True),
        ("x", "1", NUMBER),
        ("NaN", "Infinity", True),
        ("-0", "0", False),
        ("0", "-0.0", True),
    ],
)
def test_two_properties_are_ordered_as_doubles(a, b, expected):
    assert value("a > b", a=a, b=b) == expected
    assert value("b < a", a=a, b=b) == expected


@pytest.mark.row("F-21")
def test_two_properties_are_equal_as_texts():
    assert value("a = b", a="1", b="1.0") is False
    assert value("a = b", a="1", b="1") is True
    assert value("a = b", b="1") is None
    assert value("a = b", a="1") is False
    assert value("a = b") is True
    assert value("a <> b") is False


@pytest.mark.row("F-23")
def test_not_without_brackets_fails_when_it_is_evaluated():
    assert value("NOT a = 'x'", a="y") == CAST
    assert value("NOT (a = 'x')", a="y") is True
    assert value("NOT a IS NULL") is True


@pytest.mark.row("F-27")
def test_a_property_alone_is_never_true():
    assert [value("a like 'x%'", **p) for p in ({}, {"a": "xy"}, {"a": "true"})] == [None, False, False]


TRUTH = {"t IS NULL": True, "b IS NULL": False, "n = 'x'": None, "b > 5": "E"}
AND = {(True, True): True, (True, False): False, (False, True): False, (False, False): False}
AND |= {(True, None): None, (None, True): None, (None, None): None, (False, None): False, (None, False): False}


@pytest.mark.row("F-25")
@pytest.mark.parametrize(("one", "other"), list(itertools.product(TRUTH, repeat=2)))
def test_and_or_not_over_three_values_and_errors(one, other):
    properties = {"b": "y"}
    left, right = TRUTH[one], TRUTH[other]

    def combined(decisive, table):
        if left in {decisive, "E"}:
            return left
        return right if right == "E" else table(left, right)

    def told(text):
        result = value(text, **properties)
        return "E" if result == NUMBER else result

    negated = {True: False, False: True, None: None, "E": "E"}
    assert told(f"{one} AND {other}") == combined(False, lambda x, y: AND[x, y])
    assert told(f"{one} OR {other}") == combined(True, lambda x, y: negated[AND[negated[x], negated[y]]])
    assert told(f"NOT ({one})") == negated[left]
    assert compile_sql92(f"{one} AND {other}").matches(properties) is (left is True and right is True)


@pytest.mark.row("F-25")
def test_errors_come_in_the_order_of_evaluation():
    assert value("b IS NULL AND a > 5", a="x", b="1") is False
    assert value("a > 5 AND b IS NULL", a="x", b="1") == NUMBER
    assert value("a > b", b="x") is None
    assert value("b > a", b="x") is None


def test_without_any_properties_everything_is_absent():
    assert compile_sql92("a IS NULL").evaluate(None) is True
    assert compile_sql92("a > 5").evaluate(None) is None


@pytest.mark.parametrize(
    ("text", "a", "expected"),
    [
        ("a CONTAINS 'b'", "abc", True),
        ("a CONTAINS 'b'", "ac", False),
        ("a CONTAINS 'b'", None, False),
        ("a NOT CONTAINS 'b'", "ac", True),
        ("a NOT CONTAINS 'b'", None, False),
        ("a CONTAINS ''", "abc", False),
        ("a NOT CONTAINS ''", "abc", False),
        ("a STARTSWITH 'ab'", "abc", True),
        ("a NOT STARTSWITH 'ab'", "abc", False),
        ("a ENDSWITH 'bc'", "abc", True),
        ("a NOT ENDSWITH 'bc'", "ab", True),
        ("'abc' CONTAINS 'b'", None, True),
        ("5 CONTAINS '5'", None, False),
    ],
)
def test_the_operators_of_5_3_3_know_no_null(text, a, expected):
    assert value(text, "5.3.3", **({} if a is None else {"a": a})) is expected


@pytest.mark.parametrize("depth", [50, 150, 900])
def test_deep_trees_are_evaluated_without_recursion(depth):
    text = "(a = 1 AND " * depth + "b = 2" + ")" * depth
    compiled = compile_sql92(text)
    assert compiled.evaluate({"a": "1", "b": "2"}) is True
    assert compiled.evaluate({"a": "1", "b": "3"}) is False
    assert compiled.evaluate({"a": "1"}) is None


def test_a_tree_deeper_than_the_jvms_stack_fails_when_it_is_evaluated():
    fits = compile_sql92("a = 1" + " OR a = 2" * (DEEPEST_EVALUATION - 2))
    assert fits.evaluate({"a": "2"}) is True
    too_deep = compile_sql92("a = 1" + " OR a = 2" * (DEEPEST_EVALUATION + 1))
    with pytest.raises(JavaError) as caught:
        too_deep.evaluate({"a": "1"})
    assert caught.value.java_name == "StackOverflowError"
    assert not too_deep.matches({"a": "1"})
    assert evaluate_in_steps(too_deep.root, {"a": "1"}).root.error is not None
