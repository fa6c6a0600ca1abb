"""The verb `lint`: files of every kind it reads, what it prints, exit status."""

from __future__ import annotations

import json

import pytest

from rmqlab.checkout import checkout_path
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.cli.cli import main

GOLDEN = checkout_path("data") / "golden" / "broker-4.8.0"


def test_members_as_arguments(capsys, tmp_path):
    assert main(["lint", "--member", "A:T=tagA", "--member", "B:T=tagB", "--queues", "4"]) == 1
    printed = capsys.readouterr().out
    answer, todo, *_ = printed.splitlines()
    assert answer == "group: Inconsistent: the members want different messages. (2 members)"
    assert todo.startswith("  What to do: Give all members of the group the same subscription.")
    assert "A message with the tag tagA; A asked for it" in printed
    told = "lost in 4 of 4 queues (A dropped by the broker, B dropped by the broker)"
    assert f"The broker holds the subscription of B: {told}" in printed
    assert main(["lint", "--member", "A:T=a||b", "--member", "B:T=b||a"]) == 0
    assert "This is proved." in capsys.readouterr().out
    target = tmp_path / "told.json"
    assert main(["lint", "--sql92", "A:T=a > b", "--sql92", "B:T=b < a", "--json", str(target)]) == 0
    assert "no message was found that tells them apart" in capsys.readouterr().out
    assert json.loads(target.read_text(encoding="ascii"))["verdict"] == "not decided"


def test_a_file_of_members(capsys, tmp_path):
    file = tmp_path / "group.json"
    members = [
        {"client": "A", "subscribe": {"T": "tagA", "U": {"type": "SQL92", "expr": "a > 3"}}},
        {"client": "B", "subscribe": {"T": "tagB", "U": {"type": "SQL92", "expr": "3 < a"}}},
    ]
    for value in ({"group": "orders", "members": members, "queues": {"T": 8}}, members):
        file.write_text(json.dumps(value), encoding="utf-8")
        assert main(["lint", str(file), "--json", "-"]) == 1
        told = json.loads(capsys.readouterr().out)
        (group,) = told["groups"]
        assert {topic["topic"]: topic["verdict"] for topic in group["topics"]} == {
            "T": "inconsistent",
            "U": "consistent",
        }
        assert group["topics"][0]["witnesses"][0]["losses"][0]["lost"] == 1


def test_heartbeats_one_a_line_the_last_of_each_client_counts(capsys, tmp_path):
    beats = []
    for client, text in (("1@A", "old"), ("1@A", "a||b"), ("1@B", "b||a")):
        data = ConsumerData(
            "G", ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            [build_subscription("T", text, "TAG"), build_subscription("%RETRY%G", "*", "TAG")],
        )  # fmt: skip
        beats.append(HeartbeatData(client, [], [data]).encode().decode())
    file = tmp_path / "beats.jsonl"
    file.write_text("\n".join(beats), encoding="utf-8")
    assert main(["lint", str(file)]) == 0
    assert capsys.readouterr().out.startswith("G: Consistent: all members want the same messages. (2 members)\n")


@pytest.mark.row("S-09", "S-10", "S-11")
def test_recorded_groups_and_their_scenarios(capsys):
    """Every heartbeat of the recorded lite set; and a scenario's members by its id."""
    assert main(["lint", str(GOLDEN / "lite"), "--json", "-"]) == 1
    groups = {one["group"]: one for one in json.loads(capsys.readouterr().out)["groups"]}
    assert groups["G_p-litesame-016"]["verdict"] == "consistent"
    assert groups["G_p-lite-000"]["verdict"] == "inconsistent"
    assert len(groups["G_p-lite-000"]["members"]) == 2
    assert main(["lint", f"{GOLDEN / 'base' / 'scenarios.jsonl'}#p-article-000"]) == 1
    assert "lost in 4 of 4 queues" in capsys.readouterr().out
    assert main(["lint", str(GOLDEN / "lite"), "--group", "G_p-litesame-016"]) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "1 is no group, heartbeat or scenario"),
        ("{", "not JSON"),
        ("", "nothing in it"),
        ('{"x": 1}', "fields x; a group has members"),
        ('{"members": 1}', "members a list of objects"),
        ('{"members": [{"client": "A"}]}', "subscribe maps topics"),
        ('{"members": [{"client": "A", "subscribe": {"T": 1}}]}', "subscribe.T is 1"),
        ('{"members": [], "queues": {"T": 0}}', "maps topics to numbers"),
        ('{"members": [{"client": "A", "subscribe": {}, "tag": "x"}]}', "unknown field 'tag'"),
        ('{"members": [{"client": "A", "subscribe": {}, "messageModel": "BROAD"}]}', "BROADCASTING, CLUSTERING"),
        ('{"members": [{"client": "A", "subscribe": {"T": {"type": "SQL92", "expr": ""}}}]}', "can't be null"),
        ('{"members": [], "queues": {"T": 9999999999}}', "numbers of queues, 1 to 65536"),
        ('{"clientID": 1, "consumerDataSet": 5}', "no heartbeat"),
        ('{"clientID": "A", "consumerDataSet": [[]]}', "an element of a heartbeat's set is no object"),
        ('{"clientID": "A", "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [null]}]}', "no object"),
    ],
)  # fmt: skip
def test_files_that_say_nothing_are_refused(tmp_path, capsys, text, problem):
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="utf-8")
    assert main(["lint", str(file)]) == 2
    assert problem in capsys.readouterr().err


