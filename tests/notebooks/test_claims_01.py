"""What notebook 01 and its tasks say, sentence by sentence; the lesson's own cells are run, and what they made is asked."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import pytest

import rmqlab
from rmqlab.events import Restamp
from rmqlab.run.run_view import RunView
from rmqlab_tools.course.checks_01 import trial
from rmqlab_tools.course.trials import in_one_group
from rmqlab_tools.show.races import odds

LESSON = "01_eight_messages"
SETTING = (
    "A wrong one gets a case in which it goes wrong, what 4.8.0 does there, and a hint.",
    "In lesson 16 it is tried against everything.",
    "Change what you like, so that each message goes once to the consumer that asked for it, in every order of frames.",
    "And nothing is lost when one of them restarts:",
    "A stops, eight messages come, A starts again.",
    "Then a message may come twice, but the reply names that price.",
    "rules: good places to begin are is_matched_by_consume_queue (does the broker let a message pass?)",
    "The check runs the eight messages and the restarts, then tries every order of frames on one queue.",
    "Next: the tasks, or 01b The article, figure by figure.",
    "No server runs:",
    "In the lower part of the picture, a column is a queue, a row is a tag, a box is a message.",
    "This is its way:",
    "Ours race, too, with random delays (seed=):",
    "RabbitMQ's consumers compete for a queue; here they do not.",
    "A queue is Kafka's partition: one reader in a group, committed offsets.",
    "But Kafka's broker filters nothing; this one drops by tags.",
    "A point is the share that the last starter won, its line what the true share may be.",
    "The way of the message, and the rule:",
    "Let A's be an hour ahead:",
    "You may use it in all tasks",
    "The consumer that asks for tagA shall get exactly MsgStr0 and MsgStr1.",
    "Everything else stays as in the lesson: one asks for tagA, one for tagB, and the rules are those of 4.8.0.",
    "A heartbeat can name a topic twice; then the same holds for the second one.",
    "The same version or a lower one changes nothing.",
    "The check compares your rule with that of 4.8.0 on small inputs, then lets two consumers race in every order",
    '(help(rmqlab.RULES["4.8.0"]) has all)',
)
RULES = rmqlab.RULES["4.8.0"]


def got(lab):
    """How many messages each consumer got."""
    return Counter(row.who for row in lab.consumed())


def fates(lab):
    return Counter(row.fate for row in lab.fates())


def owners(lab):
    return {row.queue: row.who for row in lab.rebalances() if row.held}


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "They read one topic with four queues.",
    "In a group one queue has one reader: A gets two queues, B gets two.",
    "A starts first, B a minute later.",
    "Then four messages with each tag are sent.",
)
def test_the_setting(lab):
    a, b = (event.t for event in lab.events() if event.ev == "starting")
    assert round((b - a) / 1_000) == 60
    assert lab.scenario().topics == {"T": 4}
    assert Counter(row.tag for row in lab.messages()) == {"tagA": 4, "tagB": 4}
    assert Counter(owners(lab).values()) == {"A": 2, "B": 2}


@pytest.mark.claim("Lab holds a broker and its clients, the consumers and producers, and lab.run moves its clock.")
def test_the_same_each_time(lesson):
    one, other = (lesson["experiment"](lesson["both"]) for _ in range(2))
    assert one.finish().lines() == other.finish().lines()
    now = lesson["lab"].now
    lesson["lab"].grid()
    assert lesson["lab"].now == now


@pytest.mark.claim(
    "Eight messages were sent.",
    "The broker, the server that keeps them, let through tagB only, so the four with tagA are gone.",
    "The four that are left lie in four queues.",
    "Two of these belong to A.",
    "A keeps tagA only, so it drops the two that lie there.",
    "Two of eight are left, and B gets them.",
    "Eight, four, two: the broker drops by the slot of the group, the consumer by its own subscription.",
)
def test_the_sum(lab):
    fates = lab.fates()
    assert len(fates) == 8
    by_broker = fates.where(dropped_by="broker")
    assert [(row.tag, row.subscription, row.subscriber) for row in by_broker] == [("tagA", "tagB", "B")] * 4
    left = fates.where(lambda row: row.dropped_by != "broker")
    assert sorted(row.queue for row in left) == [0, 1, 2, 3]
    itself = fates.where(dropped_by="A")
    assert {row.queue for row in itself} == {queue for queue, who in owners(lab).items() if who == "A"}
    assert [(row.subscription, row.subscriber) for row in itself] == [("tagA", "A")] * 2
    assert [(row.who, row.tag) for row in lab.consumed()] == [("B", "tagB")] * 2


@pytest.mark.claim(
    "MsgStr2 has tagA and lies in a queue of A.",
    "A pulled, and the broker dropped the message: it filtered by the slot, not by who pulled.",
    "MsgStr6 has tagB, so it passes the broker, and A itself drops it.",
    "The broker keeps one for the whole group, in what we call the slot.",
)
def test_two_thieves(lab):
    owner, slot = owners(lab), lab.subscriptions()[-1].expression
    asked = {"A": "tagA", "B": "tagB"}
    for row in lab.fates():
        wanted = row.tag == asked[owner[row.queue]]
        expected = "dropped_by_broker_tag" if row.tag != slot else "delivered" if wanted else "dropped_by_client"
        assert row.fate == expected
    second = lab.messages().where(body="MsgStr2")[0]
    assert (second.tag, owner[second.queue]) == ("tagA", "A")
    pulls = lab.pulls().where(queue=second.queue, offset=second.offset, status="NO_MATCHED_MESSAGE")
    assert [(pull.who, pull.found, pull.next) for pull in pulls] == [("A", 0, second.offset + 1)]
    assert [row[1] for row in lab.way("MsgStr2").rows if row[2].startswith("drops")] == ["the broker"]
    assert [row[1] for row in lab.way("MsgStr6").rows if row[2].startswith("drops")] == ["A"]


@pytest.mark.claim(
    "The broker compares only hash codes of tags, numbers made of their text, and two texts can have one number,"
)
@pytest.mark.row("S-82")
def test_the_broker_compares_hash_codes():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "Aa"})
    lab.run(seconds=5)
    lab.send("T", ["BB"])  # the same hash code
    lab.run(seconds=30)
    assert [(row.fate, row.dropped_by) for row in lab.fates()] == [("dropped_by_client", "A")]


@pytest.mark.claim(
    "Consumers commit offsets past dropped messages, too.",
    "For some 19 s the lag is 2: the broker holds A's next pull while no message comes, and A commits after the answer.",
    "Then the lag is 0, and six messages are lost.",
    "An alarm that waits half a minute sees nothing.",
)
@pytest.mark.row("S-36")
def test_what_an_alarm_sees(lab):
    before, while_held, after = lab.lags()
    assert (before.lag, while_held.lag, after.lag) == (0, 2, 0)
    assert round(while_held.lasted / 1000) == 19
    dropped = lab.fates().where(dropped_by="A")
    passed = [pull.t for pull in lab.pulls().where(who="A") if pull.t > 66_000 and pull.queue in {0, 1}]
    assert len(dropped) == 2
    assert min(passed) == pytest.approx(while_held.until, abs=5)
    assert sum(row.lost for row in lab.fates()) == 6


@pytest.mark.claim(
    "B comes, and the queues are dealt out anew: a rebalance.",
    "A took the slot once more.",
    "Then B's stamp came, 4 ms higher, and took it back.",
    "The highest version wins.",
    "The article says: the last starter.",
)
def test_the_highest_version_takes_the_slot(lab):
    reading = RunView(lab._run())
    joined = [fact for fact in reading.facts(Restamp) if fact.t - reading.zero > 60_000]
    assert sorted(fact.source for fact in joined) == ["A", "B"]
    highest = -1
    for beat in reading.beats:
        assert beat.taken == (beat.version > highest)
        highest = max(highest, beat.version)
    *_, a, b = [beat for beat in reading.beats if beat.taken]
    assert (a.who, b.who, b.version - a.version) == ("A", "B", 4)


@pytest.mark.claim("B, the last, is likely to have it: it asks for the offsets of its new queues before it stamps.")
def test_who_asks_for_offsets(lab):
    late = [frame for frame in lab.frames() if frame.request == "QUERY_CONSUMER_OFFSET" and frame.t > 60_000]
    (stamped,) = [row.t for row in lab.heartbeats().where(who="B") if row.t > 60_015][:1]
    assert {frame.source for frame in late if frame.response is None and frame.t < stamped} == {"B"}


@pytest.mark.claim(
    "Consumers of a real broker were recorded.",
    "The last one mostly wins, and the lines overlap: the lab agrees with the recordings (01b looks closer).",
)
@pytest.mark.row("S-84")
def test_the_last_starter_usually_wins(lesson):
    recorded, simulated = lesson["recorded"], lesson["simulated"]
    assert Counter(race.got == race.last for race in recorded) == {True: 62, False: 12}
    assert min(race.gap for race in recorded) == 24
    assert all(race.gap > 5 for race in simulated)
    rows = odds({"recorded": recorded, "simulated": simulated})
    ours = {row.gap: row for row in rows if row.kind == "simulated"}
    for row in rows[: len(rows) // 2]:
        assert row.kind == "recorded"
        assert row.won / row.races > 0.7
        assert ours[row.gap].won / ours[row.gap].races > 0.5
        assert row.low < ours[row.gap].high
        assert ours[row.gap].low < row.high


@pytest.mark.claim("Each row is a change of the slot.", "B made none.")
@pytest.mark.row("S-86")
def test_a_clock_that_is_an_hour_ahead(lesson):
    for seed in (None, *range(8)):
        ahead = lesson["experiment"](lesson["both"], ahead_ms=3_600_000, seed=seed)
        assert {row.who for row in ahead.subscriptions()} == {"A"}


@pytest.mark.claim(
    "A better slot would not be enough: half of the messages lie in a queue whose owner does not want them (01b shows it)."
)
def test_half_lie_in_the_wrong_queue(lab):
    asked, owner = {"A": "tagA", "B": "tagB"}, owners(lab)
    assert sum(row.tag != asked[owner[row.queue]] for row in lab.fates()) == 4


@pytest.mark.claim("So all members of a group must ask for the same:", "All eight arrive.")
def test_the_cure(lesson):
    assert fates(lesson["cured"]) == {"delivered": 8}


@pytest.mark.claim("If A cannot use tagB, give each tag a group, and so a slot, of its own.")
def test_a_group_for_each_tag():
    lab = rmqlab.Lab(topics={"T": 4})
    for who in "AB":
        lab.consumer(who, group=f"G{who}", subscribe={"T": f"tag{who}"})
    lab.run(seconds=5)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=30)
    assert got(lab) == {"A": 4, "B": 4}
    assert not any(row.lost for row in lab.fates())


@pytest.mark.claim("The goals stand above the control.")
@pytest.mark.row("S-32", "S-84", "S-86")
def test_things_worth_finding_are_there(lesson):
    draw = lesson["draw"]
    usual = {
        "order": "AB", "gap_ms": 60_000, "queues": 4, "A_asks": "tagA", "B_asks": "tagB",
        "messages": " ".join(lesson["tags"]), "clock_of_the_first": 0, "delays": None,
    }  # fmt: skip
    first, _found = draw(**usual)
    assert first.alt.startswith("2 of 8 delivered, 6 lost")
    nobody, one_reader, fast = (
        draw(**usual | change)
        for change in (
            {"A_asks": "TagA", "B_asks": "TagB"}, {"order": "BA", "queues": 1}, {"clock_of_the_first": 3_600_000}
        )
    )  # fmt: skip
    assert nobody[0].alt.startswith("0 of 8 delivered")
    assert one_reader[0].alt.startswith("4 of 8 delivered")
    assert "A owns queue 0" in one_reader[0].alt
    assert "the broker lets through tagA: 4 left" in fast[0].alt
    assert [lesson["readers"](found) for _picture, found in (nobody, one_reader, fast)] == [[], ["A"] * 4, ["A"] * 2]
    for change in ({"order": "BA"}, {"queues": 2}, {"messages": "tagA tagB"}, {"B_asks": "*"}):
        assert draw(**usual | change)[0].svg != first.svg
    assert len({draw(**usual | {"delays": seed})[0].svg for seed in range(1, 10)}) > 1


@pytest.mark.claim(
    "B starts first, A a minute later; B asks for tagB, A for tagA.",
    "There are four queues.",
    "The first message goes to queue 2, the next one to queue 3, then 0, 1, 2 and so on.",
    "MsgStr0 has tagA, MsgStr1 tagB, MsgStr2 tagA, ...",
    "A starts last and stamps last, so the slot says tagA and the broker drops all four tagB messages.",
    "A comes before B as a text, so A owns queues 0 and 1, B owns 2 and 3.",
    "The tagA messages lie in queues 2 (MsgStr0 and 4) and 0 (MsgStr2 and 6).",
)
def test_the_predicted_run(tasks):
    lab = tasks["experiment"]({"B": "tagB", "A": "tagA"}, tags=["tagA", "tagB"] * 4)
    assert [row.queue for row in lab.messages()] == [2, 3, 0, 1] * 2
    assert [row.tag for row in lab.messages()] == ["tagA", "tagB"] * 4
    assert (lab.subscriptions()[-1].who, lab.subscriptions()[-1].expression) == ("A", "tagA")
    assert owners(lab) == {0: "A", 1: "A", 2: "B", 3: "B"}
    assert fates(lab)["dropped_by_broker_tag"] == 4
    places = {row.body: row.queue for row in lab.messages() if row.tag == "tagA"}
    assert places == {"MsgStr0": 2, "MsgStr4": 2, "MsgStr2": 0, "MsgStr6": 0}


@pytest.mark.claim(
    "They lie in queues 2 and 3.",
    "It must also own queues 2 and 3, so its name comes last.",
    "Why can nobody get eight?",
    "One slot, two tags: half of the messages cannot pass the broker, whoever wins.",
    "Of the other half, every second message lies in a queue of the consumer that did not ask for it, and that one drops",
    "A half of a half is left.",
)
def test_no_choice_delivers_more_than_two(tasks):
    for (first, last), tags in product((("A", "B"), ("B", "A")), (("tagA", "tagB"), ("tagB", "tagA"))):
        lab = tasks["experiment"]({first: tags[0], last: tags[1]})
        assert [row.queue for row in lab.messages()][:2] == [2, 3]
        assert fates(lab) == {"dropped_by_broker_tag": 4, "dropped_by_client": 2, "delivered": 2}
        bodies = [row.body for row in lab.consumed()]
        assert (bodies == ["MsgStr0", "MsgStr1"]) == (tags[1] == "tagA" and last == "B")


@pytest.mark.claim('with "the same or higher" the slot would change hands between two')
def test_why_the_comparison_is_strict():
    def not_strict(held, told):
        return {new.topic: new for new in told if new.sub_version >= getattr(held.get(new.topic), "sub_version", 0)}

    def flips(rules):
        lab = rmqlab.Lab(topics={"T": 2}, rules=rules.replace(stamp_sub_version=lambda old, now: 7))
        for who in "AB":
            lab.consumer(who, group="G", subscribe={"T": f"tag{who}"})
            lab.clock(who, -1_000_000)
        lab.run(seconds=300)
        return len(lab.subscriptions())

    assert flips(RULES.replace(update_subscription=not_strict)) > flips(RULES) + 8


@pytest.mark.claim(
    "That is RocketMQ's own answer, and all it costs is a second group: the broker keeps its offsets, and looks at each",
    "Rules alone can do it too: each member reads every queue, the broker drops nothing, each client keeps what it asked",
    'So it must read everything again (compute_pull_from_where says "first"), and messages come twice.',
    "A restarts, and its four messages are gone.",
)
def test_the_protocols_of_the_solution(tasks):
    apart = trial(RULES, tasks["start"], "AB", None, "A")
    assert {row.group for row in apart.offsets()} == {"G-tagA", "G-tagB"}
    assert Counter(row.who for row in apart.consumed()) == {"A": 8, "B": 8}
    rules = tasks["shared"]
    lost = trial(rules, in_one_group, "AB", None, "A")
    assert [row.tag for row in lost.fates() if row.lost] == ["tagA"] * 4
    again = trial(rules.replace(compute_pull_from_where=lambda *_: "first"), in_one_group, "AB", None, "A")
    assert not any(row.lost for row in again.fates())
    assert Counter(row.body for row in again.consumed()).most_common(1)[0][1] > 1


@pytest.mark.claim(
    "There are five broken sets of rules.",
    "basalt: a heartbeat whose version is lower than that of the slot takes it all the same, and so the slot goes back",
    "coral: every fate is as in the sound lab, but the lag of two queues stays: nobody moves the offset over what was",
    "dune: the messages in the queues of A wait; the broker refuses the pulls of A",
    "ember: A owns queues 2 and 3.",
)
def test_the_broken_laboratories(tasks):
    labs, sound = tasks["labs"], tasks["sound"]
    assert len(labs) == 5
    for name, field in tasks["wrong"].items():
        assert str(getattr(rmqlab.broken(name), field)).startswith("<perhaps the wrong one")
    labs["basalt"].run(seconds=120)
    versions = [row.version for row in labs["basalt"].subscriptions()]
    assert sum(after < before for before, after in pairwise(versions)) > 2
    assert [row.fate for row in labs["coral"].fates()] == [row.fate for row in sound.fates()]
    behind = [row.queue for row in labs["coral"].offsets() if row.committed != row.max]
    assert sorted(behind) == [0, 1]
    assert {row.queue for row in labs["dune"].fates() if row.fate == "waiting"} == {0, 1}
    assert {row.who for row in labs["dune"].pulls() if row.code == 25} == {"A"}  # SUBSCRIPTION_NOT_LATEST
    assert {queue for queue, who in owners(labs["ember"]).items() if who == "A"} == {2, 3}
    assert {row.tag for row in labs["amber"].consumed() if row.who == "A"} == {"tagB"}
