"""When a replay takes a held pull for ended, and a connection for closed: by whom, as the recording tells."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rmqlab.protocol.codes import ResponseCode
from rmqlab_tools.recordings.frames import LineKind, RecordedLine, Recording
from tests.proof.replay.read_requests import ReadRequests
from tests.proof.replay.recorded_clock import RecordedClock, read_clock
from tests.proof.replay.replay_pass import ReplayPass

HOLD_MS = 15_000


@pytest.mark.row("S-91")
@pytest.mark.parametrize(
    ("answered_at", "code", "shift"),
    [
        (14_000.0, ResponseCode.SUCCESS, 0),  # a message woke it before its time was over
        (15_008.0, ResponseCode.PULL_RETRY_IMMEDIATELY, 0),  # its time was over, and a message of another tag came
        (15_200.0, ResponseCode.PULL_RETRY_IMMEDIATELY, 10),  # a message near the end of its time did not end it
        (15_008.0, ResponseCode.PULL_NOT_FOUND, -30),  # a look that had begun before
        (17_505.0, ResponseCode.PULL_RETRY_IMMEDIATELY, 0),  # the first look after its time
        (22_505.0, ResponseCode.PULL_RETRY_IMMEDIATELY, 10),  # it outlived that look
    ],
)
def test_a_pull_is_held_as_long_as_its_answer_says(answered_at, code, shift):
    clock = RecordedClock(end=40_000.0, looks=[2_500.0 + 5_000 * n for n in range(8)])
    read = SimpleNamespace(
        answered_at=answered_at, line=RecordedLine(0, 0.0, LineKind.FRAME, 1), suspend_ms=HOLD_MS,
        expected=SimpleNamespace(code=code),
    )  # fmt: skip
    assert ReadRequests(SimpleNamespace(clock=clock))._shift(read, HOLD_MS) == shift


@pytest.mark.row("S-91")
@pytest.mark.parametrize(
    ("look", "answered_at", "code", "shift"),
    [
        (15_016.0, 20_017.0, ResponseCode.PULL_NOT_FOUND, 17),  # it outlived the look 16 ms after its time was over
        (15_016.0, 16_000.0, ResponseCode.PULL_RETRY_IMMEDIATELY, 17),  # so did one that a message ended
        (15_016.0, 15_017.0, ResponseCode.PULL_NOT_FOUND, -30),  # that look ended it
        (15_150.0, 20_151.0, ResponseCode.PULL_NOT_FOUND, 10),  # no pull is held so late
    ],
)
def test_a_pull_that_outlived_a_look_was_held_too_late_for_it(look, answered_at, code, shift):
    clock = RecordedClock(end=40_000.0, looks=[look + 5_000 * n for n in range(-3, 5)])
    read = SimpleNamespace(
        answered_at=answered_at, line=RecordedLine(0, 0.0, LineKind.FRAME, 1), suspend_ms=HOLD_MS,
        expected=SimpleNamespace(code=code),
    )  # fmt: skip
    assert ReadRequests(SimpleNamespace(clock=clock))._shift(read, HOLD_MS) == shift


@pytest.mark.parametrize(("cut", "closed_at"), [(False, 4_900.0), (True, 5_000.0)])
def test_the_broker_may_have_closed_a_connection_before_it_was_seen_but_not_one_that_the_recorder_cut(cut, closed_at):
    lines = [RecordedLine(1, 5_000.0, LineKind.CLOSE, 7, to_broker=False)]
    if cut:
        lines.insert(0, RecordedLine(0, 4_999.0, LineKind.CONTROL, control="cut", conns=(7,)))
    recording = Recording("closed", {}, lines)
    self = SimpleNamespace(context=SimpleNamespace(recording=recording, clock=read_clock(recording, [])))
    assert [t for t, line in ReplayPass._events(self) if line.kind is LineKind.CLOSE] == [closed_at]
