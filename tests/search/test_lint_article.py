"""The article's rule for a group: the same topics, the same tags, the same type. Its order of tags does not matter."""

from __future__ import annotations

import pytest

from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import LintGroup, LintMember


def compared(**members):
    """Lint of members with their topics; a text is a tag expression, or (expression, type)."""
    group = LintGroup("G")
    for client, table in members.items():
        texts = {topic: (text, "TAG") if isinstance(text, str) else text for topic, text in table.items()}
        group.hear(LintMember(client, {topic: build_subscription(topic, *text) for topic, text in texts.items()}))
    return lint(group)


def wishes(found, topic):
    """What members ask of a topic; the article wants one wish, be the others the same in meaning or not."""
    return [str(wish) for one in found.topics if one.topic == topic for wish in one.wishes]


@pytest.mark.row("S-07", "S-09")
@pytest.mark.parametrize(
    ("second", "differing"),
    [({"A": "*", "B": "*"}, []), ({"A": "*"}, ["B"]), ({"B": "*"}, ["A"]), ({"A": "*", "C": "*"}, ["B", "C"])],
)
def test_topics_must_agree(second, differing):
    found = compared(c1={"A": "*", "B": "*"}, c2=second)
    assert [one.topic for one in found.topics if one.verdict == "inconsistent"] == differing
    assert all(set(wishes(found, topic)) == {"TAG '*'", "nothing"} for topic in differing)


@pytest.mark.row("S-07", "S-10")
@pytest.mark.parametrize(
    ("text", "strict", "semantic"),
    [
        ("Tag1||Tag2", "consistent", "consistent"),
        ("Tag1", "inconsistent", "inconsistent"),
        ("Tag2", "inconsistent", "inconsistent"),
        ("Tag2||Tag1", "inconsistent", "consistent"),
        ("Tag1 || Tag2||Tag1", "inconsistent", "consistent"),
        ("*", "inconsistent", "inconsistent"),
        (" || ", "inconsistent", "inconsistent"),
    ],
)
def test_tags_must_agree_and_the_article_wants_their_order_too(text, strict, semantic):
    found = compared(c1={"B": "Tag1||Tag2"}, c2={"B": text})
    assert found.verdict == semantic
    assert ("consistent" if len(wishes(found, "B")) == 1 else "inconsistent") == strict


@pytest.mark.row("S-08")
def test_tag_and_sql92_do_not_mix():
    found = compared(c1={"B": "TagA"}, c2={"B": ("TAGS = 'TagA'", "SQL92")})
    assert wishes(found, "B") == ["TAG 'TagA'", "SQL92 \"TAGS = 'TagA'\""]
    assert any(note.startswith("B: TAG and SQL92 in one group") for note in found.notes)


@pytest.mark.parametrize(
    ("text", "verdict"), [("(a>5) ignored", "consistent"), ("a > 6", "inconsistent"), ("a >", "inconsistent")]
)
def test_expressions_are_compared_by_what_they_pass(text, verdict):
    assert compared(c1={"B": ("a > 5", "SQL92")}, c2={"B": (text, "SQL92")}).verdict == verdict


@pytest.mark.row("S-11")
@pytest.mark.parametrize("text", ["Tag1", "Tag2||Tag3"])
def test_groups_in_which_everybody_agrees(text):
    found = compared(**{f"C{i}": {"T": text} for i in (1, 2, 3)})
    assert found.verdict == "consistent"
    assert wishes(found, "T") == [f"TAG {text!r}"]
