"""Real Java clients, 4.8.0 and 5.x, against our broker; our clients against the real one."""

from __future__ import annotations

import asyncio
import time

import pytest

import rmqlab
from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.heartbeat import ConsumeFromWhere
from tests.proof.clients.batch_send import send_batch
from tests.proof.clients.socket_clients import SocketClients

CHECKS = ["sends", "vip", "delay", "ordered", "transaction", "lite", "sql", "retry", "broadcast", "trace", "article"]
# 5.3.3 itself gives up at once: its `request` ends the wait in the callback of the send (`acquireCountDownLatch`)
MORE = {"4.8.0": ["request"], "5.3.3": [], "5.5.0": []}
SETTINGS = {
    "enablePropertyFilter": True,
    "messageDelayLevel": "1s 1s 1s 1s 1s",
    "transactionCheckInterval": 300,
    "transactionTimeOut": 100,
    "transactionCheckMax": 100,
    "traceTopicEnable": True,
}


@pytest.mark.parametrize(("version", "served"), [("4.8.0", "4.8.0"), ("5.3.3", "4.8.0"), ("5.5.0", "5.5.0")])
def test_java_clients_of_our_broker(jars, tmp_path, version, served):
    """Every way to send and to consume, message trace and transactions that the broker asks about."""
    with rmqlab.serve(version=served, **SETTINGS) as broker:
        checks = CHECKS + MORE[version]
        lines, errors = jars(version).interop(broker.namesrv_addr, *checks, home=tmp_path)
        assert sorted(lines) == sorted(f"ok {check}" for check in checks), errors[-3000:]
        deadline = time.monotonic() + 30
        while not (dead := broker.messages("%DLQ%RetryG")) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert {message.body for message in dead} == {b"again"}


def test_our_clients_of_the_real_broker(real_cluster, tmp_path):
    async def run(namesrv):
        got = []

        def listener(messages, context):
            got.extend(message.body for message in messages)
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        async with SocketClients(namesrv) as clients:
            producer = await clients.producer("PG")
            await producer.create_topic("TBW102", "T", 2)
            for number in range(10):
                message = Message.of("T", b"%d" % number, "even" if number % 2 == 0 else "odd")
                message.put_user_property("a", str(number))
                await producer.send(message, MessageQueue("T", "broker-a", number % 2))
            await send_batch(producer, [Message.of("T", b"batch", "even"), Message.of("T", b"batch", "odd")])
            await producer.send(Message.of("T", bytes(50_000), "large"))
            config = PushConsumerConfig(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
            await clients.push_consumer("TagG", {"T": "odd || large"}, listener, config)
            async with asyncio.timeout(60):
                while len(got) < 7:  # noqa: ASYNC110 - a listener has no event
                    await asyncio.sleep(0.01)
            lite = await clients.lite_pull_consumer("SqlG", {"T": ("SQL92", "a > 6")})
            some = []
            async with asyncio.timeout(60):
                while len(some) < 3:  # a new group begins at 0 as long as nothing was deleted
                    some += [message.body for message in await lite.poll(200)]
        return got, some

    with real_cluster(tmp_path / "store") as cluster:
        got, some = asyncio.run(run(cluster.namesrv))
    assert sorted(got) == sorted([b"1", b"3", b"5", b"7", b"9", b"batch", bytes(50_000)])
    assert sorted(some) == [b"7", b"8", b"9"]


ACL = {
    "accounts": [
        {
            "accessKey": "interop",
            "secretKey": "12345678",
            "admin": True,
            "defaultTopicPerm": "PUB|SUB",
            "defaultGroupPerm": "SUB",
        }
    ]
}


# 5.3.3 signs the mark of a query by unique key too, which 4.8.0's check leaves out: it refuses viewMessage (in "sends")
SIGNED = {"4.8.0": ["article", "sends"], "5.3.3": ["article", "lite", "ordered"]}


@pytest.mark.parametrize("version", ["4.8.0", "5.3.3"])
def test_java_clients_with_and_without_a_key(jars, tmp_path, version):
    """The real `AclClientRPCHook` signs what ours takes; without a key, or with a wrong one, nothing passes."""
    signed = {"ACCESS_KEY": "interop", "SECRET_KEY": "12345678"}
    with rmqlab.serve(**SETTINGS, acl=ACL) as broker:
        checks = SIGNED[version]
        lines, errors = jars(version).interop(broker.namesrv_addr, *checks, home=tmp_path, environment=signed)
        assert sorted(lines) == [f"ok {check}" for check in checks], errors[-3000:]
        stored = broker.call(lambda one: one.message_store.max_phy_offset)
        refused, errors = jars(version).interop(
            broker.namesrv_addr, "sends", home=tmp_path, environment={**signed, "SECRET_KEY": "wrongsecret"}
        )
        assert refused[0].startswith("failed sends")
        assert "AclException: Check signature failed for accessKey=interop" in errors
        refused, errors = jars(version).interop(broker.namesrv_addr, "sends", home=tmp_path)
        assert refused[0].startswith("failed sends")
        assert "AclException: No accessKey is configured" in errors
        assert broker.call(lambda one: one.message_store.max_phy_offset) == stored
