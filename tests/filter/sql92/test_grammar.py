"""What 4.8.0 can parse, how it binds, where it stops, and how it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.parser import STACK
from rmqlab.filter.sql92.tokens import KEYWORDS, Tokens, position

ILLEGAL = "Illegal values of between"


def canonical(text, version="4.8.0"):
    return str(compile_sql92(text, version))


def refusal(text, version="4.8.0"):
    with pytest.raises(MQFilterException) as caught:
        compile_sql92(text, version)
    return caught.value


@pytest.mark.row("F-23", "F-26")
@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a=1 OR b=2 AND c=3", "((a == 1) || ((b == 2) && (c == 3)))"),
        ("a=1 AND b=2 OR c=3", "(((a == 1) && (b == 2)) || (c == 3))"),
        ("(a=1 OR b=2) AND c=3", "(((a == 1) || (b == 2)) && (c == 3))"),
        ("NOT a = 'x'", "((NOT a) == 'x')"),
        ("NOT (a = 'x')", "(NOT (a == 'x'))"),
        ("NOT a IS NULL", "((NOT a) == NULL)"),
        ("a = b > c", "(a == (b > c))"),
        ("a IS NOT NULL IS NULL", "((NOT (a == NULL)) == NULL)"),
        ("a between 1 and 3 and b = 2", "(((a >= 1) && (a <= 3)) && (b == 2))"),
        ("a NOT BETWEEN 1 AND 3", "((a < 1) || (a > 3))"),
        ("a between (b) and -c", "((a >= b) && (a <= (- c)))"),
        ("a IN ('x','y')and b", "(a IN ( x, y ) && b)"),
        ("a not in('x')", "a NOT IN ( x )"),
        ("-+-5 < + a", "((- (- 5)) < a)"),
        ("a > -(b)", "(a > (- b))"),
        ("'it''s' = a", "('it''s' == a)"),
        ("tRUE", "TRUE"),
        ("$a_1 = _b", "($a_1 == _b)"),
        ("a/*x*/=--y\n1", "(a == 1)"),
        ("a = 5L", "(a == 5)"),
        ("a = 1e3", "(a == 1000.0)"),
        ("a = .5 AND b = 5.", "((a == 0.5) && (b == 5.0))"),
    ],
)
def test_how_it_binds(text, tree):
    assert canonical(text) == tree


@pytest.mark.row("F-27")
@pytest.mark.parametrize(
    ("text", "read", "ignored"),
    [
        ("a like 'x%'", "a", "like 'x%'"),
        ("a contains 'x'", "a", "contains 'x'"),
        ("a + 1 > 2", "a", "+ 1 > 2"),
        ("a > 007", "(a > 0)", "07"),
        ("a IS NULL > 5", "(a == NULL)", "> 5"),
        ("(a = 1) )", "(a == 1)", ")"),
        ("a = 1 -- no line break", "(a == 1)", "-- no line break"),
        ("a = 1 /* done */", "(a == 1)", ""),
        ("a = 1 b = '\u20ac' '", "(a == 1)", "b = '\u20ac' '"),
    ],
)
def test_only_the_longest_valid_prefix_counts(text, read, ignored):
    compiled = compile_sql92(text)
    assert str(compiled) == read
    assert compiled.ignored == ignored


@pytest.mark.row("F-27")
def test_only_the_next_token_behind_the_prefix_must_lex():
    assert canonical("a = 1 b @") == "(a == 1)"
    assert refusal("a = 1 @").cause_name == "TokenMgrError"


@pytest.mark.row("F-15", "F-17", "F-18", "F-20", "F-21", "F-28")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a > 'abc'", "java.lang.RuntimeException: Value ''abc'' cannot be compared."),
        ("a IS NOT NULL AND a > 'abc'", "java.lang.RuntimeException: Value ''abc'' cannot be compared."),
        ("a > '100'", "java.lang.RuntimeException: Value ''100'' cannot be compared."),
        ("a > TRUE", "java.lang.RuntimeException: Value 'TRUE' cannot be compared."),
        ("(a > 1) > 2", "java.lang.RuntimeException: Value '(a > 1)' cannot be compared."),
        ("a = NULL", "java.lang.RuntimeException: 'NULL' cannot be compared."),
        ("TRUE = 5", "java.lang.RuntimeException: 'TRUE' cannot be compared with '5'"),
        (
            "a between 3 and 0",
            f"java.lang.RuntimeException: {ILLEGAL}, left value(3) must less than or equal to right value(0)",
        ),
        ("a between NULL and 1", f"java.lang.RuntimeException: {ILLEGAL}, values can not be null!"),
        ("a between 'x' and 5", 'java.lang.RuntimeException: java.lang.NumberFormatException: For input string: "x"'),
        ("(a) IN ('x') IN ('y')", "java.lang.RuntimeException: Expected a property for In expression, got: a IN ( x )"),
        ("a > 0.0", "java.lang.RuntimeException: 0.0 is less than 4.9E-324"),
        ("a > 1e400", "java.lang.RuntimeException: 1e400 is greater than 1.7976931348623157E308"),
        ("a > 9223372036854775808", 'java.lang.NumberFormatException: For input string: "9223372036854775808"'),
        (
            "'x' AND a",
            "org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: 'x'",
        ),
    ],
)
def test_what_is_refused_while_the_tree_is_built(text, message):
    assert refusal(text).java_message == message


@pytest.mark.row("F-28")
def test_the_largest_whole_numbers():
    assert canonical("a > 9223372036854775807") == "(a > 9223372036854775807)"
    assert canonical("a > -9223372036854775807") == "(a > (- 9223372036854775807))"


@pytest.mark.row("F-20", "F-21", "F-26")
@pytest.mark.parametrize(
    ("text", "cause", "line", "column", "told"),
    [
        ("a in (1,2)", "ParseException", 1, 7, "read 1, where a text in single quotes could stand"),
        ("a != 5", "TokenMgrError", 1, 3, "read '!', where a value, an operator or a bracket could stand"),
        ("a == 5", "ParseException", 1, 4, "read =, where NOT, TRUE, FALSE, NULL, a number,"),
        ("a =\n\tb = 'x", "TokenMgrError", 2, 13, "read a text without its closing quote, where ' could stand"),
        ("(a = 1", "ParseException", 1, 6, "read the end of the expression, where NOT,"),
        ("(a IS NULL 5", "ParseException", 1, 12, "read 5, where AND, OR, IS, =, <> or ) could stand"),
        ("a IS 5", "ParseException", 1, 6, "read 5, where NOT could stand"),
        ("a IS NOT 5", "ParseException", 1, 10, "read 5, where NULL could stand"),
        ("a NOT 5", "ParseException", 1, 3, "read NOT, where BETWEEN, IN, >, >=, < or <= could stand"),
        ("a BETWEEN 1 OR 2", "ParseException", 1, 13, "read OR, where AND could stand"),
        ("a IN ('x' 'y')", "ParseException", 1, 11, "read 'y', where , or ) could stand"),
        ("+ (a = ", "ParseException", 1, 7, "read the end of the expression, where NOT,"),
        ("a = /* never closed", "TokenMgrError", 1, 5, "read a comment without its end, where */ could stand"),
        ("a = .x", "TokenMgrError", 1, 5, "where a digit after the point could stand"),
        ("", "ParseException", 0, 0, "read the end of the expression"),
    ],
)
def test_refusals_say_where_what_was_read_and_what_could_stand_there(text, cause, line, column, told):
    error = refusal(text)
    assert (error.cause_name, error.line, error.column) == (cause, line, column)
    assert str(error).startswith(f"SQL92: line {line}, column {column}: ")
    assert told in str(error)
    assert error.error_message == "Invalid MessageSelector. "


@pytest.mark.row("F-98")
def test_the_brokers_words_for_a_syntax_error():
    assert refusal("a BETWEEN 00 AND 5").java_message == (
        "org.apache.rocketmq.filter.parser.ParseException: "
        'Encountered " <DECIMAL_LITERAL> "0 "" at line 1, column 12.\n'
        'Was expecting:\n    "AND" ...\n    '
    )


@pytest.mark.row("F-26")
def test_the_plus_checks_the_syntax_of_its_operand_first():
    # Without the plus the factory's error comes before the faulty character; with it the character comes first.
    assert refusal("(NULL = 5 @").cause_name == "TokenMgrError"
    assert refusal("(a > 'x') @").cause_name == "RuntimeException"
    assert refusal("+(a > 'x' @").cause_name == "TokenMgrError"
    assert refusal("+(a > 'x' ").cause_name == "ParseException"
    assert refusal("+(a > 'x')").cause_name == "RuntimeException"


@pytest.mark.row("F-26")
def test_words_are_reserved_in_any_case_and_names_keep_theirs():
    for word in KEYWORDS["4.8.0"]:
        assert refusal(f"{word.lower()} = 1").cause_name in {"ParseException", "RuntimeException"}
        assert canonical(f"{word}x = 1") == f"({word}x == 1)"
    assert canonical("Like = 1") == "(Like == 1)"
    assert refusal("a.b = 1").cause_name == "TokenMgrError"


@pytest.mark.row("F-74")
def test_5_3_3_reads_three_words_more():
    assert canonical("a NOT CONTAINS 'x'", "5.3.3") == "(NOT CONTAINS a)"
    assert canonical("a startswith 'x' and not b endswith 'y'", "5.3.3") == "((STARTSWITH a) && (ENDSWITH (NOT b)))"
    assert refusal("CONTAINS = 1", "5.3.3").cause_name == "ParseException"
    assert refusal("a CONTAINS 5", "5.3.3").cause_name == "ParseException"
    assert canonical("CONTAINS = 1") == "(CONTAINS == 1)"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("(" * 1000 + "a" + ")" * 1000, True),
        ("(" * 5000 + "a" + ")" * 5000, False),
        ("NOT " * (STACK - 1) + "a", True),
        ("NOT " * (STACK + 1) + "a", False),
        ("+ " * 5000 + "a", True),
        ("-(" * 200_000, False),
        ("a = 1" + " OR a = 1" * 9_000, True),
        ("a" + " IS NULL" * 9_000, True),
    ],
)
def test_too_deep_an_expression_gives_the_brokers_error_and_no_length_does(text, fits):
    if fits:
        assert str(compile_sql92(text))
    else:
        error = refusal(text)
        assert error.java_message == "java.lang.StackOverflowError"
        assert "too deeply" in str(error)


@given(st.text(st.sampled_from("ab5.'()=<>-+ \n/*,NOTINISeE\U0001f600"), max_size=30))
def test_any_text_is_compiled_or_refused_and_tokens_cover_it(text):
    try:
        compiled = compile_sql92(text)
    except MQFilterException:
        return
    units = Tokens(text, "4.8.0").text
    assert 0 <= compiled.rest.start <= len(units)
    assert str(compile_sql92(units[: compiled.rest.start])) == str(compiled)


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("", 0, (0, 0)),
        ("abc", 2, (1, 3)),
        ("abc", 3, (1, 3)),
        ("a\nb", 2, (2, 1)),
        ("a\r\nb", 3, (2, 1)),
        ("a\rb", 2, (2, 1)),
        ("a\tb", 2, (1, 9)),
        ("\t\tb", 2, (1, 17)),
        ("a\n", 1, (1, 2)),
    ],
)
def test_lines_and_columns_count_as_in_the_parser(text, offset, expected):
    assert position(text, offset) == expected
