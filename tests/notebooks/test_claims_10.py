"""What notebook 10 and its tasks say, sentence by sentence."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import DEFAULT_RULES
from rmqlab.sim.cluster import settings_beside
from rmqlab_tools.search.consistency import RunningConsumer, analyze_subscription
from tests.proof.recorded_outcomes import RecordedVerdict, compare
from tests.proof.replay.replay import replay
from tests.recordings.recorded_runs import GOLDEN, ended_alike, recorded
from tests.search.recorded_races import SETS as RACES
from tests.search.recorded_races import recorded_races

LESSON = "10_real_broker"
SCENARIO, FROZEN = "p-article-000", "p-freeze-067"
SLOTS = ("p-article-000", "p-loss-002", "p-loss-005", "p-overlap-044")
SETTING = (
    "A recorder stood on the wire between them and kept every frame.",
    "Neither our broker nor our clients were running.",
    "A real broker 4.8.0 and real Java clients ran through scenarios.",
    "Three recorded sets:",
    "Then eight messages come.",
    "Ours is a new run of the same steps.",
    "That means: the same messages for every consumer, the same committed offsets.",
    "Notebook 14 asks the tool again after two minutes.",
    "But would every run of ours end like this?",
    "so look at other scenarios closely.",
    "Clients use the tap's name server address. Nothing else in their settings changes.",
    "A harder question: does our broker give the same answer to every single request?",
    "RocketMQ has a tool that checks whether all members of a group want the same.",
    "Same rules do not mean same milliseconds.",
    "Now the tasks:",
    "5 seconds more or less do not matter.",
    "subscriptions() has every change of the slot, messages() every message, both with t.",
)


@pytest.fixture(scope="module")
def pair():
    return recorded(SCENARIO), ended_alike(SCENARIO)


@pytest.fixture(scope="module")
def frozen():
    return recorded(FROZEN), ended_alike(FROZEN)


def starts(run):
    return [row.t for row in run.events().where(ev="starting")]


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "base has the eight messages under many start orders and gaps, and much else.",
    "In bitmap the bloom filter's switch is on.",
    "In noprop SQL92 is not allowed. base has 73 scenarios; bitmap has 6; noprop has 3.",
    "Things worth finding: a tag that changes while its consumer runs; a broker that refuses SQL92.",
)
def test_three_sets():
    sets = {}
    for name in ("base", "bitmap", "noprop"):
        lines = (GOLDEN / name / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
        sets[name] = [json.loads(line) for line in lines]
    assert [len(found) for found in sets.values()] == [73, 6, 3]
    assert settings_beside(GOLDEN / "bitmap").broker.enable_calc_filter_bit_map
    assert not settings_beside(GOLDEN / "noprop").broker.enable_property_filter
    assert any(step["do"] == "subscribe" for one in sets["base"] for step in one["steps"])
    mixed = next(one for one in sets["noprop"] if one["id"] == "p-npmix-001")
    assert {step["subscribe"]["T"]["type"] for step in mixed["steps"] if step["do"] == "start"} == {"TAG", "SQL92"}


@pytest.mark.claim(
    "First one scenario: A asks for tagA, two seconds later B asks for tagB, both in one group.",
    "Nobody told our clients when to beat. Here they send as many heartbeats as the real clients",
    "Who got which message, and which offsets were committed, must agree.",
    "the Java clients woke at other moments.",
)
def test_one_scenario(pair):
    there, here = pair
    assert there.outcome() == here.outcome()
    beats = [Counter(row.who for row in run.heartbeats()) for run in pair]
    assert beats[0] == beats[1]
    assert not [step for step in there.scenario.steps if "beat" in type(step).__name__.lower()]
    assert 1_900 < starts(there)[1] - starts(there)[0] < 2_100
    assert there.consumed()[0].t != here.consumed()[0].t


@pytest.mark.claim(
    "In each run only one tag comes through, but not always the same tag.",
)
def test_a_race(shown):
    ends = [line.split() for line in shown["race"].splitlines() if "MsgStr" in line]
    got = [{int(word[-1]) < 4 for word in line if word.startswith("MsgStr")} for line in ends]
    assert sorted(map(sorted, got)) == [[False], [True]]


@pytest.mark.claim(
    "Recorded events and ours have the same form, so one function reads both.",
    "Some scenarios ended one way in all our runs. The real run ended that way too.",
    "There the real end must be among the ends that our runs reach, and in these three sets it is.",
    "A simulator that can end in every way would pass this test too",
)
@pytest.mark.parametrize("name", ["bitmap", "noprop"])  # base is compared by the lesson itself, and by ./lab simulate
def test_agreement(name, shown):
    found = list(compare(GOLDEN / name, seeds=8))
    assert {one.verdict for one in found} == {RecordedVerdict.SAME, RecordedVerdict.REACHED}
    assert all(len(one.survey.reached) == 1 for one in found if one.verdict is RecordedVerdict.SAME)
    races = sum(one.verdict is RecordedVerdict.REACHED for one in found)
    rows = {line.split()[0]: line.split()[1:] for line in shown["agreement"].splitlines()[2:]}
    assert rows[name] == [str(len(found)), str(len(found)), str(races)]
    assert rows["base"] == ["73", "73", "56"]


@pytest.mark.claim(
    "Neither side sees the connection close.",
    "So what follows depends on clocks: the last heartbeat, a scan, B's next rebalance.",
    "B gets the rest in both runs, less than a second apart.",
    "A freeze swallows frames, but it lets the end of a connection pass.",
    "In both runs the scan closed the connection.",
    "A noticed that, made a new connection, and was a member again with its next heartbeat.",
    "A's last heartbeat was heard shortly after its start.",
    "Two minutes later a scan forgets it, and B rebalances at its own next turn.",
    "Until then no member is told anything.",
)
def test_a_long_silence(frozen):
    ends = []
    for run in frozen:
        first, zero = starts(run)[0], run.events().where(ev="control")[0].t
        beats = [row.t for row in run.heartbeats() if row.who == "A"]
        last, again = max(t for t in beats if t < zero), min(t for t in beats if t > zero)
        assert last - first < 2_000
        assert again - last > 120_000
        rest = [row.t for row in run.consumed() if row.t > zero + 10_000]
        assert {row.who for row in run.consumed()} == {"B"}
        assert len(rest) == 2
        assert last + 120_000 < min(rest) < last + 150_000 + 100
        # nobody is told: B's heartbeats come at its period alone until it takes the queues
        quiet = [row.t for row in run.heartbeats() if row.who == "B" and zero < row.t < min(rest) - 100]
        assert all(29_000 < later - one < 31_000 for one, later in pairwise(quiet))
        # after A's heartbeat B stamps anew: A is a member again
        stamps = [row.version for row in run.heartbeats() if row.who == "B" and row.t >= again - 100]
        held = max(row.version for row in run.heartbeats() if row.who == "B" and row.t < again - 100)
        assert max(stamps) > held
        ends.append(max(rest) - zero)
    assert abs(ends[0] - ends[1]) < 1_000


@pytest.mark.claim(
    "A recording is a file of lines, one for each frame.",
    "The first four bytes say how long the frame is. The fifth says how its head is written, and three more how long the head is. Here the head is JSON, and so is a heartbeat's body.",
    "A client's id ends with the name of its scenario.",
    "34 is a heartbeat, 38 asks for the members, 40 is a notice that members changed.",
    "an epoch time in ms from the client's own clock.",
    "These frames alone tell what the slot held, and when, since the rule is known: the newest version wins.",
    "A row is a consumer. A column is what the broker answered to its pulls (11).",
)
def test_frames(shown):
    names = {34: "HEART_BEAT", 38: "GET_CONSUMER_LIST_BY_GROUP", 40: "NOTIFY_CONSUMER_IDS_CHANGED", 11: "PULL_MESSAGE"}
    assert {number: RequestCode(number).name for number in names} == names
    rows = [line.split() for line in shown["versions"].splitlines()[2:]]  # the cell asserts that these are the slot's
    assert [row[2] for row in rows] == ["tagA", "tagA", "tagB", "tagB", "tagA"]
    assert [int(row[3]) for row in rows] == sorted(int(row[3]) for row in rows)
    assert all(len(row[3]) == len("1795247191303") for row in rows)
    assert "not the latest" in shown["pulls"]


@pytest.mark.claim(
    "replay feeds our broker the recorded requests, in their order (requests under way together may change places; replay counts how often).",
    "It compares code, remark, fields and body of every answer.",
    "It accepts, within limits, what the frames do not determine (a store time, a port, the order in a hash table), and counts that too.",
)
def test_replay_counts_what_it_assumes():
    told = replay(GOLDEN / "noprop").as_json()
    assert told["requests"] == told["identical"] == 468
    assert told["reordered"] == told["undetermined"]["overtaken"]["used"]
    assert {"store_time", "born_port", "member_order"} <= set(told["undetermined"])


@pytest.mark.row("S-94")
@pytest.mark.claim(
    'It said "Same subscription" of a real group in which A asked for tagA and B for tagB (the appendix prints its words).',
    "The tool compares nothing until the member with the lowest client id has run for more than two minutes",
    'and says "same" although it has not looked.',
    'The real tool says "same" of every push group whose first member is young.',
)
def test_the_tool(shown):
    assert "Same subscription in the same group of consumer" in shown["tool"]
    assert "A had run for 78 s" in shown["tool"]
    members = {
        f"192.0.2.2@{who}": RunningConsumer(
            push=True, started=0, subscriptions=[build_subscription("T", f"tag{who}", "TAG", 0)]
        )
        for who in "AB"
    }
    found = [analyze_subscription(members, ms) for ms in (0, 60_000, 78_000, 120_000, 120_001, 600_000)]
    assert found == [True, True, True, True, False, False]


@pytest.mark.claim("The article's run is one end of a race. The recordings have others too.")
def test_the_recordings_have_other_ends():
    races = [race for race in recorded_races(*RACES) if (race.first, race.last) == ("A", "B")]
    assert {race.winner for race in races} >= {"A", "B"}


@pytest.mark.claim(
    "The consumer that starts last writes the slot. But the first consumer is notified, stamps its subscription anew and takes the slot back.",
    "Who comes last in that exchange is a matter of milliseconds.",
)
def test_slots_of_the_task():
    by_end = set()
    for name in SLOTS[:3]:
        changes = [row for row in recorded(name).subscriptions() if row.expression != row.before]
        values = [row.expression for row in changes]
        assert len(set(values)) == 2
        assert values[:3] == [values[0], next(one for one in values if one != values[0]), values[0]]
        gaps = [later.t - earlier.t for earlier, later in pairwise(changes[1:])]
        assert max(gaps[:2]) < 1_000
        by_end.add(values[-1] == values[0])
    assert by_end == {True, False}


@pytest.mark.row("S-51")
@pytest.mark.claim(
    "the request's code (11 is a pull), the field, what the real broker answered, and what ours answers with the wrong rule.",
    "With that rule the broker would look at the dropped messages again.",
)
def test_a_wrong_rule_shows_in_the_answers():
    rules = DEFAULT_RULES.replace(next_offset=lambda offset, looked_at, found: offset + found)
    wrong = replay(GOLDEN / "noprop", rules=rules)
    assert {(one.code, one.field) for one in wrong.differing} == {
        (RequestCode.PULL_MESSAGE, "extFields.nextBeginOffset")
    }
    assert all(int(one.got) < int(one.expected) for one in wrong.differing)
    assert repr(wrong) == "noprop: 462 of 468 answers are the recorded ones"
