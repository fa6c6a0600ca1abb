"""What notebook 12 and its tasks say, sentence by sentence."""

from __future__ import annotations

from itertools import product

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.lab.groups.tag_group import TagGroup
from rmqlab.lab.recorded.races import SETS, recorded_races
from rmqlab.show.play.sweep import AXES, USUAL
from rmqlab.show.sweeps.sweep_tables import CHANGES
from rmqlab.show.sweeps.whole_pictures import cell_of, differences
from rmqlab.spark.sweeps.rerun import run_of_row
from rmqlab.spark.sweeps.whole_group import agreement
from rmqlab.spark.sweeps.reduced_group import GroupStart
from rmqlab.spark.sweeps.reduced_heartbeats import Heartbeats
from rmqlab.spark.sweeps.results import stored_sweep

LESSON = "12_distributions"
SETTING = (
    "Runs by the thousand need a small model.",
    "Two members, each with a tag of its own, eight queues",
    "Which change brings the most?",
    "The rows of the sweep, and what each change does to the share that arrives",
    "The whole broker, with 12 queues:",
    "First run by run: the same parameters and the same tags through both",
    "Lay some of both side by side before you believe the quick ones.",
    "Begin with the traffic, then try more members, and frames of 20 ms with no gap.",
    "All members' stamps race.",
    "These are the recordings in which two real consumers met on four queues:",
    "The same machinery for the third article",
    "A whole group starts, one member each 200 ms, through the whole broker.",
    "Any three axes.",
    "So each of them can be looked at alone",
    "Detection of silence is a matter of three periods; each second gained is paid in heartbeats.",
    "Now the tasks: predict three groups",
    "Three groups, given as members and queues.",
    "Every member has a tag of its own, one message of each tag goes into each queue.",
    "Find a number of members and of queues for which the share is at least a fifth away",
    "How many tags must all of them ask for, besides the one of their own?",
    "All tags are sent equally often.",
    "Ask for the same tags everywhere, or use a group for each tag.",
)
NEAR = 0.01
HOUR_S, DECIMATED = 3_600, 0.1


def loss(**fixed):
    """The rows of the sweep `loss` with these values."""
    return [one for one in stored_sweep("loss").good if all(one[axis] == value for axis, value in fixed.items())]


def alarms():
    """False alarms an hour of a million clients of which a tenth of the beats is lost, by period and expiry in s."""
    rows = stored_sweep("heartbeats").good
    chosen = [one for one in rows if one["clients"] == 1_000_000 and one["lost"] and one["scan_ms"] == 10_000]
    return {
        (one["period_ms"] // 1_000, one["expiry_ms"] // 1_000): one["false_expiries_an_hour"] for one in chosen
    }  # fmt: skip


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "So here are runs by the thousand, over every combination of a few factors: how many members the consumer group "
    "has, how many queues, how far apart they start, how slow the network is, and how many tags all members ask for, "
    "besides the one that each has to itself."
)
def test_the_sweep_has_every_combination():
    rows = stored_sweep("loss").good
    values = {axis: {one[axis] for one in rows} for axis in AXES}
    assert {tuple(one[axis] for axis in AXES) for one in rows} == set(product(*values.values()))
    assert {one["runs"] for one in rows} == {1_000}


@pytest.mark.claim(
    "eight queues: a quarter of the messages arrives.",
    "Three of the four change the share by less than one in a hundred.",
    "Asking for the same tag helps: what all members ask for passes both filters, whoever wins and whoever owns the queue.",
)
def test_what_each_change_brings():
    (usual,) = loss(**USUAL)
    assert usual["delivered"] == pytest.approx(1 / 4, abs=NEAR)
    gained = {
        name: loss(**{**USUAL, **change})[0]["delivered"] - usual["delivered"] for name, change in CHANGES.items()
    }
    assert sum(abs(one) < 1 / 100 for one in gained.values()) == 3
    assert max(gained, key=gained.get) == "a tag that both ask for"
    # only messages with a member's own tag are lost, for each winner and owner that a run can have
    for members, shared in product((2, 3), (1, 2)):
        whole = shared / (members + shared)
        assert TagGroup(members, 12, shared).shares()["delivered"] == pytest.approx(whole + (1 - whole) / members**2)


