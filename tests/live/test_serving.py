"""`with rmqlab.serve()`, the pytest fixture and `rmqlab serve` as others use them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rmqlab
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.errors import BadInput
from rmqlab.message.message import Message
from rmqlab_tools.live.serve import ServeError
from tests.proof.clients.socket_clients import SocketClients

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


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


def test_a_message_can_be_read_as_soon_as_it_was_sent(monkeypatch):
    def no_waiting(_):
        raise AssertionError("nothing has to be waited for")

    monkeypatch.setattr(time, "sleep", no_waiting)
    with rmqlab.serve() as broker:
        broker.send("T", "x")
        assert len(broker.messages("T")) == 1


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
        [sys.executable, "-m", "pytest", "-q", "-p", "rmqlab_tools.live.pytest_plugin",
         "--strict-markers", str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    assert "2 passed" in told.stdout


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "rmqlab", "serve", *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ),  # without what readline, which pytest loads, puts beside it: a width of 80
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_verb(tmp_path, number):
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "brokerName=broker-x\n# a comment\nbrokerClusterName = C\\\n  1\nlistenPrt=1\n"
        "useTLS=true\nhighSpeedMode=false\nserverChannelMaxIdleTimeSeconds=60\ntransientStorePoolEnable=true\n",
        encoding="utf-8",
    )
    ready = tmp_path / "ready.json"
    process = started(
        "-c", str(conf), "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0", "--json", str(ready)
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
    assert err == (
        "python -m rmqlab serve: no setting of a 4.8.0 broker is called 'listenPrt'; it has no effect; "
        "did you mean listenPort?\n"
        "python -m rmqlab serve: kept and shown to who asks, without effect here: useTLS, transientStorePoolEnable\n"
    )


def test_the_verb_warns_when_others_can_connect():
    process = started("--listen", "0.0.0.0:0", "--namesrv", "127.0.0.1:0")
    try:
        assert process.stdout.readline().startswith("ready: broker ")
        process.terminate()
        _, err = process.communicate(timeout=10)
    finally:
        process.kill()
    assert err.startswith("python -m rmqlab serve: WARNING: the broker listens on 0.0.0.0: whoever reaches it can read")
    assert "only TLS connections are encrypted" in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--listen", "x"], "--listen 'x': host:port is wanted"),
        (["--set", "x"], "NAME=VALUE is wanted"),
        (
            ["--set", "enableProprtyFilter=true"],
            "setting 'enableProprtyFilter': a 4.8.0 broker has none of this name; did you mean enablePropertyFilter?",
        ),
        (["--topic", "T"], "--topic 'T': NAME:QUEUES is wanted, Orders:4 for example"),
        (["--topic", "T:0"], "--topic 'T:0': NAME:QUEUES is wanted"),
        (["--topic", "Bad topic!:4", "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0"], "illegal characters"),
        (["--topic", "TBW102:4", "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0"], "conflict with system topic"),
        (["-c", "no/such/file"], "no/such/file"),
        (["--set", "flushDiskType=SOMETIMES"], "SYNC_FLUSH"),
    ],
)
def test_the_verb_refuses(arguments, text):
    process = started(*arguments)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert text in err


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda broker: broker.send("Bad topic!", "x"), "illegal characters"),
        (lambda broker: broker.send("", "x"), "blank"),
        (lambda broker: broker.send("T" * 128, "x"), "longer than topic max length"),
        (lambda broker: broker.send(5, "x"), "a name is text"),
        (lambda broker: broker.send("SCHEDULE_TOPIC_XXXX", "x"), "conflict with system topic"),
        (lambda broker: broker.send("T", "x", queue=-1), "queue=-1: a whole number of 0 or more"),
        (lambda broker: broker.send("T", "x", queue=4), "topic T has 4 queues, numbered from 0; create_topic"),
        (lambda broker: broker.send("T", "x", size=3), "size=3: a property is text, size='3'"),
        (lambda broker: broker.send("T", "x", tags=3), "tags=3: a property is text"),
        (lambda broker: broker.send("T", "x", KEYS="k"), "used by system"),
        (lambda broker: broker.send("T", 3), "body must be bytes or text, not 3"),
        (lambda broker: broker.create_topic("Bad topic!"), "illegal characters"),
        (lambda broker: broker.create_topic("T", queues=0), "queues=0: a whole number of 1 or more"),
        (lambda broker: broker.create_topic("T", queues=True), "queues=True: a whole number"),
        (lambda broker: broker.create_topic("RMQ_SYS_TRACE_TOPIC"), "conflict with system topic"),
    ],
)
def test_what_no_producer_could_ask_for_is_refused_and_changes_nothing(quiet_broker, ask, text):
    topics = quiet_broker.call(lambda broker: set(broker.topic_config_manager.topic_config_table))
    with pytest.raises(BadInput, match=text):
        ask(quiet_broker)
    after = quiet_broker.call(lambda broker: set(broker.topic_config_manager.topic_config_table))
    assert after - topics <= {"T"}
    assert quiet_broker.messages("T") == []


@pytest.fixture(scope="module")
def quiet_broker():
    with rmqlab.serve() as broker:
        yield broker


def test_a_misspelled_setting_is_refused_with_the_right_one():
    with pytest.raises(
        BadInput,
        match=r"'enableProprtyFilter': a 4\.8\.0 broker has none of this name; did you mean enablePropertyFilter\?",
    ):
        rmqlab.serve(enableProprtyFilter=True)
    with pytest.raises(
        BadInput, match=r"'listen_port': a 4\.8\.0 broker has none of this name; did you mean listenPort"
    ):
        rmqlab.serve(listen_port=1)


def test_where_it_is_can_be_read():
    broker = rmqlab.serve()
    assert repr(broker) == "<rmqlab broker, not running>"
    with broker:
        assert repr(broker) == f"<rmqlab broker {broker.broker_addr}, name server {broker.namesrv_addr}>"


def test_messages_go_round_the_queues():
    with rmqlab.serve() as broker:
        for number in range(6):
            broker.send("T", str(number))
        broker.send("T", "there", queue=3)
        places = [(message.queue_id, message.body) for message in broker.messages("T")]
        assert places == [(0, b"0"), (0, b"4"), (1, b"1"), (1, b"5"), (2, b"2"), (3, b"3"), (3, b"there")]


def test_without_automatic_topics_a_message_needs_one():
    with rmqlab.serve(autoCreateTopicEnable=False) as broker:
        with pytest.raises(ServeError, match="topic 'T' does not exist, and autoCreateTopicEnable=false"):
            broker.send("T", "x")
        broker.create_topic("T", 1)
        broker.send("T", "x")
        assert len(broker.messages("T")) == 1


def collect(got):
    def listener(messages, context):
        got.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    return listener


async def pulled_up_to(broker, *ends):
    """Wait until somebody's pull is held at the end of queue 0 and of queue 1, and offsets are corrected.

    A client moves its offset past what a filter dropped when a pull comes back while it has nothing to consume.
    """
    wanted = {0: {ends[0]}, 1: {ends[-1]}}

    def held(core):
        return {queue: {pull.pull_from for pull in core.pull_request_hold_service.held("T", queue)} for queue in (0, 1)}

    for _ in range(2):
        async with asyncio.timeout(60):
            while await asyncio.to_thread(broker.call, held) != wanted:  # noqa: ASYNC110 - a broker has no event
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # whoever still consumes
        broker.call(lambda core: core.pull_request_hold_service.check_hold_request(core.now + 60_000))
    async with asyncio.timeout(60):
        while await asyncio.to_thread(broker.call, held) != wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def test_a_message_without_a_producer_wakes_held_pulls_at_once():
    """It took until the hold service looked, up to 5 s. A look in between would answer with `timeout` or `arrived`."""
    with rmqlab.serve() as broker:
        broker.create_topic("T", 1)

        async def run():
            got = []
            async with SocketClients(broker.namesrv_addr) as clients:
                await clients.push_consumer("G", {"T": "*"}, collect(got))
                held = lambda: broker.call(lambda core: core.pull_request_hold_service.held("T", 0))  # noqa: E731
                async with asyncio.timeout(20):
                    while not await asyncio.to_thread(held):  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                looks = broker.call(lambda core: core.timers.next_due())
                await asyncio.to_thread(broker.send, "T", "x")
                async with asyncio.timeout(20):
                    while not got:  # noqa: ASYNC110 - a listener has no event
                        await asyncio.sleep(0.01)
                return got, broker.call(lambda core: core.timers.next_due()) == looks

        assert asyncio.run(run()) == ([b"x"], True)


def test_what_was_lost_and_what_was_waited_for():
    with rmqlab.serve() as broker:
        broker.create_topic("T", 2)
        with pytest.raises(ServeError, match="no member of group 'G' has subscribed 'T'"):
            broker.lost("G", "T")
        with pytest.raises(ServeError, match="topic 'T' holds no message"):
            broker.wait_consumed("G", "T", timeout=0)

        async def run():
            got = []
            async with SocketClients(broker.namesrv_addr) as one, SocketClients(broker.namesrv_addr) as two:
                await one.push_consumer("G", {"T": "tagA"}, collect(got))
                await two.push_consumer("G", {"T": "tagB"}, collect(got))
                for number, tag in enumerate(("tagA", "tagB", "tagC", "tagB", "tagB", "tagA")):
                    await asyncio.to_thread(broker.send, "T", f"{number} {tag}", tags=tag)
                with pytest.raises(ServeError, match=r"did not consume 'T' in 0 s: queue \d: committed \d of 3"):
                    await asyncio.to_thread(broker.wait_consumed, "G", "T", 0)
                await pulled_up_to(broker, 3)
            await asyncio.to_thread(broker.wait_consumed, "G", "T", 20)  # committed at the shutdown
            return got

        got = {body.decode() for body in asyncio.run(run())}
        lost = broker.lost("G", "T")
        asked = {"0 tagA", "1 tagB", "3 tagB", "4 tagB", "5 tagA"}  # tagC was asked for by nobody
        certain = {one.fate.body for one in lost if one.certainty != "unknown"}
        assert not certain & got
        assert certain | got | {one.fate.body for one in lost} == asked
        assert {one.fate.fate for one in lost} <= {"dropped_by_broker_tag", "dropped_by_client", "skipped_by_offset"}
        assert lost


def test_nothing_lost_is_said_of_messages_that_were_got():
    with rmqlab.serve() as broker:
        broker.create_topic("T", 2)

        async def run():
            got = []
            async with SocketClients(broker.namesrv_addr) as clients:
                await clients.push_consumer("G", {"T": "tagA || tagB"}, collect(got))
                for tag in ("tagA", "tagB", "tagC"):
                    await asyncio.to_thread(broker.send, "T", tag, tags=tag)
                await pulled_up_to(broker, 2, 1)
            await asyncio.to_thread(broker.wait_consumed, "G", "T", 20)  # committed at the shutdown
            return got

        assert sorted(asyncio.run(run())) == [b"tagA", b"tagB"]
        assert broker.lost("G", "T") == []


def test_the_verb_says_who_joins_leaves_and_changes_a_subscription():
    process = started("--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0", "--topic", "T:3", "--topic", "U:1")
    try:
        namesrv = process.stdout.readline().split("name server ")[1].split(",")[0]

        async def run():
            async with SocketClients(namesrv) as one, SocketClients(namesrv) as two:
                first = await one.push_consumer("G", {"T": "tagA"}, collect([]))
                await asyncio.sleep(1)  # it stamps its subscription once more when it has the route
                second = await two.push_consumer("G", {"T": "tagB"}, collect([]))
                return first.instance.client_id, second.instance.client_id

        one, two = asyncio.run(run())
        process.terminate()
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "")
    told = [line.removeprefix("python -m rmqlab serve: ") for line in err.splitlines()]
    assert told[:4] == [
        f"G: {one} joins, 1 online",
        f"G T: {one} asks for TAG tagA",
        f"G: {two} joins, 2 online",
        f"G T: TAG tagA -> TAG tagB by {two}; the broker filters by it for the whole group now (2 online)",
    ]
    assert f"G: {two} leaves, 1 online" in told
    assert f"G: {one} leaves, 0 online" in told


def test_the_verb_goes_on_when_nobody_reads_what_it_says():
    """3,000 refused connections said 300 KB, and a pipe holds 64 KB: the server stopped with its 700th line."""
    process = started("--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0", "--topic", "T:1", "--quiet")
    try:
        ready = process.stdout.readline()
        host, port = ready.split("broker ")[1].split(",")[0].split(":")
        for _ in range(3_000):
            with socket.create_connection((host, int(port))) as bad:
                bad.sendall(b"\xff" * 8)
        namesrv = ready.split("name server ")[1].split(",")[0]

        async def run():
            async with SocketClients(namesrv) as clients:
                producer = await clients.producer("PG")
                return await producer.send(Message("T", b"x"))

        assert asyncio.run(run()).message_queue.topic == "T"
        process.terminate()
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0
    closed = [line for line in err.splitlines() if " WARNING connection " in line]
    dropped = sum(int(line.split()[0]) for line in err.splitlines() if "more lines were not written" in line)
    assert len(closed) + dropped == 3_000
    assert 50 <= len(closed) < 1_000


def test_the_code_of_the_page_does_what_it_says():
    text = (ROOT / "docs/how-to/test-with-a-broker.md").read_text("utf-8")
    code = text.partition("```py\n")[2].partition("```")[0]
    services = []

    def start_my_service(namesrv):
        """A service that consumes one message and ends: it commits then."""
        started = threading.Event()

        async def serve():
            got = []
            async with SocketClients(namesrv) as clients:
                await clients.push_consumer("my-group", {"Orders": ("SQL92", "colour = 'red'")}, collect(got))
                started.set()
                async with asyncio.timeout(60):
                    while not got:  # noqa: ASYNC110 - a listener has no event
                        await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)

        service = threading.Thread(target=asyncio.run, args=(serve(),))
        services.append(service)
        service.start()
        assert started.wait(60)

    names = {"start_my_service": start_my_service}
    exec(compile(code, "test-with-a-broker.md", "exec"), names)  # noqa: S102 - our own page
    services[0].join()
    assert repr(names["broker"]) == "<rmqlab broker, not running>"  # it ran


def test_consumers_of_the_served_broker_run_on_real_connections():
    with rmqlab.serve() as broker:
        broker.create_topic("T", 1)
        a = broker.consumer("A", group="G", subscribe={"T": "tagA"})
        assert broker.members("G") == ["127.0.0.1@A"]
        for number, tag in enumerate(["tagA", "tagB", "tagA"]):
            broker.send("T", f"m{number}", tag)
        deadline = time.monotonic() + 20
        while len(a.got) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert a.got == ["m0", "m2"]
        a.stop()
        assert broker.members("G") == []
        assert broker.committed("G", "T") == {0: 3}
        a.stop()  # a second time does nothing
