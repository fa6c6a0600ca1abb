"""What a wrong answer gets: a hint, then the rule, then the evidence, and never the answer."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab_tools.course.check import STEPS, CheckFailed, NotYet, checks, explained
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.tables import Table
from tests.course.test_checks_01 import FATES

WRONG = FATES | {
    "delivered": ["MsgStr2", "MsgStr6", "MsgStr1"],
    "dropped by the broker": ["MsgStr3", "MsgStr5", "MsgStr7"],
}
NOTEBOOKS = sorted(path.stem for path in (ROOT / "data" / "tasks").glob("*.toml"))


def failing(answer):
    raise CheckFailed(
        "Think of the slot.",
        rule="One slot for all (S-77).",
        problem=f"It is not {answer}.",
        lines=["B writes <it>"],
        picture=Picture("<svg></svg>", title="Story", alt="B writes.", table=Table("none", ["a"], [])),
    )


@pytest.fixture
def one_check(monkeypatch):
    monkeypatch.setitem(checks("01"), "01-other", failing)


def test_each_step_says_more():
    texts = [repr(rmqlab.check("01-predict", WRONG, show=show)) for show in STEPS]
    first, second, third = texts
    assert first.startswith("01-predict: not yet. ")
    assert len(first.splitlines()) == 2
    assert first.endswith('More: rmqlab.check("01-predict", answer, show="rule")')
    assert "MsgStr" not in first + second
    assert "Rule: " in second
    assert "In Java: ConsumerGroupInfo.updateSubscription" not in first
    assert 'MsgStr1 (tagB) is not "delivered"' in third
    assert "More:" not in third


def test_the_marks_in_plain_text_are_the_same_in_every_language(monkeypatch):
    monkeypatch.setenv("RMQLAB_LANG", "zh")
    assert repr(rmqlab.check("01-predict", WRONG)).startswith("01-predict: not yet. ")
    assert repr(rmqlab.check("01-predict", FATES)).startswith("01-predict: right. ")


@pytest.mark.parametrize("value", [None, True, False])
def test_what_a_function_gave_stays_as_it_is_in_every_language(monkeypatch, value):
    """No choice of a quiz may be one of these words: it was translated here too."""
    monkeypatch.setenv("RMQLAB_LANG", "zh")
    assert f"返回 {value}。" in repr(rmqlab.check("03-compare", lambda text, number: value, show="evidence"))


def test_nothing_is_raised_and_the_answer_counts_as_false(one_check):
    assert not rmqlab.check("01-other", 5)
    assert rmqlab.check("01-predict", FATES)
    assert "Your turn" in repr(rmqlab.check("01-predict", {"delivered": [...]}))
    assert "cannot be judged" in repr(rmqlab.check("01-predict", dict.fromkeys(FATES, 5)))


def test_the_rule_itself_is_no_answer():
    """Else every task that asks for a rule is solved without a line of one's own."""
    answer = rmqlab.RULES["4.8.0"].is_matched_by_consume_queue
    assert "Write the function yourself" in repr(rmqlab.check("02-broker", answer))


def test_html_says_the_same_and_shows_the_picture(one_check):
    hint, rule, evidence = (rmqlab.check("01-other", 5, show=show)._repr_html_() for show in STEPS)
    assert "Think of the slot." in hint
    assert "updateSubscription" not in hint
    assert "ConsumerGroupInfo.updateSubscription" in rule
    assert "<svg" not in rule
    assert "B writes &lt;it&gt;" in evidence
    assert "<svg" in evidence
    assert "Story" in repr(rmqlab.check("01-other", 5, show="evidence"))


def test_a_reply_without_a_rule_leads_to_the_evidence():
    assert NotYet("x", "hint", CheckFailed("Think.", problem="no")).next_step == "evidence"
    assert NotYet("x", "hint", CheckFailed("Give a number.")).next_step is None


def test_rows_are_put_into_words():
    assert explained("Plain.") == "Plain."
    text = explained("Widen first (S-02, F-95).")
    assert text.startswith("Widen first.\nSee the article on subscriptions, the article on filters.")
    assert text.endswith("In Java: PullAPIWrapper.processPullResult.")


@pytest.mark.parametrize(("name", "show", "text"), [
    ("01-predcit", "hint", "did you mean 01-predict?"), ("01-predict", "evidenc", "did you mean evidence?"),
])  # fmt: skip
def test_unknown_names_are_told_what_is_near(name, show, text):
    with pytest.raises(BadInput) as caught:
        rmqlab.check(name, 1, show=show)
    assert text in str(caught.value)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_an_open_answer_and_a_strange_one_get_a_reply(notebook):
    for name in checks(notebook):
        for answer in (..., None, [...]):
            assert isinstance(rmqlab.check(name, answer), NotYet), (name, answer)