@pytest.mark.row("S-52")
@pytest.mark.claim(
    "they lie on the dashed one or below it.",
    "Two members deliver a quarter, four a sixteenth, and more queues do not lift them over it.",
    "Where the queues do not divide evenly among the members, less arrives here: three members on 8 queues deliver 0.0831.",
    "With one queue, or with fewer queues than members, nothing arrived at all: the winner owned no queue.",
    "That message then lies in some queue, and only the member whose tag it is will keep it.",
    "If the queues divide evenly, the winner owns one queue in n: one in n, of one in n.",
)
def test_the_law_and_where_it_ends():
    rows = loss(shared=0, gap_ms=1_000, delay_us=1_000, traffic="settled")
    assert len(rows) == 6 * 4
    for one in rows:
        members, queues = one["members"], one["queues"]
        law = 1 / members**2
        assert one["delivered"] < law + 0.004  # what chance leaves open
        if queues < members:
            assert one["delivered"] == 0
        elif queues % members == 0:
            assert one["delivered"] == pytest.approx(law, rel=0.07)
        else:
            assert one["delivered"] < 0.95 * law
    (three,) = [one for one in rows if (one["members"], one["queues"]) == (3, 8)]
    assert round(three["delivered"], 4) == 0.0831
    assert {members: TagGroup(members, 12).shares()["delivered"] for members in (2, 3, 4)} == {
        members: pytest.approx(1 / members**2) for members in (2, 3, 4)
    }


@pytest.mark.claim(
    "Here, where they differ, messages came while the group started.",
    "Those that came later fared alike in both, one by one.",
)
def test_run_by_run_the_model_differs_only_while_the_group_starts():
    def starts(first):
        return [
            GroupStart(members=members, queues=queues, gap_ms=gap, delay_us=1009, messages=16, every_ms=53,
                       first_ms=first)
            for members, queues in ((2, 4), (3, 7), (4, 9)) for gap in (53, 1009)
        ]  # fmt: skip

    early, late = (agreement(starts(first), seed=11) for first in (103, 5003))
    assert (late.runs, late.otherwise) == (late.same, 0)
    assert early.otherwise > 0


@pytest.mark.claim(
    "Once the group stands still (right) most marks lie on the line",
    "While it starts (left) more of them lie beside it.",
    "Of cells that chance alone moves, one in twenty would be off.",
    "So where a frame takes a millisecond, or the starts lie a second apart, the model may stand for the whole broker: no "
    "more than two cells of 12 are off.",
    "It may not where a group starts with frames of 20 ms and a gap of 100 ms or none: there 7 and 10 of 12 are off, and "
    "the whole broker delivers a little less than the model says.",
    "A small model may stand for the whole broker where the two were laid side by side and agreed, and there only.",
)
def test_where_the_model_may_stand_for_the_whole_broker():
    rows = differences(stored_sweep("loss_whole").good).rows
    off = {(traffic, frame, gap): (count, float(less)) for traffic, frame, gap, _, count, less in rows}
    assert {row[3] for row in rows} == {12}
    assert all(count <= 2 for (_, frame, gap), (count, _) in off.items() if frame == 1_000 or gap == 1_000)
    assert [off["starting", 20_000, gap][0] for gap in (100, 0)] == [7, 10]
    assert all(-0.03 < off["starting", 20_000, gap][1] < 0 for gap in (100, 0))
    settled, starting = (sum(one[0] for key, one in off.items() if key[0] == name) for name in ("settled", "starting"))
    assert settled < starting
    assert settled < 72 / 2
    assert 2 * 0.025 == 1 / 20  # 1.96 standard errors on either side


