"""What notebook 01b says of the article, sentence by sentence; its own cells are run, and what they made is asked."""

from __future__ import annotations

from collections import Counter

import pytest

from rmqlab.checkout import ROOT
from tests.notebooks.test_claims_01 import fates, owners

LESSON = "01b_article"
SETTING = (
    "We put its addresses and times into the lab, and run the experiment of the first lesson.",
    "How many of a hundred printed figures come out the same?",
    "Each is a short question to the lab.",
    "These are all requests that A sends and gets:",
    "Is the one slot to blame?",
    "Let the broker keep what every member asks for, or let clients keep everything.",
    "A third way begins at the rule by which the broker serves a pull.",
    "Let the broker serve only the version that it holds, and compare all ways:",
    "Can a protocol lose nothing, and give each message only to a consumer that asked?",
    "This is the run of the first lesson:",
    '"Late together" is the share of races in which both stamps were later than usual, or both earlier (by chance: half):',
)


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "The article draws five conclusions, and explains them with one more.",
    "The article does not state the time between the two starts; the minute is our choice.",
)
def test_conclusions(lesson):
    assert len(lesson["answers"]) == 6
    assert all(lesson["answers"].values())
    text = (ROOT / "data/articles/README.md").read_text(encoding="utf-8")
    assert "No article states the time between the two starts." in text


@pytest.mark.claim(
    "The article also forbids another order of the tags.",
    "But 4.8.0 keeps them as a set: in the first lesson A asked for tagA || tagB, B for tagB || tagA, and eight messages arrived.",
)
def test_another_order_is_the_same_set(lesson):
    assert fates(lesson["experiment"]({"A": "tagA || tagB", "B": "tagB || tagA"})) == {"delivered": 8}


@pytest.mark.claim(
    "There the lines of recordings and lab overlap, and that is all that so few races can tell.",
    "The first starter stamps last about as often there as here, and that decides the race.",
    "But the recorded clients shared one machine: when it was busy, both were late.",
    "In the lab each is late on its own, as on two machines, and the lab is a faster machine than theirs.",
)
@pytest.mark.row("S-84")
def test_how_late_the_stamps_are(lesson):
    """An article's recordings and ours: READMEs of the sets say that the clients shared a machine."""
    (_, races, first, last, together, stamps_last), (_, _, ours, our_last, apart, ours_stamp_last) = (
        lesson["stamps"](name, lesson[kind]) for name, kind in (("recorded", "races"), ("simulated", "again"))
    )
    assert races == 74
    share = {text: int(text.rstrip("%")) for text in (together, apart, stamps_last, ours_stamp_last)}
    assert share[together] > 85
    assert 40 < share[apart] < 60
    assert abs(share[stamps_last] - share[ours_stamp_last]) < 10
    assert ours < first
    assert our_last < last
    won = Counter((race.last_stamp > race.first_stamp) == (race.got == race.last) for race in lesson["races"])
    assert won[True] / races > 0.9


@pytest.mark.claim("Both are push consumers: their listener is called when a message comes.")
@pytest.mark.row("S-01")
def test_the_broker_only_notifies(lab):
    for who in "AB":
        asked = [frame.request for frame in lab.frames() if frame.target == who and frame.response is None]
        assert set(asked) == {"NOTIFY_CONSUMER_IDS_CHANGED"}
        assert lab.frames().where(source=who, request="PULL_MESSAGE", target="127.0.0.1:10911")
        assert lab.frames().where(source=who, request="GET_ROUTEINFO_BY_TOPIC", target="127.0.0.1:9876")


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
    "A broker that keeps all tags still loses half: each queue has one owner.",
    "A broker that keeps all tags drops nothing, and still half is lost:",
    "each lost message lies in a queue whose owner does not want it.",
    "A slot that is newer than the pull serves it in silence.",
    "That is how A got nothing.",
    "With the last rule the messages in the queues of A wait for ever: A has another version than the slot,",
)
def test_replaced_rules(lesson):
    runs = lesson["runs"]
    kept = runs["the broker keeps all tags"]
    assert fates(kept) == {"delivered": 4, "dropped_by_client": 4}
    lost, asked = kept.fates().where(lost=True), {"A": "tagA", "B": "tagB"}
    assert all(row.tag != asked[owners(kept)[row.queue]] for row in lost)
    assert fates(runs["both"]) == {"delivered": 8}
    assert {row.code for row in runs["4.8.0"].pulls().where(who="A")} == {0, 19, 20}  # none was refused
    last = runs["only the version held is served"]
    last.run(seconds=600)
    waiting = [row.queue for row in last.fates() if row.fate == "waiting"]
    assert sorted(waiting) == [0, 0, 1, 1]
    assert {owners(last)[queue] for queue in waiting} == {"A"}


@pytest.mark.claim(
    "Each step from one to the next is the size of one message, so nobody else wrote in between.",
    "The lab prints the same, letter by letter.",
    "And the messages were consumed before they were stored, by the clocks.",
    "the article's own print shows two clocks that differ.",
)
@pytest.mark.row("S-21", "S-27", "S-29", "S-30")
def test_reading_the_print(lesson):
    assert lesson["steps"] == [None, *[197] * 7]
    assert {size for size, *_ in lesson["times"]} == {197}
    assert set(lesson["stores"]) == {"172.16.1.15"}
    assert lesson["places"][0] == 98_843_386_814
    assert [consumed - stored for _, stored, consumed in lesson["times"]] == [-79, -135]
    assert lesson["same"] == len(printed(lesson)) == 93


def printed(lesson):
    return [figure for part in lesson["result"].figures.values() for figure in part if figure.kind == "printed"]


@pytest.mark.claim("Two places drop messages, not one: the broker by the slot of the group, the consumer by its own")
def test_two_places(lab):
    assert {row.dropped_by for row in lab.fates() if row.lost} == {"broker", "A"}
