"""What a tap's frames tell, against what the events beside recorded frames of real 4.8.0 clients show."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from rmqlab.cli import main
from rmqlab.errors import BadInput
from rmqlab.lab.fates import LOSING, Fate
from rmqlab.lab.recorded.accounts import recorded_accounts, tap_account
from rmqlab.lab.recorded.frame_facts import FrameAccount, FrameReader
from rmqlab.lab.replay.frames import read_recording
from rmqlab.message.record import MESSAGE_MAGIC_CODE
from rmqlab.protocol.codes import RequestCode

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
        for one in recorded_accounts(folder) for fate in one.fates if fate.lost
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
    account = FrameAccount("")
    reader = FrameReader(lambda client: (account, client) if client else None, lines)
    broken = {"field": 0, "answer": 0}
    for line in lines:
        command = line.command
        if command is not None and line.to_broker and command.code == RequestCode.PULL_MESSAGE and not broken["field"]:
            del command.ext_fields["consumerGroup"]
            broken["field"] += 1
        elif command is not None and command.is_response and (body := command.body) and body[4:8] == MAGIC:
            command.content = body[:20]
            broken["answer"] += 1
        reader.see(line)
    assert all(broken.values())
    assert {fact.kind for fact in account.facts} >= {"heartbeat", "subscription", "rebalance", "commit"}
    assert account.given == []


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
    assert f"{passed} fates are passed: frames do not tell what a listener got" in told
    assert ("192.0.2.2@A_p-article-000", "G_p-article-000", "T_p-article-000", "tagA") in {
        (row["who"], row["group"], row["topic"], row["expression"]) for row in tables["beats"]
    }
