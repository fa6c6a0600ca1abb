"""What notebook 12 and its tasks say, sentence by sentence; the cells assert the law and its factors themselves."""

from __future__ import annotations

from itertools import product

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.lessons.checks_12 import RING, ring
from rmqlab.rules import RULES
from rmqlab.spark.sweeps.results import stored_sweep
from rmqlab.spark.sweeps.tag_group import TagGroup
from tests.lab.recorded_races import SETS, recorded_races

LESSON = "12_distributions"
SETTING = (
    "The topic has eight queues.",
    "Here are the usual row and the four changes.",
    "A row is one cluster: some members, some queues",
    "Five seconds later each queue gets one message of each tag.",
    "The stored rows come from a small model",
    "SQL puts both side by side.",
    "law is 1/n² for n members;",
    "The small model has heartbeats, stamps, rounds of load balancing and held pulls, and nothing more.",
    "A second file has both:",
    "A third file has what it reached with a budget of runs for each row.",
    "Neither is every order.",
    "The same tools serve the third article, on heartbeats.",
    "Three numbers and one rule decide.",
    "kill the client at one of 12 moments of its period",
    "You made some of its rows again, and SQL over both took a few lines.",
    "Runs by chance, one run, and every order are three different things.",
    "Write the share that arrives as a function share(members, queues, shared).",
    "shared counts the tags that all members ask for; each also asks for one tag of its own.",
    "When nothing changes any more, one message of each tag goes into each queue.",
    "With three members:",
    "tag0 || tag1, tag1 || tag2, tag2 || tag0.",
    "The topic has 12 queues.",
    "Members start one second apart, five seconds later each queue gets one message of each tag",
    "Run it for 2, 3, 4, 5 and 6 members",
    "Take those with a million clients (clients 1000000), a scan each 10 s",
    "fewer than 1,000 false alarms an hour",
)
AXES = ("members", "queues", "shared", "gap_ms", "delay_us", "traffic")
USUAL = {"members": 2, "queues": 8, "shared": 0, "gap_ms": 1_000, "delay_us": 1_000, "traffic": "settled"}
NEAR = 0.01
HOUR_S, DECIMATED = 3_600, 0.1


def loss(**fixed):
    """The rows of the sweep `loss` with these values."""
    return [one for one in stored_sweep("loss").good if all(one[axis] == value for axis, value in fixed.items())]


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "one row for each combination of six factors, a thousand runs a row.",
    "The stored one has a thousand runs drawn by chance.",
)
def test_the_sweep_has_every_combination():
    rows = stored_sweep("loss").good
    values = {axis: {one[axis] for one in rows} for axis in AXES}
    assert {tuple(one[axis] for axis in AXES) for one in rows} == set(product(*values.values()))
    assert {one["runs"] for one in rows} == {1_000}


@pytest.mark.claim(
    "A quarter of the messages arrives.",
    "Three of the four changes move the share by less than one in a hundred.",
    "A tag that both ask for helps: it passes the broker, whichever subscription the broker holds, and each member keeps it in its own queues.",
    "Why. A shared tag passes both checks, whoever owns the queue.",
)
def test_what_each_change_brings(shown):
    (usual,) = loss(**USUAL)
    assert usual["delivered"] == pytest.approx(1 / 4, abs=NEAR)
    changes = {
        "queues": {"queues": 16},
        "gap": {"gap_ms": 60_000},
        "network": {"delay_us": 200},
        "tag": {"shared": 1},
    }
    gained = {
        name: loss(**{**USUAL, **change})[0]["delivered"] - usual["delivered"] for name, change in changes.items()
    }
    assert sum(abs(one) < 1 / 100 for one in gained.values()) == 3
    assert max(gained, key=gained.get) == "tag"
    assert "a_tag_that_both_ask_for      0.3      0.5" in shown["c12-changes"]
    # only messages with a member's own tag are lost, for each winner and owner that a run can have
    for members, shared in product((2, 3), (1, 2)):
        whole = shared / (members + shared)
        assert TagGroup(members, 12, shared).shares()["delivered"] == pytest.approx(whole + (1 - whole) / members**2)


@pytest.mark.row("S-45", "S-52")
@pytest.mark.claim(
    "Only the member whose tag it is keeps it.",
    "Without one of the two checks, 1/n arrives.",
    "Without both, everything arrives.",
    "With fewer queues than members it owns none, and nothing arrives.",
    "1/n² of the messages arrive for n members with tags of their own, if the queues divide evenly.",
)
def test_the_law_and_where_it_ends(shown):
    """Live, each share is exact: the cells assert it; the stored rows lie beside."""
    assert shown["c12-factors-hold"] == "'1/n², 1/n, 1/n and 1: in each run'"
    for one in loss(shared=0, gap_ms=1_000, delay_us=1_000, traffic="settled"):
        members, queues = one["members"], one["queues"]
        expected = queues // members / queues / members
        assert one["delivered"] == pytest.approx(expected, abs=0.004)
    for members, queues in ((4, 16), (4, 6), (3, 8), (4, 2)):
        assert TagGroup(members, queues).shares()["delivered"] == pytest.approx(queues // members / queues / members)


@pytest.mark.claim("Your own sweep has one run a row, with frames of 1 ms.")
def test_a_frame_of_a_lab_takes_a_millisecond():
    import rmqlab

    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=5)
    assert {round(frame.arrives - frame.t, 1) for frame in lab.frames()} == {1}


