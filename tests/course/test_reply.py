"""What a wrong answer gets: what goes wrong and a hint, then the rule, then the evidence, and never the answer."""

from __future__ import annotations

import re

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab_tools.course.article_places import places_in_words
from rmqlab_tools.course.check import STEPS, CheckFailed, NotYet, checks, explained, task_texts
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.tables import Table
from tests.course.test_checks_01 import FATES

WRONG = FATES | {
    "delivered": ["MsgStr2", "MsgStr6", "MsgStr1"],
    "dropped by the broker": ["MsgStr3", "MsgStr5", "MsgStr7"],
}
NOTEBOOKS = sorted(path.stem[-2:] for path in (ROOT / "rmqlab_tools" / "course").glob("checks_*.py"))


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
    assert len(first.splitlines()) == 3
    assert first.endswith('More: rmqlab.check("01-predict", answer, show="rule")')
    assert first.startswith('01-predict: not yet. MsgStr1 (tagB) is not "delivered".\nHint: For each message: ')
    assert "Rule: " in second
    assert "In Java: ConsumerGroupInfo.updateSubscription" not in first
    assert "MsgStr1 (tagB)" in third
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
    assert NotYet("x", "hint", CheckFailed("Think.", problem="no", lines=["why"])).next_step == "evidence"
    assert NotYet("x", "hint", CheckFailed("Give a number.")).next_step is None


def test_rows_are_put_into_words():
    assert explained("Plain.") == "Plain."
    text = explained("Widen first (S-02, F-95).")
    assert text.startswith(
        "Widen first.\nSee the article on subscriptions, 一、基本概念 (Basic terms). See the article on filters, "
        "4.1.2 客户端过滤 (Filtering in the client)."
    )
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


def odd_answers():
    """What people put in by mistake, and what nobody should."""
    yield from (
        0,
        7,
        -1,
        2.5,
        True,
        "",
        "x",
        "MsgStr2 MsgStr6",
        b"x",
        (),
        [],
        {},
        set(),
        [1, 2, 3],
        (1,),
        {"a": 1},
        {1: 2},
    )
    yield from (object(), int, len, rmqlab.Lab, Exception("x"), rmqlab.RULES["4.8.0"], rmqlab.RULES, float("nan"))
    yield (number for number in range(3))


def wrong_functions():
    """Functions that take, give, raise or change what they should not."""
    yield from (lambda: 1, lambda *_: None, lambda *_: ..., lambda *_: 1 / 0, lambda *_: (yield), lambda *_: "x")
    yield from (lambda *given: given, lambda *_: object(), lambda *_: [None], lambda *_: {"a": object()})

    def recursive(*given):
        return recursive(*given)

    yield recursive


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_no_answer_ends_in_an_error_of_python(notebook):
    """Whatever is given: a reply in words, without a traceback, and without the name of an error of our own code."""
    for name in checks(notebook):
        for answer in odd_answers():
            told = repr(rmqlab.check(name, answer))
            assert told.startswith(f"{name}: not yet. "), (name, answer)
            assert callable(answer) or not re.search(r"\w+Error\b(?!Rate)", told), (name, answer, told)
            assert told.splitlines()[0].removeprefix(f"{name}: not yet. "), (name, answer)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_no_function_ends_in_an_error_of_python(notebook):
    for name in checks(notebook):
        for function in wrong_functions():
            told = rmqlab.check(name, function)
            assert isinstance(told, NotYet), (name, function, told)
            assert "Traceback" not in repr(told)
            assert "<generator" not in repr(told), (name, told)


def test_every_row_has_a_place_in_its_article():
    for line in (ROOT / "data" / "mission" / "rows.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        letter, number = line.split("\t")[0].split("-")
        assert places_in_words([(letter, int(number))])[0].startswith("See the article on ")


def test_no_reply_shows_a_code_of_the_checklist():
    for notebook in NOTEBOOKS:
        for texts in task_texts(notebook).values():
            for text in (
                texts.get("rule", ""),
                *(case.get("rule", "") for case in texts.values() if isinstance(case, dict)),
            ):
                told = explained(text if isinstance(text, str) else " ".join(text))
                assert not re.search(r"\b[SFH]-\d+", told), told
