"""Recordings of the real broker through ours; and every way in which a recording may be changed is noticed."""

from __future__ import annotations

import copy
import json
import struct
import tarfile

import pytest

from rmqlab.errors import BadInput
from rmqlab.message.record import BLANK_MAGIC_CODE
from rmqlab.rules import DEFAULT_RULES, RULES
from rmqlab_tools.cli.cli import main
from rmqlab_tools.recordings.frames import LineKind, Recording, read_recording
from tests.proof.replay import order_search as search_module
from tests.proof.replay.replay import recorded_rules, replay, replay_recording
from tests.proof.replay.tolerated_differences import Tolerated

pytestmark = pytest.mark.slow

# Requests, orders that only later answers tell, messages that became visible late.
SETS = {
    "base": (10_612, 5, 0), "base-2": (11_488, 3, 11), "bitmap": (683, 0, 0), "noprop": (468, 0, 0),
    "lite": (1_815, 0, 0), "lite-2": (1_796, 0, 0), "audit": (8_426, 0, 0), "admin": (891, 0, 0),
    "random": (7_197, 0, 0), "random-2": (18_733, 0, 0), "life": (4_947, 0, 0), "life-strict": (1_431, 0, 0),
}  # fmt: skip
SETS_OF_5 = {"broker-5.3.3/base": 8_196, "broker-5.5.0/base": 7_768, "broker-5.5.0/push": 3_412}


@pytest.fixture(scope="module")
def results(golden):
    """Each set, replayed once."""
    return {name: replay(golden / "broker-4.8.0" / name) for name in SETS}


@pytest.fixture(scope="module")
def bitmap(golden):
    return read_recording(golden / "broker-4.8.0" / "bitmap")


@pytest.fixture
def few_passes(monkeypatch):
    """What was changed is found by the first pass; other orders cannot explain it and need not be tried for long."""
    monkeypatch.setattr(search_module, "PASSES", 2)


@pytest.mark.row("S-65", "S-66", "S-67", "S-73", "S-79", "S-91", "H-44", "H-45")
@pytest.mark.parametrize("name", SETS)
def test_every_answer_of_the_real_broker_is_ours(results, name):
    result = results[name]
    requests, orders, late = SETS[name]
    assert result.differing == []
    assert (result.name, result.requests, result.identical) == (name, requests, requests)
    assert sum(count for count, _ in result.codes.values()) == requests
    assert (len(result.orders), len(result.late), result.uses[Tolerated.REPUT_STALL]) == (orders, late, late)
    assert result.latest_ms == (289.0 if late else 0)


@pytest.mark.parametrize("name", SETS_OF_5)
def test_every_answer_of_a_real_broker_of_5_is_ours(golden, name):
    """The frames name the version, and nothing else is told."""
    result = replay(golden / name)
    assert result.differing == []
    assert (result.requests, result.identical) == (SETS_OF_5[name], SETS_OF_5[name])


def test_rules_of_another_version_do_not_explain_a_recording(golden, few_passes):
    assert replay(golden / "broker-5.5.0" / "push", rules=RULES["4.8.0"]).differing


def test_a_recording_of_an_unknown_version_is_named_with_those_there_are(golden):
    recording = read_recording(golden / "broker-4.8.0" / "noprop")
    for line in recording.lines:
        if line.command:
            line.command.version = 441
    with pytest.raises(BadInput, match=r"noprop: no rules of version '5\.1\.4'; there are those of 4\.8\.0, 5\.3\.3"):
        recorded_rules(recording)


def test_requests_were_overtaken_only_while_they_were_under_way(results):
    result = results["base"]
    assert result.reorderings
    for reordering in result.reorderings:
        first, overtaker = reordering.seen_first, reordering.handled_first
        assert first.line.t <= overtaker.line.t < first.answered_at
    assert result.near > 0.8 * len(result.reorderings)
    assert result.widest_ms < 5
    assert result.uses[Tolerated.OVERTAKEN] == len(result.reorderings)


