"""The checks of notebook 13 by what was measured: right answers, wrong ones with the rule they break."""

from __future__ import annotations

import json

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.lab import cluster_times
from rmqlab.lab.cluster_times import GIB, stored_times
from rmqlab.lab.interval import Interval
from rmqlab.lessons.check import CheckFailed, judge
from rmqlab.lessons.checks_13 import ALONE, NEEDED, PLACE
from rmqlab.show.sweeps.cluster_pictures import cost_picture, guessed, play_cluster, same_answer, workers_picture

PLACES = [
    {"name": "local, 1 core", "cores": 1, "session": 6.0, "first": 4.0, "again": 1.0, "data": 10.0, "swing": 0.1},
    {"name": PLACE, "cores": 2, "session": 20.0, "first": 15.0, "again": 2.0, "data": 10.0, "swing": 0.0},
]


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Ten CPU seconds a GiB at both places, on one core 9 to 11; 10 s before the first byte there, 35 s elsewhere."""
    (tmp_path / "cluster").mkdir()
    text = json.dumps({"bytes": GIB, "messages": 1_000, "places": PLACES, "answers": []})
    (tmp_path / "cluster" / "times.json").write_text(text)
    monkeypatch.setattr(cluster_times, "folder", lambda name: tmp_path)
    return stored_times()


def test_right_answers(measured):
    # 20,480 s of data, 565 s left of ten minutes
    assert "37 would just do" in repr(rmqlab.check("13-size", 37))
    assert "37 would just do" in repr(rmqlab.check("13-size", 49))
    # 10 + 10 x = 35 + 5 x
    assert "From 5 GiB on" in repr(rmqlab.check("13-worth", 5.0))
    needed = {name for name, wanted in NEEDED.items() if wanted}
    assert "These three" in repr(rmqlab.check("13-needs", needed))


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("13-size", 36, "36 are too few"),
        ("13-size", 50, "a third too many"),
        ("13-size", 37.5, "whole number"),
        ("13-worth", 1, "1 GiB is not where"),
        ("13-worth", "five", "Give a number"),
        ("13-needs", {"a Java"}, "Something is missing"),
        ("13-needs", set(NEEDED), "No worker needs"),
        ("13-needs", {"a cup of tea"}, "Give a set of these"),
    ],
)
def test_wrong_answers_say_why(measured, name, answer, problem):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert problem in str(caught.value)


def test_what_was_measured_has_bounds_and_so_has_what_follows(measured):
    assert measured.place(ALONE).spent == Interval(10.0, 9.0, 11.0)
    found = measured.sizing(ALONE, 100.0)
    assert found.times == 100
    assert found.seconds(10) == Interval(110.0, 100.0, 120.0)
    assert [row[3] for row in cost_picture(measured).table.rows] == ["10.00 (9.00 to 11.00)", "10.00 (10.00 to 10.00)"]


def test_the_guess_stands_beside_what_came_out(measured):
    """One core has begun after 10 s, the cluster after 35 s, so a small store is done later there."""
    rows = guessed({"lines": 10, "small store": "twice as soon"}, [], measured).rows
    assert rows[0] == ("lines that change", 10, "0, as stored")
    assert rows[1] == ("a small store on two workers", "twice as soon", "later")


def test_pictures_say_what_was_measured(measured):
    assert "cluster, 2 workers: session 20.0, first job 15.0, the data 10.0" in cost_picture(measured).alt
    picture = workers_picture(measured, 2048)
    assert picture.table.rows[0] == (1, "342", "342", "342")
    assert "64 workers are done within 10 minutes by the upper bound" in picture.alt
    assert "no number here is surely enough" in workers_picture(measured, 2048, 0.5).alt
    play_cluster(measured, mode="static", store="1 GiB")


def test_answers_that_differ_are_marked():
    one = ("one core", "local[1]", 0, 10, 2, "aa")
    assert same_answer([one, ("cluster", "spark://HOST:PORT", 2, 10, 2, "aa")]).marked == frozenset()
    assert len(same_answer([one, ("cluster", "spark://HOST:PORT", 2, 10, 2, "bb")]).marked) == 2


def test_of_stored_answers_only_places_that_did_not_run_now_are_shown():
    one, cluster = ("one core", "local[1]", 0, 10, 2, "aa"), ("cluster", "spark://HOST:PORT", 2, 10, 2, "aa")
    table = same_answer([cluster], [one, (*cluster[:5], "old")])
    assert [(row[0], row[-1]) for row in table.rows] == [("cluster", "just now"), ("one core", "stored")]
    assert not table.marked
    assert len(same_answer([(*cluster[:5], "bb")], [one]).marked) == 2


def test_what_is_committed_is_sound():
    """More work costs more, a cluster starts later, and every place gave the same answer."""
    times = stored_times()
    alone, shared = times.place(ALONE), times.place(PLACE)
    assert all(one.spent.low > 0 < one.again for one in times.places)
    assert shared.fixed > alone.fixed
    assert len(times.answers) == 3
    assert len({one[5] for one in times.answers}) == 1


def test_times_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_times, "folder", lambda name: tmp_path)
    with pytest.raises(BadInput, match=r"times\.json cannot be read"):
        stored_times()
