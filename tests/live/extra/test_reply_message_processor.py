"""Replies: pushed to the producer that waits, stored, and answered by what became of the push."""

from __future__ import annotations

import pytest

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.message.properties import string_to_properties
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import (
    ReplyMessageRequestHeader,
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)

TOPIC = "DefaultCluster_REPLY_TOPIC"


def waiting(bench, client="P@1"):
    """A producer that is online, as its heartbeat made it known."""
    channel = bench.channel()
    info = ClientChannelInfo(channel, client, None, 0, bench.now)
    bench.broker.producer_manager.register_producer("PG", info, bench.now)
    return channel


def reply(bench, channel, properties, code=RequestCode.SEND_REPLY_MESSAGE_V2):
    header = SendMessageRequestHeader("G", TOPIC, "TBW102", 4, 0, 0, bench.now, 0, properties)
    if code == RequestCode.SEND_REPLY_MESSAGE_V2:
        header = SendMessageRequestHeaderV2.of(header)
    return bench.ask(channel, code, header, b"answer")


def text(**properties):
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())


@pytest.mark.parametrize("code", [RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2])
def test_a_reply_reaches_the_producer_before_it_is_answered(bench, code):
    producer, consumer = waiting(bench), bench.channel()
    told = text(REPLY_TO_CLIENT="P@1", CORRELATION_ID="c1")
    assert reply(bench, consumer, told, code) is None
    pushed = producer.sent[-1]
    header = pushed.decode_header(ReplyMessageRequestHeader)
    assert (pushed.code, pushed.body) == (RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, b"answer")
    assert header.born_host == f"/{consumer.remote_address}"
    assert header.store_host == str(bench.broker.config.store_host)
    properties = string_to_properties(header.properties)
    assert properties["CORRELATION_ID"] == "c1"
    assert properties["PUSH_REPLY_TIME"] == str(bench.now)
    assert bench.broker.message_store.get_max_offset_in_queue(TOPIC, 0) == 0
    bench.broker.handle(producer, RemotingCommand.response(ResponseCode.SUCCESS).reply_to(pushed), bench.now)
    answer = consumer.sent[-1]
    assert answer.code == ResponseCode.SUCCESS
    assert len(answer.decode_header(SendMessageResponseHeader).msg_id) == 32
    assert bench.broker.message_store.get_max_offset_in_queue(TOPIC, 0) == 1


def test_replies_need_not_be_stored(bench):
    bench.broker.config.store_reply_message_enable = False
    producer, consumer = waiting(bench), bench.channel()
    reply(bench, consumer, text(REPLY_TO_CLIENT="P@1"))
    bench.broker.handle(producer, RemotingCommand.response(ResponseCode.SUCCESS).reply_to(producer.sent[-1]), bench.now)
    assert consumer.sent[-1].decode_header(SendMessageResponseHeader).msg_id == "0"
    assert bench.broker.message_store.get_max_offset_in_queue(TOPIC, 0) == 0


@pytest.mark.parametrize(
    ("properties", "remark"),
    [
        ("", "reply message properties[REPLY_TO_CLIENT] is null"),
        (text(REPLY_TO_CLIENT="P@2"), "push reply message fail, channel of <P@2> not found."),
    ],
)
def test_nobody_to_push_to(bench, properties, remark):
    waiting(bench)
    answer = reply(bench, bench.channel(), properties)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert bench.broker.message_store.get_max_offset_in_queue(TOPIC, 0) == 1


def test_a_producer_that_does_not_answer(bench):
    waiting(bench)
    consumer = bench.channel()
    reply(bench, consumer, text(REPLY_TO_CLIENT="P@1"))
    bench.pass_time(9_000)
    assert consumer.sent == []
    bench.pass_time(2_000)
    assert (consumer.sent[-1].code, consumer.sent[-1].remark) == (
        ResponseCode.SYSTEM_ERROR, "push reply message to P@1fail.",
    )  # fmt: skip


def test_an_unknown_topic_is_refused(bench):
    header = SendMessageRequestHeaderV2.of(SendMessageRequestHeader("G", "Nowhere", "x", 4, 0, 0, bench.now, 0, ""))
    answer = bench.ask(bench.channel(), RequestCode.SEND_REPLY_MESSAGE_V2, header, b"x")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
