"""What notebook 03 and its tasks say, sentence by sentence."""

from __future__ import annotations

from itertools import product

import pytest

import rmqlab
from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.compiler import ParseCache
from rmqlab_tools.course.checks_03 import HUNTED, REPAIRS, THROWS, comparisons
from rmqlab_tools.course.mutants import WRONG_RULES

LESSON = "03_sql92"
SETTING = (
    "An SQL92 filter is a condition on the properties of a message.",
    "The 4.x consumer, Consumer4x, has the condition that stands above as expression.",
    "rmqlab.sql92 does the same for one message.",
    "rmqlab.sql92 gives values as well.",
    "These are the values of both conditions:",
    "price < 100.0.",
    "Five:",
    "Six:",
    "Without a message rmqlab.sql92 says what is probably not meant:",
    "Type any condition and any message (name=value, values with blanks in single quotes).",
    "Swap the sides of an OR, for example in a > 3 OR TAGS = 'TagB'.",
    "Put brackets around every condition.",
    "Now the tasks: write a comparison, repair five conditions, hunt three bugs (solutions).",
    "Then notebook 04: why there are two layers.",
    "What does a > 10 make of the property a?",
    "text is the value of the property, or None if it is missing.",
    "The function returns True or False, or None for null.",
    "Where 4.8.0 throws, it raises ValueError.",
    "Write them so that they mean it, for every message.",
    "NOT a = '1'.",
    "Wanted: every message whose a is not '1', those without a too.",
    "price: price > 100.",
    "Wanted: the price is there and above 100.",
    "vip: city = 'Hangzhou' AND age = 18 OR level = 'vip'.",
    "Wanted: everybody with level vip, and those of age 18 in Hangzhou.",
    "Wanted: every message that is not closed, those without a state too.",
    "For each of the three find a condition and the properties of a message that ends differently than in 4.8.0.",
)
MESSAGES = [{}, *({"a": value} for value in ("", "1", "-5", "2.0", "100", "100.5", "101", "true", "null", "xyz", "x%"))]
RULES = rmqlab.RULES["4.8.0"]
THROWN = "NumberFormatException"


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


def value(expression, message=None):
    return rmqlab.sql92(expression, message or {}).value


def refused(expression):
    return not rmqlab.sql92(expression).accepted


@pytest.mark.claim(
    "The article sends ten messages.",
    "The 4.x consumer asks for two tags and a range of a.",
    "The 5.x consumer asks for the two tags.",
    "In notebook 02 the messages stopped at layer 1, which looks at the queue's entry.",
    "So these messages stop at layer 2.",
)
def test_ten_messages(shown):
    assert "of 10 messages, 7 stopped at layer 2, 3 arrived" in shown["run"]
    assert "of 10 messages, 3 stopped at layer 2, 7 arrived" in shown["run"]
    assert "0, 1, 3, 4, 6, 7, 9  right" in shown["arrived"]


@pytest.mark.claim(
    "One sentence of the article misleads in the marked cases: strings that can become numbers are numbers."
)
def test_the_marked_cases(shown):
    marked = [line.split("  ")[0] for line in shown["cases"].splitlines() if line.endswith("<")]
    assert marked == ["a > '100'", "a > 100", "a = 100"]  # a text that could be a number, as literal or as value


@pytest.mark.claim("The property is a text, '4', and the literal is a number.")
def test_a_property_is_a_text(shown):
    assert "'4'" in shown["tree"]
    assert "3 (Integer)" in shown["tree"]


@pytest.mark.claim(
    "A missing property is null: unknown, neither true nor false.",
    "So every condition comes to one of four values.",
    "Below, a has four values, so that a = 1 comes to each of the four.",
    "Conditions have four values.",
    "A missing property is null, NOT null is null, and some evaluations throw.",
    "Neither null nor an error matches.",
    "Only true matches.",
)
@pytest.mark.row("F-25", "F-65")
def test_four_values():
    texts = ["a > 100", "a > 100.0", "a = '1'", "NOT (a > 100)", "a IS NULL", "a BETWEEN 1 AND 3", "a = TRUE", "a"]
    found = set()
    for expression, message in product(texts, MESSAGES):
        answer = rmqlab.sql92(expression, message)
        found.add(answer.value)
        assert answer.matches == (answer.value == "true")
    assert found == {"true", "false", "null", THROWN}
    assert value("a > 1") == value("NOT (a > 1)") == "null"
    assert [value("a = 1", one) for one in ({"a": "1"}, {"a": "0"}, {}, {"a": "one"})] == [
        "true",
        "false",
        "null",
        THROWN,
    ]


