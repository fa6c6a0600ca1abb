"""A machine's clock is set, back and forth: a broker forgets nobody too early, a doctor and a tap tell what passed."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.doctor import doctor
from rmqlab_tools.live import broker_startup, socket_server, tap
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.system import epoch_ms
from rmqlab_tools.live.tap_recording import TapRecording
from tests.doctor.conftest import M, look

MOMENT_MS = 60_000
"""On a machine that is busy."""
HOUR_MS = 3_600_000
BEAT = {
    "clientID": "c", "consumerDataSet": [{
        "groupName": "G", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [{"topic": "T", "subString": "*"}],
    }],
}  # fmt: skip


@pytest.mark.parametrize("jumps", [[-HOUR_MS], [HOUR_MS, -2 * HOUR_MS], [-24 * HOUR_MS, 48 * HOUR_MS]])
def test_a_broker_outlives_a_clock_that_is_set(monkeypatch, caplog, jumps):
    off_ms = 0

    def clock():
        return epoch_ms() + off_ms

    for module in (socket_server, broker_startup):
        monkeypatch.setattr(module, "epoch_ms", clock)

    async def run():
        nonlocal off_ms
        startup, runtime = (
            BrokerStartup(ServeConfig.of({}, where="t", listen="127.0.0.1:0", namesrv="127.0.0.1:0")),
            None,
        )
        await startup.start()
        runtime = SocketRuntime()
        try:

            async def ask(code, body=None):
                return await runtime.invoke(startup.broker_addr, RemotingCommand.request(code, body=body), 3_000)

            groups = startup.broker.consumer_manager.consumer_table
            for jump in (0, *jumps):
                off_ms += jump
                startup._broker_server._run_timers()
                await asyncio.sleep(0.1)  # after a jump forth the broker has closed a connection that seemed silent
                answer = await ask(RequestCode.HEART_BEAT, json.dumps(BEAT).encode())
                assert answer.code == 0
                startup._broker_server._run_timers()
                assert groups["G"].client_ids == ("c",)
        finally:
            await runtime.aclose()
            await startup.stop()

    asyncio.run(run())
    assert not [record for record in caplog.records if record.exc_info]


class WallClock:
    """This machine's clock, set by a test; time itself passes as it does."""

    def __init__(self):
        self.off_ms = 0

    def __call__(self):
        return epoch_ms() + self.off_ms


@pytest.mark.parametrize("jump_ms", [HOUR_MS, -HOUR_MS, 0])
def test_what_lies_between_two_looks_is_time_that_passed(monkeypatch, jump_ms):
    """An hour of a clock that was set is no hour in which a silent member sent heartbeats, or a slot did not flip."""
    clock, judged = WallClock(), []

    async def seen(_client, previous):
        flips = {"T": "tagA" if clock.off_ms or previous is None else "tagB"}
        return look([M("A", flips)], at=clock())

    def judge(seen, previous, history):
        judged.append((seen.at - previous.at if previous else 0, history.flips("G", "T")))

    monkeypatch.setattr(doctor, "epoch_ms", clock)
    monkeypatch.setattr(doctor, "take_look", seen)
    monkeypatch.setattr(doctor, "diagnose", judge)
    with doctor.Doctor("127.0.0.1:9876") as watching:
        watching.look()
        watching.look()
        clock.off_ms = jump_ms
        watching.look()
    assert all(0 <= apart < MOMENT_MS for apart, _ in judged)
    flips = judged[-1][1]
    assert flips.looks == 3
    assert flips.per_minute is None or flips.per_minute > 60_000 / MOMENT_MS


def test_a_step_of_the_clock_puts_nothing_seen_into_the_future(monkeypatch):
    """A machine at work lets time pass between a look at one clock and at the other."""
    clock, judged = WallClock(), []

    async def seen(_client, previous):
        return look([M("A", {"T": "tagA"})], at=clock())

    monkeypatch.setattr(doctor, "epoch_ms", clock)
    monkeypatch.setattr(doctor, "take_look", seen)
    monkeypatch.setattr(doctor, "diagnose", lambda seen, previous, _: judged.append(previous and seen.at - previous.at))
    with doctor.Doctor("127.0.0.1:9876") as watching:
        watching.look()
        real = time.monotonic
        monkeypatch.setattr(doctor.time, "monotonic", lambda: real() - 0.5)  # half a second later the other is read
        clock.off_ms = HOUR_MS
        watching.look()
    assert 0 <= judged[-1] < MOMENT_MS


def test_a_tap_stamps_frames_by_the_time_that_passed(monkeypatch, tmp_path):
    """A replay takes its moments from these stamps."""
    clock = WallClock()
    for module in (tap, socket_server, broker_startup):
        monkeypatch.setattr(module, "epoch_ms", clock)

    async def run():
        startup = BrokerStartup(ServeConfig.of({}, where="t", listen="127.0.0.1:0", namesrv="127.0.0.1:0"))
        await startup.start()
        config = tap.TapConfig(
            Endpoint.parse(startup.namesrv_addr, "namesrv"),
            listen=Endpoint(),
            broker_listen=Endpoint(),
            with_namesrv=True,
        )
        tapping, runtime = tap.Tap(config, TapRecording(tmp_path / "recording")), SocketRuntime()
        await tapping.start()
        try:
            for jump_ms in (0, HOUR_MS, -HOUR_MS):
                clock.off_ms = jump_ms
                request = RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)
                assert (await runtime.invoke(tapping.namesrv_addr, request, 3_000)).code == 0
        finally:
            await runtime.aclose()
            await tapping.stop()
            await startup.stop()

    asyncio.run(run())
    lines = (tmp_path / "recording" / "frames.jsonl").read_text("ascii").splitlines()
    stamps = [json.loads(line)["t"] for line in lines]
    assert sum('"frame"' in line for line in lines) == 6
    assert stamps == sorted(stamps)
    assert stamps[-1] < MOMENT_MS
