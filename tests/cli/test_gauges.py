"""`simulate --gauges` and `serve --gauges`: a line for each group with age, both lags, and flips."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.cli.cli import main

FIELDS = {"group", "members", "ageMs", "rawLag", "filteredLag", "filteredLagComplete", "flipsPerMinute"}
GENEROUS_S = 60


def start(who, at, tag):
    return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": {"T": {"type": "TAG", "expr": tag}}}


@pytest.fixture
def scenario(tmp_path):
    messages = [{"body": f"m{n}", "tag": "ab"[n % 2], "queue": n % 4} for n in range(8)]
    steps = [
        start("A", 0, "a"),
        start("B", 2_000, "b"),
        *({"at": 6_000, "do": "pause", "who": who, "forMs": 10_000} for who in "AB"),
        {"at": 8_000, "do": "send", "topic": "T", "messages": messages},
        {"at": 70_000, "do": "offsets"},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"id": "s", "topics": {"T": 4}, "steps": steps}) + "\n")
    return path


@pytest.mark.row("H-49", "S-45")
def test_simulate_writes_gauges_among_the_events(scenario, tmp_path, capsys):
    out = tmp_path / "events.jsonl"
    assert main(["simulate", str(scenario), "--gauges", "1000", "--out", str(out)]) == 0
    capsys.readouterr()
    events = [json.loads(line) for line in out.read_text().splitlines()]
    begin = next(event["t"] for event in events if event["ev"] == "starting")
    seen = {round((event["t"] - begin) / 1_000): event for event in events if event["ev"] == "gauge"}
    assert all(set(event) >= FIELDS for event in seen.values())
    waiting = seen[12]
    assert sorted(waiting["members"]) == ["192.0.2.2@A", "192.0.2.2@B"]
    # B's slot lets b through, and only B keeps it: half of the b's lie in A's queues
    assert (waiting["rawLag"], waiting["filteredLag"]) == (8, 2)
    assert waiting["flipsPerMinute"]["T"] >= 1
    after = seen[68]
    assert (after["rawLag"], after["filteredLag"], after["flipsPerMinute"]) == (0, 0, {})
    delivered = [event for event in events if event["ev"] == "consume"]
    assert len(delivered) == waiting["filteredLag"]


def test_simulate_refuses_a_period_that_cannot_be(scenario, capsys):
    assert main(["simulate", str(scenario), "--gauges", "0"]) == 2
    assert "--gauges 0: give the ms between two readings, 1 or more" in capsys.readouterr().err


@pytest.mark.row("H-49")
def test_serve_prints_the_gauges_of_real_clients():
    command = [sys.executable, "-m", "rmqlab", "serve", "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--gauges", "1"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines: queue.Queue[str] = queue.Queue()
    reader = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True)
    try:
        ready = process.stdout.readline()
        assert ready.startswith("ready: broker ")
        reader.start()
        consumer = subprocess.Popen(
            [sys.executable, "-c", CLIENT, ready.partition("name server ")[2].partition(",")[0]], cwd=ROOT
        )
        try:
            gauge = _first(lines, lambda one: one["group"] == "G" and one["rawLag"])
        finally:
            consumer.kill()
            consumer.wait(GENEROUS_S)
        assert len(gauge["members"]) == 1
        assert 0 <= gauge["ageMs"] < 60_000
        assert gauge["rawLag"] >= gauge["filteredLag"] == 1  # one of three has the tag
        assert gauge["filteredLagComplete"]
    finally:
        process.kill()
        process.communicate(timeout=GENEROUS_S)


def _first(lines, wanted):
    deadline = time.monotonic() + GENEROUS_S
    while time.monotonic() < deadline:
        one = json.loads(lines.get(timeout=GENEROUS_S))
        if set(one) >= FIELDS and wanted(one):
            return one
    raise AssertionError("no such line within a minute")


# A consumer that never finishes with a message of its tag: the offset stays where it is.
CLIENT = """
import asyncio, sys, time
from rmqlab.message.message import Message
from tests.proof.clients.socket_clients import SocketClients

async def run():
    async with SocketClients(sys.argv[1]) as clients:
        producer = await clients.producer("PG")
        await producer.create_topic("TBW102", "T", 1)

        def listener(messages, context):
            time.sleep(600)

        await clients.push_consumer("G", {"T": ("TAG", "a")}, listener)
        await asyncio.gather(*(producer.send(Message.of("T", tag.encode(), tag)) for tag in "abc"))
        await asyncio.sleep(600)

asyncio.run(run())
"""