@pytest.mark.claim(
    "An error wins, unless the result is decided before that side is asked.",
    "Without NOT this guard changes no match: null and false both match nothing.",
    "Under a NOT the guard decides.",
)
@pytest.mark.row("F-22", "F-23", "F-25")
def test_connectives():
    for message in MESSAGES:
        guarded, bare = rmqlab.sql92("a IS NOT NULL AND a > 100", message), rmqlab.sql92("a > 100", message)
        assert guarded.matches == bare.matches
    assert value("NOT (a IS NOT NULL AND a > 100)") == "true"
    assert value("NOT (a > 100)") == "null"
    message = {"a": "x", "b": "1"}
    assert value("a > 1 OR b = '1'", message) == value("a > 1 AND b = '2'", message) == THROWN
    assert value("c = 'x' OR a > 1", message) == THROWN  # null decides nothing
    assert [value("b = '1' OR a > 1", message), value("b = '2' AND a > 1", message)] == ["true", "false"]


@pytest.mark.claim("The vase does not arrive: its evaluation throws, and the broker does not ask the rule.")
def test_the_rule_is_not_asked_after_an_error():
    asked = []
    lab = rmqlab.Lab(topics={"T": 1}, rules=RULES.replace(is_matched_by_commit_log=lambda one: bool(asked.append(one))))
    lab.consumer("A", group="G", sql92={"T": "price < 100.0"})
    lab.run(seconds=30)
    lab.send("T", properties=[{"price": "1.5"}, {}, {"price": "ask us"}])
    lab.run(seconds=30)
    assert set(asked) == {True, None}


@pytest.mark.claim(
    "For a whole number in the condition 4.8.0 reads the value as a whole number of the same size.",
    "If the value is no such number, the evaluation throws.",
    "The literal decides how the text of a property is read.",
    "100 and 100.0 are two different questions.",
    "Try a > 3 for the message a=3.5, then write a > 3.0.",
)
@pytest.mark.row("F-16", "F-28")
def test_the_literal_decides():
    assert value("a > 100", {"a": "2147483647"}) == "true"
    assert value("a > 100", {"a": "2147483648"}) == THROWN
    assert value("a > 2147483648", {"a": "2147483649"}) == "true"
    assert value("a > 2147483648", {"a": "9223372036854775808"}) == THROWN
    assert [value("a > 100", {"a": "100.5"}), value("a > 100.0", {"a": "100.5"})] == [THROWN, "true"]
    assert [value("a > 3", {"a": "3.5"}), value("a > 3.0", {"a": "3.5"})] == [THROWN, "true"]


@pytest.mark.claim(
    "When a condition is complete and the next word cannot go on with it, 4.8.0 ignores that word and all after it, in silence.",
    "(The next sign must still be one of the language: a != 3 and a = 1 # note are refused.)",
    "The consumer starts, nothing reports an error, and no message comes.",
    "After a complete condition 4.8.0 ignores words that cannot go on with the condition.",
    "a LIKE 'x%' compiles, and matches no message.",
)
@pytest.mark.row("F-27")
def test_what_is_ignored():
    answer = rmqlab.sql92("a LIKE 'x%' OR TAGS = 'TagA'", {"a": "xyz", "TAGS": "TagA"})
    assert refused("a != 3")
    assert refused("a = 1 # note")
    assert rmqlab.sql92("a = 1 LIKE !!!").ignored == "LIKE !!!"  # one sign is read ahead, and no more
    assert (answer.read_as, answer.ignored, answer.matches) == ("a", "LIKE 'x%' OR TAGS = 'TagA'", False)
    assert not any(rmqlab.sql92("a LIKE 'x%'", message).matches for message in MESSAGES)
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", sql92={"T": "a LIKE 'x%'"})
    lab.run(seconds=30)
    sent = lab.send("T", properties=[message for message in MESSAGES if message and all(message.values())])
    lab.run(seconds=30)
    assert len(sent) > 5
    assert not lab.consumed()


