"""What notebook 01 and its tasks say, sentence by sentence; the lesson's own cells are run, and what they made is asked."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise, product

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.events import Restamp
from rmqlab.run.run_view import RunView

LESSON = "01_eight_messages"
SETTING = (
    "Nothing here needs a server.",
    "The function is the experiment from above, with parameters for what we will change:",
    "Now the same in virtual time, with random delays as on a real machine (seed=).",
    "These are all requests that A sends and gets:",
    "MsgStr6 meets another one:",
    "A third way begins at the rule by which the broker serves a pull.",
    "Let the broker serve only the version that it holds, and compare all ways:",
    "Then give the group a broker that keeps what every member asks for.",
    "Can a protocol lose nothing, and give each message only to a consumer that asked?",
    "Task 4 lets you write one.",
    "all members of a group ask for the same.",
    "predict an outcome, write the rule of the broker, write a protocol that loses nothing, hunt bugs.",
    "Two consumers of one group, tagA and tagB, as before.",
    "You may use it in all tasks",
    "The consumer that asks for tagA shall get exactly MsgStr0 and MsgStr1.",
    "Everything else stays as in the lesson: one asks for tagA, one for tagB, and the rules are those of 4.8.0.",
    "A heartbeat can name a topic twice; then the same holds for the second one.",
    "The same version or a lower one changes nothing.",
    "The check compares your rule with that of 4.8.0 on small inputs, then lets two consumers race in every order",
    "Replace any rules you like, so that each message goes once to a consumer that asked for it, in every order",
    'rmqlab.RULES["4.8.0"].source(name) shows the lines of each, and its parameters.',
    "The check runs the eight messages, then tries every order of frames on one queue.",
    '(help(rmqlab.RULES["4.8.0"]) has all)',
)
RULES = rmqlab.RULES["4.8.0"]


def cells(path):
    notebook = json.loads((ROOT / "notebooks" / path).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield cell["id"], "".join(cell["source"])


@pytest.fixture(scope="module")
def lesson():
    """What the lesson's cells made: all its names."""
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / "notebooks")
        for _, source in cells(f"{LESSON}.ipynb"):
            exec(source, names)  # noqa: S102 - our own lesson
    return names


@pytest.fixture(scope="module")
def tasks():
    """What the cells of the solutions made."""
    names: dict = {}
    for _, source in cells(f"solutions/{LESSON}_tasks.ipynb"):
        exec(source, names)  # noqa: S102 - our own solutions
    return names


@pytest.fixture(scope="module")
def lab(lesson):
    return lesson["lab"]


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
    "Both read the same topic with four queues.",
    "A starts first, B a minute later.",
    "Then a producer sends four messages with tagA and four with tagB.",
    "The article does not state the time between the two starts; the minute is our choice.",
)
def test_the_setting(lab):
    a, b = (event.t for event in lab.events() if event.ev == "starting")
    assert round((b - a) / 1_000) == 60
    assert lab.scenario().topics == {"T": 4}
    assert Counter(row.tag for row in lab.messages()) == {"tagA": 4, "tagB": 4}
    text = (ROOT / "data/articles/README.md").read_text(encoding="utf-8")
    assert "No article states the time between the two starts." in text


@pytest.mark.claim(
    "Lab holds a broker and real client code, but its clock moves only when you say lab.run.",
    "So the cell gives the same result each time.",
)
def test_the_same_each_time(lesson):
    one, other = (lesson["experiment"](lesson["both"]) for _ in range(2))
    assert one.finish().lines() == other.finish().lines()


@pytest.mark.claim("The article draws five conclusions, and explains them with one more.")
def test_conclusions(lesson):
    assert len(lesson["answers"]) == 6
    assert all(lesson["answers"].values())


