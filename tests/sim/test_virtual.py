"""The virtual network: order, delays, timeouts, cuts and freezes, clocks."""

from __future__ import annotations

import pytest

from rmqlab.client.runtime import RemotingConnectError, RemotingError, RemotingSendRequestError, RemotingTimeoutError
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.command import RemotingCommand
from rmqlab.scenario.schedule import Schedule, ScheduledChooser, SeededChooser, Timing
from rmqlab.sim.virtual import VirtualTime
from tests.proof.virtual_clock import run_until_ms

EPOCH = 1_630_810_315_000
HOLD, ECHO, PUSH = 1, 2, 3


class EchoServer:
    """Answers ECHO at once, HOLD at its next timer; logs what it sees with its own clock."""

    def __init__(self) -> None:
        self.log: list[tuple[str, object, int]] = []
        self.held: list[tuple[Channel, RemotingCommand]] = []
        self.timer: int | None = None

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        self.log.append((channel.remote_address, command.body, now))
        if command.code == HOLD:
            self.held.append((channel, command))
            self.timer = now + 100
            return None
        if command.code == PUSH:
            channel.send(RemotingCommand.request(PUSH, body=b"news"))
        return RemotingCommand.response(0, body=command.body).reply_to(command)

    def on_channel_close(self, channel: Channel, now: int) -> None:
        self.log.append((channel.remote_address, "close", now))

    def next_timer(self) -> int | None:
        return self.timer

    def run_timers(self, now: int) -> None:
        self.timer = None
        for channel, command in self.held:
            channel.send(RemotingCommand.response(0, body=str(now).encode()).reply_to(command))
        self.held = []


def world(**kwargs: object) -> tuple[VirtualTime, EchoServer]:
    time = VirtualTime(EPOCH, **kwargs)  # type: ignore[arg-type]
    server = EchoServer()
    time.serve("10.0.0.1:10911", server)
    return time, server


def call(time: VirtualTime, name: str, *commands: tuple[int, bytes], timeout_ms: int = 3000) -> list[object]:
    """Let node ``name`` send commands one after another; the answers, or the errors, as they come in."""
    answers: list[object] = []
    node = time.nodes.get(name) or time.node(name)

    async def run() -> None:
        for code, body in commands:
            try:
                answer = await node.invoke("10.0.0.1:10911", RemotingCommand.request(code, body=body), timeout_ms)
                answers.append((answer.body, node.now() - EPOCH))
            except RemotingError as error:
                answers.append((type(error), node.now() - EPOCH))

    node.spawn(run(), "calls")
    return answers


def test_an_answer_takes_two_delays() -> None:
    time, server = world(timing=Timing((2_000,)))
    answers = call(time, "A", (ECHO, b"x"), (ECHO, b"y"))
    run_until_ms(time, 100)
    assert answers == [(b"x", 4), (b"y", 8)]
    assert [now - EPOCH for _, _, now in server.log] == [2, 6]


def test_held_requests_are_answered_by_a_timer() -> None:
    time, _ = world(timing=Timing((1_000,)))
    answers = call(time, "A", (HOLD, b"x"))
    run_until_ms(time, 1000)
    assert answers == [(str(EPOCH + 101).encode(), 102)]


def test_a_late_answer_is_a_timeout_and_is_then_ignored() -> None:
    time, _ = world(timing=Timing((1_000,)))
    answers = call(time, "A", (HOLD, b"x"), (ECHO, b"y"), timeout_ms=50)
    run_until_ms(time, 1000)
    assert answers == [(RemotingTimeoutError, 50), (b"y", 52)]


def test_frames_of_one_direction_never_overtake() -> None:
    time, server = world(timing=Timing((1_000, 50_000)), chooser=SeededChooser(3))
    node = time.node("A")

    async def burst() -> None:
        for index in range(20):
            await node.invoke_oneway("10.0.0.1:10911", RemotingCommand.request(ECHO, body=bytes([index])))

    node.spawn(burst(), "burst")
    run_until_ms(time, 1000)
    assert [body for _, body, _ in server.log] == [bytes([i]) for i in range(20)]
    assert len({choice.taken for choice in time.chooser.made}) == 2


def test_a_cut_tells_both_sides_and_the_next_call_connects_again() -> None:
    time, server = world()
    answers = call(time, "A", (HOLD, b"x"), (ECHO, b"y"), timeout_ms=400)
    run_until_ms(time, 10)
    assert time.nodes["A"].cut() == 1
    run_until_ms(time, 500)
    # As in the recorded cut: nobody fails the pending request, it waits for its timeout.
    assert answers == [(RemotingTimeoutError, 400), (b"y", 402)]
    first, second = server.log[0][0], server.log[-1][0]
    assert (first, "close", EPOCH + 10) in server.log
    assert first != second


def test_what_the_client_closes_itself_fails_its_requests_at_once() -> None:
    time, server = world()
    answers = call(time, "A", (HOLD, b"x"))
    run_until_ms(time, 10)
    time.nodes["A"].close_connections()
    run_until_ms(time, 12)
    assert answers == [(RemotingSendRequestError, 10)]
    assert server.log[-1][1] == "close"


def test_a_frozen_connection_swallows_both_ways_until_idle() -> None:
    time, server = world()
    answers = call(time, "A", (ECHO, b"1"))
    run_until_ms(time, 10)
    time.nodes["A"].freeze()
    more = call(time, "A", (ECHO, b"2"))
    run_until_ms(time, 60_000)
    assert answers == [(b"1", 2)]
    assert more == [(RemotingTimeoutError, 3010)]
    assert len(server.log) == 1
    run_until_ms(time, 200_000)
    assert server.log[-1][1] == "close"
    assert 120_000 <= server.log[-1][2] - EPOCH <= 120_020


def test_nobody_listens() -> None:
    time = VirtualTime(EPOCH)
    answers = call(time, "A", (ECHO, b"x"))
    run_until_ms(time, 1)
    assert answers == [(RemotingConnectError, 0)]


def test_the_server_may_ask_the_client() -> None:
    time, _ = world()
    node = time.node("A")
    seen: list[tuple[str, bytes | None]] = []

    def processor(address: str, command: RemotingCommand) -> RemotingCommand | None:
        seen.append((address, command.body))
        return None

    node.on_request(processor)
    call(time, "A", (PUSH, b"x"))
    run_until_ms(time, 10)
    assert seen == [("10.0.0.1:10911", b"news")]


@pytest.mark.row("S-86")
def test_every_machine_has_a_clock_of_its_own() -> None:
    time = VirtualTime(EPOCH)
    fast, exact = time.node("fast", skew_ms=3_600_000), time.node("exact")
    run_until_ms(time, 1234.5)
    assert fast.now() - exact.now() == 3_600_000
    assert exact.now() == EPOCH + 1234


def test_the_same_choices_give_the_same_run() -> None:
    def run(chooser: SeededChooser | ScheduledChooser) -> tuple[list[object], list[object], str]:
        time, server = world(timing=Timing((300, 2_000, 40_000)), chooser=chooser)
        answers = [call(time, name, *[(ECHO, bytes([i])) for i in range(5)]) for name in "ABC"]
        run_until_ms(time, 2_000)
        return answers, server.log, Schedule.of(time.chooser.made, "echo", time.timing).to_json()  # type: ignore[return-value]

    first = run(SeededChooser(11))
    assert run(SeededChooser(11)) == first
    assert run(SeededChooser(12)) != first

    assert run(ScheduledChooser(Schedule.from_json(first[2]))) == first
