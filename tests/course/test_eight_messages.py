"""The article's experiment: every printed figure and the invariants of its variants."""

from __future__ import annotations

import itertools

import pytest

from rmqlab.run.fates import Fate
from rmqlab.run.run_view import RunView
from rmqlab_tools.course.articles import e1_expected as article_e1
from rmqlab_tools.course.articles.eight_messages import CLIENT_IP, EightMessages

LOW, HIGH = f"{CLIENT_IP}@4711", f"{CLIENT_IP}@4902"


@pytest.fixture(scope="module")
def run():
    return EightMessages().run()


def bodies(run, *fates):
    return [fate.body for fate in run.fates if fate.fate in fates]


@pytest.mark.row("S-19", "S-20", "S-21", "S-22")
def test_send_results_are_the_articles(run):
    figures = article_e1.send_figures(run)
    assert len(figures) == 32
    assert [figure for figure in figures if not figure.equal] == []


@pytest.mark.row("S-16", "S-23", "S-24", "S-25", "S-26", "S-27", "S-28", "S-29", "S-30")
def test_prints_are_the_articles_letter_by_letter(run):
    printed = article_e1.printed()["printed"]
    assert printed["A"] == []
    assert len(printed["B"]) == 2
    assert {who: article_e1.lines_of(run, who) for who in printed} == printed


@pytest.mark.row("S-17", "S-31", "S-32", "S-33", "S-34", "S-35")
def test_conclusions_are_the_articles(run):
    assert [figure for figure in article_e1.conclusions(run) if not figure.equal] == []


@pytest.mark.row("S-33", "S-36", "S-82", "S-83")
def test_two_thieves_and_no_lag(run):
    assert bodies(run, Fate.DROPPED_BY_BROKER_TAG) == ["MsgStr0", "MsgStr1", "MsgStr2", "MsgStr3"]
    assert bodies(run, Fate.DELIVERED) == ["MsgStr4", "MsgStr5"]
    assert bodies(run, Fate.DROPPED_BY_CLIENT) == ["MsgStr6", "MsgStr7"]
    assert sum(fate.lost for fate in run.fates) == 6
    assert RunView(run).offsets == dict.fromkeys(range(4), (2, 2))


def test_figures_notice_a_difference():
    consumers = article_e1.consumer_figures(EightMessages(seed=1).run())
    figures = [*article_e1.send_figures(EightMessages(first_queue=1).run()), *itertools.chain(*consumers.values())]
    assert not all(figure.equal for figure in figures)
    assert not all(figure.equal for figure in article_e1.conclusions(EightMessages(start_order=("B", "A")).run()))


@pytest.mark.row("S-32", "S-84")
@pytest.mark.parametrize(
    ("order", "ids", "got"),
    [
        (("A", "B"), (LOW, HIGH), {"B": ["MsgStr4", "MsgStr5"]}),
        (("A", "B"), (HIGH, LOW), {"B": ["MsgStr6", "MsgStr7"]}),
        (("B", "A"), (LOW, HIGH), {"A": ["MsgStr2", "MsgStr3"]}),
        (("B", "A"), (HIGH, LOW), {"A": ["MsgStr0", "MsgStr1"]}),
    ],
)
def test_winner_follows_the_last_stamp_and_queues_follow_client_ids(order, ids, got):
    run = EightMessages(start_order=order, client_ids=dict(zip("AB", ids, strict=True))).run()
    outcome = run.outcome()
    assert {who: outcome.bodies_of(who) for who in "AB"} == {"A": [], "B": []} | got
    upper = max("AB", key=dict(zip("AB", ids, strict=True)).get)
    assert {queue for queue, owners in RunView(run).owners.items() if owners == [upper]} == {2, 3}


@pytest.mark.row("S-32")
def test_client_ids_are_compared_as_texts():
    run = EightMessages(client_ids={"A": f"{CLIENT_IP}@9980", "B": f"{CLIENT_IP}@10020"}).run()
    assert RunView(run).owners == {0: ["B"], 1: ["B"], 2: ["A"], 3: ["A"]}


@pytest.mark.row("S-15")
def test_tags_are_compared_with_their_case():
    run = EightMessages(tags={"A": "TagA", "B": "TagB"}).run()
    assert bodies(run, Fate.DROPPED_BY_BROKER_TAG) == [f"MsgStr{number}" for number in range(8)]
    assert not any(fate.lost for fate in run.fates)


@pytest.mark.row("S-07", "S-10")
def test_same_tags_lose_nothing_in_any_order():
    run = EightMessages(tags={"A": "tagA || tagB", "B": "tagB || tagA"}).run()
    assert bodies(run, Fate.DELIVERED) == [f"MsgStr{number}" for number in range(8)]


@pytest.mark.row("S-86")
def test_a_fast_clock_wins_whoever_starts_first():
    for order in itertools.permutations("AB"):
        view = RunView(EightMessages(start_order=order, skew_ms={"A": 3_600_000}).run())
        assert view.slots[-1].who == "A"
        assert {slot.who for slot in view.slots if slot.t > 1_000} == {"A"}


@pytest.mark.row("S-05")
def test_one_queue_has_one_owner_and_the_other_consumer_still_holds_the_slot():
    run = EightMessages(queues=1).run()
    assert RunView(run).owners == {0: ["A"]}
    assert bodies(run, Fate.DELIVERED) == []


@pytest.mark.row("S-84")
def test_both_outcomes_of_the_race_are_reached():
    winners = {RunView(EightMessages(gap_ms=3_000, seed=seed).run()).slots[-1].who for seed in range(12)}
    assert winners == {"A", "B"}


def test_delays_of_a_seed_repeat():
    assert EightMessages(seed=5).run().lines() == EightMessages(seed=5).run().lines()


def test_three_consumers():
    run = EightMessages(
        start_order=("A", "B", "C"),
        tags={who: f"tag{who}" for who in "ABC"},
        client_ids={who: f"{CLIENT_IP}@{number}" for number, who in enumerate("ABC", 1)},
        sending_order="ABCABCABC",
        queues=9,
        first_queue=0,
    ).run()
    # queues 0, 3 and 6 have tagA, and so on: one message of each tag lies with each owner
    assert bodies(run, Fate.DELIVERED) == ["MsgStr8"]
