"""Our clients' message trace in a broker's trace topic, over sockets."""

from __future__ import annotations

import asyncio

import rmqlab
from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from rmqlab.message.message import Message
from rmqlab.message.topics import TRACE_TOPIC
from rmqlab.protocol.heartbeat import ConsumeFromWhere
from tests.proof.clients.async_send import send_async
from tests.proof.clients.message_trace import Pub, SubAfter, SubBefore, decode
from tests.proof.clients.tracing_clients import TracingClients

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


async def trace_of(namesrv):
    """A sync and an async send, consumed by a group that fails once and by an orderly one; returns what is needed."""
    got = []

    def listener(messages, context):
        got.append(("G", messages[0].body))
        if len(got) == 1:
            raise ValueError
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def orderly(messages, context):
        got.append(("O", messages[0].body))
        return ConsumeOrderlyStatus.SUCCESS

    class Callback:
        def __init__(self):
            self.done = asyncio.Event()

        def on_success(self, result):
            self.done.set()

        def on_exception(self, error):
            raise error

    async with asyncio.timeout(60), TracingClients(namesrv) as clients:
        producer = await clients.producer("P")
        await producer.create_topic("TBW102", "T", 1)
        result = await producer.send(Message.of("T", b"one", "tagA", "k1 k2"))
        callback = Callback()
        send_async(producer, Message.of("T", b"three", "tagA"), callback)
        await callback.done.wait()
        config = PushConsumerConfig(consume_from_where=FIRST)
        await clients.push_consumer("G", {"T": "tagA"}, listener, config)
        ordered = PushConsumerConfig(consume_from_where=FIRST, orderly=True)
        await clients.push_consumer("O", {"T": "tagA"}, orderly, ordered)
        while len(got) < 5:  # noqa: ASYNC110 - a listener has no event
            await asyncio.sleep(0.01)
        return result, producer.instance.client_id


def test_what_our_clients_do_is_traced_as_theirs():
    with rmqlab.serve(traceTopicEnable=True, messageDelayLevel="1s 1s 1s 1s") as broker:
        result, client_id = asyncio.run(trace_of(broker.namesrv_addr))
        stored = broker.messages(TRACE_TOPIC)
    entries = [entry for message in stored for entry in decode(message.body.decode())]
    sent = [entry for entry in entries if isinstance(entry, Pub)]
    assert [entry.body_length for entry in sent] == [3, 5]
    first = sent[0]
    assert (first.msg_id, first.offset_msg_id) == (result.msg_id, result.offset_msg_id)
    assert (first.region, first.group, first.topic, first.tags, first.keys) == (
        "DefaultRegion",
        "P",
        "T",
        "tagA",
        "k1 k2",
    )
    assert (first.store_host, first.client_host, first.success) == (broker_of(result), client_id, True)
    before = {entry.request_id: entry for entry in entries if isinstance(entry, SubBefore)}
    after = [entry for entry in entries if isinstance(entry, SubAfter)]
    assert len(before) == len(after) == 5
    assert {entry.request_id for entry in after} == set(before)
    codes = {(entry.group, entry.context_code, entry.success) for entry in after}
    assert codes == {("G", 2, False), ("G", 0, True), ("O", 0, True)}
    assert sorted(entry.retry_times for entry in before.values()) == [0, 0, 0, 0, 1]
    assert any(result.msg_id in message.keys.split() for message in stored)


def broker_of(result):
    """The broker's address, from the id it gave."""
    raw = bytes.fromhex(result.offset_msg_id)
    return f"{'.'.join(map(str, raw[:4]))}:{int.from_bytes(raw[4:8])}"
