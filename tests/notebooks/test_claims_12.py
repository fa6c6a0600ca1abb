"""What notebook 12 and its tasks say, sentence by sentence; the cells assert the law and its factors themselves."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.rules import RULES
from rmqlab.scenario.schedule import Timing
from rmqlab_tools.course.checks_12 import RING, ring
from rmqlab_tools.course.sweeps_12 import TagGroup, loss_run, starting_scenario, stored_sweep, timing_of
from tests.search.recorded_races import SETS, recorded_races

LESSON = "12_distributions"
SETTING = (
    "Three members and three queues, as a film:",
    "The topic has eight queues.",
    "Here are the usual row and the four changes.",
    "A row is one cluster: some members, some queues",
    "Five seconds later each queue gets one message of each tag.",
    "SQL puts both side by side.",
    "The column law is 1/n² for n members;",
    "Do these runs lose the same?",
    "Another file has what the explorer reached with a budget of runs for each row.",
    "Neither sweep goes through every order.",
    "The same tools serve the third article, on heartbeats.",
    "Three numbers and one rule decide.",
    "let the client's machine go at one of 12 moments of its period, and wait.",
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
HOUR_S, DECIMATED = 3_600, 0.1


def loss(**fixed):
    """The rows of the sweep `loss` with these values."""
    return [one for one in stored_sweep("loss").good if all(one[axis] == value for axis, value in fixed.items())]


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "one row for each combination of six factors.",
    "Each row has twelve runs of the whole broker and its clients, with times drawn by chance.",
    "The stored sweep has twelve runs drawn by chance for each row.",
)
def test_the_sweep_has_every_combination():
    rows = stored_sweep("loss").good
    values = {axis: {one[axis] for one in rows} for axis in AXES}
    assert {tuple(one[axis] for axis in AXES) for one in rows} == set(product(*values.values()))
    assert {one["runs"] for one in rows} == {len(one["each"]) for one in rows} == {12}


@pytest.mark.claim(
    "A quarter of the messages arrives.",
    "Three of the four changes leave the share as it was.",
    "So neither more queues nor a faster network helps.",
    "A tag that both ask for helps: that tag passes the broker, whichever subscription the broker holds, and each member keeps its messages in its own queues.",
    "Why. A shared tag passes both checks, whoever owns the queue.",
)
def test_what_each_change_brings(shown):
    (usual,) = loss(**USUAL)
    assert usual["delivered"] == 1 / 4
    changes = {
        "queues": {"queues": 16},
        "gap": {"gap_ms": 60_000},
        "network": {"delay_us": 200},
        "tag": {"shared": 1},
    }
    gained = {
        name: loss(**{**USUAL, **change})[0]["delivered"] - usual["delivered"] for name, change in changes.items()
    }
    assert sorted(gained.values()) == [0, 0, 0, 1 / 4]
    assert max(gained, key=gained.get) == "tag"
    assert "a_tag_that_both_ask_for      0.3      0.5" in shown["c12-changes"]
    # only messages with a member's own tag are lost, for each winner and owner that a run can have
    for members, shared in product((2, 3), (1, 2)):
        whole = shared / (members + shared)
        assert TagGroup(members, 12, shared).shares()["delivered"] == pytest.approx(whole + (1 - whole) / members**2)


@pytest.mark.row("S-45", "S-52")
@pytest.mark.claim(
    "Only the member that asks for this tag keeps the message.",
    "Without one of the two checks, 1/n arrives.",
    "Without both, everything arrives.",
    "With fewer queues than members this member owns none, and nothing arrives.",
    "1/n² of the messages arrive for n members with tags of their own, if the queues divide evenly.",
    "of nine messages one arrives.",
)
def test_the_law_and_where_it_ends(shown):
    """Live, each share is exact: the cells assert it; of the stored runs all but one are."""
    assert shown["c12-factors-hold"] == "'1/n², 1/n, 1/n and 1: in each run'"
    otherwise = []
    for one in loss(shared=0, gap_ms=1_000, delay_us=1_000, traffic="settled"):
        members, queues = one["members"], one["queues"]
        expected = queues // members / queues / members
        assert one["delivered"] == pytest.approx(expected, abs=0.001)
        otherwise += [arrived for arrived in one["each"] if arrived != queues // members]
    assert len(otherwise) == 1  # of the 240 runs of these 20 rows
    for members, queues in ((4, 16), (4, 6), (3, 8), (4, 2), (3, 3)):
        assert TagGroup(members, queues).shares()["delivered"] == pytest.approx(queues // members / queues / members)


@pytest.mark.claim("Your own sweep has one run a row, with frames of 1 ms.")
def test_a_frame_of_a_lab_takes_a_millisecond():
    import rmqlab

    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=5)
    assert {round(frame.arrives - frame.t, 1) for frame in lab.frames()} == {1}


@pytest.mark.claim(
    "In the stored rows each frame takes 1 to 2 ms, drawn by chance; in your rows it takes 1 ms.",
    "The twelve runs of a row have the same members, queues and messages.",
    "Only times differ: how long each frame takes, when the broker looks at its held pulls, and in which order the messages come.",
)
def test_what_the_runs_of_a_row_have_in_common():
    timing = timing_of(1_000)
    assert (min(timing.delays_us), max(timing.delays_us)) == (1_000, 2_000)
    assert len(timing.uptime_ms) > 1
    assert Timing(delays_us=timing.delays_us, uptime_ms=timing.uptime_ms) == timing  # all else is as usual
    first, second = (starting_scenario(2, 8, 0, 1_000, "settled", Random(seed)) for seed in (1, 2))
    assert (first.steps[:2], first.topics) == (second.steps[:2], second.topics)
    sent = [[(one.body, one.queue) for one in scenario.steps[2].messages] for scenario in (first, second)]
    assert sent[0] != sent[1]
    assert sorted(sent[0]) == sorted(sent[1])


@pytest.mark.claim(
    "Where the starts lie a second apart and the group has settled, 46 or 47 of 48 rows lose the same in each run: "
    "that loss is a law, and no accident.",
    "Where messages come while the group starts, it is 15 of 48 at most.",
    "There the loss depends on times, and twelve runs may not show each way in which it can end.",
)
def test_where_times_decide(shown):
    lines = [line.removesuffix("<").split() for line in shown["c12-chance"].splitlines()[2:]]
    alike = {(traffic, int(delay), int(gap)): int(same) for traffic, delay, gap, _, same, _ in lines}
    assert len(alike) == 12
    assert {line[3] for line in lines} == {"48"}
    assert {alike["settled", frame, 1_000] for frame in (1_000, 20_000)} == {46, 47}
    assert max(count for (traffic, _, _), count in alike.items() if traffic == "starting") == 15
    # a thirteenth run of a row that varies may lose what none of the twelve did
    row = loss(members=3, queues=8, shared=0, gap_ms=1_000, delay_us=1_000, traffic="starting")[0]
    group = {axis: row[axis] for axis in AXES}
    more = {sum(one.lost for one in loss_run(row["seed"], number, **group).fates) for number in range(12, 60)}
    assert more - {row["sent"] - one for one in row["each"]}


@pytest.mark.claim(
    "So 15 of the 16 rows say what can happen.",
    "They do not say that nothing else can happen.",
    "In a marked row the loss depends on the order of frames alone: members and messages are the same.",
)
def test_what_the_explorer_reached():
    rows = [one for one in stored_sweep("schedules").good if one["lag_ms"] == 0 and one["shared"] == 0]
    assert len(rows) == 16
    assert sum(one["exhausted"] for one in rows) == 1
    assert all(one["sent"] == one["members"] * one["queues"] for one in rows)
    assert any(one["lost_min"] < one["lost_max"] for one in rows)


@pytest.mark.row("S-84")
def test_who_wins_in_a_sweep_and_on_the_real_broker():
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
