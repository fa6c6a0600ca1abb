"""The recording with the admin tool and the name server: what may differ, and that nothing else may."""

from __future__ import annotations

import copy
import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.recordings.frames import LineKind, Recording, read_recording
from tests.proof.replay import order_search as search_module
from tests.proof.replay.replay import replay_recording
from tests.proof.replay.tolerated_differences import Tolerated

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def admin(golden):
    return read_recording(golden / "broker-4.8.0" / "admin")


@pytest.fixture(autouse=True)
def _few_passes(monkeypatch):
    monkeypatch.setattr(search_module, "PASSES", 1)


def answers_to(lines, code):
    """Indexes of the answers to requests of a code."""
    asked = set()
    for index, line in enumerate(lines):
        command = line.command
        if line.kind is not LineKind.FRAME or command is None:
            continue
        if line.to_broker and not command.is_response and command.code == code:
            asked.add((line.conn, command.opaque))
        elif command.is_response and not line.to_broker and (line.conn, command.opaque) in asked:
            yield index


def with_command(lines, index, **values):
    line = copy.copy(lines[index])
    line.command = copy.copy(line.command)
    for name, value in values.items():
        setattr(line.command, name, value)
    return [*lines[:index], line, *lines[index + 1 :]]


def changed(recording, code, change, which=0):
    """Return the recording with another body in one answer of the broker's."""
    index = list(answers_to(recording.lines, code))[which]
    body = recording.lines[index].command.body
    new = change(body)
    assert new != body
    lines = with_command(recording.lines, index, content=new)
    return Recording(recording.name, recording.properties, lines, recording.namesrv_lines)


def test_the_name_server_answers_as_the_real_one_did(admin):
    result = replay_recording(admin)
    assert result.differing == []
    assert result.namesrv[RequestCode.GET_ROUTEINFO_BY_TOPIC] == (203, 203)
    told = result.as_json()["namesrv"]
    assert (told["requests"], told["identical"]) == (234, 234)
    assert told["codes"]["103"] == {"name": "REGISTER_BROKER", "requests": 11, "identical": 11}
    for kind in (Tolerated.MEASURED, Tolerated.STATS_PHASE, Tolerated.INSTALLATION, Tolerated.TAPPED):
        assert result.uses[kind]


@pytest.mark.parametrize(
    ("code", "old", "new", "field"),
    [
        (208, b'"consumeTps":0.06666777779629661', b'"consumeTps":0.1', "body.consumeTps"),
        (208, b'"consumerOffset":1', b'"consumerOffset":0', "consumerOffset"),
        (28, b'"msgPutTotalTodayNow":"14"', b'"msgPutTotalTodayNow":"15"', "body.table.msgPutTotalTodayNow"),
        (28, b'"msgGetTotalTodayNow":"12"', b'"msgGetTotalTodayNow":"11"', "body.table.msgGetTotalTodayNow"),
        (28, b'"commitLogMaxOffset":"4209"', b'"commitLogMaxOffset":"4210"', "body.table.commitLogMaxOffset"),
        (28, b'"scheduleMessageOffset_3":"4,4"', b'"scheduleMessageOffset_3":"4,5"', "scheduleMessageOffset_3"),
        (26, b"maxMessageSize=4194304", b"maxMessageSize=4194305", "body.maxMessageSize"),
        (26, b"longPollingEnable=true\n", b"", "body.longPollingEnable"),
        (307, b'"commitOffset":1', b'"commitOffset":2', "body.mqTable"),
        (321, b'"tagsCode":3552231', b'"tagsCode":3552232', "body.queueData"),
        (222, b'"queueId":2,"topic":"T_x-admin-000"}:0', b'"queueId":2,"topic":"T_x-admin-000"}:1', "body.offset"),
        (315, b'"sum":0,"tps":0.0},"statsHour"', b'"sum":1,"tps":0.0},"statsHour"', "body.statsDay.sum"),
    ],
)
def test_any_other_difference_is_found(admin, code, old, new, field):
    bodies = [admin.lines[index].command.body or b"" for index in answers_to(admin.lines, code)]
    which = next(number for number, body in enumerate(bodies) if old in body)
    result = replay_recording(changed(admin, code, lambda body: body.replace(old, new, 1), which))
    found = [difference for difference in result.differing if difference.code == code]
    assert found
    assert any(field in difference.field for difference in found)
    assert result.identical == result.requests - 1


def test_what_the_name_server_should_not_say_is_found(admin):
    lines = admin.namesrv_lines
    index = next(iter(answers_to(lines, RequestCode.GET_ROUTEINFO_BY_TOPIC)))
    body = lines[index].command.body.replace(b'"perm":7', b'"perm":6', 1)
    other = with_command(lines, index, content=body)
    result = replay_recording(Recording(admin.name, admin.properties, admin.lines, other))
    told = result.as_json()["namesrv"]
    assert (told["requests"], told["identical"]) == (234, 233)
    assert [difference.field for difference in result.differing] == ["body.queueDatas[0].perm"]


def test_a_client_that_answers_nothing_is_told_of(admin):
    """Without the consumer's answer there is none to the admin tool either."""
    lines = [
        line
        for line in admin.lines
        if line.command is None or not (line.to_broker and line.command.is_response)
    ]  # fmt: skip
    result = replay_recording(Recording(admin.name, admin.properties, lines, admin.namesrv_lines))
    assert {difference.code for difference in result.differing} == {RequestCode.GET_CONSUMER_RUNNING_INFO}


def test_a_frame_to_nobody_known_is_refused(tmp_path):
    (tmp_path / "broker.conf").write_text("brokerName=a\n")
    row = {"t": 1.0, "conn": 1, "to": "elsewhere", "dir": "c2s", "frame": "00"}
    (tmp_path / "frames.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(BadInput, match="line 1, field to: expected broker or namesrv"):
        read_recording(tmp_path)
