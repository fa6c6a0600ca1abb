"""A group over time, driven by hand: who owned what when, two owners, gaps, and what a handover costs."""

from __future__ import annotations

from itertools import pairwise

import pytest

import rmqlab
from rmqlab.events import Rebalance, Restamp
from rmqlab.run.ownership import NOBODY, Ownership

EXPIRY_MS, SCAN_MS, REBALANCE_MS = 120_000, 10_000, 20_000
FEW_MS = 50


def group(strategies=None, **settings):
    """A, B and C join ten seconds apart on five queues; messages flow; 45 s after A's start."""
    lab = rmqlab.Lab(topics={"T": 5}, **settings)
    for who in "ABC":
        lab.consumer(who, group="G", subscribe={"T": "*"}, strategy=(strategies or {}).get(who, "avg"))
        flow(lab, 10)
    flow(lab, 15)
    return lab


def flow(lab, seconds):
    for _ in range(seconds // 5):
        lab.send("T", [None] * 5, queues=list(range(5)))
        lab.run(seconds=5)


def owners(lab, second):
    """The owners of each queue so many seconds after A's start."""
    at = lab.events().where(ev="starting")[0].t + second * 1_000
    found = {row.queue: row.owners for row in lab.owners() if row.since <= at < row.until}
    return [found[queue].replace(" and ", "") if found[queue] != NOBODY else "" for queue in sorted(found)]


def test_each_end_of_a_member_is_told_as_it_was():
    lab = rmqlab.Lab(topics={"T": 1})
    for silent in (True, False):
        lab.consumer("A", group="G", subscribe={"T": "*"})
        lab.run(seconds=5)
        lab.kill("A", silent=silent)
        lab.run(seconds=150)
    told = [event.what for event in Ownership(lab.finish().run).events]
    assert told == ["joins", "falls silent", "joins", "is killed"]


def test_a_name_that_goes_on_in_another_group_is_no_member_of_this_one():
    lab = rmqlab.Lab(topics={"T": 2})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "*"})
    lab.run(seconds=30)
    lab.stop("A")
    lab.consumer("A", group="H", subscribe={"T": "*"})
    lab.run(seconds=60)
    told = Ownership(lab.finish().run, "G")
    assert [(event.who, event.what) for event in told.events] == [("A", "joins"), ("B", "joins"), ("A", "leaves")]
    assert told.view.owners == {0: ["B"], 1: ["B"]}


def longest(lab, *, doubles, since=0):
    chosen = [row for row in lab.owners() if row.until > since and (row.members > 1 if doubles else not row.members)]
    return max((row.until - max(row.since, since) for row in chosen), default=0)


@pytest.fixture(scope="module")
def told():
    lab = group()
    lab.stop("B")
    flow(lab, 30)
    return lab


@pytest.fixture(scope="module")
def untold():
    lab = group(notifyConsumerIdsChangedEnable=False)
    lab.stop("B")
    flow(lab, 30)
    return lab


def notices(lab):
    return lab.frames().where(request="NOTIFY_CONSUMER_IDS_CHANGED")


def twice(lab):
    bodies = [row.body for row in lab.consumed()]
    return len(bodies) - len(set(bodies))


@pytest.mark.row("H-29", "S-85")
def test_who_is_told_divides_at_once(told):
    assert owners(told, 5) == ["A"] * 5
    assert owners(told, 15) == ["A", "A", "A", "B", "B"]
    assert owners(told, 30) == ["A", "A", "B", "B", "C"]
    assert owners(told, 55) == ["A", "A", "A", "C", "C"]
    assert len(notices(told)) == 1 + 2 + 3 + 2
    assert max(longest(told, doubles=True), longest(told, doubles=False)) < FEW_MS
    assert twice(told) == 0
    facts = told._run().facts
    stamps, rounds = ({(one.source, one.t) for one in facts.of(kind)} for kind in (Restamp, Rebalance))
    assert stamps == rounds  # stamped anew when its own queues changed, and only then


