"""`with rmqlab.serve()`, the pytest fixture and `rmqlab serve` as others use them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rmqlab
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.errors import BadInput
from rmqlab.message.message import Message
from rmqlab.runtime.socket_clients import SocketClients
from rmqlab.serving import ServeError

ROOT = Path(__file__).resolve().parent.parent


def test_a_broker_inside_with():
    with rmqlab.serve(enablePropertyFilter=True) as broker:
        assert broker.broker_addr.startswith("127.0.0.1:")
        broker.create_topic("T", 2)
        broker.send("T", "hello", tags="a", keys="k", queue=1, colour="red")

        async def run():
            got = []

            def listener(messages, context):
                got.extend(messages)
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

            async with SocketClients(broker.namesrv_addr) as clients:
                producer = await clients.producer("PG")
                consumer = await clients.push_consumer("G", {"T": ("SQL92", "colour = 'blue'")}, listener)
                assert broker.members("G") == [consumer.instance.client_id]
                await producer.send(Message.of("T", b"again", "b", colour="blue"))
                async with asyncio.timeout(60):
                    while not got:  # noqa: ASYNC110 - a listener has no event
                        await asyncio.sleep(0.01)
            return got

        assert [message.body for message in asyncio.run(run())] == [b"again"]
        assert sorted(message.body for message in broker.messages("T")) == [b"again", b"hello"]
        assert set(broker.committed("G", "T")) == {0, 1}
        assert broker.members("G") == []
    with pytest.raises(ServeError, match="does not run"):
        broker.messages("T")


def test_many_brokers_at_once_and_again():
    with rmqlab.serve() as one, rmqlab.serve() as other:
        one.send("T", "x")
        assert other.messages("T") == []
        assert one.namesrv_addr != other.namesrv_addr
    with one:
        assert one.messages("T") == []  # in memory: gone with the broker


def test_what_does_not_fit_is_said_at_once():
    with pytest.raises(BadInput, match="listenPort must be a whole number"):
        rmqlab.serve(listenPort="x")
    with pytest.raises(BadInput, match="host:port is wanted"):
        rmqlab.serve(listen="nowhere")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadInput, match="cannot listen"):
        rmqlab.serve(listen=f"127.0.0.1:{taken.getsockname()[1]}").start()


def test_a_store_that_another_broker_has(tmp_path):
    with rmqlab.serve(store=tmp_path) as one:
        one.send("T", "x")
        with pytest.raises(BadInput, match="another broker has it; stop that one, or name another folder"):
            rmqlab.serve(store=tmp_path).start()
        told = subprocess.run(
            [sys.executable, "-m", "rmqlab", "serve", "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0",
             "--store", str(tmp_path)],
            capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
        )  # fmt: skip
        assert told.returncode == 2
        assert "another broker has it" in told.stderr
        assert "Traceback" not in told.stderr
        assert [message.body for message in one.messages("T")] == [b"x"]


def test_a_message_nobody_can_store():
    with rmqlab.serve() as broker, pytest.raises(ServeError, match="MESSAGE_ILLEGAL"):
        broker.send("T", bytes(5_000_000))


def test_starting_is_quick():
    begin = time.perf_counter()
    with rmqlab.serve() as broker:
        broker.send("T", "x")
        assert len(broker.messages("T")) == 1
    assert time.perf_counter() - begin < 1


def test_the_fixture(tmp_path):
    tmp_path.joinpath("test_it.py").write_text(
        "import pytest\n"
        "def test_plain(rocketmq_broker):\n"
        "    rocketmq_broker.send('T', 'x')\n"
        "    assert len(rocketmq_broker.messages('T')) == 1\n"
        "    assert not rocketmq_broker.call(lambda broker: broker.config.enable_property_filter)\n"
        "@pytest.mark.rocketmq_broker(enablePropertyFilter=True)\n"
        "def test_set(rocketmq_broker):\n"
        "    assert rocketmq_broker.call(lambda broker: broker.config.enable_property_filter)\n",
        encoding="utf-8",
    )
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "rmqlab.pytest_plugin", "--strict-markers", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    assert "2 passed" in told.stdout


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "rmqlab", "serve", *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_verb(tmp_path, number):
    conf = tmp_path / "broker.conf"
    conf.write_text("brokerName=broker-x\n# a comment\nbrokerClusterName = C\\\n  1\n", encoding="utf-8")
    ready = tmp_path / "ready.json"
    process = started(
        "-c", str(conf), "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0", "--json", str(ready), "--set", "nix=1"
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        told = json.loads(ready.read_text("utf-8"))
        assert line.strip() == f"ready: broker {told['broker']}, name server {told['namesrv']}, store in memory"

        async def run():
            async with SocketClients(told["namesrv"]) as clients:
                producer = await clients.producer("PG")
                await producer.create_topic("TBW102", "T", 1)
                return await producer.send(Message("T", b"x"))

        result = asyncio.run(run())
        assert result.message_queue.broker_name == "broker-x"
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "")
    assert err == "rmqlab serve: no setting of a 4.8.0 broker is called nix; it has no effect\n"


def test_the_verb_warns_when_others_can_connect():
    process = started("--listen", "0.0.0.0:0", "--namesrv", "127.0.0.1:0")
    try:
        assert process.stdout.readline().startswith("ready: broker ")
        process.terminate()
        _, err = process.communicate(timeout=10)
    finally:
        process.kill()
    assert err.startswith("rmqlab serve: WARNING: the broker listens on 0.0.0.0: whoever reaches it can read")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--listen", "x"], "--listen 'x': host:port is wanted"),
        (["--set", "x"], "NAME=VALUE is wanted"),
        (["-c", "no/such/file"], "no/such/file"),
        (["--set", "flushDiskType=SOMETIMES"], "SYNC_FLUSH"),
    ],
)
def test_the_verb_refuses(arguments, text):
    process = started(*arguments)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert text in err
