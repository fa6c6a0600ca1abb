"""The doctor, the witnesses, and the drawn tree."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmqlab
from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab_tools.search.expressions.answer import draw
from rmqlab_tools.search.expressions.examine import examine, looks_like_sql92
from rmqlab_tools.search.expressions.repair.repair import repair
from rmqlab_tools.search.expressions.satisfiability import NOT_TRUE, Can, Search


def codes(text, version="4.8.0", severity=None):
    findings = examine(compile_sql92(text, version))
    return [finding.code for finding in findings if severity in {None, finding.severity}]


def warned(text):
    return set(codes(text, severity="warning"))


@pytest.mark.row("F-16", "F-23", "F-27")
@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("a IS NOT NULL AND (a > 5.0)", set()),
        ("TAGS IN ('TagA','TagB')", set()),
        ("a LIKE 'x%'", {"ignored-text", "bare-property"}),
        ("WHERE a = 1", {"ignored-text"}),
        ("LENGTH(a) > 1", {"ignored-text"}),
        ("a = 010", {"ignored-text"}),
        ("a = 1 )", {"ignored-text"}),
        ("a = 1 -- note", {"ignored-text"}),
        ("a + 1 > 2", {"ignored-text", "bare-property"}),
        ("a = 1 AND b = 2 OR c = 3", {"or-brackets"}),
        ("(a = 1 AND b = 2) OR c = 3", set()),
        ("a BETWEEN 1 AND 2 OR c = 3", set()),
        ("a NOT BETWEEN 1 AND 2 AND c = 3", set()),
        ("NOT a = 'x'", {"not-binds-tight", "never"}),
        ("NOT (a = 'x')", set()),
        ("TRUE = a", {"boolean-left", "never"}),
        ("a = TRUE", set()),
        ("a > 5 AND a < 3", {"never"}),
        ("a > 5 AND a < 6", {"never"}),
        ("a > 5 AND a < 7", set()),
        ("a > 5.0 AND a < 6.0", set()),
        ("a = 'x' AND a = 'y'", {"never"}),
        ("a = ''", {"empty-text", "never"}),
        ("a IN ('x', '')", {"empty-text"}),
        ("a BETWEEN 5 AND -3", {"never"}),
        ("-a > 5", {"never"}),
        ("a = 6 AND a <> '6'", set()),
        ("a IS NULL OR a IS NOT NULL", {"always"}),
        ("b = 1 AND (a IS NULL OR a IS NOT NULL)", {"always"}),
        ("a = a", {"always"}),
        ("5 = 5", {"always"}),
        ("tags = 'TagA'", {"name-case"}),
        ("Color = 'x' OR color = 'y'", {"name-case"}),
        ("TAGS = 'Tag*'", {"wildcard"}),
        ("TAGS = 'TagA || TagB'", {"wildcard"}),
        ("TAGS NOT IN ('Tag%')", {"wildcard"}),
        ("NULL", {"never"}),
    ],
)
def test_warnings(text, warnings):
    assert warned(text) == warnings


@pytest.mark.row("F-08")
def test_the_switch_is_always_named_last():
    for text in ("a = 'x'", "a LIKE 'x'"):
        assert codes(text)[-1] == "switch"
    assert "enablePropertyFilter=true" in examine(compile_sql92("a = 'x'"))[-1].message


@pytest.mark.row("F-16", "F-22")
def test_notes():
    assert codes("a > 5") == ["throws", "switch"]
    assert codes("a > 5.5") == ["throws", "switch"]
    assert codes("a > b") == ["throws", "switch"]
    assert codes("a <> 'x'") == ["absent", "switch"]
    assert codes("a NOT IN ('x')") == ["absent", "switch"]
    assert codes("a <> 'x' OR a IS NULL") == ["switch"]
    assert codes("a IS NOT NULL AND NOT (a = 'x')") == ["switch"]
    assert codes("a <> 'x' AND a <> 'y%'") == ["absent", "wildcard", "switch"]
    assert codes("5 <> 'x'") == ["never", "switch"]
    assert codes("a BETWEEN 1 AND 2 AND a <> '1'") == ["throws", "absent", "switch"]
    assert codes("5 < 6") == ["always", "switch"]


def test_upgrades():
    assert "upgrade" in codes("a CONTAINS 'x'")
    assert "upgrade" in codes("CONTAINS = 'x'")
    assert codes("a CONTAINS 'x'", "5.3.3") == ["switch"]


def test_findings_say_where():
    finding = examine(compile_sql92("a = 1 AND\nb LIKE 'x'"))[-2]
    assert (finding.code, finding.line, finding.column) == ("ignored-text", 2, 3)
    assert "LIKE is no operator of 4.8.0" in finding.message


def test_a_tree_too_deep_to_evaluate_is_told():
    assert warned("a = 1" + " OR a = 1" * 7001) == {"too-deep"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a != 5", "<>"),
        ("a == 5", "single ="),
        ("a = 1 && b = 2", "AND and OR"),
        ("a = 1 || b = 2", "AND and OR"),
        ("tagA || tagB", "TAGS IN ('tagA', 'tagB')"),
        ("tagA||tag-B ||c", "TAGS IN ('tagA', 'tag-B', 'c')"),
        (" * ", "as SQL92 that is TRUE"),
        ("a * 3 > 4", "no arithmetic"),
        ("a = *", "neither wildcards nor arithmetic"),
        ("NOT a > 3", "write NOT (...) around"),
        ("NOT a BETWEEN 1 AND 3", "a NOT BETWEEN"),
        ("a IS TRUE", "write a = TRUE"),
        ("b = 1 AND a IS NOT FALSE", "write a <> FALSE"),
        ("a NOT LIKE 'r%'", "there is no LIKE"),
        (" ", "an expression is a condition"),
        ('a = "x"', "single quotes"),
        ("a = 1;", "semicolon"),
        ("a.b = 1", "a.b is no name"),
        ("a IN (1)", "IN ('1')"),
        ("a > 0.0", "compare with 0"),
        ("a = NULL", "IS NULL"),
        ("a > '100'", "without quotes"),
        ("a BETWEEN 3 AND 0", "lower bound"),
        ("a > 99999999999999999999", "9223372036854775807"),
        ("a = ", None),
    ],
)
def test_hints_for_refusals(text, told):
    with pytest.raises(MQFilterException):
        compile_sql92(text)
    meant = repair(text).told
    assert meant is None if told is None else told in meant


@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("a > 5", {"a": "6"}),
        ("a > 5.5 AND a < 5.7", {"a": "5.566666666666666"}),
        ("a IS NULL", {}),
        ("a IN ('x','y') AND b = TRUE", {"a": "x", "b": "true"}),
        ("a = 5 AND a <> '5'", {"a": "05"}),
        ("a <> 'x' AND a <> 'xx'", {"a": "xxx"}),
    ],
)
def test_a_message_that_passes(text, passing):
    compiled = compile_sql92(text)
    found = Search(compiled.root).find(Can.TRUE)
    assert found == (passing, False)
    assert compiled.matches(passing)


def test_a_near_miss_differs_in_one_property():
    search = Search(compile_sql92("a > 5 AND b = 'x'").root)
    assert search.near_miss({"a": "6", "b": "x"}) == {"a": "5", "b": "x"}
    assert Search(compile_sql92("a = a").root).near_miss({}) is None


def test_what_is_not_proven_is_not_claimed():
    search = Search(compile_sql92("a > b AND b > a").root)
    assert search.find(Can.TRUE) == (None, False)


CONDITIONS = st.sampled_from(
    [
        "a > 5", "a <= 3", "a = 4.5", "a BETWEEN 1 AND 6", "a IN ('5','x')", "a <> '5'", "a IS NULL", "NOT a",
        "b = TRUE", "b = 'q'", "b NOT IN ('q')", "b < 2.5", "b IS NOT NULL",
    ]
)  # fmt: skip
EXPRESSIONS = st.recursive(
    CONDITIONS, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner), max_leaves=5
)
ANY_VALUE = st.one_of(
    st.none(), st.sampled_from(["5", "4.5", "x", "q", "3", "true", "-1", "+5", "99"]), st.text(max_size=3)
)


@given(EXPRESSIONS, st.lists(st.tuples(ANY_VALUE, ANY_VALUE), max_size=20))
def test_witnesses_are_true_and_proofs_hold(text, rows):
    compiled = compile_sql92(text)
    search = Search(compiled.root)
    passing, failing = search.find(Can.TRUE), search.find(NOT_TRUE)
    assert passing.properties is None or compiled.matches(passing.properties)
    assert failing.properties is None or not compiled.matches(failing.properties)
    for a, b in rows:
        properties = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
        if compiled.matches(properties):
            assert not passing.proven
        else:
            assert not failing.proven


def test_the_tree_is_drawn_with_what_each_node_came_to():
    compiled = compile_sql92("TAGS = 'TagA' AND (a BETWEEN 1 AND 3 OR b IS NULL)")
    thrown = 'throws RuntimeException: java.lang.NumberFormatException: For input string: "5.5"'
    assert draw(compiled, {"TAGS": "TagA", "a": "5.5"}) == [
        f"AND                      = {thrown}",
        "├─ =                     = true",
        "│  ├─ TAGS               = 'TagA'",
        "│  └─ 'TagA' (String)    = 'TagA'",
        f"└─ OR                    = {thrown}",
        f"   ├─ BETWEEN, as AND    = {thrown}",
        f"   │  ├─ >=              = {thrown}",
        "   │  │  ├─ a            = '5.5'",
        "   │  │  └─ 1 (Integer)  = 1 (Integer)",
        "   │  └─ <=              not asked",
        "   │     ├─ a            = '5.5'",
        "   │     └─ 3 (Integer)  not asked",
        "   └─ IS NULL            not asked",
        "      └─ b               not asked",
    ]
    assert draw(compiled)[0] == "AND"


def test_long_texts_lists_and_deep_trees_are_cut():
    assert "... 20 in all" in draw(compile_sql92("a IN (" + ",".join(["'x'"] * 20) + ")"))[0]
    assert len(draw(compile_sql92(f"a = '{'x' * 500}'"), {"a": "x" * 500})[2]) < 200
    assert "..." in draw(compile_sql92("NOT " * 500 + "a"))[-1]


@pytest.mark.parametrize("text", ["TRUE", "TAGS IN ('tagA', 'tagB')", "a = TRUE", "a <> FALSE", "NOT (a > 3)", "a > 3"])
def test_what_the_hints_tell_to_write_is_accepted(text):
    assert not compile_sql92(text).ignored


def test_two_properties_compared_are_told():
    (finding, _) = examine(compile_sql92("color=red"))
    assert (finding.code, finding.severity) == ("two-properties", "warning")
    assert finding.message == "color and red are two properties, and their values are compared"
    assert finding.advice == "a text is written 'red'"
    assert warned("a = 1 AND color <> red") == {"two-properties"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a <> 'x' AND b = 'y'", "a message without a does not pass"),
        ("a <> 'x' OR b = 'y'", "for a message without a this is null: only another condition can let it pass"),
    ],
)
def test_a_message_without_a_property_is_said_not_to_pass_only_where_that_is_proven(text, told):
    message = next(one.message for one in examine(compile_sql92(text)) if one.code == "absent")
    assert message.startswith(told)
    passes = Search(compile_sql92(f"({text}) AND a IS NULL").root).find(Can.TRUE)
    assert (passes.properties is None) == ("does not pass" in told)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(a > 3 OR b = 1) AND FALSE", "(a > 3 OR b = 1) AND FALSE"),
        ("c = 1 OR ((a = 3) AND (b = 1 AND FALSE))", "(a = 3) AND (b = 1 AND FALSE)"),
        ("a = ')' AND a = '('", "a = ')' AND a = '('"),
    ],
)
def test_what_is_never_true_is_named_with_its_brackets(text, part):
    found = next(one for one in examine(compile_sql92(text)) if one.code == "never")
    assert found.message == f"{part} can never be true"
    assert text[found.start : found.end] == part


@pytest.mark.parametrize(
    ("text", "never"), [("a LIKE 'x'", True), ("b = 1 AND a LIKE 'x'", True), ("b = 1 OR a LIKE 'x'", False)]
)
def test_like_never_matches_only_where_that_is_proven(text, never):
    message = next(one.message for one in examine(compile_sql92(text)) if one.code == "ignored-text")
    assert message.startswith("LIKE is no operator of 4.8.0: only ")
    assert message.endswith(", and that never matches") == never
    passing = Search(compile_sql92(text).root).find(Can.TRUE)
    assert (passing.properties is None) == never


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a > 3", True), ("TAGS = 'x'", True), ("a IN ('x')", True), ("a IS NULL OR b = 1", True), ("a LIKE 'x'", True),
        ("NOT (a = 1)", True), ("tagA", False), ("tagA || tagB", False), ("*", False), ("", False), ("tag A", False),
        ("TRUE", False), ("a > ", False), ("5", False), ("tag-A", False),
    ],
)  # fmt: skip
def test_what_looks_like_sql92(text, is_one):
    assert looks_like_sql92(text) == is_one


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("-" * 10_000 + "a = 5", True),
        ("-" * 9_999 + "5 = a", True),
        ("a = '" + "x" * 400_000, False),
        ("a = " + "'" * 400_001, False),
        ("a <> 'x' AND " * 1_500 + "a = 1", True),
        ("NOT " * 4_000 + "a", True),
        ("(" * 4_000, False),
        ("a IN ('x' " * 400, False),
        ("/*" * 2_000, False),
    ],
    ids=lambda value: str(value)[:12],
)
def test_what_is_said_of_a_long_expression_takes_time_in_proportion(text, accepted):
    began = time.process_time()
    answer = rmqlab.sql92(text, {"a": "5"})
    assert answer.accepted is accepted
    assert time.process_time() - began < 5  # a hundredth of a second for each thousand characters, and a slow machine


def test_a_longer_expression_is_said_not_to_be_examined():
    (note, _) = examine(compile_sql92("a = 1 OR " * 2_300 + "b AND c = 1 OR d = 1"))
    assert (note.code, note.severity) == ("not-examined", "note")
    assert "of more than 20000 the conditions are not examined" in note.message
    assert repair("a == 1 AND " * 400 + "a = 1").write is None
