"""The tables that notebook 01 shows."""

from __future__ import annotations

import pytest

from rmqlab.lab.articles.eight_messages import CLIENT_IP, EightMessages, eight_messages
from rmqlab.lab.articles.printed_e1 import NOT_PRINTED, Figure, FigureKind
from rmqlab.show import article


@pytest.fixture(scope="module")
def run():
    return eight_messages()


def test_article_and_run_stand_side_by_side(run):
    sent, consumed = article.send_results(run), article.consumer_prints(run)
    assert sent.caption.endswith("32 of 32 figures equal")
    assert consumed.caption.endswith("52 of 52 equal")
    assert consumed.folded
    assert article.five_conclusions(run).caption.endswith("5 of 5 equal; not printed there and not counted: 1")


def test_differences_are_marked():
    other = eight_messages(first_queue=0)
    assert article.send_results(other).marked == frozenset(range(8))
    assert article.five_conclusions(eight_messages(start_order=("B", "A"))).marked


def test_guess(run):
    table = article.guessed(run, {"A": 4, "B": 2})
    assert [row[2:] for row in table.rows] == [(4, 0), (2, 2)]
    assert table.marked == frozenset({0})


@pytest.mark.row("S-36", "S-83")
def test_offsets_show_a_lag_of_nothing(run):
    assert article.offsets(run).rows[-1] == ("all", 8, 8, 0, 2, 6)


@pytest.mark.row("S-21", "S-27", "S-29")
def test_ids_lie_one_record_apart(run):
    rows = article.ids_taken_apart(run).rows
    assert [row[4] for row in rows] == [None, *[197] * 7]
    assert {row[2] for row in rows} == {"172.16.1.15:10911"}
    assert rows[0][3] == 98_843_386_814


@pytest.mark.row("S-26")
def test_properties_have_four_writers():
    writers = {name: writer for name, _, writer in article.provenance(EightMessages()).rows}
    assert writers == {
        "TAGS": "the program",
        "WAIT": "the program",
        "UNIQ_KEY": "the producer's library",
        "CLUSTER": "the broker",
        "MIN_OFFSET": "the consumer's library",
        "MAX_OFFSET": "the consumer's library",
        "CONSUME_START_TIME": "the consumer's library",
    }


@pytest.mark.row("S-01", "S-12")
def test_a_push_consumer_only_pulls():
    rows = article.requests(EightMessages(), "A").rows
    assert {row[1] for row in rows if row[0] == "A"} == {
        "PULL_MESSAGE", "HEART_BEAT", "GET_CONSUMER_LIST_BY_GROUP", "QUERY_CONSUMER_OFFSET", "UPDATE_CONSUMER_OFFSET",
        "UNREGISTER_CLIENT",
    }  # fmt: skip
    assert {row[1:3] for row in rows if row[0] == "broker"} == {("NOTIFY_CONSUMER_IDS_CHANGED", 40)}
    assert {row[3] for row in rows} == {"4.8.0"}


@pytest.mark.row("S-30")
def test_clocks_disagree(run):
    table = article.clock_gaps(run)
    assert [(row[0], row[3], row[5]) for row in table.rows] == [("MsgStr4", 181, -79), ("MsgStr5", 166, -135)]
    assert table.marked == frozenset({0, 1})


@pytest.mark.row("S-32")
def test_ids_decide_who_owns_what():
    other = EightMessages(client_ids={"A": f"{CLIENT_IP}@9980", "B": f"{CLIENT_IP}@10020"})
    assert [row[3:] for row in article.ids_and_queues(EightMessages(), other).rows] == [
        ("0, 1", "2, 3"),
        ("2, 3", "0, 1"),
    ]


@pytest.mark.row("S-84")
def test_races():
    assert article.real_races().rows[-1] == ("all", 74, 62, 11, 1)
    ((gap, runs, last, first),) = article.simulated_races((3_000,), 12).rows
    assert (gap, runs, last + first) == ("3.000 s", 12, 12)
    assert last > first > 0


def test_what_the_article_did_not_print_is_never_equal():
    figures = [
        Figure("printed", 6, 6),
        Figure("printed", 6, 5),
        Figure("derived", 6, 6, FigureKind.FOLLOWS),
        Figure("ours", NOT_PRINTED, 6),
        Figure("ours, and it looks alike", NOT_PRINTED, NOT_PRINTED),
    ]
    table = article.beside("Figures", figures)
    assert table.caption == "Figures: 1 of 2 equal; not printed there and not counted: 3"
    assert [row[-1] for row in table.rows] == ["=", "differs", "follows", "", ""]
    assert table.marked == {1}
    assert [one.kind for one in figures] == [
        FigureKind.PRINTED,
        FigureKind.PRINTED,
        FigureKind.FOLLOWS,
        FigureKind.OURS,
        FigureKind.OURS,
    ]


def test_way_of_a_message(run):
    assert article.way(run, "MsgStr6").rows[0][1:] == ("broker", "stores MsgStr6 (tagB): queue 0, offset 1")