@pytest.mark.parametrize("name", ["bitmap", "lite"])
def test_the_commit_log_we_end_with_is_the_real_brokers(golden, name):
    """But for what no frame tells: store times of messages nobody pulled, ports of who sent only such."""
    recording = read_recording(golden / "broker-4.8.0" / name)
    store = search_module.OrderSearch(recording, print, DEFAULT_RULES).run_pass(()).broker.store
    ours = b"".join(store.commit_log.get_data(start, 1 << 20) for start in range(0, store.max_phy_offset, 1 << 20))
    with tarfile.open(golden / "broker-4.8.0" / name / "store.tar.gz") as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive if one.isfile()}
    real = b"".join(data for path, data in sorted(files.items()) if "/commitlog/" in f"/{path}")
    position = records = 0
    while position < len(ours):
        size, magic = struct.unpack_from(">ii", ours, position)
        mine, theirs = (bytearray(log[position : position + size]) for log in (ours, real))
        if magic != BLANK_MAGIC_CODE:
            mine[52:64] = theirs[52:64]
            records += 1
        assert mine == theirs, f"record at {position}"
        position += size
    assert records > 60
    assert real[position : position + 8] == bytes(8)


def changed(recording, index, **values):
    """Return the recording with another command in one line."""
    line = copy.copy(recording.lines[index])
    line.command = copy.copy(line.command)
    for name, value in values.items():
        setattr(line.command, "content" if name == "body" else name, value)
    return Recording(
        recording.name, recording.properties, [*recording.lines[:index], line, *recording.lines[index + 1 :]]
    )