@pytest.mark.row("F-35", "H-46", "H-47", "H-48")
def test_who_is_not_told_finds_out_by_its_timer_and_until_then_two_own_a_queue_or_none(untold):
    assert len(notices(untold)) == 0
    assert owners(untold, 15) == ["A", "A", "A", "AB", "AB"]
    assert owners(untold, 43) == ["A", "A", "B", "B", "C"]
    for doubles in (True, False):
        assert 5_000 < longest(untold, doubles=doubles) <= REBALANCE_MS + FEW_MS
    assert twice(untold) >= 4
    assert not [fate for fate in untold.fates() if fate.lost]


def test_owners_follow_each_other_without_a_hole(untold):
    rows = untold.owners()
    end = max(row.until for row in rows)
    for queue in range(5):
        mine = [row for row in rows if row.queue == queue]
        assert mine[-1].until == end
        for one, other in pairwise(mine):
            assert one.until == other.since
            assert one.owners != other.owners
    held = sum(span.until - span.since for span in Ownership(untold._run()).spans)
    assert held == pytest.approx(sum((row.until - row.since) * row.members for row in rows))


def test_members_of_two_minds_never_agree():
    lab = group({"B": "circle"})
    flow(lab, 45)
    assert owners(lab, 30) == owners(lab, 89) == ["A", "AB", "", "", "BC"]
    assert {fate.queue for fate in lab.fates() if fate.fate == "no_owner"} == {2, 3}


@pytest.mark.row("H-46", "H-48")
@pytest.mark.parametrize(
    ("happen", "seconds", "double_ms", "gap_ms"),
    [
        (lambda lab: lab.kill("B"), 45, (0, FEW_MS), (0, FEW_MS)),
        (lambda lab: lab.kill("B", silent=True), 200, (0, FEW_MS), (90_000, EXPIRY_MS + SCAN_MS + REBALANCE_MS)),
        (lambda lab: lab.cut("B"), 45, (1_000, REBALANCE_MS + FEW_MS), (0, FEW_MS)),
        (lambda lab: lab.pause("B", 60_000), 90, (0, 0), (0, 0)),
        (lambda lab: lab.pause("B", 150_000), 200, (10_000, REBALANCE_MS + FEW_MS), (0, FEW_MS)),
    ],
    ids=("killed", "machine gone", "cut", "short pause", "long pause"),
)
def test_how_long_two_own_a_queue_or_nobody_does(happen, seconds, double_ms, gap_ms):
    lab = group()
    happen(lab)
    at = lab.events().where(ev="control")[0].t
    lab.run(seconds=seconds)
    for (low, high), doubles in ((double_ms, True), (gap_ms, False)):
        assert low <= longest(lab, doubles=doubles, since=at) <= high


def test_what_happened_to_members_has_its_name():
    lab = group()
    lab.pause("B", 10_000)
    lab.run(seconds=15)
    lab.kill("C", silent=True)
    lab.run(seconds=5)
    life = Ownership(lab._run())
    assert [(event.who, event.what) for event in life.events] == [
        ("A", "joins"), ("B", "joins"), ("C", "joins"), ("B", "pauses"), ("C", "falls silent"),
    ]  # fmt: skip
    assert life.events[3].ms == 10_000
    assert max(span.until for span in life.spans if span.who == "C") == life.events[4].t
    assert life.members == ["A", "B", "C"]


def test_ribbons_say_who_owned_what_and_mark_two_owners_and_none(untold, told):
    picture = untold.ribbons()
    assert "nobody is told anything" in picture.svg
    assert ">nobody<" in picture.svg
    assert "0 told · longest with two owners: 10.0 s" in picture.alt
    assert "queue 4: C" in picture.alt
    rows = picture.table.rows
    assert len(rows) == len(untold.owners())
    for number, row in enumerate(rows):
        assert (number in picture.table.marked) == (row[1] == NOBODY or " and " in row[1])
    other = told.ribbons()
    assert ">nobody<" not in other.svg
    assert "B leaves at 45 s" in other.alt
    assert other.svg == told.ribbons().svg


def test_a_recording_says_who_owned_what_too(golden):
    recorded = rmqlab.Lab.from_recording(golden / "broker-4.8.0" / "base", "p-article-000")
    last = [row for row in recorded.owners() if row.until == max(row.until for row in recorded.owners())]
    assert {(row.queue, row.owners) for row in last} == {(0, "A"), (1, "A"), (2, "B"), (3, "B")}
    assert "At the end queue 0: A, queue 1: A, queue 2: B, queue 3: B." in recorded.ribbons().alt
