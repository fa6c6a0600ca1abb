"""Store folders between brokers: recorded ones in ours, ours in the real one, the real one's in ours."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest

import rmqlab
from rmqlab.files import read_properties
from rmqlab.message.record import decode_record
from rmqlab_tools.live.store.index_service import query_message
from tests.proof.stress.store import end_under_load

ROOT = Path(__file__).resolve().parents[2]
SIZES = {
    "mappedFileSizeCommitLog": 1_048_576,
    "mappedFileSizeConsumeQueue": 20_000,
    "mappedFileSizeConsumeQueueExt": 65_536,
}


def lines_of(broker, topic):
    """Our messages as `dump` prints real ones."""
    return [
        f"message {topic} {one.queue_id} {one.queue_offset} {one.client_msg_id} {(one.body or b'').decode()}"
        for one in broker.messages(topic)
    ]


@pytest.mark.parametrize("name", ["base", "bitmap", "noprop", "audit", "lite"])
def test_recorded_stores_open_in_ours(golden, tmp_path, name):
    folder = golden / "broker-4.8.0" / name
    with tarfile.open(folder / "store.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    settings = read_properties(folder / "broker.conf")
    for key in ("namesrvAddr", "brokerIP1", "listenPort", "storePathRootDir", "storePathCommitLog"):
        settings.pop(key, None)
    sent = {}
    with gzip.open(folder / "events.jsonl.gz", "rt") as events:
        for line in events:
            event = json.loads(line)
            if event["ev"] == "sent":
                sent[event["offsetMsgId"]] = (event["queue"], event["offset"], event["body"])
    assert sent
    (store,) = [path.parent for path in tmp_path.rglob("commitlog")]
    texts = {path.name: path.read_text("utf-8") for path in (store / "config").glob("*.json")}
    before = files_of(store)
    in_log = records_of(store)
    with rmqlab.serve(store=store, **settings) as broker:
        assert broker._startup.recovery.holes == []
        assert broker._startup.recovery.rebuilt == []
        topics = broker.call(lambda broker: sorted(broker.message_store.consume_queue_table))
        found = {message.msg_id: message for topic in topics for message in broker.messages(topic)}
        assert found == in_log
        assert {key: (found[key].queue_id, found[key].queue_offset, found[key].body.decode()) for key in sent} == sent
        ours = broker.call(lambda broker: {table.file_name: table.encode() for table in broker.config_managers})
        for file in ("consumerOffset.json", "subscriptionGroup.json", "delayOffset.json"):
            assert json_of(ours[file]) == json_of(texts[file])
        some = next(message for message in found.values() if message.msg_id in sent)
        records = broker.call(
            lambda broker: query_message(broker.message_store, some.topic, some.unique_id, 32, 0, 1 << 60).messages
        )
        assert [decode_record(record) for record in records] == [some]
    assert files_of(store) == before  # neither opening nor closing changes a byte of it


def files_of(store):
    """Commit log, consume queues and their extension, byte by byte."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for folder in ("commitlog", "consumequeue", "consumequeue_ext")
        for path in (store / folder).rglob("*")
        if path.is_file()
    }


def records_of(store):
    """Every message of the log that belongs into a queue, read record by record; key: offsetMsgId."""
    found = {}
    for path in sorted((store / "commitlog").iterdir()):
        data, at = path.read_bytes(), 0
        while int.from_bytes(data[at + 4 : at + 8]) == 0xDAA320A7:
            size = int.from_bytes(data[at : at + 4])
            message = decode_record(data[at : at + size])
            if message.sys_flag & 12 in {0, 8}:
                found[message.msg_id] = message
            at += size
    return found


def json_of(text):
    """fastjson leaves numbers unquoted where they are names."""
    return json.loads(re.sub(r"([{,])(\d+):", r'\1"\2":', text))


BITMAP = {
    "enablePropertyFilter": True, "enableCalcFilterBitMap": True, "enableConsumeQueueExt": True,
    "expectConsumerNumUseFilter": 8, "bitMapLengthConsumeQueueExt": 160,
}  # fmt: skip


