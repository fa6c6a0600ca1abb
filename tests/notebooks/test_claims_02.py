"""What notebook 02 and its tasks say, sentence by sentence."""

from __future__ import annotations

from collections import Counter

import pytest

from rmqlab.filter.filter_api import build_subscription_data
from rmqlab.filter.filter import both_steps
from rmqlab.lab.articles.tag_filter import COLLIDING, TAGS, TOPIC, TagFilter, one_group, subscribed
from rmqlab.lab.fates import Fate
from rmqlab.lessons.checks_02 import COUNTED, THREE
from rmqlab.lab.filter_funnel import Stage, passage_of
from rmqlab.message.java import string_hash
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.show.filters import tag_tables
from rmqlab.rules import client_keeps, is_matched_by_consume_queue, tags_code

LESSON = "02_tags"
SETTING = (
    "One consumer uses the 4.x client, one the 5.x client.",
    "We add a third that subscribes *.",
    "What does layer 1 look at?",
    "four messages come, with the tags Aa, BB, TagA and none.",
    "That is the second guess; here is a whole broker with these four:",
    "In class filter mode, which notebook 04 shows, it does not check either.",  # shown by the table below it
    "Now the tasks: find two colliding tags",
    "Then notebook 03: conditions instead of words.",
)
EVERYTHING = (None, "", "*")


@pytest.fixture(scope="module")
def run():
    return TagFilter().run()


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


def subscribe(text):
    return build_subscription_data(None, TOPIC, text)


@pytest.mark.claim(
    "The article sends sixty messages with three tags in turn.",
    "so each is offered all the messages.",
    "Here all that stop do so at the first one, layer 1: there the broker looks at an entry of the queue, not at the message.",
    "The lesson's sixty messages, twenty of each tag: how many arrive for each of these subscriptions?",
)
def test_sixty_messages(run):
    assert TagFilter().sent_tags() == list(TAGS) * 20
    assert len(TAGS) == 3
    passages = [passage_of(run, group) for group in run.scenario.groups()]
    assert [len(one.steps) for one in passages] == [60] * 3
    assert {step.stage for one in passages for step in one.steps} == {None, Stage.LAYER_1}
    assert {step.fate for one in passages for step in one.stops(Stage.LAYER_1)} == {Fate.DROPPED_BY_BROKER_TAG}


@pytest.mark.claim("There is a number: the tag's hash code, Java's String.hashCode, widened to eight bytes.")
@pytest.mark.parametrize("tag", ["TagA", "polygenelubricants"])  # the second has the lowest code: it is negative
def test_the_code_in_an_entry(tag):
    raw = subscribed("*", [tag]).entry(0).raw
    assert int.from_bytes(raw[-8:], "big", signed=True) == string_hash(tag)


@pytest.mark.claim(
    "The article says that the broker first computes the message's hash code and then compares.",
    "Layer 1 computes none: it looks the stored code up in a set of codes.",
    "So the broker compares numbers, and never sees a tag's text when it filters by tag.",
    "The broker compares a stored number with numbers that the client computed.",
    "It compares no texts.",
)
def test_the_broker_believes_the_numbers():
    data = subscribe("TagA")
    data.code_set = {7}  # what a client computed wrongly
    assert is_matched_by_consume_queue(data, 7)
    assert not is_matched_by_consume_queue(data, string_hash("TagA"))


@pytest.mark.claim(
    "They can stop at three places.",
    "two different texts can have one number: a hash collision. Aa and BB are such a pair.",
)
def test_a_collision():
    assert len(Stage) == 3
    assert COLLIDING == ("Aa", "BB")
    passage = subscribed("Aa", ["Aa", "BB", "TagA", None]).passage("G")
    assert [step.stage for step in passage.steps] == [None, Stage.CLIENT, Stage.LAYER_1, Stage.LAYER_1]


@pytest.mark.claim(
    "The client knows three cases: no tag, a tag in its set, a tag that is not in its set.",
    "It keeps the message in the second case only.",
    "If its set is empty, as for *, it does not check.",
)
def test_the_clients_check():
    data = subscribe("TagA || TagB")
    assert [client_keeps(data, tag) for tag in (None, "TagA", "TagC")] == [False, True, False]
    assert all(client_keeps(subscribe("*"), tag) for tag in (None, "TagA", "TagC"))
    data.class_filter_mode = True
    assert all(client_keeps(data, tag) for tag in (None, "TagA", "TagC"))