@pytest.mark.claim(
    "NOT binds tighter than =, so 4.8.0 reads (NOT a) = 1.",
    "Two: a missing a is null.",
    "Three: 5 <> a is read as NOT over 5 = a; null on the right makes the equality false, and NOT makes that true.",
    "Four: names of properties are case-sensitive.",
    "AND binds tighter than OR.",
    "|| means or among tags only.",
    "NOT binds tighter than any comparison.",
)
@pytest.mark.row("F-07", "F-23", "F-25", "F-27")
def test_surprises():
    read = {"NOT a = 1": "((NOT a) == 1)", "NOT a <> 1": "(NOT ((NOT a) == 1))", "NOT a IS NULL": "((NOT a) == NULL)"}
    assert {text: rmqlab.sql92(text).read_as for text in read} == read
    assert all(map(refused, ("NOT a > 1", "NOT a <= 1", "NOT a BETWEEN 1 AND 2", "NOT a IN ('x')")))
    assert [value("a <> 5"), value("5 = a"), value("5 <> a"), value("A > 1", {"a": "2"})] == [
        "null",
        "false",
        "true",
        "null",
    ]
    assert rmqlab.sql92("a = 1 AND b = 2 OR c = 3").read_as == rmqlab.sql92("(a = 1 AND b = 2) OR c = 3").read_as
    assert value("TAGS = 'TagA || TagB'", {"TAGS": "TagA"}) == "false"
    assert value("TRUE = a", {"a": "true"}) == "ClassCastException"


@pytest.mark.claim(
    "By default a broker refuses SQL92: enablePropertyFilter is false.",
    "It goes on to send heartbeats and to pull, in vain.",
)
@pytest.mark.row("F-08", "F-98")
def test_the_switch(shown):
    from rmqlab.broker.broker_config import BrokerConfig

    assert not BrokerConfig().enable_property_filter
    assert "6 heartbeats" in shown["switch"]
    assert "{1} messages: 0" in shown["switch"]


@pytest.mark.claim(
    "The broker compiles the text then, and keeps the tree in a manager of its own.",
    "A pull uses the tree that is there.",
)
@pytest.mark.row("F-73", "F-75")
def test_a_text_is_compiled_once():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", sql92={"T": "a > 3"})
    lab.run(seconds=30)
    held = lab.broker.consumer_filter_manager.get("T", "G").compiled_expression
    lab.send("T", properties=[{"a": "5"}])
    lab.run(seconds=60)
    assert lab.broker.consumer_filter_manager.get("T", "G").compiled_expression is held
    assert len(lab.consumed()) == 1
    cache = ParseCache()
    for number in range(100):
        cache.compile(f"a = {number}")
        cache.compile(f"a = {number}")
    assert (cache.misses, cache.hits) == (100, 100)
    cache.compile("b = 1")  # the hundred and first puts the oldest out
    cache.compile("a = 98")
    assert cache.hits == 101
    for misses in (102, 102):  # a refusal is kept as well
        with pytest.raises(MQFilterException):
            cache.compile("a ==")
        assert cache.misses == misses


@pytest.mark.claim(
    "4.8.0 reads the value as Java does.",
    "A sign may stand in front.",
    "All else must be decimal digits of any script (str.isdecimal), and there must be one at least.",
    "If the number of the condition fits into 32 bits, then the value must fit into 32 bits too, else into 64 bits.",
    "A missing property is null, and nothing is compared.",
)
def test_whole_numbers():
    for text, number, expected in comparisons():
        if text is None:
            assert expected is None
            continue
        digits, most = text[text[:1] in ("+", "-") :], 2**31 if -(2**31) <= number < 2**31 else 2**63
        fits = digits.isdecimal() and -most <= int(text) < most
        assert expected is (int(text) > number if fits else THROWS)


@pytest.mark.claim(
    "The broker accepts these five conditions, but they do not mean what their authors wanted.",
    "NOT binds to a alone, so write <>.",
    "vip: compare the age as a text, then nothing throws.",
)
def test_five_repairs():
    assert len(REPAIRS) == 5
    assert not any(refused(one.broken) for one in REPAIRS.values())
    assert value("a <> '1'") == "null"
    bracketed = "level = 'vip' OR (city = 'Hangzhou' AND age = '18')"
    plain = bracketed.replace("(", "").replace(")", "")
    assert str(compile_sql92(bracketed).root) == str(compile_sql92(plain).root)
    assert value(bracketed, {"city": "Hangzhou", "age": "unknown"}) == "null"


@pytest.mark.claim(
    'rmqlab.broken("onyx") gives the rules of 4.8.0, of which one is wrong.',
    "topaz: a message whose condition is true stops at the client, because that client wants a tag that it named, and a condition names none.",
)
def test_one_rule_is_wrong_in_each():
    assert [len(WRONG_RULES[name]) for name in HUNTED] == [1, 1, 1]
