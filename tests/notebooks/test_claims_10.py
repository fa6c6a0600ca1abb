"""What notebook 10 and its tasks say, sentence by sentence."""

from __future__ import annotations

import pytest

from rmqlab.search.explorer.recorded_outcomes import RecordedVerdict
from rmqlab.search.explorer.recorded_outcomes import settings_beside
from rmqlab.lessons.checks_10 import FROZEN, SLOTS
from rmqlab.lab.recorded.matched_runs import agreement, matched_runs
from tests.lab.recorded_races import SETS as RACES
from tests.lab.recorded_races import recorded_races
from rmqlab.lab.recorded.run_timeline import commands, recorded_timeline, scenarios_of, set_folder
from rmqlab.lab.recorded.consumer_status import recorded_consumer_status, found_consistent
from rmqlab.lab.replay.replay import replay
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.rules import DEFAULT_RULES

LESSON = "10_real_broker"
SETTING = (
    "it kept every frame in both directions, while an observer noted who consumed what.",
    "Neither our broker nor our clients were running.",
    "Three recorded sets:",
    "In how many of them will our run end as the real one did: the same messages for every consumer, the same committed offsets?",
    "One that can end anyhow would pass the second kind only, so look at one closely.",
    "Clients use the tap's name server address; their settings change in nothing else.",
    "A harder question: does our broker give the same answer to every single request?",
    "RocketMQ has a tool that checks whether all members of a group want the same.",
    "Same rules do not mean same milliseconds.",
    "Now the tasks:",
    "Read it off the picture; 5 seconds more or less do not matter.",
    "Answer with the folder; it is replayed, and every answer must be the same.",  # so does the check
    "The recording has everything that reached the broker, and when.",
    "On a terminal it is rmqlab serve, rmqlab tap and rmqlab replay, with clients in any language.",
)
SCENARIO = "p-article-000"


@pytest.fixture(scope="module")
def pair():
    return matched_runs(SCENARIO)


@pytest.fixture(scope="module")
def frozen():
    return matched_runs(FROZEN)


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "base has the eight messages under many start orders and gaps, and much else; in bitmap the bloom filter's switch is on; in noprop SQL92 is not allowed.",
    "Things worth finding: four consumers; a tag that changes while its consumer runs; refused SQL92.",
)
def test_three_sets():
    assert [len(scenarios_of(name)) for name in ("base", "bitmap", "noprop")] == [73, 6, 3]  # as the guess's cell says
    assert settings_beside(set_folder("bitmap")).broker.enable_calc_filter_bit_map
    assert not settings_beside(set_folder("noprop")).broker.enable_property_filter
    kinds = [[step.__struct_config__.tag for step in one.steps] for one in scenarios_of("base").values()]
    assert any(one.count("start") == 4 for one in kinds)
    assert any("subscribe" in one for one in kinds)


@pytest.mark.claim(
    "Some scenarios ended one way in all these runs, and the real one ended that way too.",
    "There the real end must be among the ends we reach, and in these three sets it is.",
)
@pytest.mark.parametrize("name", ["bitmap", "noprop"])  # base is compared by the lesson itself, and by ./lab simulate
def test_agreement(name):
    found = agreement((name,), 8)[name]
    assert {one.verdict for one in found} == {RecordedVerdict.SAME, RecordedVerdict.REACHED}
    assert all(len(one.survey.reached) == 1 for one in found if one.verdict is RecordedVerdict.SAME)


@pytest.mark.claim("Nobody told our clients when to beat.", "Here they beat as often as the real ones.")
def test_beats(pair):
    assert pair.recorded.count(pair.recorded.beats) == pair.simulated.count(pair.simulated.beats)


@pytest.mark.claim(
    "What must agree is who got which message and which offsets were committed.",
    "What moves with the clocks may differ, by some pulls for instance",
    "If one of the first kind were marked here, a test of this notebook would fail.",
)
def test_what_must_agree(pair, frozen):
    for one in (pair, frozen):
        assert not [row.what for row in one.pairs() if row.exact and row.differs]
        assert {row.what for row in one.pairs() if row.exact} == {"consumed by A", "consumed by B", "committed offsets"}
        assert [row.what for row in one.pairs() if row.differs]