@pytest.mark.claim(
    "with a budget of runs for each row: one message of every tag into every queue, sent with the last start or long after",
    "The last column says whether the budget was enough for all orders there are.",
    "For 1 of the 16 rows the budget was enough for all orders.",
    "So the other rows say what can happen, not that nothing else can.",
    "A marked row depends on luck: the same group, the same messages, another order of frames, and another loss.",
    "Most of the marked rows have messages that come while the group starts.",
    "Where the group stands still, and the starts were a second apart, the orders that were reached all lose the same, "
    "whoever wins.",
    "The three marked rows that are left have members that start at one moment, with queues that do not divide evenly: "
    "then it matters which of them wins.",
)
def test_what_the_explorer_reached():
    rows = [one for one in stored_sweep("schedules").good if one["lag_ms"] == 0 and one["shared"] == 0]
    assert len(rows) == 16
    assert sum(one["exhausted"] for one in rows) == 1
    assert all(one["sent"] == one["members"] * one["queues"] for one in rows)
    marked = [one for one in rows if one["lost_min"] < one["lost_max"]]
    starting = [one for one in marked if one["traffic"] == "starting"]
    left = [one for one in marked if one["traffic"] == "settled"]
    assert len(starting) > len(marked) / 2
    assert len(left) == 3
    assert all(one["gap_ms"] == 0 and one["queues"] % one["members"] for one in left)


@pytest.mark.row("S-84")
@pytest.mark.claim(
    "In the model it depends on the gap:",
    "With two members it wins in each run here if the starts lie 100 ms apart or more, and in none if both start at the very "
    "same moment.",
    "With frames of 20 ms it wins in none at 100 ms either.",
    "With more members either can happen.",
    "the gap with which the last starter of two never wins.",
)
def test_who_wins_in_the_model():
    two = loss(members=2)
    shown = loss(members=2, shared=0, delay_us=1_000, traffic="settled")
    assert {one["last_wins"] for one in shown if one["gap_ms"] >= 100} == {1}
    assert {one["last_wins"] for one in loss(members=2, gap_ms=100, delay_us=20_000, shared=0, traffic="settled")} == {
        0
    }
    assert {one["last_wins"] for one in two if one["gap_ms"] == 0} == {0}
    assert any(0.1 < one["last_wins"] < 0.9 for one in loss(members=4, gap_ms=1_000))


@pytest.mark.row("S-84")
@pytest.mark.claim(
    "The last one to start won 62 of 74 times, not always, even with seconds between the starts.",
    "And with no gap it won most of the time, where the model says none.",
    "so that two real ones do not begin at the very same moment.",
)
def test_who_won_on_the_real_broker():
    races = recorded_races(*SETS)
    assert (sum(one.won_by_last for one in races), len(races)) == (62, 74)
    assert any(not one.won_by_last for one in races if one.gap_ms >= 2_000)
    together = [one.won_by_last for one in races if one.gap_ms == 0]
    assert len(together) / 2 < sum(together) < len(together)


@pytest.mark.row("H-41")
@pytest.mark.claim(
    "How many in a row it takes is the number of beats that fit into the expiry.",
    "With RocketMQ's own 30 s and 120 s these are four, and all four are lost one time in ten thousand: with a million clients "
    "that still makes 10,399 alarms an hour.",
    "Six beats leave 354 or 304.",
    "With twelve or more no alarm came up in this hour.",
    "Each further beat makes alarms ten times rarer; none makes them impossible.",
    "Shorter periods notice sooner and cost more beats.",
)
def test_false_alarms():
    found = alarms()
    own = Heartbeats()
    assert (own.period_ms, own.expiry_ms) == (30_000, 120_000)
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
    rows = [one for one in stored_sweep("heartbeats").good if one["clients"] == 1_000_000 and one["scan_ms"] == 10_000]
    for one in rows:
        for other in rows:
            if (one["lost"], one["expiry_ms"]) == (other["lost"], other["expiry_ms"]):
                shorter = one["period_ms"] < other["period_ms"]
                assert not shorter or one["beats_a_second"] > other["beats_a_second"]


