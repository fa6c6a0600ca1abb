"""What notebook 02 and its tasks say, sentence by sentence."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.message.java import string_hash
from rmqlab.run.fates import Fate
from rmqlab_tools.course.checks_02 import HUNTED
from rmqlab_tools.course.mutants import WRONG_RULES
from rmqlab_tools.show.funnels import FUNNEL_STAGES, Stage

LESSON = "02_tags"
SETTING = (
    "One consumer uses the 4.x client, one the 5.x client.",
    "We add a third one, which subscribes *.",
    "Four messages come, with the tags Aa, BB, TagA and none.",
    "Three consumers start, the messages are sent, and half a minute passes.",
    "These lines ask both rules: the broker's and the client's.",
    "Now write another rule, and run the same four messages with it.",
    "Which of these texts lets nothing through?",
    "The article on subscriptions says that all members of a group must write their tags in the same order.",
    "Notebook 01 shows what happens when the sets differ.",
    "another pair of tags that only the client can tell apart: the tasks ask for it.",
    "Now the tasks: find two tags that collide, write both checks yourself, and hunt three bugs (solutions).",
    "Then notebook 03: conditions instead of words.",
    "code is the number in the entry, or None if the broker does not know it.",
    "An entry keeps 64 bits: use the lowest 32 bits of it, as a number with a sign.",
    "tag is the text of the message's tag, or None.",
    "Here all three rules run in one laboratory:",
    "Write tags_code yourself: what a queue entry keeps of a tag, the hash code that Java gives the text.",
    "Begin with 0; for each letter multiply what you have by 31 and add the letter's number, ord(letter).",
    "A Java int has 32 bits and a sign: what does not fit is cut off, and from 2^31 on a number is negative.",
    "Without a tag, None or an empty text, the code is 0.",
    "For each of the three find a subscription and the tag of a message (or None) that ends differently than in 4.8.0.",
)
RULES = rmqlab.RULES["4.8.0"]
THREE = ["TagA", "TagB", "TagC"]
TEXTS = ["", "*", "TagA", "TagA||TagB", " TagA || TagB ", "TagA || ", " || ", "taga", "TagA || TagA"]


def ends(expression, tag, rules=RULES):
    """Whether the broker returns a message with this tag, and whether the client keeps it."""
    asked = rmqlab.tags(expression)
    return rules.is_matched_by_consume_queue(asked, rules.tags_code(tag)), rules.client_keeps(asked, tag)


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "The article sends sixty messages with three tags in turn.",
    "So each consumer is offered all the messages.",
    "A message can stop at three places.",
    "The messages that stop, stop at layer 1: there the broker looks at an entry of the queue, not at the message.",
)
def test_sixty_messages(shown):
    assert len(THREE) == 3
    assert [len(list(Stage)), Stage.LAYER_1] == [3, FUNNEL_STAGES[Fate.DROPPED_BY_BROKER_TAG]]
    assert "of 60 messages, 20 stopped at layer 1, 40 arrived" in shown["run"]
    assert shown["run"].count("of 60 messages") == 3
    assert shown["run"].count("stop at layer 2") == shown["run"].count("stop at client") == 1  # heads of the table


@pytest.mark.claim(
    "Four lines of Python do the same.",
)
@pytest.mark.row("F-50", "F-52")
@pytest.mark.parametrize("tag", ["TagA", "polygenelubricants", "a" * 40, "标签", ""])  # the second has the lowest code
def test_the_hash_in_four_lines(tag):
    code = 0
    for letter in tag:
        code = (31 * code + ord(letter) + 2**31) % 2**32 - 2**31
    assert code == string_hash(tag) == RULES.tags_code(tag)


@pytest.mark.claim(
    "It holds a number, in its last eight bytes: the hash code of the tag.",
    "by their codes the two tags are equal.",
    "This rule computes no hash code.",
    "So the broker compares numbers, and two different texts can have the same number.",
    "A whole broker gives the same answer:",
    'subscription has sub_string (the text, "*" for everything), tags_set and code_set.',
)
def test_the_broker_believes_the_numbers(shown):
    data = rmqlab.tags("TagA")
    data.code_set = {7}  # what a client computed wrongly
    assert RULES.is_matched_by_consume_queue(data, 7)
    assert not RULES.is_matched_by_consume_queue(data, RULES.tags_code("TagA"))
    assert RULES.tags_code("Aa") == RULES.tags_code("BB")
    assert [ends("Aa", tag) for tag in ("Aa", "BB", "TagA")] == [(True, True), (True, False), (False, False)]
    assert "returned  1        2" in shown["whole"]
    assert rmqlab.tags("*").sub_string == rmqlab.tags("").sub_string == "*"


@pytest.mark.claim(
    "If the set of tags is empty, as for *, the client keeps every message.",
    "It has class_filter_mode besides: if that is true, another filter has decided already, and the client keeps everything.",
    "The client does not look when its set is empty; else it keeps only the texts that it named itself.",
    "Why. The broker passes what it cannot judge, everything for *, and the codes of the set.",
)
@pytest.mark.row("F-55", "F-95")
def test_the_clients_check():
    data = rmqlab.tags("TagA || TagB")
    assert [RULES.client_keeps(data, tag) for tag in (None, "TagA", "TagC")] == [False, True, False]
    assert all(RULES.client_keeps(rmqlab.tags("*"), tag) for tag in (None, "TagA", "TagC"))
    assert RULES.is_matched_by_consume_queue(data, None)
    data.class_filter_mode = True
    assert all(RULES.client_keeps(data, tag) for tag in (None, "TagA", "TagC"))


@pytest.mark.claim(
    "The tag f5a5a608 has the hash code 0.",
    "A message without a tag has a code like any other message:",
    "0.",
    "The broker drops it, unless the consumer subscribes * or a tag whose code is 0.",
    "A message without a tag has a code like any other.",
    "Of the subscriptions by tag only * delivers it.",
    "(SQL92 has no tag check at the client: a condition such as TAGS IS NULL delivers it too.)",
)
@pytest.mark.row("F-56")
def test_a_message_without_a_tag():
    assert RULES.tags_code(None) == RULES.tags_code("f5a5a608") == 0
    assert ends("f5a5a608", None) == (True, False)
    delivering = [text for text in [*TEXTS, "f5a5a608"] if all(ends(text, None))]
    assert delivering == ["", "*"]
    assert rmqlab.tags("").sub_string == "*"
    lab = rmqlab.Lab(topics={"T": 1})
    for group, condition in {"NoTag": "TAGS IS NULL", "Number": "a > 3", "Tagged": "TAGS IS NOT NULL"}.items():
        lab.consumer(group, group=group, sql92={"T": condition})
    lab.run(seconds=5)
    lab.send("T", [None], properties=[{"a": "5"}])
    lab.run(seconds=5)
    assert {got.who for got in lab.consumed()} == {"NoTag", "Number"}


@pytest.mark.claim(
    "4.8.0 keeps tags in sets.",
    "What matters is that the set is the same for all members of a group.",
    "Order, repetition and blanks around a tag mean nothing: 4.8.0 keeps tags in sets.",
    "a subscription that lets no message through;",
)
@pytest.mark.row("S-10", "F-06")
def test_texts_and_their_order():
    first, second = rmqlab.tags("TagA || TagC"), rmqlab.tags(" TagC||TagA || TagC")
    assert (first.tags_set, first.code_set) == (second.tags_set, second.code_set) == (
        {"TagA", "TagC"}, {RULES.tags_code("TagA"), RULES.tags_code("TagC")},
    )  # fmt: skip
    assert not any(ends(" || ", tag)[0] for tag in [*THREE, None])
    with pytest.raises(rmqlab.errors.BadInput, match="split error"):
        rmqlab.tags("||")
    other = rmqlab.Lab(topics={"T": 4})
    for who, expression in {"A": "TagA || TagC", "B": "TagB"}.items():
        other.consumer(who, group="G", subscribe={"T": expression})
    other.run(seconds=60)
    other.send("T", THREE * 4)
    other.run(seconds=30)
    assert any(fate.lost for fate in other.fates())


@pytest.mark.claim(
    "In a tag of two letters the last letter counts once, and the first letter counts 31 times.",
    "Why. If the letter before the last goes up by one, that adds 31.",
    "So the last letter must go down by 31:",
    "Whatever stands before them in both tags adds the same to both.",
)
def test_hints():
    assert string_hash("Ab") == 31 * ord("A") + ord("b") == string_hash("BC")
    assert all(string_hash(f"{start}Ab") == string_hash(f"{start}BC") for start in ("Shop-", "x", "long tag before"))


@pytest.mark.claim('rmqlab.broken("moss") gives the rules of 4.8.0, of which one is wrong.')
def test_one_rule_is_wrong_in_each():
    assert [len(WRONG_RULES[name]) for name in HUNTED] == [1, 1, 1]


@pytest.mark.claim(
    'The place of a letter counts, so "ab" and "ba" differ; a sum of the letters would give one code for both.',
    "The code is cut to 32 bits at each step, as Java does it.",
    "Letters beyond 16 bits, such as emoji, are two char in Java: a tag with one of them needs more.",
)
def test_the_code_of_the_solution():
    from tests.proof.reference_rules import rungs

    mine = dict(rungs())["02-code"]
    assert mine("ab") != mine("ba")
    assert sum(map(ord, "ab")) == sum(map(ord, "ba"))
    assert all(mine(tag) == RULES.tags_code(tag) for tag in (*THREE, "Shop-Ab", "a" * 100, "标签", "", None))
    assert mine("😀") != RULES.tags_code("😀")