@pytest.mark.claim(
    "MsgStr2 has the tag that A asks for, and it lies in a queue that A owns.",
    "The broker filters every pull by the one slot, whoever pulls.",
    "The slot says tagB, so the pull of A brings nothing, and goes on after the message.",
    "The loss is final and silent: offsets move on, the lag is 0, nothing is sent again.",
    "It sees nothing.",
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
    assert all(row.committed == row.max for row in lab.offsets())
    assert max(Counter(row.body for row in lab.consumed()).values()) == 1


@pytest.mark.claim("Both are push consumers: their listener is called when a message comes.")
@pytest.mark.row("S-01")
def test_the_broker_only_notifies(lab):
    for who in "AB":
        asked = [frame.request for frame in lab.frames() if frame.target == who and frame.response is None]
        assert set(asked) == {"NOTIFY_CONSUMER_IDS_CHANGED"}
        assert lab.frames().where(source=who, request="PULL_MESSAGE", target="127.0.0.1:10911")
        assert lab.frames().where(source=who, request="GET_ROUTEINFO_BY_TOPIC", target="127.0.0.1:9876")


@pytest.mark.claim("B joins, so the queues of both change, and both take a new reading within milliseconds:")
def test_the_highest_version_takes_the_slot(lab):
    reading = RunView(lab._run())
    joined = [fact for fact in reading.facts(Restamp) if fact.t - reading.zero > 60_000]
    assert sorted(fact.source for fact in joined) == ["A", "B"]
    assert max(fact.t for fact in joined) - min(fact.t for fact in joined) < 10
    highest = -1
    for beat in reading.beats:
        assert beat.taken == (beat.version > highest)
        highest = max(highest, beat.version)


@pytest.mark.claim(
    "So its reading is usually later, and B wins.",
    "Two real consumers met on a real broker, and this is what the recordings say.",
    "The last starter got the messages in most runs, not in all.",
)
@pytest.mark.row("S-84")
def test_the_last_starter_usually_wins(lesson):
    races = Counter(map(lesson["winner"], lesson["met"].index))
    assert races == {"the last": 62, "the first": 11, "both: it flipped": 1}
    for race in lesson["met"].index:
        asked = {step["subscribe"]["T"]["expr"] for step in lesson["starts"][race]}
        assert (len(lesson["starts"][race]), len(asked)) == (2, 2)


@pytest.mark.claim("The last starter is likely to win, but not certain.")
def test_races_in_virtual_time(lesson):
    for _, races in lesson["races"].groupby("gap_ms"):
        won = races.won.value_counts()
        assert 0 < won["A"] < won["B"]
        assert (races[races.won == "A"][["A got", "B got"]] == (2, 0)).all(axis=None)


@pytest.mark.claim("A starts first, and none of the heartbeats of B takes the slot.")
@pytest.mark.row("S-86")
def test_a_clock_that_is_an_hour_ahead(lesson):
    for seed in (None, *range(8)):
        ahead = lesson["experiment"](lesson["both"], ahead_ms=3_600_000, seed=seed)
        assert {row.who for row in ahead.subscriptions()} == {"A"}


@pytest.mark.claim(
    '"A started first, so A has queues 0 and 1"?', "In the last row of the table the higher number comes first."
)
@pytest.mark.row("S-32")
def test_ids_as_texts_decide(lesson):
    for names in (("A", "B"), ("B", "A"), ("9980", "10020"), ("10020", "9980")):
        taken = owners(lesson["experiment"](dict(zip(names, ("tagA", "tagB"), strict=True))))
        first, last = sorted(names)
        assert taken == {0: first, 1: first, 2: last, 3: last}


@pytest.mark.claim(
    "Better, and still half of the messages are gone: each lies in a queue whose owner does not want it.",
    "Let the clients keep everything too, and nothing is lost.",
    "A broker that keeps all tags still loses half: each queue has one owner.",
    "A slot that is newer than the pull serves it in silence, and that is how A got nothing.",
    "With the last rule the messages in the queues of A wait for ever:",
)
def test_replaced_rules(lesson):
    runs = lesson["runs"]
    kept = runs["the broker keeps all tags"]
    assert fates(kept) == {"delivered": 4, "dropped_by_client": 4}
    assert fates(runs["both"]) == {"delivered": 8}
    assert {row.code for row in runs["4.8.0"].pulls().where(who="A")} == {0, 19, 20}  # none was refused
    last = runs["only the version held is served"]
    last.run(seconds=600)
    waiting = [row.queue for row in last.fates() if row.fate == "waiting"]
    assert sorted(waiting) == [0, 0, 1, 1]
    assert {owners(last)[queue] for queue in waiting} == {"A"}


@pytest.mark.claim("The order of the tags may differ.", "but 4.8.0 keeps them as a set.")
def test_the_cure(lesson):
    assert fates(lesson["cured"]) == {"delivered": 8}


@pytest.mark.claim(
    "Can you find settings with which nobody gets anything, with which one consumer gets four, with which the first"
)
@pytest.mark.row("S-32", "S-84", "S-86")
def test_things_worth_finding_are_there(lesson):
    draw = lesson["draw"]
    usual = {
        "order": "AB", "gap_ms": 60_000, "queues": 4, "A_asks": "tagA", "B_asks": "tagB",
        "messages": " ".join(lesson["tags"]), "clock_of_the_first": 0, "delays": None,
    }  # fmt: skip
    first = draw(**usual)
    assert first.alt.startswith("2 of 8 delivered, 6 lost")
    assert draw(**usual | {"A_asks": "TagA", "B_asks": "TagB"}).alt.startswith("0 of 8 delivered")
    four = draw(**usual | {"order": "BA", "queues": 1})
    assert four.alt.startswith("4 of 8 delivered")
    assert "A owns queues 0" in four.alt
    assert draw(**usual | {"clock_of_the_first": 3_600_000}).alt.endswith("It ends as tagA.")
    for change in ({"order": "BA"}, {"queues": 2}, {"messages": "tagA tagB"}, {"delays": 3}, {"gap_ms": 200}):
        assert draw(**usual | change).svg != first.svg


@pytest.mark.claim(
    "Each step from one to the next is the size of one message, so nobody else wrote in between.",
    "With the article's addresses and times put in, the lab prints the same, letter by letter.",
)
@pytest.mark.row("S-21", "S-27", "S-29", "S-30")
def test_reading_the_print(lesson):
    size = lesson["times"]["size"].unique()
    assert [after - before for before, after in pairwise(lesson["ids"].place)] == list(size) * 7
    assert set(lesson["ids"].store) == {"172.16.1.15"}
    assert lesson["ids"].place[0] == 98_843_386_814
    assert list(lesson["times"].consumed - lesson["times"].stored) == [-79, -135]
    assert lesson["same"] == len(lesson["rows"]) == 93


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
    "So each member reads every queue, the broker drops nothing, and each client keeps what it asked for.",
    "A member that restarts goes on where the others are, so this protocol is safe only while nobody leaves.",
    "RocketMQ's own way to have both is a group for each tag.",
)
def test_the_protocol_of_the_solution(tasks):
    lab = tasks["experiment"]({"A": "tagA", "B": "tagB"}, rules=tasks["protocol"])
    assert fates(lab) == {"delivered": 8}
    assert {(row.who, row.queue) for row in lab.rebalances()} == {(who, n) for who in "AB" for n in range(4)}
    lab.stop("B")
    lab.send("T", ["tagB"] * 4)
    lab.run(seconds=60)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=60)
    assert got(lab)["B"] == 4
    apart = rmqlab.Lab(topics={"T": 4})
    for who in "AB":
        apart.consumer(who, group=f"G{who}", subscribe={"T": f"tag{who}"})
    apart.run(seconds=60)
    apart.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    apart.run(seconds=30)
    assert got(apart) == {"A": 4, "B": 4}


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