@pytest.mark.claim(
    "Its code is a number like any other: 0.",
    "So the broker drops it, unless you subscribe * or a tag whose own code is 0 by chance, such as f5a5a608; then the client drops it.",
    "A message without a tag has a code like any other.",
    "Only a subscription of everything delivers it.",
)
def test_a_message_without_a_tag():
    assert tags_code(None) == 0
    assert string_hash("f5a5a608") == 0
    steps = both_steps(subscribe("f5a5a608"), None)
    assert (steps.broker, steps.client) == (True, False)
    assert all(both_steps(subscribe(text), None).delivered for text in EVERYTHING)
    others = [text for text in tag_tables.TEXTS if text not in EVERYTHING and text != "||"]
    assert not any(both_steps(subscribe(text), None).delivered for text in [*others, "f5a5a608"])


@pytest.mark.claim(
    "The first three texts of the table mean everything.",
    "|| between blanks is accepted, has no tag in it and lets nothing through.",
    "|| alone is refused.",
    "Order, repetition and blanks around a tag mean nothing; || between blanks matches no message.",
    "Tags are case-sensitive; blanks between separators leave no tag and therefore no code; repetition changes nothing; the empty text means everything.",
)
def test_texts():
    rows = tag_tables.parsed().rows
    assert [row[1] for row in rows[:3]] == ["'*'"] * 3
    assert "'*'" not in {row[1] for row in rows[3:]}
    by_text = {row[0]: row[2:] for row in rows}
    assert by_text["' || '"] == ("(empty)", "(empty)", "nothing")
    assert by_text["'||'"][-1].startswith("refused")
    assert by_text["'TagA || TagA'"] == by_text["'TagA'"]
    assert subscribe(" B ||A|| B").code_set == subscribe("A||B").code_set
    assert subscribe("taga").code_set != subscribe("TagA").code_set
    assert set(COUNTED) == {"TagA||TagB", "taga", " || ", "TagC || TagC", ""}


@pytest.mark.claim(
    "In 4.8.0 tags are kept in sets, and so are codes.",
    "Here two members of one group disagree about the order, and about nothing else.",
    "Nothing is lost.",
    "What matters is that the set is the same for all members; notebook 01 shows what happens when it is not.",
)
def test_the_order_of_tags():
    first, second = subscribe("TagA || TagC"), subscribe("TagC || TagA")
    assert (first.tags_set, first.code_set) == (second.tags_set, second.code_set)
    run = one_group("TagA || TagC", "TagC || TagA")
    assert Counter(fate.fate for fate in run.fates if fate.lost) == {}
    assert any(fate.lost for fate in one_group("TagA || TagC", "TagB").fates)


@pytest.mark.claim("It is one property with the name TAGS, and a message has one tag or none.")
def test_one_tag():
    message = Message.of("T", b"x", "Other")
    message.tags = "TagA"
    assert {name: value for name, value in message.properties.items() if value in {"Other", "TagA"}} == {"TAGS": "TagA"}
    assert Message.of("T", b"x").tags is None


@pytest.mark.claim(
    "There the eight bytes hold something else: the time at which it is due, in milliseconds.",
    "Not every number there is a hash.",
)
def test_a_delayed_message():
    bench = subscribed("*", ["TagA"])
    bench.send("later", "TagA", delay_level=1)  # level 1: a second
    assert bench.entry(0, SCHEDULE_TOPIC).tags_code == bench.now + 1_000


@pytest.mark.claim(
    "Things worth finding: a subscription that lets an untagged message through; one that lets nothing through; a pair of tags that only the client can tell apart.",
    "in Java's table of letters, A and B are one apart, a and B thirty-one.",
    "hash_steps shows that the last letter counts once and the one before it thirty-one times.",
    "One step up in the next to last letter adds thirty-one, so the last letter must go down by thirty-one:",
    "Whatever stands before them in both tags adds the same to both, so Shop-Ab and Shop-BC collide as well.",
)
def test_hints():
    assert (ord("B") - ord("A"), ord("a") - ord("B")) == (1, 31)
    assert string_hash("Ab") == 31 * ord("A") + ord("b") == string_hash("BC")
    assert all(string_hash(f"{start}Ab") == string_hash(f"{start}BC") for start in ("Shop-", "x", "long tag before"))


@pytest.mark.claim("Three messages come; their tags are in THREE.")
def test_three_messages():
    assert list(THREE.values()) == ["BB", "TagA", None]
