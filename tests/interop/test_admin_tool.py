"""The real admin tool of 4.8.0 asks our broker what it once asked the real one, and prints the same."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading

import pytest

import rmqlab
from rmqlab.files import read_properties
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.tap import Tap, TapConfig
from rmqlab_tools.live.tap_recording import TapRecording
from tests.proof.replay.replay import replay
from tests.proof.replay.tolerated_differences import MEASURED, OF_INSTALLATION

COMMANDS = 37
MAX_LATE_MS = 2_000
# A test has less time: level 3, the first of a retry, is 10 s otherwise, and a pull that nothing matches is held for
# 15 s before its consumer commits where it is.
STARTED_WITH = {
    "messageDelayLevel": "1s 5s 1s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
    "longPollingEnable": "false",
    "shortPollingTimeMills": "200",
}
# What is of the moment, the machine or the ports of a run. Everything else has to be the same.
RULES = [
    (r"127\.0\.0\.1:\d+", "<address>"),
    (r"/127\.0\.0\.1:\d+", "/<address>"),
    (r"\b7F000001[0-9A-F]{8}(?=[0-9A-F]{16})", "<host>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d{3})?", "<time>"),
    (r"\b1[67]\d{11}\b", "<ms>"),
    (r"(Message Body Path: +)\S+", r"\1<path>"),
    (r"Consume TPS: \d+\.\d\d", "Consume TPS: <rate>"),
    # how wide a column is depends on what stands in it
    (r"[ \t]+", " "),
    (r" +$", ""),
]
BY_COMMAND = {
    "clusterList": [(r"(V4_8_0) .*$", r"\1 <rates>"), (r"(broker-a 0 0 14) \d+$", r"\1 <reads>")],
    # the half topic is made by the first look for transactions, a minute after the start
    "wipeWritePerm": [(r"OK, 1[23]$", "OK, <topics>")],
    # a hash table keyed by connections decides which one comes first
    "consumerConnection": [(r"^00\d ", "")],
    "consumerStatus": [(r"^00\d ", "")],
    "statsAll": [(r"(x-admin-000 \d+) .*$", r"\1 <rates>")],
    "consumerProgress": [(r"(CLUSTERING) \d+ ", r"\1 <rate> ")],
}
UNORDERED = {
    "topicList", "resetOffsetByTime", "printMsg", "statsAll", "consumerProgress", "consumerConnection",
    "consumerStatus",
}  # fmt: skip
PORTS = {"listenPort", "namesrvAddr", "haListenPort"}
# How often a message was read depends on whether a pull of its queue's former owner was still held when it came.
READS = {"msgGetTotalTodayNow"}


class Tapped:
    """A tap on a thread of its own."""

    def __init__(self, folder, broker):
        namesrv = Endpoint.parse(broker.namesrv_addr, "name server")
        self.tap = Tap(TapConfig(namesrv, listen=Endpoint(), broker_listen=Endpoint()), TapRecording(folder))
        self.loop = asyncio.new_event_loop()

    def __enter__(self):
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.tap.start(), self.loop).result(10)
        return self.tap

    def __exit__(self, *error):
        asyncio.run_coroutine_threadsafe(self.tap.stop(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def recorded(golden):
    """Commands and what the tool printed."""
    text = (golden / "broker-4.8.0" / "admin" / "mqadmin.txt").read_text("utf-8")
    parts = re.split(r"^\$ mqadmin (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def normal(command, text):
    """Lines of an output without what may differ; several messages or groups come in any order."""
    for pattern, put in RULES + BY_COMMAND.get(command.split()[0], []):
        text = re.sub(pattern, put, text, flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if line.strip()]
    verb = command.split()[0]
    if verb in {"getBrokerConfig", "brokerStatus", "getNamesrvConfig"}:
        table = dict(re.split(r" ?[:=] ?", line, maxsplit=1) for line in lines if not line.startswith("="))
        loose = MEASURED | OF_INSTALLATION | STARTED_WITH.keys() | PORTS | READS
        return {name: "<any>" if name in loose else value for name, value in table.items()}
    if verb in UNORDERED:
        return sorted(lines)
    if verb.startswith("queryMsg"):
        # the tool prints its tracks in the order of a hash set, all in one line
        return [sorted(line.split("MessageTrack ")) if "MessageTrack" in line else line for line in lines]
    return lines


@pytest.fixture(scope="module")
def printed(golden, jars, tmp_path_factory):
    """What the tool prints of ours: output by command."""
    folder = tmp_path_factory.mktemp("admin-tool")
    (folder / "out").mkdir()
    settings = read_properties(golden / "broker-4.8.0" / "admin" / "broker.conf")
    for name in ("namesrvAddr", "brokerIP1", "listenPort"):
        settings.pop(name)
    with gzip.open(golden / "broker-4.8.0" / "admin" / "events.jsonl.gz", "rt") as events:
        sent = [event for event in map(json.loads, events) if event["ev"] == "sent"]
    commands = [command for command, _ in recorded(golden)]
    # through a tap, as then: the tool compares a message's store host with the address in the route
    with (
        rmqlab.serve(store=folder / "store", **settings, **STARTED_WITH) as broker,
        Tapped(folder / "set", broker) as tap,
    ):
        text = "\n".join(commands).replace("127.0.0.1:20911", tap.broker_addr)
        text = text.replace(sent[1]["offsetMsgId"], "{id1}").replace(sent[1]["msgId"], "{key1}")
        (folder / "commands.txt").write_text(text, encoding="utf-8")
        errors = jars().admin_tool(
            tap.namesrv_addr, folder / "commands.txt", folder / "out", *[one["msgId"] for one in sent], home=folder
        )
    outputs = [folder / "out" / f"{number}.txt" for number in range(len(commands))]
    assert all(path.exists() for path in outputs), errors[-3000:]
    return folder, {command: path.read_text("utf-8") for command, path in zip(commands, outputs, strict=True)}


def test_the_tool_prints_of_ours_what_it_printed_of_the_real_broker(golden, printed):
    _, ours = printed
    assert len(recorded(golden)) == len(ours) == COMMANDS
    differing = {
        command: (normal(command, expected), normal(command, ours[command]))
        for command, expected in recorded(golden)
        if normal(command, expected) != normal(command, ours[command])
    }
    assert differing == {}


def test_what_went_through_the_tap_replays(printed):
    """Real Java clients and the admin tool, recorded in front of our broker, asked of it again."""
    folder, _ = printed
    result = replay(folder / "set")
    late = [one for one in result.differing if one.field == "time"]
    assert [one for one in result.differing if one not in late] == []
    # the recorded broker ran here too, beside other tests: its right answers may have come late, and never by much
    assert all(0 < _ms(one.expected) - _ms(one.got) < MAX_LATE_MS for one in late)
    assert result.identical + len(late) == result.requests > 200
    assert len(late) < result.requests / 10


def _ms(text):
    return float(text.removesuffix(" ms"))
