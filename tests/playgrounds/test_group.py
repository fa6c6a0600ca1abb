"""The page "my group": its verdicts are lint's, its loss is a run's, its ways are plan's, its commands say the same."""

from __future__ import annotations

import json
import shlex

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main
from rmqlab_tools.show.link import pack, unpack


def member(client, expression, kind="TAG", topic="T"):
    return {"client": client, "topic": topic, "type": kind, "expression": expression}


TWO_TAGS = {"members": [member("A", "tagA"), member("B", "tagB")], "queues": 4}
GROUPS = [
    (TWO_TAGS, "inconsistent"),
    ({"members": [member("A", "a || b"), member("B", "b||a")]}, "consistent"),
    ({"members": [member("A", "*"), member("B", "*", topic="U")]}, "inconsistent"),
    ({"members": [member("A", "a > 3", "SQL92"), member("B", "a >= 3", "SQL92")]}, "inconsistent"),
    ({"members": [member("A", "-1 = a", "SQL92")]}, "consistent"),
]


@pytest.fixture(scope="module")
def group(lab):
    return lab("group")


@pytest.mark.parametrize(("state", "verdict"), GROUPS)
def test_the_verdict_is_that_of_the_command_the_page_prints(group, tmp_path, capsys, state, verdict):
    answer = group.judge(state)
    assert answer["verdict"] == verdict
    program, *words = shlex.split(answer["command"])
    assert program == "rmqlab"
    assert main([*words, "--json", str(tmp_path / "told.json")]) == (verdict == "inconsistent")
    assert capsys.readouterr().out.rstrip("\n") == answer["lines"]
    assert json.loads((tmp_path / "told.json").read_text())["verdict"] == verdict


def test_the_message_that_tells_two_tags_apart_is_lost_in_each_queue_or_in_half(group):
    (topic,) = group.judge(TWO_TAGS)["topics"]
    first, second = topic["witnesses"]
    assert first["said"] == "A message with the tag tagA; A asked for it"
    assert [(one["said"][-1], one["share"]) for one in first["losses"]] == [
        ("B", "4 of 4 queues"),
        ("A", "2 of 4 queues"),
    ]
    assert [(one["said"][-1], one["share"]) for one in second["losses"]] == [
        ("B", "2 of 4 queues"),
        ("A", "4 of 4 queues"),
    ]
    assert first["losses"][1]["fates"][0] == {"said": "✓ delivered", "kind": "good", "unasked": False}


def test_the_page_says_what_to_do_in_the_words_of_the_command(group):
    answer = group.judge(TWO_TAGS)
    assert f"What to do: {answer['do']}" in answer["lines"]
    for said in (answer["said"], *answer["topics"][0]["differences"]):
        assert said in answer["lines"]
    refused = group.judge({"members": [member("A", "tagA"), member("B", "a > 3", "SQL92")]})
    assert refused["refused"] == []


def test_two_tags_in_one_group_lose_six_of_eight_messages(group):
    run = group.lost(TWO_TAGS)
    assert (run["sent"], run["lost"]) == (8, 6)
    assert run["fates"] == {"dropped_by_broker_tag": 4, "dropped_by_client": 2, "delivered": 2}
    assert "<svg" in run["grid"]["svg"]


def test_a_group_of_one_mind_loses_nothing_and_a_topic_that_one_member_lacks_makes_messages_wait(group):
    same = group.lost({"members": [member("A", "a > 3", "SQL92"), member("B", "a > 3", "SQL92")]})
    assert (same["sent"], same["lost"]) == (4, 0)
    apart = group.lost({"members": [member("A", "*"), member("B", "*", topic="U")]})
    assert apart["fates"]["no_owner"] == 4


def test_every_order_of_a_start_at_once_loses_the_same_and_tells_its_progress(group):
    told = []
    found = group.every_order({**TWO_TAGS, "queues": 2}, told.append)
    assert found["losses"] == [{"lost": 3, "share": 1.0}]
    assert found["sent"] == 4
    assert set(told[0]) == {"runs", "of"}


def test_the_ways_are_those_of_plan_with_the_command_the_page_prints(lab):
    told = []
    state = {"members": [], "old": "a", "new": "a||b", "restarting": 1, "budget": 2}
    found = lab("ways").compare(state, told.append)
    rows = [one["row"] for one in told if "row" in one]
    plan = rmqlab.plan("a", "a||b", members=1, budget=2)
    assert [(one["name"], one["producers"], one["worst"], one["runs"], one["safe"]) for one in rows] == [
        (one.procedure.name, one.producers.value, one.spread()[2], one.runs, one.safe) for one in plan.tried
    ]
    assert found["safe"] == list(dict.fromkeys(one.procedure.name for one in plan.safe))
    assert found["command"] == "rmqlab plan a 'a||b' --members 1 --budget 2"
    assert found["steps"]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (member("A b", "x"), "client_name"),
        (member("A", "x", topic=""), "topic_name"),
        (member("A", "a >", "SQL92"), "refused"),
        (member("A", "||"), "refused"),
        (member("A", "a > 3"), "is_sql"),
        (member("B", "x"), "twice"),
    ],
)
def test_a_row_that_cannot_be_is_told_with_its_number(group, wrong, word):
    (problem,) = group.judge({"members": [member("B", "*"), wrong]})["problems"]
    assert (problem["row"], problem["word"]) == (1, word)
    assert word != "refused" or problem["values"]["text"]


def test_lines_are_read_as_columns_and_as_the_command_line_has_them(group):
    told = group.read_lines("A:T=tagA || tagB\n# a remark\n10.0.0.1@7 , T, SQL92:a > 3\nnothing\nB\tT\ta = 'x'\n")
    assert told["wrong"] == [4]
    assert told["rows"] == [
        member("A", "tagA || tagB"),
        member("10.0.0.1@7", "a > 3", "SQL92"),
        member("B", "a = 'x'", "SQL92"),
    ]


def test_the_whole_state_is_in_the_link(group):
    state = group.checked(TWO_TAGS | {"old": "tagA", "new": "tagB", "budget": 60})
    assert group.opened(group.judge(state)["link"]) == state


@pytest.mark.parametrize(
    "wrong",
    [3, {"member": []}, {"members": [{}]}, {"members": [member("A", "x", "XML")]}, {"queues": 0}, {"queues": "4"},
     {"old": 3}, {"members": [member("A", "x")] * 20}],
)  # fmt: skip
def test_a_link_that_holds_something_else_is_refused(group, wrong):
    with pytest.raises(BadInput):
        group.opened(pack(wrong))


def test_the_version_is_in_the_commands_and_in_the_link(group):
    asked = TWO_TAGS | {"version": "5.5.0"}
    answer = group.judge(asked)
    assert answer["command"].endswith("--version 5.5.0")
    assert group.opened(answer["link"])["version"] == "5.5.0"
    usual = group.judge(TWO_TAGS)
    assert "--version" not in usual["command"]
    assert "version" not in unpack(usual["link"])
    assert group.every_order(asked, lambda _: None)["sent"] == group.lost(asked)["sent"]
    with pytest.raises(BadInput, match="no rules of version 7"):
        group.checked({"version": 7})
