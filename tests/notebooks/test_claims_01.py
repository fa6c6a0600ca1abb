"""What notebook 01 and its tasks say, sentence by sentence."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import pytest

from rmqlab.lab.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab.lab.articles.printed_e1 import lines_of, printed
from rmqlab.search.explorer.invariants import violations
from rmqlab.lab.fates import Fate
from rmqlab.lessons.checks_01 import HUNTED, PREDICT
from rmqlab.lessons.mutants import MUTANTS, hunted
from rmqlab.lab.run_view import RunView
from rmqlab.lab.recorded.races import SETS, recorded_races
from rmqlab.message.ids import decode_message_id
from rmqlab.show import article

LESSON = "01_eight_messages"
SETTING = (
    "Nothing below needs a server.",
    "Here are the article's figures beside ours, ids and all.",
    "These are all the requests between A and the broker:",
    "all members of a group ask for the same.",
    "Three more things can be read off what the article printed.",
    "Without a running kernel you see the first picture only.",
    "You may change only who starts first and the client ids.",
    "Give A exactly MsgStr0 and MsgStr1.",
    "Count: with the best start order and the best client ids, how many messages are delivered in all",
    "hunted(name) is a run like any other: look at it with fate_grid, swimlane and slot_timeline.",
)
SEEDS = range(40)
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def reading():
    return RunView(EightMessages().run())


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


def got(reading):
    """How many messages each consumer got."""
    return Counter(fate.culprit for fate in reading.fates if fate.fate is Fate.DELIVERED)


def fates(reading):
    return Counter(fate.fate for fate in reading.fates)


@pytest.mark.claim(
    "Both read the same topic, which has four queues.",
    "A starts first, B a minute later.",
    "Then a producer sends four messages with tagA and four with tagB.",
    "The minute is our choice: when B starts, all that A's start set off is long over.",
)
def test_the_setting(reading):
    begins = {event["who"]: event["t"] for event in reading.run.events if event["ev"] == "starting"}
    assert begins["B"] - begins["A"] == 60_000
    assert reading.queues == 4
    assert Counter(fate.tag for fate in reading.fates) == {"tagA": 4, "tagB": 4}
    of_start = [fact.t - reading.zero for fact in reading.facts("subscription", "rebalance", "restamp", "notify")]
    assert max(t for t in of_start if t < 60_000) < 1_000


@pytest.mark.claim("ninety seconds pass in a blink, and they pass in the same way each time.")
def test_the_same_each_time(reading):
    assert reading.end == 90_000
    assert EightMessages().run().events == reading.run.events


@pytest.mark.claim("Its program printed eight send results, and the consumers printed what they got.")
def test_what_the_article_printed(reading):
    assert len(printed()["sent"]) == 8
    assert {who: len(lines) for who, lines in printed()["printed"].items()} == {"A": 0, "B": 2}
    assert [len(lines_of(reading.run, who)) for who in "AB"] == [0, 2]


@pytest.mark.claim(
    "The broker filters every pull by the one slot.",
    "It drops what does not match, whoever pulls.",
    "MsgStr2 has A's tag and lies in one of A's queues.",
    "here the broker did return MsgStr6 to A, and A itself threw it away.",
    "Two places drop messages, not one: the broker by the group's slot, the consumer by its own subscription.",
)
def test_two_thieves(reading):
    for fate in reading.fates:
        matches = fate.tag == reading.slots[-1].expression
        owner = reading.owners[fate.queue]
        wanted = fate.tag == reading.asked[owner]
        expected = Fate.DROPPED_BY_BROKER_TAG if not matches else Fate.DELIVERED if wanted else Fate.DROPPED_BY_CLIENT
        assert fate.fate is expected
    (second, sixth) = (fate for fate in reading.fates if fate.body in {"MsgStr2", "MsgStr6"})
    assert (second.tag, reading.owners[second.queue]) == ("tagA", "A")
    assert (sixth.fate, sixth.culprit) == (Fate.DROPPED_BY_CLIENT, "A")


@pytest.mark.claim(
    "When a pull brings nothing and the consumer holds nothing, it commits the place where it goes on.",
    "An alarm watches the lag, which is 0 in every queue.",
    "The loss is final and silent: offsets move on, lag is 0, nothing is retried.",
)
def test_offsets_pass_what_was_dropped(reading):
    assert all(committed == end for committed, end in reading.offsets.values())
    assert got(reading)["A"] == 0
    assert all(reading.offsets[queue][0] == 2 for queue, owner in reading.owners.items() if owner == "A")
    assert not [event for event in reading.run.events if event["ev"] == "consume" and event["reconsume"]]


@pytest.mark.claim(
    "Both are push consumers: their listener is called when a message comes.",
    "Yet the broker sends no message by itself.",
)
def test_the_broker_only_notifies():
    for who in "AB":
        rows = article.requests(EightMessages(), who).rows
        assert {row[1] for row in rows if row[0] == "broker"} <= {"NOTIFY_CONSUMER_IDS_CHANGED"}
        assert "PULL_MESSAGE" in {row[1] for row in rows if row[0] == who}


@pytest.mark.claim(
    "A heartbeat takes the slot only if its version is higher.",
    "When B joins, the queues of both change.",
    "So both stamp anew, within milliseconds, and the later stamp stays.",
    "The slot goes to the highest version, a client's clock reading.",
)
def test_the_highest_version_takes_the_slot(reading):
    highest = -1
    for beat in reading.beats:
        assert beat.taken == (beat.version > highest)
        highest = max(highest, beat.version)
    joined = [fact for fact in reading.facts("restamp") if fact.t - reading.zero > 60_000]
    assert sorted(fact.source for fact in joined) == ["A", "B"]
    assert max(fact.t for fact in joined) - min(fact.t for fact in joined) < 10
    assert reading.slots[-1].version == highest


@pytest.mark.claim(
    "So it usually stamps last and wins.",
    "Usually: we let two real consumers meet on a real broker, again and again.",
    "In one of 74 the slot flipped while the messages came, and both consumers got some",
    "Starting last helps, and does not decide.",
)
def test_the_last_starter_usually_wins():
    races = recorded_races(*SETS)
    assert len(races) == 74
    assert sum(race.winner is None for race in races) == 1
    assert 0.5 < sum(race.won_by_last for race in races) / len(races) < 1


@pytest.mark.claim(
    "The same happens in virtual time once the network takes the times of a real machine.",
    "The last starter is likely to win, no more.",
    "In the runs that A wins, A gets two messages and B none.",
)
@pytest.mark.parametrize("gap_ms", [200, 3_000, 60_000])  # those of the lesson's table
def test_races_in_virtual_time(gap_ms):
    runs = [RunView(EightMessages(gap_ms=gap_ms, seed=seed).run()) for seed in SEEDS]
    won_by_a = [got(one) for one in runs if one.slots[-1].who == "A"]
    assert 0 < len(won_by_a) < len(runs) / 2
    assert all(one == {"A": 2} for one in won_by_a)


@pytest.mark.claim("A starts first, and none of B's heartbeats takes the slot.")
def test_a_clock_that_is_an_hour_ahead():
    for settings in ({}, *({"seed": seed} for seed in range(8))):
        reading = RunView(EightMessages(skew_ms={"A": HOUR_MS}, **settings).run())
        assert reading.slots[-1].who == "A"
        assert not any(beat.taken for beat in reading.beats if beat.who == "B")


@pytest.mark.claim(
    '"A started first, so A has queues 0 and 1"? No.',
    "Who owns which queue follows the order of client ids as texts, not the start order.",
    "Look at the second row: the higher process id comes first.",
)
def test_ids_as_texts_decide():
    for ids, order in product((("@4711", "@4902"), ("@9980", "@10020")), (("A", "B"), ("B", "A"))):
        mine = {who: f"{CLIENT_IP}{one}" for who, one in zip("AB", ids, strict=True)}
        owners = RunView(EightMessages(client_ids=mine, start_order=order).run()).owners
        first, last = sorted(mine, key=mine.__getitem__)
        assert owners == {0: first, 1: first, 2: last, 3: last}


@pytest.mark.claim("Even the order of the tags may differ")
def test_the_cure():
    same = RunView(EightMessages(tags={"A": "tagA || tagB", "B": "tagB || tagA"}).run())
    assert fates(same) == {Fate.DELIVERED: 8}


@pytest.mark.claim(
    "Can you find settings with which nobody gets anything, with which one consumer gets four, with which the first starter wins?"
)
def test_things_worth_finding_are_there():
    assert not got(RunView(EightMessages(tags={"A": "TagA", "B": "TagB"}).run()))
    assert got(RunView(EightMessages(start_order=("B", "A"), queues=1).run())) == {"A": 4}
    assert got(RunView(EightMessages(skew_ms={"A": HOUR_MS}).run())) == {"A": 2}


@pytest.mark.claim("so you can see that nobody else wrote in between.", "seven properties, and four different writers.")
def test_ids_and_properties(reading):
    places = [decode_message_id(one["offsetMsgId"]).offset for one in printed()["sent"]]
    assert {after - before for before, after in pairwise(places)} == {197}  # the storeSize that the article prints
    rows = article.provenance(EightMessages()).rows
    assert (len(rows), len({row[-1] for row in rows})) == (7, 4)


@pytest.mark.claim("the messages were consumed before they were stored, by the clocks.")
def test_clocks(reading):
    assert all(row[-1] < 0 for row in article.clock_gaps(reading.run).rows)


@pytest.mark.claim(
    "B starts first, A a minute later.",
    "Four queues; the first message goes to queue 2, the next one to queue 3, then 0, 1, 2 and so on.",
    "MsgStr0 has tagA, MsgStr1 tagB, MsgStr2 tagA, ...",
    "A starts last and stamps last, so the slot says tagA and the broker drops all four tagB messages.",
    "B has the lower id and owns queues 0 and 1, A owns 2 and 3.",
    "The tagA messages lie in queues 2 (MsgStr0 and 4) and 0 (MsgStr2 and 6).",
)
def test_the_predicted_run():
    reading = RunView(PREDICT.run())
    assert (PREDICT.start_order, PREDICT.gap_ms) == (("B", "A"), 60_000)
    assert [fate.queue for fate in reading.fates] == [2, 3, 0, 1] * 2
    assert [fate.tag for fate in reading.fates] == ["tagA", "tagB"] * 4
    assert (reading.slots[-1].who, reading.slots[-1].expression) == ("A", "tagA")
    assert reading.owners == {0: "B", 1: "B", 2: "A", 3: "A"}
    assert fates(reading)[Fate.DROPPED_BY_BROKER_TAG] == 4
    places = {fate.queue: fate.body for fate in reversed(reading.fates) if fate.tag == "tagA"}
    assert places == {2: "MsgStr0", 0: "MsgStr2"}


@pytest.mark.claim(
    "The messages are those of the lesson: four with tagA, then four with tagB, the first one into queue 2.",
    "And A must own queues 2 and 3, where the first two messages lie, so A needs the higher client id.",
    "Why can nobody get eight?",
    "One slot, two tags: half of the messages cannot pass the broker, whoever wins.",
    "Of the other half, every second message lies in a queue of the consumer that did not ask for it, and that one drops it.",
    "A half of a half is left.",
)
def test_no_choice_delivers_more_than_two():
    for order, low in product((("A", "B"), ("B", "A")), "AB"):
        ids = {who: f"{CLIENT_IP}@{4711 if who == low else 4902}" for who in "AB"}
        reading = RunView(EightMessages(start_order=order, client_ids=ids).run())
        assert [fate.queue for fate in reading.fates][:2] == [2, 3]
        assert fates(reading) == {Fate.DROPPED_BY_BROKER_TAG: 4, Fate.DROPPED_BY_CLIENT: 2, Fate.DELIVERED: 2}
        bodies = [fate.body for fate in reading.fates if fate.fate is Fate.DELIVERED and fate.culprit == "A"]
        assert (bodies == ["MsgStr0", "MsgStr1"]) == (order[-1] == "A" and low == "B")


@pytest.mark.claim(
    "Three broken laboratories.",
    "In each of them one line of broker or client is wrong; the starts, the messages and the settings are the same in all.",
    "A starts, B follows a minute later, B has the lower client id.",
    "basalt: a heartbeat of A's whose version is lower than the slot's takes it all the same, and so the slot goes back and forth with every heartbeat.",
    "coral: every fate is as in the sound laboratory, but the lag of A's queues stays: nobody moves the offset over what was dropped.",
)
def test_the_broken_laboratories():
    assert len(HUNTED) == 3
    assert all(len(MUTANTS[name].wrong) == 1 for name in HUNTED)
    sound = RunView(hunted())
    assert len({str(hunted(name).scenario) for name in HUNTED} | {str(sound.run.scenario)}) == 1
    assert {fate.queue for fate in sound.fates if sound.owners[fate.queue] == "B"} == {0, 1}
    for name in HUNTED:
        assert list(violations(RunView(hunted(name)))) == [MUTANTS[name].breaks]
    basalt = RunView(hunted("basalt"))
    lower = [beat for before, beat in pairwise(basalt.beats) if beat.taken and beat.version < before.version]
    assert {beat.who for beat in lower} == {"A"}
    coral = RunView(hunted("coral"))
    assert [one.fate for one in coral.fates] == [one.fate for one in sound.fates]
    behind = {queue for queue, (committed, end) in coral.offsets.items() if committed != end}
    assert behind == {queue for queue, owner in coral.owners.items() if owner == "A"}
