"""What a tap's frames tell, against what the events beside recorded frames of real 4.8.0 clients show."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from rmqlab.errors import BadInput
from rmqlab.events import Filtered, Heartbeat
from rmqlab.filter.filter import Filter
from rmqlab.message.record import MESSAGE_MAGIC_CODE
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import SQL92, TAG, build_subscription
from rmqlab.rules import tags_code
from rmqlab.run.facts import Fact
from rmqlab.run.fates import LOSING, Fate, SendRecord
from rmqlab.run.run import sent_messages
from rmqlab.scenario.fault_steps import BROKER
from rmqlab_tools.cli.cli import main
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame
from rmqlab_tools.recordings.drop_attribution import LikelyDroppers
from rmqlab_tools.recordings.frame_facts import RunFromFrames
from rmqlab_tools.recordings.frames import LineKind, RecordedLine, read_recording
from rmqlab_tools.recordings.recording_reader import members_of_frames, read_frames, read_runs, tap_account

pytestmark = pytest.mark.slow

MAGIC = (MESSAGE_MAGIC_CODE & 0xFFFF_FFFF).to_bytes(4, "big")
# Of the losses that events and frames tell, the frames alone tell this share at least.
MIN_SHARE = {"base": 0.9, "base-2": 0.9, "lite": 0.3, "bitmap": 1, "noprop": 1}


@pytest.fixture(params=list(MIN_SHARE))
def recorded(request, golden, tmp_path):
    """A recorded set, and a copy of its frames alone, as a tap leaves them."""
    folder, bare = golden / "broker-4.8.0" / request.param, tmp_path / "tap"
    bare.mkdir()
    for name in ("frames.jsonl.gz", "broker.conf"):
        shutil.copy(folder / name, bare / name)
    return folder, bare


def events_of(folder):
    return [json.loads(line) for line in gzip.decompress((folder / "events.jsonl.gz").read_bytes()).splitlines()]


def test_frames_alone_know_what_was_sent_and_never_call_lost_what_a_listener_got(recorded):
    folder, bare = recorded
    account, events = tap_account(bare), events_of(folder)
    names = ("queue", "offset", "body", "tag", "msgId", "offsetMsgId")
    sent = {tuple(event[name] for name in names) for event in events if event["ev"] == "sent"}
    assert sent == {tuple(event[name] for name in names) for event in account.events if event["ev"] == "sent"}
    groups = {
        (event["id"], step["who"]): f"{step['group']}_{event['id']}"
        for event in events if event["ev"] == "scenario"
        for step in event["scenario"]["steps"] if step["do"] == "start"
    }  # fmt: skip
    places = {event["msgId"]: (event["queue"], event["offset"]) for event in events if event["ev"] == "sent"}
    got = {
        (groups[event["id"], event["who"]], f"{event['topic']}_{event['id']}", *places[event["msgId"]])
        for event in events if event["ev"] == "consume" and event["msgId"] in places
    }  # fmt: skip
    fates = {}
    for fate in account.fates:
        fates.setdefault((fate.group, fate.topic, fate.queue, fate.offset), []).append(fate.fate)
    assert [place for place in got if Fate.PASSED not in fates[place]] == []
    known = {fate for each in fates.values() for fate in each}
    assert known <= (LOSING - {Fate.SKIPPED_BY_OFFSET}) | {Fate.PASSED, Fate.WAITING, Fate.NO_OWNER}


def test_losses_that_frames_alone_tell_are_losses_with_the_events_too(recorded):
    """A long pull of the old owner was answered with some, and only its listener can tell that it let them go by."""
    folder, bare = recorded
    with_events = {
        (f"{fate.group}_{one.scenario.id}", f"{fate.topic}_{one.scenario.id}", fate.queue, fate.offset): fate.fate
        for one in read_runs(folder) for fate in one.fates if fate.lost
    }  # fmt: skip
    alone, passed = {}, set()
    for fate in tap_account(bare).fates:
        place = fate.group, fate.topic, fate.queue, fate.offset
        if fate.lost:
            alone[place] = fate.fate
        elif fate.fate is Fate.PASSED:
            passed.add(place)
    assert alone.items() <= with_events.items()
    assert set(with_events) - set(alone) <= passed
    assert len(alone) >= len(with_events) * MIN_SHARE[folder.name]


def test_a_pull_that_lacks_a_field_and_a_damaged_answer_are_passed_over(golden):
    lines = read_recording(golden / "broker-4.8.0" / "noprop").lines
    account = RunFromFrames()
    broken = {"field": 0, "answer": 0}
    for line in lines:
        command = line.command
        if command is not None and line.to_broker and command.code == RequestCode.PULL_MESSAGE and not broken["field"]:
            del command.ext_fields["consumerGroup"]
            broken["field"] += 1
        elif command is not None and command.is_response and (body := command.body) and body[4:8] == MAGIC:
            command.content = body[:20]
            broken["answer"] += 1
    account.read(lines)
    assert all(broken.values())
    assert {fact.event.kind for fact in account.facts} >= {"heartbeat", "subscription", "rebalance", "commit"}
    assert account.given == []


@pytest.mark.parametrize(("field", "is_answer"), [("f", False), ("b", False), ("queueOffset", True)])
def test_a_send_that_lacks_a_field_is_no_message(golden, tmp_path, field, is_answer):
    source = golden / "broker-4.8.0" / "noprop"
    shutil.copy(source / "broker.conf", tmp_path)
    sent = len(list(tap_account(source).fates))
    rows = [json.loads(line) for line in gzip.decompress((source / "frames.jsonl.gz").read_bytes()).splitlines()]
    of_sends = set()
    for row in rows:
        if "frame" not in row:
            continue
        command = decode_frame(bytes.fromhex(row["frame"])[4:])
        key = row["conn"], command.opaque
        if command.code == RequestCode.SEND_MESSAGE_V2 and not command.is_response:
            of_sends.add(key)
        if key in of_sends and command.is_response == is_answer and field in command.ext_fields:
            command.ext_fields = {name: text for name, text in command.ext_fields.items() if name != field}
            row["frame"] = encode_frame(command).hex()
    (tmp_path / "frames.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert sent
    assert not tap_account(tmp_path).fates


def test_frames_that_tell_nothing_and_what_does_not_fit_are_refused(golden, tmp_path, capsys):
    (tmp_path / "frames.jsonl").write_text('{"t": 0.0, "control": "began", "arg": "1700000000000", "conns": []}\n')
    (tmp_path / "broker.conf").write_text("")
    with pytest.raises(BadInput, match="no consumer beats in these frames and nobody sends"):
        tap_account(tmp_path)
    shutil.copy(golden / "broker-4.8.0" / "noprop" / "frames.jsonl.gz", tmp_path)
    assert main(["events", str(tmp_path), "--id", "h-x", "--out", str(tmp_path / "out")]) == 2
    assert "has no scenarios" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_verb_writes_tables_of_a_recording_and_says_what_frames_do_not_tell(golden, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: ./lab test installs it")
    bare = tmp_path / "mine"
    bare.mkdir()
    for name in ("frames.jsonl.gz", "broker.conf"):
        shutil.copy(golden / "broker-4.8.0" / "base" / name, bare / name)
    assert main(["events", str(bare), "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    tables = {path.stem: parquet.read_table(path).to_pylist() for path in (tmp_path / "out").iterdir()}
    assert {row["id"] for rows in tables.values() for row in rows} == {"mine"}
    assert all(tables[name] for name in ("events", "messages", "fates", "beats", "slots", "ownership"))
    assert not tables["consumed"]
    passed = sum(row["fate"] == "passed" for row in tables["fates"])
    assert f"{passed} messages were passed: frames do not tell what a listener got" in told
    assert ("192.0.2.2@A_p-article-000", "G_p-article-000", "T_p-article-000", "tagA") in {
        (row["who"], row["group"], row["topic"], row["expression"]) for row in tables["beats"]
    }


def drops_that_cannot_be(run, properties):
    """Facts of a drop by a subscription that lets the message pass."""
    found = []
    for fact in run.facts.of(Filtered):
        known = properties.get((fact.event.topic, fact.event.queue, fact.event.offset))
        kind = TAG if fact.event.stage == "tags_code" else SQL92
        if known is not None and fact.event.subscription is not None:
            passes = Filter.of(None, fact.event.subscription, kind).broker_passes(
                tags_code(known.get("TAGS")), None, known
            )
            found += [fact] if passes else []
    return found


def test_no_subscription_is_said_to_drop_what_it_lets_pass(recorded):
    """Frames of two connections may stand in another order than the broker acted in, and two versions may be equal."""
    folder, bare = recorded
    drops = 0
    for run in read_runs(folder):
        sent = sent_messages(run.scenario, run.events)
        properties = {(one.topic, one.queue, one.offset): one.properties for one in sent}
        assert drops_that_cannot_be(run, properties) == []
        drops += sum(fact.event.subscription is not None for fact in run.facts.of(Filtered))
    account = tap_account(bare)
    assert sum(fact.event.subscription is not None for fact in account.facts.of(Filtered)) == drops
    tags = {(event["topic"], event["queue"], event["offset"]): {"TAGS": event["tag"]} if event["tag"] else {}
            for event in account.events if event["ev"] == "sent"}  # fmt: skip
    by_tag = [fact for fact in drops_that_cannot_be(account, tags) if fact.event.stage == "tags_code"]
    assert by_tag == []


def test_who_dropped_is_open_where_several_or_none_may_have():
    def heard(client, text):
        return Fact(0, BROKER, Heartbeat(client, ["G"], [], [("G", build_subscription("T", text, TAG, 7))]))

    sent = [SendRecord("T", 0, 0, "", "tagA", "", 0, {"TAGS": "tagA"})]
    drop = Fact(1, BROKER, Filtered("A", "G", "T", 0, 0, "tags_code", "tagA", 7))
    for others, dropper in (
        ([], None), (["tagA || tagB"], None), (["tagB"], "tagB"), (["tagB", "tagB"], "tagB"), (["tagB", "tagC"], None)
    ):  # fmt: skip
        likely = LikelyDroppers(RunFromFrames(), sent)
        for number, text in enumerate(others):
            likely.see(heard(str(number), text))
        assert likely.see(drop).event.subscription == dropper


def test_two_clients_of_one_id_are_two_and_one_that_was_frozen_is_one():
    def account(*, frozen):
        told = RunFromFrames()
        told.read([
            RecordedLine(1, 0, LineKind.FRAME, 1, True, heartbeat("A", "tagA", 1)),
            *([RecordedLine(2, 5, LineKind.CONTROL, control="freeze", conns=(1,))] if frozen else []),
            RecordedLine(3, 10, LineKind.FRAME, 2, True, heartbeat("A", "tagB", 2)),
            RecordedLine(4, 20, LineKind.CLOSE, 1),
        ])  # fmt: skip
        return [(fact.event.kind, fact.event.client) for fact in told.facts if fact.event.kind != "subscription"]

    apart = [("heartbeat", "A"), ("heartbeat", "A (connection 2)"), ("unregister", "A")]
    assert account(frozen=False) == apart
    assert account(frozen=True) == [("heartbeat", "A"), ("heartbeat", "A")]


def test_a_subscription_without_a_topic_is_none(tmp_path):
    """As the broker takes it from a foreign client: under no topic that a message could have."""
    row = {
        "t": 1.0,
        "conn": 1,
        "dir": "c2s",
        "frame": encode_frame(heartbeat("A", "tagA", 1, topics=(None, "T"))).hex(),
    }
    (tmp_path / "frames.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "broker.conf").write_text("")
    _, told = read_frames(tmp_path)
    assert [one.asked for one in members_of_frames(told)] == [[(1.0, "T", TAG, "tagA")]]
    assert [fact.event.kind for fact in tap_account(tmp_path).facts] == ["heartbeat", "subscription", "subscription"]


def heartbeat(client, text, version, topics=("T",)):
    consumer = ConsumerData(
        "G", ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        [build_subscription(topic, text, TAG, version) for topic in topics],
    )  # fmt: skip
    data = HeartbeatData(client, consumer_data_set=[consumer])
    return RemotingCommand.request(RequestCode.HEART_BEAT, body=data.encode())