def test_ours_opens_in_the_real_broker(jars, real_cluster, tmp_path):
    """Its clients read every message, find it by key, and go on where offsets stood; then ours opens it again."""
    store = tmp_path / "store"
    sizes = {**SIZES, "mappedFileSizeConsumeQueue": 2_000}
    with rmqlab.serve(store=store, **BITMAP, **sizes) as broker:
        lines, errors = jars().interop(broker.namesrv_addr, "sql", "produce:Ours:300:4000", home=tmp_path)
        assert "ok produce:Ours:300:4000" in lines, errors
        before = lines_of(broker, "Ours")
        assert len(before) == 300
        broker.call(lambda broker: broker.consumer_offset_manager.commit_offset("c", "GX", "Ours", 1, 42))
    assert len(list((store / "commitlog").iterdir())) == 2
    assert len(list((store / "consumequeue" / "Ours" / "1").iterdir())) == 2
    assert (store / "consumequeue_ext" / "Ours").is_dir()
    written = files_of(store)
    with real_cluster(store, mappedFileSizeConsumeQueue="2000", **java_settings(BITMAP)) as cluster:
        lines, errors = jars().interop(cluster.namesrv, "dump:Ours", home=tmp_path)
        assert lines == [*before, "ok dump:Ours"], errors
        told = jars().mqadmin("queryMsgByKey", "-n", cluster.namesrv, "-t", "Ours", "-k", "key17", home=tmp_path)
        expected = next(line.split() for line in before if " 17:" in line)
        assert [line.split() for line in told.splitlines() if not line.startswith("#")] == [
            [expected[4], expected[2], expected[3]]
        ]
        lines, errors = jars().interop(cluster.namesrv, "produce:Theirs:50:200", home=tmp_path)
        assert "ok produce:Theirs:50:200" in lines, errors
        cluster.shut_down()
    after = files_of(store)
    ours = [name for name in written if name.startswith(("consumequeue/Ours", "consumequeue_ext/Ours"))]
    assert ours
    assert {name: after[name] for name in ours} == {name: written[name] for name in ours}  # nothing was made anew
    assert json.loads((store / "config" / "topics.json").read_text())["topicConfigTable"]["Ours"]["writeQueueNums"] == 2
    with rmqlab.serve(store=store, **BITMAP, **sizes) as broker:
        assert broker._startup.recovery.holes == []
        assert lines_of(broker, "Ours") == before
        assert len(broker.messages("Theirs")) == 50
        assert broker.committed("GX", "Ours") == {1: 42}


def java_settings(settings):
    """Settings as a broker.conf has them."""
    return {name: str(value).lower() for name, value in settings.items()}


class Serve:
    """`rmqlab serve` as a process of its own, which a test may kill."""

    def __init__(self, store, ready, **settings):
        arguments = [f"--set={name}={value}" for name, value in settings.items()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rmqlab", "serve", "--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0",
             "--store", str(store), "--json", str(ready), *arguments],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout.readline().startswith("ready:")
        self.namesrv = json.loads(ready.read_text("utf-8"))["namesrv"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_kill_9_under_load(jars, real_cluster, tmp_path, flush):
    """Killed by chance while a real producer sends: what it was told is stored is there, in both brokers."""
    store, ready = tmp_path / "store", tmp_path / "ready.json"
    acknowledged = []
    with Serve(store, ready, flushDiskType=flush, **SIZES) as serve:
        command = jars().command("Interop", serve.namesrv, "produce:Load:100000:300", home=tmp_path)
        producer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            reader = threading.Thread(target=lambda: acknowledged.extend(producer.stdout), daemon=True)
            reader.start()
            deadline = time.monotonic() + 20
            while len(acknowledged) < 300 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(random.Random(flush).random() / 2)
            serve.process.kill()
            serve.process.wait()
        finally:
            producer.kill()
            producer.wait()
        reader.join()
    assert (store / "abort").exists()
    told = {tuple(line.split()[2:5]) for line in acknowledged if line.startswith("sent ") and line.endswith("\n")}
    assert len(told) > 200
    with rmqlab.serve(store=store, **SIZES) as broker:
        stored = {(str(one.queue_id), str(one.queue_offset), one.client_msg_id): one for one in broker.messages("Load")}
        assert told <= set(stored)
        assert len(stored) <= len(told) + 1
        before = lines_of(broker, "Load")
    with real_cluster(store) as cluster:
        lines, errors = jars().interop(cluster.namesrv, "dump:Load", home=tmp_path)
        assert lines == [*before, "ok dump:Load"], errors


def test_killed_over_and_over(jars, real_cluster, tmp_path):
    """Processes killed at random moments, each on what the one before left; then the real broker reads all of it.

    RMQLAB_KILL_ROUNDS and RMQLAB_KILL_SEED: how often, and when.
    """
    store = tmp_path / "store"
    rounds, seed = (int(os.environ.get(f"RMQLAB_KILL_{name}", "3")) for name in ("ROUNDS", "SEED"))
    result = end_under_load("kill", rounds, seed, store=store)
    assert result.wrong == []
    assert result.rounds == rounds
    with rmqlab.serve(store=store, **SIZES) as broker:
        before = lines_of(broker, "Stress")
    assert len(before) >= result.acknowledged
    with real_cluster(store) as cluster:
        lines, errors = jars().interop(cluster.namesrv, "dump:Stress", home=tmp_path)
        assert lines == [*before, "ok dump:Stress"], errors


def test_what_the_real_broker_left_when_it_was_killed(jars, real_cluster, tmp_path):
    store = tmp_path / "store"
    with real_cluster(store) as cluster:
        lines, errors = jars().interop(cluster.namesrv, "produce:Real:200:500", home=tmp_path)
        assert "ok produce:Real:200:500" in lines, errors
        lines, _ = jars().interop(cluster.namesrv, "dump:Real", home=tmp_path)
    assert (store / "abort").exists()
    with contextlib.suppress(FileNotFoundError):
        (store / "lock").unlink()
    with rmqlab.serve(store=store, **SIZES) as broker:
        assert [*lines_of(broker, "Real"), "ok dump:Real"] == lines