@pytest.mark.claim(
    "No side sees it close, so what follows hangs on clocks: the last heartbeat, a scan, B's next rebalance.",
    "B gets the rest at the same second in both runs.",
    "The scan closed it, A noticed and made a new one, and with its next heartbeat it was a member again, in both runs.",
    "A's last heartbeat was heard shortly after its start.",
    "Two minutes later a scan forgets it, and B rebalances at its own next turn.",
    "Until then no member is told anything.",
)
def test_a_long_silence(frozen):
    for run in (frozen.recorded, frozen.simulated):
        (broken,) = run.broken
        beats = [mark.t for mark in run.beats if mark.who == "A"]
        before = [t for t in beats if t < broken.t]
        assert max(before) < 2_000
        assert min(t for t in beats if t > broken.t) > 120_000
        rest = [mark.t for mark in run.consumed if mark.t > broken.t + 10_000]
        assert len(rest) == 2
        assert max(before) + 120_000 < min(rest) < max(before) + 150_000 + 100
        assert not [mark.t for mark in run.told if broken.t < mark.t < min(rest)]
        assert {mark.who for mark in run.told if mark.t > max(rest)} == {"A", "B"}
    ends = [max(mark.t for mark in run.consumed) for run in (frozen.recorded, frozen.simulated)]
    assert abs(ends[0] - ends[1]) < 1_000


@pytest.mark.claim(
    "The frames alone tell what the slot held, and when, since the rule is known: the newest version wins.",
    "The broker may hold a pull before it answers, so requests and answers of different queues lie crosswise.",
)
def test_the_newest_version_wins():
    newest, values = 0, []
    for _, _, direction, command in commands(SCENARIO):
        if direction != "c2s" or command.is_response or command.code != RequestCode.HEART_BEAT:
            continue
        for consumer in HeartbeatData.decode(command.body or b"").consumer_data_set:
            for told in consumer.subscription_data_set:
                if not str(told.topic).startswith("%RETRY%") and told.sub_version > newest:
                    newest = told.sub_version
                    values.append(told.sub_string)
    distinct = [value for number, value in enumerate(values) if number == 0 or value != values[number - 1]]
    assert distinct == [slot.expression for slot in recorded_timeline(SCENARIO).slots]
    open_pulls = longest = 0
    for _, _, _, command in commands(SCENARIO):
        open_pulls += command.code == RequestCode.PULL_MESSAGE and not command.is_response
        longest = max(longest, open_pulls)
    assert longest > 1


@pytest.mark.claim(
    "replay feeds it the recorded requests, in their order (those under way at once may change places; it counts how often), and compares code, remark, fields and body of every answer.",
    "What the frames do not determine (a store time, a port, the order in a hash table) it lets pass within limits, and counts that too.",
    "Fed to a new broker, it gives the same answers, but for what the frames do not determine.",
)
def test_replay_counts_what_it_assumes():
    told = replay(set_folder("noprop")).as_json()
    assert told["requests"] == told["identical"] == 468
    assert told["reordered"] == told["undetermined"]["overtaken"]["used"]
    assert {"store_time", "born_port", "member_order"} <= set(told["undetermined"])


@pytest.mark.claim(
    '"Same subscription", although they differ.',
    "the tool compares nothing until the member with the lowest client id has run for more than two minutes.",
    'It says "same" although it has not looked.',
    'The real tool says "same" of every push group whose first member is young.',
)
def test_the_tool():
    said = recorded_consumer_status()
    assert any(line.startswith("Same subscription") for line in said.lines)
    assert said.age_ms < 120_000
    assert [found_consistent(ms) for ms in (0, 60_000, 120_000, 120_001, 600_000)] == [True, True, True, False, False]


@pytest.mark.claim("The article's run is one end of a race. The recordings have others too.")
def test_the_recordings_have_other_ends():
    races = [race for race in recorded_races(*RACES) if (race.first, race.last) == ("A", "B")]
    assert {race.winner for race in races} >= {"A", "B"}


@pytest.mark.claim(
    "The one that starts last writes the slot, but not for good: the first consumer is told, stamps its subscription anew and takes the slot back.",
    "Who comes last in that exchange is a matter of milliseconds.",
)
def test_slots_of_the_task():
    by_end = set()
    for name in SLOTS[:3]:
        strip = recorded_timeline(name)
        first, *_, last = (slot.expression for slot in strip.slots)
        values = [slot.expression for slot in strip.slots]
        assert len(set(values)) == 2
        assert values[:3] == [first, next(one for one in values if one != first), first]
        gaps = [later.t - earlier.t for earlier, later in zip(strip.slots[1:], strip.slots[2:], strict=False)]
        assert max(gaps[:2]) < 1_000
        by_end.add(last == first)
    assert by_end == {True, False}


@pytest.mark.row("S-51")
@pytest.mark.claim(
    "the request's code (11 is a pull), the field, what the real broker answered, and what ours answers with the wrong rule.",
    "The dropped messages would be looked at again.",
)
def test_a_wrong_rule_shows_in_the_answers():
    rules = DEFAULT_RULES.replace(next_offset=lambda offset, looked_at, found: offset + found)
    wrong = replay(set_folder("noprop"), rules=rules)
    assert {(one.code, one.field) for one in wrong.differing} == {
        (RequestCode.PULL_MESSAGE, "extFields.nextBeginOffset")
    }
    assert all(int(one.got) < int(one.expected) for one in wrong.differing)
    assert repr(wrong) == "noprop: 462 of 468 answers are the recorded ones"
