"""The tap: what goes through it arrives unchanged, is written down whole, and replays with the same answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time

import pytest

import rmqlab
from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.errors import BadInput
from rmqlab.files import read_properties
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.heartbeat import ConsumeFromWhere
from rmqlab_tools.cli.cli import main
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.tap import Tap, TapConfig
from rmqlab_tools.live.tap_recording import TapRecording, TapSummary
from tests.proof.clients.socket_clients import SocketClients
from tests.proof.replay.replay import replay

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


@contextlib.asynccontextmanager
async def tapped(folder, namesrv_addr, **settings):
    """A tap on free ports; the lines it tells are in `told`."""
    told = []
    config = TapConfig(Endpoint.parse(namesrv_addr, "namesrv"), listen=Endpoint(), broker_listen=Endpoint(), **settings)
    tap = Tap(config, TapRecording(folder), told.append)
    tap.told = told
    await tap.start()
    try:
        yield tap
    finally:
        await tap.stop()


def rows(folder):
    return [json.loads(line) for line in (folder / "frames.jsonl").read_text("ascii").splitlines()]


async def converse(namesrv_addr, *, kind=SerializeType.JSON, count=6):
    """A producer and two consumers of one group with different tags; returns what was consumed."""
    got = []

    def listener(messages, context):
        got.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async with SocketClients(namesrv_addr, serialize_type=kind) as clients:
        producer = await clients.producer("PG")
        await producer.create_topic("TBW102", "T", 2)
        for number in range(count):
            tag = "tagA" if number % 2 == 0 else "tagB"
            await producer.send(Message.of("T", b"%d" % number, tag), MessageQueue("T", "broker-a", number % 2))
        await clients.push_consumer("G", {"T": "tagA"}, listener, PushConsumerConfig(consume_from_where=FIRST))
        async with asyncio.timeout(60):
            while len(got) < count // 2:  # noqa: ASYNC110 - a listener has no event
                await asyncio.sleep(0.01)
    return sorted(got)


@pytest.mark.parametrize("kind", list(SerializeType))
def test_a_recording_replays_with_the_same_answers(tmp_path, kind):
    async def run(namesrv_addr):
        async with tapped(tmp_path / "set", namesrv_addr) as tap:
            got = await converse(tap.namesrv_addr, kind=kind)
            await asyncio.sleep(0.1)
            return got, tap

    with rmqlab.serve() as broker:
        got, tap = asyncio.run(run(broker.namesrv_addr))
    assert got == [b"0", b"2", b"4"]
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == ["broker.conf", "frames.jsonl"]
    result = replay(tmp_path / "set")
    assert result.differing == []
    assert result.requests == result.identical > 10
    assert result.codes[RequestCode.SEND_MESSAGE_V2] == (6, 6)
    told = tap.summary.as_json()
    assert told["requests"]["SEND_MESSAGE_V2"] == 6
    assert next(iter(told["heartbeats"].values()))["count"] >= 1
    assert any(" G T: None -> TAG:tagA@" in line for line in tap.told)
    assert {(pull["group"], pull["topic"]) for pull in told["pulls"]} >= {("G", "T")}
    assert tap.told[-1].split(" s ")[1].endswith("(0 left)")


def test_pulls_that_a_look_told_to_go_on_replay_in_a_recording_that_no_pull_outlasts(tmp_path):
    """Nobody asks for tagB: its messages wake no pull, the hold service does, and no time-out shows when it looked."""

    async def run(broker):
        async with tapped(tmp_path / "set", broker.namesrv_addr) as tap:
            async with SocketClients(tap.namesrv_addr) as clients:
                producer = await clients.producer("PG")
                await producer.create_topic("TBW102", "T", 2)
                await clients.push_consumer("G", {"T": "tagA"}, lambda *_: ConsumeConcurrentlyStatus.CONSUME_SUCCESS)
                service = broker.call(lambda core: core.pull_request_hold_service)
                async with asyncio.timeout(60):
                    while not (service.held("T", 0) and service.held("T", 1)):  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                for number in range(2):
                    await producer.send(Message.of("T", b"x", "tagB"), MessageQueue("T", "broker-a", number))
                await asyncio.sleep(0.8)
                broker.call(lambda core: service.check_hold_request(core.now))
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)
        return tap

    with rmqlab.serve() as broker:
        tap = asyncio.run(run(broker))
    assert [pull["answers"].get("PULL_RETRY_IMMEDIATELY") for pull in tap.summary.as_json()["pulls"]
            if pull["topic"] == "T"] == [1, 1]  # fmt: skip
    result = replay(tmp_path / "set")
    assert result.differing == []
    assert result.requests == result.identical > 10


@pytest.mark.parametrize("seconds", ["-3", "0", "nan", "inf", "x"])
def test_a_time_that_is_none_is_refused_before_anything_is_made(tmp_path, seconds, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["tap", str(tmp_path / "set"), f"--seconds={seconds}"])
    assert caught.value.code == 2
    assert "a number of seconds above 0 is wanted" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_a_tap_that_cannot_listen_leaves_no_recording(tmp_path):
    with rmqlab.serve() as broker:
        told = subprocess.run(
            [sys.executable, "-m", "rmqlab", "tap", str(tmp_path / "set"), "--listen", broker.namesrv_addr],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert (told.returncode, told.stdout) == (2, "")
    assert "cannot listen" in told.stderr
    assert not (tmp_path / "set").exists()


def test_what_was_changed_in_a_recording_is_noticed(tmp_path):
    async def run(namesrv_addr):
        async with tapped(tmp_path / "set", namesrv_addr) as tap:
            await converse(tap.namesrv_addr)

    with rmqlab.serve() as broker:
        asyncio.run(run(broker.namesrv_addr))
    path = tmp_path / "set" / "frames.jsonl"
    lines = path.read_text("ascii").splitlines()
    old, new = b'"queueOffset":"2"'.hex(), b'"queueOffset":"3"'.hex()
    index = next(
        i
        for i, line in enumerate(lines)
        if json.loads(line).get("dir") == "s2c" and old in json.loads(line).get("frame", "")
    )
    path.write_text("\n".join([*lines[:index], lines[index].replace(old, new), *lines[index + 1 :]]) + "\n")
    assert [difference.field for difference in replay(tmp_path / "set").differing] == ["extFields.queueOffset"]


def test_clients_are_led_through_the_tap_and_nothing_else_is_changed(tmp_path):
    async def run(namesrv_addr, broker_addr):
        async with tapped(tmp_path / "set", namesrv_addr, with_namesrv=True) as tap:
            clients = SocketClients(tap.namesrv_addr)
            request = RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)
            through = await clients.invoke(tap.namesrv_addr, request)
            straight = await clients.invoke(namesrv_addr, RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO))
            await clients.shutdown()
            assert through.body == straight.body.replace(broker_addr.encode(), tap.broker_addr.encode())
            assert through.body != straight.body
            for _ in range(200):
                if (tmp_path / "set" / "broker.conf").exists():
                    break
                await asyncio.sleep(0.01)
            return tap

    with rmqlab.serve(enablePropertyFilter=True) as broker:
        tap = asyncio.run(run(broker.namesrv_addr, broker.broker_addr))
        assert tap.broker == broker.broker_addr
    assert {row["to"] for row in rows(tmp_path / "set") if "frame" in row} == {"namesrv"}
    settings = (tmp_path / "set" / "broker.conf").read_text()
    assert "enablePropertyFilter=true\n" in settings
    assert "storePath" not in settings


def test_settings_keep_their_backslashes(tmp_path):
    path = tmp_path / "set" / "broker.conf"

    async def run(broker):
        async with tapped(tmp_path / "set", broker.namesrv_addr, broker=Endpoint.parse(broker.broker_addr, "broker")):
            for _ in range(200):
                if path.exists():
                    break
                await asyncio.sleep(0.01)

    with rmqlab.serve(brokerClusterName=r"C:\users\t") as broker:
        asyncio.run(run(broker))
    assert read_properties(path)["brokerClusterName"] == r"C:\users\t"


def test_heartbeats_without_ids_are_told_of():
    summary = TapSummary()
    bodies = (b'{"clientID":"c","consumerDataSet":[{"groupName":"G"}]}', b'{"consumerDataSet":[{}]}')
    for conn, body in enumerate([*bodies, b'{"consumerDataSet":[null]}']):
        told = summary.see(1.0, conn, "c2s", RemotingCommand(RequestCode.HEART_BEAT, content=body))
    assert told == ["    0.001 s connection 2: a request of code 34 that cannot be read"]
    assert summary.lines()[1:] == [
        "None: 1 heartbeats, longest pause 0 ms", "c: 1 heartbeats, longest pause 0 ms", "G: c", "None: None",
    ]  # fmt: skip


def test_bytes_that_are_no_frames_are_passed_on(tmp_path):
    async def run():
        async def echo(reader, writer):
            while data := await reader.read(1000):
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with tapped(tmp_path / "set", f"127.0.0.1:{port}", broker=Endpoint(port=port)) as tap:
            host, _, listening = tap.broker_addr.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(listening))
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            answer = await asyncio.wait_for(reader.readexactly(18), 60)
            writer.close()
            await asyncio.sleep(0.05)
        server.close()
        return answer, tap.told

    answer, told = asyncio.run(run())
    assert answer == b"GET / HTTP/1.1\r\n\r\n"
    assert any("no frames of RocketMQ" in line for line in told)
    assert not [row for row in rows(tmp_path / "set") if "frame" in row]


def test_a_client_is_cut_off_and_another_frozen(tmp_path):
    async def run(namesrv_addr):
        control = Endpoint.parse("127.0.0.1:0", "control")
        with contextlib.closing(control.bind()) as probe:
            control.port = probe.getsockname()[1]
        async with (
            tapped(tmp_path / "set", namesrv_addr, control=control) as tap,
            SocketClients(tap.namesrv_addr) as clients,
        ):
            await clients.push_consumer("G", {"T": "*"}, lambda messages, context: None)
            while not tap.summary.beats:  # noqa: ASYNC110 - a listener has no event
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection(control.host, control.port)
            writer.write(b"freeze nobody\ncut 127.0.0.1@\nmark here\n")
            answers = [int(await asyncio.wait_for(reader.readline(), 60)) for _ in range(3)]
            writer.close()
            await asyncio.sleep(0.05)
        return answers

    with rmqlab.serve() as broker:
        broker.create_topic("T")
        answers = asyncio.run(run(broker.namesrv_addr))
    assert answers == [0, 1, 0]
    began, *controls = [row for row in rows(tmp_path / "set") if "control" in row]
    assert began["control"] == "began"
    assert abs(int(began["arg"]) - time.time() * 1000) < 600_000
    assert [(row["control"], row["arg"], len(row["conns"])) for row in controls] == [
        ("freeze", "nobody", 0), ("cut", "127.0.0.1@", 1), ("mark", "here", 0),
    ]  # fmt: skip


def test_a_recording_is_never_written_over(tmp_path):
    recording = TapRecording(tmp_path / "set")
    recording.opened(0.0, 1)
    assert not (tmp_path / "set" / "frames.jsonl").exists()
    recording.finish()
    recording.finish()
    recording.opened(1.0, 2)  # too late: nothing is added to a finished recording
    assert rows(tmp_path / "set") == [{"t": 0.0, "conn": 1, "open": True}]
    with pytest.raises(BadInput, match="is there already"):
        TapRecording(tmp_path / "set")


def test_the_verb_records_until_it_is_told_to_stop(tmp_path):
    with rmqlab.serve() as broker:
        command = [
            sys.executable, "-m", "rmqlab", "tap", str(tmp_path / "set"), "--namesrv", broker.namesrv_addr,
            "--listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--json", str(tmp_path / "summary.json"),
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready = process.stdout.readline()
        address = ready.split("for clients ")[1].split(",")[0]
        assert asyncio.run(converse(address, count=4)) == [b"0", b"2"]
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=20)[0]
    assert process.returncode == 0
    assert "replay it: python -m rmqlab replay" in told
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["requests"]["SEND_MESSAGE_V2"] == 4
    assert summary["frames"] == sum("frame" in row for row in rows(tmp_path / "set"))
    assert replay(tmp_path / "set").differing == []