def test_arguments_that_do_not_go_together(tmp_path, capsys):
    assert main(["lint"]) == 2
    assert main(["lint", "--member", "A:T=a", "--queues", "0"]) == 2
    assert main(["lint", str(tmp_path)]) == 2
    assert main(["lint", str(GOLDEN / "base" / "scenarios.jsonl#nothing")]) == 2
    assert main(["lint", str(GOLDEN / "lite"), "--group", "G"]) == 2
    assert "give a FILE, the folder of a code base, or members" in capsys.readouterr().err


CPP = (  # the C++ client 1.2 sent this to a broker of ours, asking for tagA: its code is 3552231
    '{"clientID":"22750-127.0.0.1@DEFAULT","consumerDataSet":[{"consumeFromWhere":0,"consumeType":1,"groupName":'
    '"WitnessG","messageModel":1,"subscriptionDataSet":[{"subString":"*","subVersion":"1795345882935","topic":'
    '"%RETRY%WitnessG"},{"codeSet":[0],"subString":"tagA","subVersion":"1795345882935","tagsSet":["tagA"],"topic":'
    '"Witness"}]}],"producerDataSet":[{"groupName":"WitnessP"}]}\n'
)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ('"codeSet":[0],', "has the codes [0] for 'tagA', right is: tagA 3552231"),
        ("", "has the codes [] for 'tagA', right is: tagA 3552231"),
        ('"codeSet":[3552231],', None),
    ],
)
def test_heartbeats_of_the_cpp_client_are_read_by_their_expression(capsys, tmp_path, codes, said):
    file = tmp_path / "beats.jsonl"
    beat = CPP.replace('"codeSet":[0],', codes)
    java = beat.replace("22750-127.0.0.1@DEFAULT", "J").replace('"tagsSet":["tagA"]', '"tagsSet":["tagB"]')
    file.write_text(beat + java.replace('"subString":"tagA"', '"subString":"tagB"'), encoding="ascii")
    assert main(["lint", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "TAG 'tagA' and TAG 'tagB' differ both ways" in printed
    assert "The broker holds the subscription of J: lost in all queues" in printed
    if said is None:
        assert "22750-127.0.0.1@DEFAULT has the codes" not in printed
    else:
        assert f"Witness: the heartbeat of 22750-127.0.0.1@DEFAULT {said}" in printed
        assert "no message with such a tag passes" in printed
    file.write_text(beat, encoding="ascii")
    assert main(["lint", str(file)]) == 0
    assert ("has the codes" in capsys.readouterr().out) == (said is not None)


@pytest.mark.parametrize(
    "nothing",
    [
        "[]",
        '{"members": []}',
        '{"members": [{"client": "A", "subscribe": {}}]}',
        '{"clientID": "x", "producerDataSet": [{"groupName": "P"}]}',
        '{"id": "x", "topics": {"T": 1}, "steps": []}',
    ],
)
def test_nothing_to_compare_is_not_consistent(capsys, tmp_path, nothing):
    file = tmp_path / "nothing.json"
    file.write_text(nothing, encoding="ascii")
    assert main(["lint", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no member of a consumer group subscribes anything in it: nothing to compare" in err


def test_a_condition_is_no_tag(capsys):
    assert main(["lint", "--member", "A:T=a > 3"]) == 2
    assert "'a > 3' looks like SQL92, and --member takes tags: write --sql92 'A:T=a > 3'" in capsys.readouterr().err
    assert main(["lint", "--sql92", "A:T=a > 3"]) == 0


def test_a_condition_given_as_a_tag_is_noted(tmp_path, capsys):
    path = tmp_path / "group.json"
    path.write_text('{"members": [{"client": "A", "subscribe": {"T": "a > 3"}}]}')
    assert main(["lint", str(path)]) == 0
    assert "note: T: TAG 'a > 3' (A): it looks like SQL92; as a TAG expression" in capsys.readouterr().out


def test_a_condition_that_no_broker_accepts_is_said_before_all_else(capsys):
    assert main(["lint", "--member", "A:T=tagA", "--sql92", "B:T=a >"]) == 1
    first, _, todo, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("No broker accepts SQL92 'a >' of B: ")
    assert todo == "  What to do: Repair the condition first: until then its members do not start."


def test_a_refused_condition_is_said_once(capsys):
    assert main(["lint", "--sql92", "A:T=a >", "--sql92", "B:T=b > 1"]) == 1
    out = capsys.readouterr().out
    assert out.count("read the end of the expression") == 1
    assert out.startswith("No broker accepts SQL92 'a >' of A: ")
