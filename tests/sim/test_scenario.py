"""Scenario files: what is read, and every way in which one can be wrong, by line and field."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.scenario.scenario import Start, convert_scenario, numbered_scenarios, parse_scenario, read_scenarios

START = {"at": 0, "do": "start", "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "*"}}}
SEND = {"at": 3000, "do": "send", "topic": "T", "messages": [{"body": "b"}]}


def scenario(**changes):
    return {"id": "x", "topics": {"T": 2}, "steps": [START, SEND]} | changes


def text(**changes):
    return json.dumps(scenario(**changes))


def steps(*more, first=START):
    return text(steps=[first, SEND, *more])


def test_every_recorded_scenario_is_read_and_written_back(golden):
    files = sorted(golden.glob("broker-*/*/scenarios.jsonl"))
    assert len(files) >= 9
    for path in files:
        for line, one in zip(path.read_text().splitlines(), read_scenarios(path), strict=True):
            assert parse_scenario(one.to_json()) == one
            again = json.loads(line)
            for key in ("id", "topics"):
                assert one.to_builtins()[key] == again[key]
            assert len(one.steps) == len(again["steps"])


def test_defaults_of_a_start():
    start = parse_scenario(text()).steps[0]
    assert isinstance(start, Start)
    assert (start.mode, start.from_, start.strategy, start.kind, start.later_times) == (
        "clustering", "last", "avg", "push", 0,
    )  # fmt: skip
    assert "from" not in scenario()["steps"][0]
    assert parse_scenario(steps(first=START | {"from": "first"})).steps[0].from_ == "first"


def test_lone_surrogates_and_files_with_a_mark_at_their_beginning(tmp_path):
    lone = SEND | {"messages": [{"body": "\ud83d x"}]}
    assert parse_scenario(text(steps=[lone])).steps[0].messages[0].body == "\ud83d x"
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + text().encode() + b"\n\n" + text(id="y").encode())
    assert list(numbered_scenarios(path)) == [1, 3]
    packed = tmp_path / "s.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_scenarios(packed) == read_scenarios(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ["not one JSON object"]),
        ("[]", ["the scenario is []; right is an object"]),
        ("7", ["the scenario is 7; right is"]),
        (json.dumps({"id": "x"}), ["topics"]),
        (text(more=1), ["there is no field 'more' here; it has id, topics"]),
        (text(id=""), ["\"id\" is ''"]),
        (text(id="a b"), ["\"id\" is 'a b'", "letters"]),
        (text(topics={"T": 0}), ["topics.T is 0", "1 to 1024"]),
        (text(topics={"T": 10**9}), ["topics.T is 1000000000"]),
        (text(topics={"T": "4"}), ['topics.T is "4"; right is a whole number, as in "topics": {"T": 4}']),
        (text(topics={"T": 2, "T!": 1}), ["'T!'", "illegal characters"]),
        (text(topics={"T": 2, "T" * 130: 1}), ["topics", "longer"]),
        (text(topics={"": 1}), ["topics: ''", "no name for a topic: empty"]),
        (text(topics="\ud800"), ["topics is ", "right is an object"]),
        (text(**{"\udfff": 1}), ["the scenario: there is no field"]),
        (text(steps={}), ["steps is {}; right is a list"]),
        (text(steps=[SEND | {"do": "sent"}]), ['steps[0].do is "sent"', "there is no such step; did you mean send?"]),
        (text(steps=[SEND | {"do": None}]), ["steps[0].do is null", '"do" is one of start, stop']),
        (text(steps=[{"at": 0}]), ['steps[0]: "do" is missing; it is one of start, stop']),
        (text(steps=["x"]), ['steps[0] is "x"; right is an object']),
        (text(stpes=[]), ["no field 'stpes' here; did you mean steps?"]),
        (
            text(steps=[{"at": 0, "do": "start", "who": "A"}]),
            ["steps[0]: 'group' is missing; a 'start' step has at, who, group, [subscribe], [assign], [mode]"],
        ),
        (steps(first=START | {"foo": 1}), ["steps[0]: there is no field 'foo' here", "[laterTimes]"]),
        (steps(first=START | {"at": 1.5}), ["steps[0].at is 1.5; right is a whole number"]),
        (steps(first=START | {"at": -5}), ["steps[0].at is -5; it counts ms after the topics exist, so 0 or more"]),
        (steps(first=START | {"mode": "both"}), ['steps[0].mode is "both"; it is one of clustering, broadcasting']),
        (steps(first=START | {"who": ""}), ["steps[0].who is ''"]),
        (steps(first=START | {"who": "P"}), ["steps[0].who is 'P'", "producer"]),
        (steps(first=START | {"group": ""}), ["steps[0].group is empty"]),
        (steps(first=START | {"subscribe": {}}), ["steps[0].subscribe is empty"]),
        (steps(first=START | {"subscribe": {"U": {"type": "TAG", "expr": "*"}}}), ["'U'", "known topics: T"]),
        (
            steps(first=START | {"subscribe": {"T": {"type": "SQL", "expr": "*"}}}),
            ['steps[0].subscribe.T.type is "SQL"; it is one of TAG, SQL92; did you mean SQL92?'],
        ),
        (
            steps(first=START | {"subscribe": {"T": "tagA"}}),
            ['steps[0].subscribe.T is "tagA"', '"expr": "tagA || tagB"'],
        ),
        (steps(first=START | {"laterTimes": -1}), ["steps[0].laterTimes is -1"]),
        (steps(START | {"at": 4000}), ["steps[2].who is 'A'", "runs already"]),
        (steps({"at": 4000, "do": "stop", "who": "B"}), ["steps[2].who is 'B'", "started: A"]),
        (
            steps({"at": 4000, "do": "stop", "who": "A"}, {"at": 5000, "do": "cut", "who": "A"}),
            ["steps[3].who is 'A'", "stopped before"],
        ),
        (steps({"at": 2000, "do": "alloc"}), ["steps[2].at is 2000", "at 3000"]),
        (steps({"at": 10**13, "do": "alloc"}), ["steps[2].at", "at most a week"]),
        (steps(SEND | {"topic": "U"}), ["steps[2].topic is 'U'"]),
        (steps(SEND | {"messages": [{"body": "b", "queue": 2}]}), ["steps[2].messages[0].queue is 2", "0..1"]),
        (steps(SEND | {"messages": [{"tag": "b"}]}), ["steps[2].messages[0]: 'body' is missing; it has body, [tag]"]),
        (
            steps(SEND | {"messages": [{"body": "b", "props": {"a": 1}}]}),
            ['steps[2].messages[0].props.a is 1; right is a text, as in "props": {"a": "5"}'],
        ),
        (steps(SEND | {"messages": [{"body": "b", "tags": "a"}]}), ["no field 'tags' here; did you mean tag?"]),
        (steps(SEND | {"messages": [{"body": "b", "queue": -1}]}), ["steps[2].messages[0].queue is -1", "0..1"]),
        (steps({"at": 4000, "do": "resize", "topic": "T", "queues": 1}), ["steps[2].queues is 1", "may grow"]),
        (steps({"at": 4000, "do": "resize", "topic": "U", "queues": 1}), ["steps[2].topic is 'U'"]),
    ],
)
def test_what_is_wrong_is_named(line, words):
    with pytest.raises(BadInput) as caught:
        parse_scenario(line, "file.jsonl, line 7")
    message = str(caught.value)
    assert message.startswith("file.jsonl, line 7: ")
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no scenario in it"),
        (b"\xff\xfe", "this is no UTF-8 text (byte 0)"),
        (text().encode() + b"\n" + text().encode(), "line 2: \"id\" 'x' was used by line 1"),
        (text().encode() + b"\n{]\n", "line 2: not one JSON object"),
    ],
)
def test_files_that_are_none(tmp_path, content, words):
    path = tmp_path / "scenarios.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_scenarios(path)
    assert words in str(caught.value)
    with pytest.raises(BadInput, match="there is no such file; give a file of scenarios"):
        read_scenarios(tmp_path / "none.jsonl")


def test_a_restarted_consumer_and_queues_that_came_later():
    parse_scenario(
        steps(
            {"at": 4000, "do": "stop", "who": "A"},
            START | {"at": 5000},
            {"at": 6000, "do": "resize", "topic": "T", "queues": 4},
            SEND | {"at": 7000, "messages": [{"body": "b", "queue": 3}]},
        )
    )


VALUES = st.sampled_from([None, True, -1, 1.5, "x", "", [], ["x"], {}, {"x": 1}, {"type": "TAG"}, [{"body": 1}], [{}]])


@given(st.data())
def test_whatever_is_wrong_is_one_line(data):
    """Something in a good scenario is replaced, taken away or added: it is read, or refused in words."""
    fields = json.loads(steps(SEND | {"messages": [{"body": "b", "props": {"a": "5"}}]}))
    place = fields
    for _ in range(data.draw(st.integers(0, 5))):
        inside = [
            one for one in (place.values() if isinstance(place, dict) else place) if one and type(one) in {dict, list}
        ]
        place = data.draw(st.sampled_from(inside)) if inside else place
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if isinstance(place, dict):
        keys.append("added")
    key = data.draw(st.sampled_from(keys))
    if isinstance(place, dict) and data.draw(st.booleans()):
        place.pop(key, None)
    else:
        place[key] = data.draw(VALUES)
    told = "here: "
    try:
        convert_scenario(fields, "here")
    except BadInput as error:
        told = str(error)
    assert told.startswith("here: ")
    assert "`" not in told
    assert "\n" not in told


def test_with_plain_names_a_topic_may_be_as_long_as_on_the_wire():
    fields = {"id": "i" * 100, "topics": {"t" * 100: 1}, "steps": [], "plainNames": True}
    assert convert_scenario(fields).topics == {"t" * 100: 1}
    with pytest.raises(BadInput, match=r"on the wire t+_i+\) is no name for a topic"):
        convert_scenario(fields | {"plainNames": False})