@pytest.mark.claim(
    "40 runs of the whole broker in each cell (each), and the share that the model gives.",
    "By chance alone, one cell in twenty is off.",
    "Where a frame takes 1 ms, or the starts lie a second apart, no more than two of 12 cells are off: there the model may "
    "stand for the whole broker.",
    "It may not where members start together or 100 ms apart, and a frame takes 20 ms.",
    "There 10 and 7 of 12 are off, and less arrives than the model says.",
)
def test_where_the_model_may_stand_for_the_whole_broker(shown):
    assert {one["runs"] for one in stored_sweep("loss_whole").good} == {40}
    lines = [line.removesuffix("<").split() for line in shown["c12-model"].splitlines()[2:]]
    off = {(traffic, int(delay), int(gap)): (int(count), float(less)) for traffic, delay, gap, _, count, less in lines}
    assert len(off) == 12
    assert {line[3] for line in lines} == {"12"}
    assert all(count <= 2 for (_, frame, gap), (count, _) in off.items() if frame == 1_000 or gap == 1_000)
    assert [off["starting", 20_000, gap][0] for gap in (0, 100)] == [10, 7]
    assert all(off["starting", 20_000, gap][1] < 0 for gap in (100, 0))
    assert 2 * 0.025 == 1 / 20  # 1.96 standard errors on either side


@pytest.mark.claim(
    "So 15 of the 16 rows say what can happen.",
    "They do not say that nothing else can.",
    "In a marked row the loss depends on the order of frames alone: members and messages are the same.",
)
def test_what_the_explorer_reached():
    rows = [one for one in stored_sweep("schedules").good if one["lag_ms"] == 0 and one["shared"] == 0]
    assert len(rows) == 16
    assert sum(one["exhausted"] for one in rows) == 1
    assert all(one["sent"] == one["members"] * one["queues"] for one in rows)
    assert any(one["lost_min"] < one["lost_max"] for one in rows)


@pytest.mark.row("S-84")
def test_who_wins_in_the_model_and_on_the_real_broker():
    """The last starter's stamp is the newest where the starts lie apart; real clients race."""
    shown = loss(members=2, shared=0, delay_us=1_000, traffic="settled")
    assert {one["last_wins"] for one in shown if one["gap_ms"] >= 100} == {1}
    races = recorded_races(*SETS)
    assert (sum(one.won_by_last for one in races), len(races)) == (62, 74)


@pytest.mark.row("H-41")
@pytest.mark.claim(
    "The stored rows have a million clients and a bad network: one beat in ten is lost.",
    "RocketMQ's own numbers are 30 s and 120 s: four beats.",
    "All four are lost one time in ten thousand.",
    "With a million clients that still makes 10,399 alarms an hour.",
    "Six beats leave 354 or 304.",
    "With twelve or more no alarm came up in this hour.",
    "Each further beat makes alarms ten times rarer.",
    "None makes them impossible.",
)
def test_false_alarms(shown):
    assert shown["c12-lost-beats"] == "{'10 s, 30 s': 3, '10 s, 60 s': 6, '30 s, 60 s': 2, '30 s, 120 s': 4}"
    rules = RULES["4.8.0"]
    assert (rules.heartbeat_period_ms, rules.channel_expired_ms) == (30_000, 120_000)
    rows = stored_sweep("heartbeats").good
    chosen = [one for one in rows if one["clients"] == 1_000_000 and one["lost"] and one["scan_ms"] == 10_000]
    assert {one["lost"] for one in chosen} == {DECIMATED}
    found = {
        (one["period_ms"] // 1_000, one["expiry_ms"] // 1_000): one["false_expiries_an_hour"] for one in chosen
    }  # fmt: skip
    assert found[30, 120] == 10_399
    assert (found[5, 30], found[10, 60]) == (354, 304)
    assert {number for (period, expiry), number in found.items() if expiry >= 12 * period} == {0}
    # a beat that arrives, then so many that are lost, where a scan falls into what is left of the silence
    for (period, expiry), number in found.items():
        lost = expiry // period
        if lost >= 2 and number:
            silent = (lost + 1) * period - expiry
            chance = min(silent / 10, 1) * DECIMATED**lost * (1 - DECIMATED) + (silent < 10) * DECIMATED ** (lost + 1)
            expected = 1_000_000 * HOUR_S / period * (1 - DECIMATED) * chance
            assert number == pytest.approx(expected, rel=0.15), (period, expiry)


@pytest.mark.row("S-45")
def test_notifications_of_a_group_that_starts_grow_with_the_square():
    rows = [one for one in stored_sweep("storms").good if one["gap_ms"] == 200]
    assert all(one["notifications"] == one["members"] * (one["members"] + 1) / 2 for one in rows)


@pytest.mark.claim(
    "The winner keeps both in its own queues.",
    "So 4/n² arrive.",
    "With five members it is a little less, because 12 queues do not divide evenly by five.",
)
def test_the_ring():
    for members in RING:
        found = ring(members)
        if 12 % members == 0:
            assert found == pytest.approx(4 / members**2)
        else:
            assert 0.9 * 4 / members**2 < found < 4 / members**2


@pytest.mark.claim("Why. Six beats fit into the expiry, so false alarms are rare, and a long period is cheap.")
def test_the_setting_that_the_query_finds(shown):
    import rmqlab

    assert repr(rmqlab.check("12-query", [{"period_ms": 10_000, "expiry_ms": 60_000}])).startswith("12-query: right.")
