"""A broker of ours, a tap before it and two clients with different tags: what store and tap tell, and who got what.

Real sockets, no Spark. How many are lost depends on where the group stands when the messages come; what frames, or
store and frames, call lost or delivered is so.
"""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import rmqlab
from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.heartbeat import ConsumeFromWhere
from rmqlab.run.fates import LOSING, Fate
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.tap import Tap, TapConfig
from rmqlab_tools.live.tap_recording import TapRecording
from rmqlab_tools.recordings.recording_reader import tap_account
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.scan import DETAIL, Scan
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from tests.proof.clients.socket_clients import SocketClients

QUEUES = 4


async def converse(broker, folder):
    """Send eight messages to a group of two; return the offsets by queue that its listeners got."""
    got = set()

    def listener(messages, context):
        got.update((message.queue_id, message.queue_offset) for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    namesrv = Endpoint.parse(broker.namesrv_addr, "namesrv")
    tap = Tap(TapConfig(namesrv, listen=Endpoint(), broker_listen=Endpoint()), TapRecording(folder))
    await tap.start()
    async with SocketClients(tap.namesrv_addr) as clients, asyncio.timeout(60):
        producer = await clients.producer("PG")
        await producer.create_topic("TBW102", "T", QUEUES)
        for tag in ("tagA", "tagB"):
            config = PushConsumerConfig(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
            await clients.push_consumer("G", {"T": tag}, listener, config)
        held = broker.call(lambda core: core.pull_request_hold_service.held)
        while not all(broker.call(lambda core, queue=queue: held("T", queue)) for queue in range(QUEUES)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for number in range(2 * QUEUES):
            tag = "tagA" if number < QUEUES else "tagB"
            await producer.send(Message.of("T", b"%d" % number, tag), MessageQueue("T", "broker-a", number % QUEUES))
        while True:
            pulls = [pull for pull in tap.summary.as_json()["pulls"] if pull["topic"] == "T"]
            if sum(pull["offset"] for pull in pulls) == 2 * QUEUES:
                break
            await asyncio.sleep(0.05)
    await tap.stop()
    return got


def judged(store, subscriptions, **settings):
    """What an audit says of every message in the group: its fate and certainty by queue and offset."""
    audit = Audit(None, store, AuditOptions(groups=("G",), subscriptions=subscriptions, **settings))
    scan = Scan(
        audit.stores[0].inferences(audit.cluster),
        LONG_MIN,
        LONG_MAX,
        check_crc=False,
        end=audit.stores[0].end,
        each_message=True,
    )
    batches = list(scan.run(log_ranges(log_files(store), 1 << 40)))
    rows = [row for batch in batches for row in batch.to_pylist() if row["kind"] == DETAIL and row["topic"] == "T"]
    return {(row["queueId"], row["queueOffset"]): (row["fate"], row["certainty"]) for row in rows}


def test_what_frames_and_store_tell_is_what_the_listeners_got(tmp_path):
    with rmqlab.serve(store=tmp_path / "store") as broker:
        got = asyncio.run(converse(broker, tmp_path / "tap"))
    fates = {(fate.queue, fate.offset): fate for fate in tap_account(tmp_path / "tap").fates}
    assert len(fates) == 2 * QUEUES
    lost = {place for place, fate in fates.items() if fate.lost}
    assert not lost & got
    # a client may still let go what it was given, when its queue has just gone to the other
    assert got <= {place for place, fate in fates.items() if fate.fate is Fate.PASSED} == set(fates) - lost
    verdicts = judged(tmp_path / "store", read_subscriptions(tmp_path / "tap"))
    assert set(verdicts) == set(fates)
    for place, (fate, certainty) in verdicts.items():
        if certainty != "unknown":
            assert (fate == Fate.DELIVERED) == (place in got)
            assert (fate in LOSING) == (place in lost)
