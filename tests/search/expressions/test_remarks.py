"""What people write and do not mean (`field.jsonl`): what is said of it, what is to be written, and what that does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rmqlab.filter.filter import Filter
from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab_tools.search.expressions.remarks import REFUSED_CODE, doubts, remarks, sentence

FIELD = [json.loads(line) for line in (Path(__file__).parent / "field.jsonl").read_text(encoding="utf-8").splitlines()]
ALL = pytest.mark.parametrize("case", FIELD, ids=lambda case: f"{case['type']} {case['expr']}")


@ALL
def test_what_is_not_meant_is_said(case):
    said = [(str(sentence(one)), one.write) for one in doubts(case["type"], case["expr"])]
    assert any(case["says"] in text for text, _ in said), said
    assert case["write"] in [write for _, write in said], said


@pytest.mark.parametrize("case", [case for case in FIELD if case["write"]], ids=lambda case: case["expr"])
def test_what_is_to_be_written_does_what_is_meant(case):
    is_tag = case["type"] == "TAG" and "=" not in case["write"] and ">" not in case["write"]
    if is_tag:
        assert not doubts("TAG", case["write"])
        return
    compiled = compile_sql92(case["write"])
    assert not compiled.ignored
    for message in case.get("passes", ()):
        assert compiled.matches(message), message
    for message in case.get("drops", ()):
        assert not compiled.matches(message), message
    assert not [one.code for one in remarks("SQL92", case["write"]) if one.code in {REFUSED_CODE, "ignored-text"}]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("SQL92", "a > 5 AND b IN ('x', 'y')"),
        ("SQL92", "(a = '1' and b = '2') or (c = '3')"),
        ("SQL92", "(a = '1') and ((b = '2') or (c = '3'))"),
        ("SQL92", "((a = '1') and (b = '2')) or ((c = '3'))"),
        ("SQL92", "a BETWEEN 1 AND 2 OR c = 3"),
        ("SQL92", "TAGS = '北京'"),
        ("SQL92", "a = '＞ “x”'"),
        ("SQL92", "NOT (a = 'x') AND a IS NOT NULL"),
        ("SQL92", "SELECT = 'x' AND WHERE = 'y'"),
        ("TAG", "tagA || tagB"),
        ("TAG", "tag-A||tag.B||tag_C"),
        ("TAG", "北京 || 上海"),
        ("TAG", "*"),
        ("TAG", ""),
        ("TAG", "ORDER"),
        ("TAG", "tagA || "),
        ("TAG", "android"),
    ],
)
def test_what_is_right_is_left_alone(kind, text):
    assert doubts(kind, text) == ()


def test_an_unknown_type_names_the_near_one():
    (found,) = remarks("sql92", "a > 3")
    assert (found.code, found.advice) == (REFUSED_CODE, "did you mean SQL92?")


def test_remarks_say_where():
    assert [(one.start, one.end, one.column) for one in remarks("TAG", "😀 || tagA,tagB")] == [(6, 15, 7)]


@pytest.mark.parametrize("text", ["a ＞ 5", "地区 = '北京'", "a 😀 5", "a\u00a0= 5", "a\u200b= 5"])
def test_characters_are_shown_as_themselves_or_by_their_number(text):
    with pytest.raises(MQFilterException) as caught:
        compile_sql92(text)
    assert "\\" not in str(caught.value)
    char = next(char for char in text if not char.isascii())
    assert (repr(char) if char.isprintable() else f"U+{ord(char):04X}") in str(caught.value)


def test_a_tag_expression_is_examined_by_what_its_client_makes_of_it():
    for case in FIELD:
        if case["type"] == "TAG" and case["says"].endswith("in it"):
            assert len(Filter.of("T", case["expr"], "TAG").subscription.tags_set) == 1
