"""Members of one group that want different things."""

from __future__ import annotations

import pytest

from rmqlab.filter.consistency import check
from rmqlab.filter.filter_api import build


def member(**topics):
    return [build(topic, *((text, "TAG") if isinstance(text, str) else text)) for topic, text in topics.items()]


@pytest.mark.row("S-07", "S-09")
@pytest.mark.parametrize(
    ("second", "found"),
    [
        ({"A": "*", "B": "*"}, []),
        ({"A": "*"}, ["topic of B: c1 has '*', c2 has nothing"]),
        ({"B": "*"}, ["topic of A: c1 has '*', c2 has nothing"]),
        (
            {"A": "*", "C": "*"},
            ["topic of B: c1 has '*', c2 has nothing", "topic of C: c1 has nothing, c2 has '*'"],
        ),
    ],
)
def test_topics_must_agree(second, found):
    assert [str(violation) for violation in check({"c1": member(A="*", B="*"), "c2": member(**second)})] == found


@pytest.mark.row("S-07", "S-10")
@pytest.mark.parametrize(
    ("text", "strict", "semantic"),
    [
        ("Tag1||Tag2", [], []),
        ("Tag1", ["tags"], ["tags"]),
        ("Tag2", ["tags"], ["tags"]),
        ("Tag2||Tag1", ["spelling"], []),
        ("Tag1 || Tag2||Tag1", ["spelling"], []),
        ("*", ["tags"], ["tags"]),
        (" || ", ["tags"], ["tags"]),
    ],
)
def test_tags_must_agree_and_the_article_wants_their_order_too(text, strict, semantic):
    members = {"c1": member(B="Tag1||Tag2"), "c2": member(B=text)}
    assert [violation.kind for violation in check(members)] == strict
    assert [violation.kind for violation in check(members, strict=False)] == semantic


@pytest.mark.row("S-08")
def test_tag_and_sql92_do_not_mix():
    members = {"c1": member(B="TagA"), "c2": member(B=("TAGS = 'TagA'", "SQL92"))}
    assert [violation.kind for violation in check(members, strict=False)] == ["type"]


def test_expressions_are_compared_by_their_tree():
    first = member(B=("a > 5", "SQL92"))
    assert check({"c1": first, "c2": member(B=("(a>5) ignored", "SQL92"))}, strict=False) == []
    assert [v.kind for v in check({"c1": first, "c2": member(B=("a > 6", "SQL92"))})] == ["expression"]
    assert [v.kind for v in check({"c1": first, "c2": member(B=("a >", "SQL92"))})] == ["expression"]


def test_class_mode_is_a_difference_of_its_own():
    other = member(B="*")
    other[0].class_filter_mode = True
    assert [violation.kind for violation in check({"c1": member(B="*"), "c2": other})] == ["class_filter"]


@pytest.mark.row("S-11")
def test_groups_in_which_everybody_agrees():
    groups = {"G1": "Tag1", "G2": "Tag2||Tag3"}
    assert all(check({f"C{i}": member(T=text) for i in (1, 2, 3)}) == [] for text in groups.values())
    assert check({}) == []