def answers(recording, wanted):
    """Indexes of the broker's frames that `wanted` picks, some from the beginning, the middle and the end."""
    found = [
        index
        for index, line in enumerate(recording.lines)
        if line.kind is LineKind.FRAME and not line.to_broker and wanted(line.command)
    ]
    assert found
    return found[:: max(len(found) // 4, 1)]


def is_answer(command):
    return command.is_response


CHANGES = {
    "code": (is_answer, lambda command: {"code": command.code + 1}),
    "remark": (is_answer, lambda command: {"remark": f"{command.remark}."}),
    "no remark": (lambda command: command.remark is not None, lambda _: {"remark": None}),
    "flag": (is_answer, lambda command: {"flag": command.flag | 4}),
    "language": (is_answer, lambda _: {"language": "GO"}),
    "version": (is_answer, lambda command: {"version": command.version + 1}),
    "header field": (
        lambda command: command.is_response and "offset" in (command.ext_fields or {}),
        lambda command: {"ext_fields": {**command.ext_fields, "offset": str(int(command.ext_fields["offset"]) + 1)}},
    ),
    "next offset": (
        lambda command: "nextBeginOffset" in (command.ext_fields or {}),
        lambda command: {"ext_fields": {**command.ext_fields, "nextBeginOffset": "99"}},
    ),
    "highest offset": (
        lambda command: "maxOffset" in (command.ext_fields or {}),
        lambda command: {"ext_fields": {**command.ext_fields, "maxOffset": "99"}},
    ),
    "highest offset beyond a long": (
        lambda command: "maxOffset" in (command.ext_fields or {}),
        lambda command: {"ext_fields": {**command.ext_fields, "maxOffset": "9" * 5_000}},
    ),
    "message id": (
        lambda command: "msgId" in (command.ext_fields or {}),
        lambda command: {"ext_fields": {**command.ext_fields, "msgId": "7F00000100002A9F00000000000FFFFF"}},
    ),
    "header field too many": (is_answer, lambda command: {"ext_fields": {**(command.ext_fields or {}), "x": "1"}}),
    "header field missing": (
        lambda command: command.is_response and command.ext_fields,
        lambda command: {"ext_fields": dict(list(command.ext_fields.items())[1:])},
    ),
    "no header": (
        lambda command: command.is_response and command.ext_fields == {},
        lambda _: {"ext_fields": None},
    ),
    "members": (
        lambda command: (command.body or b"").startswith(b'{"consumerIdList"'),
        lambda command: {"body": command.body.replace(b"@A", b"@X").replace(b"@B", b"@Y")},
    ),
    "no body": (lambda command: command.body is not None, lambda _: {"body": None}),
    "message body": (
        lambda command: b"MsgStr" in (command.body or b""),
        lambda command: {"body": command.body.replace(b"MsgStr", b"Msgstr")},
    ),
    "group of a notice": (
        lambda command: command.code == 40 and not command.is_response,
        lambda _: {"ext_fields": {"consumerGroup": "other"}},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.usefixtures("few_passes")
def test_a_changed_answer_is_noticed(bitmap, change):
    wanted, values = CHANGES[change]
    for index in answers(bitmap, wanted):
        line = bitmap.lines[index]
        result = replay_recording(changed(bitmap, index, **values(line.command)))
        assert any(
            (difference.conn, difference.opaque) == (line.conn, line.command.opaque) for difference in result.differing
        ), f"line {line.number}"


@pytest.mark.parametrize("start", [0, 4, 28, 36, 40, 48, 52, 56, 64, 72])
@pytest.mark.usefixtures("few_passes")
def test_a_changed_field_of_a_message_is_noticed(bitmap, start):
    """Positions in a record: size, magic, commit log offset, flags, born time, address, port, store time, ..."""
    for index in answers(bitmap, lambda command: (command.body or b"")[4:8] == b"\xda\xa3\x20\xa7"):
        body = bytearray(bitmap.lines[index].command.body)
        body[start + 3 if start != 52 else 55] ^= 0x11
        result = replay_recording(changed(bitmap, index, body=bytes(body)))
        # The port of a connection and a store time between frame and answer are the recording's to tell.
        assert result.differing or start == 52


@pytest.mark.parametrize("wanted", [is_answer, lambda command: command.code == 40 and not command.is_response])
@pytest.mark.usefixtures("few_passes")
def test_a_missing_frame_is_noticed(bitmap, wanted):
    ends = {line.conn: line.t for line in bitmap.lines if line.kind is LineKind.CLOSE}
    for index in answers(bitmap, wanted):
        line = bitmap.lines[index]
        if ends[line.conn] - line.t > 100:
            lines = [one for one in bitmap.lines if one is not line]
            assert replay_recording(Recording(bitmap.name, bitmap.properties, lines)).differing, f"line {line.number}"


@pytest.mark.parametrize("wanted", [is_answer, lambda command: command.code == 40 and not command.is_response])
@pytest.mark.usefixtures("few_passes")
def test_a_frame_too_many_is_noticed(bitmap, wanted):
    for index in answers(bitmap, wanted):
        line = copy.copy(bitmap.lines[index])
        line.number = 1_000_000
        lines = [*bitmap.lines[: index + 1], line, *bitmap.lines[index + 1 :]]
        assert replay_recording(Recording(bitmap.name, bitmap.properties, lines)).differing


def settings_of(bitmap, **changed):
    return Recording(bitmap.name, {**bitmap.properties, **changed}, bitmap.lines[:200])


@pytest.mark.usefixtures("few_passes")
def test_a_broker_that_looks_without_a_pause_is_replayed(bitmap):
    recording = settings_of(bitmap, longPollingEnable="false", shortPollingTimeMills="0")
    assert replay_recording(recording).requests > 50


def test_settings_with_which_no_broker_runs_are_refused(bitmap):
    with pytest.raises(BadInput, match="mappedFileSizeCommitLog is 0; right is a number of bytes above 0"):
        replay_recording(settings_of(bitmap, mappedFileSizeCommitLog="0"))


@pytest.mark.usefixtures("few_passes")
def test_a_held_pull_answered_at_another_time_is_noticed(bitmap):
    asked = {}
    moved = 0
    for index, line in enumerate(bitmap.lines):
        if line.kind is not LineKind.FRAME or line.command.code not in {11, 19}:
            continue
        key = line.conn, line.command.opaque
        if line.to_broker:
            asked[key] = line.t
        elif line.command.code == 19 and line.t - asked[key] > 15_000:
            other = copy.copy(line)
            other.t = line.t - 2_000
            lines = [*bitmap.lines[:index], *bitmap.lines[index + 1 :], other]
            recording = Recording(bitmap.name, bitmap.properties, sorted(lines, key=lambda one: one.t))
            assert replay_recording(recording).differing
            moved += 1
            if moved == 5:
                return
    pytest.fail(f"only {moved} held pulls timed out")


def test_the_verb_prints_a_table_and_writes_json(golden, tmp_path, capsys):
    folder = golden / "broker-4.8.0" / "noprop"
    target = tmp_path / "result.json"
    assert main(["replay", str(folder), "--json", str(target)]) == 0
    assert "noprop: 468 requests, 468 identical, 0 differences" in capsys.readouterr().out
    report = json.loads(target.read_text())
    assert {"set", "requests", "identical", "reordered", "differing"} <= report.keys()
    assert (report["set"], report["requests"], report["identical"], report["differing"]) == ("noprop", 468, 468, [])
    assert report["codes"]["11"] == {"name": "PULL_MESSAGE", "requests": 264, "identical": 264}
    assert report["reordered"] == report["undetermined"]["overtaken"]["used"]
    assert all(entry["reason"] for entry in report["undetermined"].values())