@pytest.mark.row("S-45")
@pytest.mark.claim(
    "Everybody is told of everybody.",
    "Notifications grow with the square of the members: n members bring n (n + 1) / 2, for each newcomer is told of to all "
    "that are there and to itself.",
    "On 32 queues, with 32 members, the averaging strategy moved 496 queues, the circle 454 and consistent hashing 104.",
    "On 8 queues they differ little: 28 (averaging), 23 (circle) and 26.",
)
def test_storms():
    rows = [one for one in stored_sweep("storms").good if one["gap_ms"] == 200]
    assert all(one["notifications"] == one["members"] * (one["members"] + 1) / 2 for one in rows)
    moved = {(one["queues"], one["strategy"]): one["moved"] for one in rows if one["members"] == 32}
    assert [moved[32, name] for name in ("avg", "circle", "hash")] == [496, 454, 104]
    assert [moved[8, name] for name in ("avg", "circle", "hash")] == [28, 23, 26]


@pytest.mark.claim(
    "the combination in which the most arrives without a shared tag, and why it is more than a quarter",
    "the gap at which the time a frame takes makes no difference",
)
def test_what_is_worth_finding_can_be_found():
    most = max((one for one in loss(shared=0) if one["members"] > 1), key=lambda one: one["delivered"])
    assert (most["members"], most["gap_ms"], most["traffic"]) == (2, 60_000, "starting")
    assert most["delivered"] > 0.5

    def spread(gap):
        rows = loss(gap_ms=gap)
        others = {tuple(one[axis] for axis in AXES if axis != "delay_us") for one in rows}
        alike = {each: [] for each in others}
        for one in rows:
            alike[tuple(one[axis] for axis in AXES if axis != "delay_us")].append(one["delivered"])
        return max(max(each) - min(each) for each in alike.values())

    assert spread(60_000) < 0.03
    assert spread(100) > 0.4


@pytest.mark.claim(
    "Here is one of the whole broker, all its runs made again now: the figures are the stored ones.",
    "It also has every choice of its worst run and of its best one.",
)
def test_a_run_of_a_row_comes_out_of_its_choices():
    chosen = cell_of(
        stored_sweep("loss_whole").good, members=2, queues=4, shared=1, gap_ms=100, delay_us=1_000, traffic="starting"
    )
    assert {which: sum(fate.lost for fate in run_of_row("loss_whole", chosen, which).fates)
            for which in ("worst", "best")} == {"worst": chosen["lost_max"], "best": chosen["lost_min"]}  # fmt: skip


@pytest.mark.claim(
    "it is a law, 1/n² of the messages arrive for n members with tags of their own, if the queues divide evenly.",
    "More queues, other gaps, faster networks then change nothing.",
    "The same subscription for everybody does.",
)
def test_once_it_stands_still_only_the_subscription_helps():
    for one in loss(shared=0, traffic="settled"):
        if one["members"] > 1 and one["queues"] % one["members"] == 0:
            assert one["delivered"] == pytest.approx(1 / one["members"] ** 2, rel=0.09)


@pytest.mark.row("S-45", "S-52")
@pytest.mark.claim(
    "A message with that tag is kept only where the winner owns the queue, and it owns one queue in n.",
    "Six queues for four members: two own two queues each, two own one.",
    "The winner is among those that own one, so it has a sixth of the queues, not a quarter.",
    "With more members than queues the winner may own nothing at all, and nothing arrives.",
    "With s shared tags, s of n + s arrive whole, and of the others 1/n².",
    "So (s + 1/n) / (n + s) arrive.",
)
def test_the_solutions():
    assert TagGroup(4, 16).shares()["delivered"] == pytest.approx(1 / 16)
    assert TagGroup(4, 6).shares()["delivered"] == pytest.approx(1 / 4 * 1 / 6)
    assert TagGroup(4, 2).shares()["delivered"] == 0
    for shared in (1, 6):
        assert TagGroup(4, 8, shared).shares()["delivered"] == pytest.approx((shared + 1 / 4) / (4 + shared))
