"""The server on sockets: orders, timers, and clients that misbehave without harm to others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import struct
import sys
import threading
import time

import pytest

from rmqlab.client.runtime import RemotingTimeoutError
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.filter.sql92.compiler import compiled_or_refused
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab_tools.live import long_expressions, socket_server
from rmqlab_tools.live.system import epoch_ms
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame


def request(body=None, opaque=1, code=1):
    return encode_frame(RemotingCommand(code=code, opaque=opaque, content=body, ext_fields={}))


async def read_frame(reader):
    length = int.from_bytes(await reader.readexactly(4))
    return decode_frame(await reader.readexactly(length))


@pytest.mark.parametrize("kind", list(SerializeType))
def test_both_serialisations_travel(net, echo, kind):
    async def run():
        async with net.listening(echo) as (_, address), net.client(serialize_type=kind) as runtime:
            answer = await runtime.invoke(address, RemotingCommand.request(7, body=b"hello"), 3000)
            assert (answer.body, echo.handled[0][1].serialize_type) == (b"hello", kind)
            await runtime.invoke_oneway(address, RemotingCommand.request(8))
            await net.soon(lambda: len(echo.handled) == 2)
            assert echo.handled[1][1].is_oneway

    asyncio.run(run())


def test_answers_keep_the_order_of_requests_and_leave_before_timers(net, echo):
    async def run():
        seen = []

        def answer(channel, command):
            if command.opaque == 2:
                echo.due = epoch_ms()  # what Broker.wake_up does
            return RemotingCommand.response(0).reply_to(command)

        def run_timers(now):
            echo.due = None
            echo.handled[0][0].send(RemotingCommand(code=99, opaque=99))

        echo.answer, echo.run_timers = answer, run_timers
        async with net.listening(echo) as (_, address), net.raw(address) as (reader, writer):
            writer.write(b"".join(request(opaque=number) for number in range(1, 4)))
            seen = [(await read_frame(reader)).opaque for _ in range(4)]
        assert seen == [1, 2, 3, 99]

    asyncio.run(run())


def test_timers_run_when_they_are_due(net, echo):
    async def run():
        echo.due = due = epoch_ms() + 60
        async with net.listening(echo):
            await net.soon(lambda: echo.timers)
        assert echo.timers[0][0] == due
        assert echo.timers[0][1] >= due

    asyncio.run(run())


@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        (struct.pack(">i", -5), "not negative"),
        (struct.pack(">ii", 1 << 30, 10), "at most"),
        (struct.pack(">ii", 20, 900) + bytes(16), "header of 900"),
        (struct.pack(">ii", 8, 4) + b"{{{{", "JSON"),
        (struct.pack(">iI", 8, 9 << 24 | 4) + b"abcd", "neither JSON"),
        (struct.pack(">i", 2) + b"ab", "4 bytes or more"),
        (struct.pack(">ii", 4 + 50_000, 50_000) + b"[" * 50_000, "too deep"),
        (struct.pack(">ii", 4 + 9_010, 9_010) + b'{"code":' + b"9" * 9_001 + b"}", ""),
    ],
)
def test_what_cannot_be_read_closes_that_connection_only(net, echo, bomb, reason, caplog):
    async def run():
        async with (
            net.listening(echo) as (server, address),
            net.client() as runtime,
            net.raw(address) as (reader, writer),
        ):
            await runtime.invoke(address, RemotingCommand.request(1), 3000)
            writer.write(bomb)
            assert await reader.read() == b""
            await net.soon(lambda: echo.closed)
            assert reason in echo.closed[0].closed_because
            assert len(echo.closed) == 1
            answer = await runtime.invoke(address, RemotingCommand.request(2, body=b"still here"), 3000)
            assert answer.body == b"still here"
            assert len(server.channels) == 1

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(run())


def test_a_bug_in_a_rule_closes_that_connection_only(net, echo, caplog):
    async def run():
        async with net.listening(echo) as (_, address), net.client() as runtime, net.raw(address) as (reader, writer):
            await runtime.invoke(address, RemotingCommand.request(1), 3000)
            good, echo.answer = echo.answer, lambda channel, command: 1 // 0
            writer.write(request())
            assert await reader.read() == b""
            echo.answer = good
            assert (await runtime.invoke(address, RemotingCommand.request(2, body=b"x"), 3000)).body == b"x"

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(run())


def test_a_slow_reader_stops_being_served_until_it_reads(net):
    big = bytes(256 * 1024)
    echo = net.Echo()
    echo.answer = lambda channel, command: RemotingCommand.response(0, body=big).reply_to(command)

    async def run():
        async with net.listening(echo) as (server, address), net.raw(address) as (reader, writer):
            writer.write(b"".join(request(opaque=number) for number in range(400)))
            await net.soon(lambda: echo.handled)
            await asyncio.sleep(0.1)
            (channel,) = server.channels
            assert len(echo.handled) < 100  # 100 MB were asked for, a few were computed
            assert channel._transport.get_write_buffer_size() < 3 * socket_server.WRITE_HIGH_BYTES
            for number in range(400):
                assert (await read_frame(reader)).opaque == number

    asyncio.run(run())


def test_notices_that_nobody_reads_end_the_connection(net, echo, monkeypatch, caplog):
    monkeypatch.setattr(socket_server, "WRITE_MAX_BYTES", 4 << 20)

    async def run():
        async with net.listening(echo) as (server, address), net.raw(address) as (_, writer):
            writer.write(request())
            await net.soon(lambda: server.channels and echo.handled)
            (channel,) = server.channels
            notice = RemotingCommand(code=40, content=bytes(1 << 20))
            for _ in range(40):
                channel.send(notice)
            await net.soon(lambda: echo.closed)
            assert "were not read" in echo.closed[0].closed_because

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(run())


def test_many_slow_readers_together_are_bounded(net, monkeypatch, caplog):
    """Each stays below its own limit; the one that left the most unread goes, the others are served when they read."""
    monkeypatch.setattr(socket_server, "UNSENT_MAX_BYTES", 12 << 20)
    echo = net.Echo()
    echo.answer = lambda channel, command: RemotingCommand.response(0, body=bytes(8 << 20)).reply_to(command)

    async def run():
        async with net.listening(echo) as (server, address), contextlib.AsyncExitStack() as all_:
            slow = [await all_.enter_async_context(net.raw(address)) for _ in range(6)]
            for _, writer in slow:
                writer.write(request())
            await net.soon(lambda: len(echo.handled) == len(slow) and echo.closed)
            assert sum(one.unsent_bytes for one in server.slow) <= 12 << 20
            assert all("slow connections" in one.closed_because for one in echo.closed)
            assert 0 < len(server.channels) < len(slow)
            left = {channel.remote_address for channel in server.channels}
            for reader, writer in slow:
                if "{}:{}".format(*writer.get_extra_info("sockname")) in left:
                    assert len((await read_frame(reader)).body) == 8 << 20
            await net.soon(lambda: not server.slow)

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(run())


def test_half_a_frame_and_then_silence(net, echo, monkeypatch, caplog):
    """A peer that vanished, or one that means to hold memory: what it sent is forgotten with its connection."""
    monkeypatch.setattr(socket_server, "_SWEEP_SECONDS", 0.02)

    async def run():
        async with (
            net.listening(echo, idle_seconds=0.2) as (server, address),
            net.raw(address) as (reader, writer),
        ):
            writer.write(struct.pack(">ii", 1 << 20, 100) + bytes(50_000))
            assert await reader.read() == b""
            await net.soon(lambda: echo.closed)
            assert echo.closed[0].closed_because == "nothing read or written for 0.2 s"
            assert server.budget.used == 0

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(run())


def test_a_silent_connection_is_closed_a_speaking_one_is_not(net, echo, monkeypatch, caplog):
    monkeypatch.setattr(socket_server, "_SWEEP_SECONDS", 0.02)

    async def run():
        async with (
            net.listening(echo, idle_seconds=0.3) as (_, address),
            net.raw(address) as (silent, _),
            net.raw(address) as (reader, writer),
        ):
            for number in range(1, 8):
                await asyncio.sleep(0.06)
                writer.write(request(opaque=number))
                await read_frame(reader)
            assert await silent.read() == b""
            assert [channel.closed_because for channel in echo.closed] == ["nothing read or written for 0.3 s"]

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(run())


def test_a_thousand_idle_connections_do_not_slow_one_down(net, echo):
    async def run():
        async with net.listening(echo) as (server, address), net.client() as runtime:
            host, _, port = address.rpartition(":")
            idle = []
            for _ in range(400):
                one = socket.create_connection((host, int(port)))
                idle.append(one)
                if len(idle) % 50 == 0:
                    await asyncio.sleep(0)
            await net.soon(lambda: len(server.channels) == 400)
            answers = [await runtime.invoke(address, RemotingCommand.request(1, body=b"x"), 3000) for _ in range(50)]
            assert len(answers) == 50
            for one in idle:
                one.close()
            await net.soon(lambda: len(server.channels) == 1)

    asyncio.run(run())


def test_a_reset_is_noticed(net, echo):
    async def run():
        async with net.listening(echo) as (_, address):
            host, _, port = address.rpartition(":")
            one = socket.create_connection((host, int(port)))
            one.sendall(request())
            await net.soon(lambda: echo.handled)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
            await net.soon(lambda: echo.closed)

    asyncio.run(run())


def test_answers_wait_for_the_disk_and_requests_go_on(net, echo):
    class Disk:
        def __init__(self):
            self.waiting, self.result = [], True

        def pending(self):
            return echo.handled[-1][1].code == 10

        def when_flushed(self, then):
            self.waiting.append(then)
            if not self.result:
                self.flush()

        def flush(self):
            for then in self.waiting:
                then(self.result)
            self.waiting.clear()

        async def flushed(self):
            assert not self.waiting

    async def run():
        disk = Disk()
        async with net.listening(echo, barrier=disk) as (_, address), net.client() as runtime:
            send = asyncio.create_task(runtime.invoke(address, RemotingCommand.request(10), 3000))
            await net.soon(lambda: echo.handled)
            assert (await runtime.invoke(address, RemotingCommand.request(11), 3000)).code == 0
            assert not send.done()
            disk.flush()
            assert (await send).code == 0
            disk.result = False
            assert (await runtime.invoke(address, RemotingCommand.request(10), 3000)).code == 10

    asyncio.run(run())


def test_a_frozen_server_gives_a_timeout(net, echo):
    echo.answer = lambda channel, command: None

    async def run():
        async with net.listening(echo) as (_, address), net.client() as runtime:
            with pytest.raises(RemotingTimeoutError, match="50"):
                await runtime.invoke(address, RemotingCommand.request(1), 50)

    asyncio.run(run())


def heartbeat_of(*expressions):
    subscriptions = [
        {"topic": f"T{number}", "subString": text, "expressionType": "SQL92", "subVersion": 1}
        for number, text in enumerate(expressions)
    ]
    member = {
        "groupName": "G", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": subscriptions,
    }  # fmt: skip
    return json.dumps({"clientID": "c", "consumerDataSet": [member]}).encode()


def test_a_large_heartbeat_makes_nobody_wait_but_its_sender(net, echo, monkeypatch):
    gate, texts = threading.Event(), []

    def slow(text, version):
        texts.append(text)
        assert gate.wait(30)
        return compiled_or_refused(text, version)

    monkeypatch.setattr(long_expressions, "compiled_or_refused", slow)
    body = heartbeat_of(*(f"a = {number} OR a = 1" for number in range(200)))

    async def run():
        async with (
            net.listening(echo, compiles_aside="4.8.0") as (_, address),
            net.raw(address) as (reader, writer),
            net.client() as other,
        ):
            writer.write(request(body, 1, RequestCode.HEART_BEAT) + request(opaque=2))
            await net.soon(lambda: texts)
            for _ in range(3):
                await other.invoke(address, RemotingCommand.request(7), 3000)
            assert [command.code for _, command in echo.handled] == [7, 7, 7]
            gate.set()
            assert [(await read_frame(reader)).opaque for _ in range(2)] == [1, 2]
        assert len(texts) == 200

    asyncio.run(run())


def test_a_server_that_stops_compiles_no_further(net, echo, monkeypatch):
    begun, gate = [], threading.Event()
    monkeypatch.setattr(long_expressions, "compiled_or_refused", lambda text, _: (begun.append(text), gate.wait(30)))
    body = heartbeat_of(*(f"a = {number} OR a = 1" for number in range(200)))

    async def run():
        async with net.listening(echo, compiles_aside="4.8.0") as (server, address), net.raw(address) as (_, writer):
            writer.write(request(body, 1, RequestCode.HEART_BEAT))
            await net.soon(lambda: begun)
            stopping = asyncio.create_task(server.stop())
            await asyncio.sleep(0)
            gate.set()
            await stopping
        assert len(begun) == 1

    asyncio.run(run())


def test_one_connection_full_of_requests_lets_others_have_their_turn(net, echo):
    def answer(channel, command):
        time.sleep(0.005)
        return RemotingCommand.response(0).reply_to(command)

    echo.answer = answer

    async def run():
        async with (
            net.listening(echo) as (_, address),
            net.raw(address) as (reader, writer),
            net.raw(address) as (other_reader, other_writer),
        ):
            writer.write(b"".join(request(opaque=number) for number in range(200)))
            await net.soon(lambda: echo.handled)
            other_writer.write(request(opaque=999))
            await read_frame(other_reader)
            assert len(echo.handled) < 100
            assert [(await read_frame(reader)).opaque for _ in range(200)] == list(range(200))

    asyncio.run(run())


def test_a_large_request_of_any_kind_is_answered_as_a_small_one(net):
    """Expressions longer than is compiled, wrong ones, texts that are no request: the answers name them as ever."""
    long = "a = 1 OR " * 2_000 + "a = 1"

    async def run():
        async with net.cluster(enablePropertyFilter="true") as cluster, net.client() as runtime:
            for body in (
                heartbeat_of(long),
                heartbeat_of("a = 1", long[:9_000] + "a = 1"),
                heartbeat_of("a = " * 2_000),
            ):
                assert (await ask(runtime, cluster, RequestCode.HEART_BEAT, body)).code == 0
            filters = cluster.broker.consumer_filter_manager
            assert filters.get("T0", "G").expression == "a = 1"  # the long one was not kept, nor had it a version
            assert filters.get("T1", "G").compiled_expression.evaluate({"a": "1"}) is True
            answer = await ask(runtime, cluster, RequestCode.HEART_BEAT, b"[" * 9_000)
            assert answer.code == ResponseCode.SYSTEM_ERROR
            checked = {"subscriptionData": {"topic": "T", "subString": long, "expressionType": "SQL92"}}
            answer = await ask(runtime, cluster, RequestCode.CHECK_CLIENT_CONFIG, json.dumps(checked).encode())
            assert (answer.code, answer.remark) == (
                ResponseCode.SUBSCRIPTION_PARSE_FAILED, "java.lang.StackOverflowError",
            )  # fmt: skip

    asyncio.run(run())


async def ask(runtime, cluster, code, body):
    return await runtime.invoke(cluster.broker_addr, RemotingCommand.request(code, body=body), 30_000)


def test_a_pull_with_a_long_expression_looks_at_fewer_messages():
    def scanned(text, kind):
        subscription = SubscriptionData("T", text, expression_type=kind)
        return long_expressions.most_scanned(ExpressionMessageFilter(subscription)) // 20

    assert min(scanned("x" * 9_000, "TAG"), scanned("a" * 512, "SQL92"), long_expressions.most_scanned(None)) > 10**9
    assert [scanned("a" * length, "SQL92") for length in (1_024, 16_384)] == [400, 25]


def test_a_thread_that_compiles_gives_up_its_turn_soon_and_only_then(monkeypatch):
    """Sixty heartbeats of 16 kB of SQL92 made others wait for twice as long at Python's usual 5 ms."""
    usual, turns = sys.getswitchinterval(), []

    def compiled(text, version):
        turns.append(sys.getswitchinterval())
        raise ValueError(text)

    monkeypatch.setattr(long_expressions, "compiled_or_refused", compiled)
    command = RemotingCommand.request(RequestCode.HEART_BEAT, body=heartbeat_of("a = 1"))
    assert long_expressions.prepare(command, lambda: False, "4.8.0") == {}
    assert turns == [pytest.approx(long_expressions.TURN_S)]
    assert sys.getswitchinterval() == usual
