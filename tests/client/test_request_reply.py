"""A producer that waits for a consumer's answer, all ways it can end."""

from __future__ import annotations

import pytest

from rmqlab.client.client_error import ClientErrorCode, MQClientError
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.message.message import Message, MessageExt
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from tests.proof.clients.request_reply import RequestReply, create_reply_message


@pytest.fixture
def parties(world):
    """A producer that asks, and a consumer that answers what is not silence."""
    world.topic("T", 1)
    asking, answering = world.producer("P"), world.producer("Q", "OTHER")
    replies = []

    def listener(messages, context):
        for message in messages:
            if message.body != b"silence":
                sent = answering.send(create_reply_message(message, b"re: " + message.body))
                replies.append(answering.instance.runtime.spawn(sent, "reply"))
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer = world.consumer("A", listener=listener)
    world.do(asking.start())
    world.do(answering.start())
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    world.run(2_000)
    return RequestReply(asking)


def test_the_answer_comes_back(world, parties):
    asking = parties
    for text in (b"one", b"two"):
        answer = world.do(asking.request(Message.of("T", text), 5_000), 5_000)
        assert answer.body == b"re: " + text
        assert {"PUSH_REPLY_TIME", "ARRIVE_TIME", "CORRELATION_ID"} <= answer.properties.keys()
    assert asking.waiting == {}
    codes = [command.code for _, command in world.requests("Q", RequestCode.SEND_REPLY_MESSAGE_V2)]
    assert len(codes) == 2


def test_silence_has_its_own_code(world, parties):
    with pytest.raises(MQClientError, match="OK, but wait reply message timeout, 700 ms") as error:
        world.do(parties.request(Message.of("T", b"silence"), 700), 2_000)
    assert error.value.response_code == ClientErrorCode.REQUEST_TIMEOUT_EXCEPTION == 10006
    assert parties.waiting == {}


def test_what_was_never_sent_is_another_error(world, parties):
    with pytest.raises(MQClientError, match="send request message to <T> fail") as error:
        world.do(parties.request(Message.of("T", b""), 700), 2_000)
    assert "body length is zero" in str(error.value.__cause__)


def test_what_is_no_request_has_no_reply():
    with pytest.raises(MQClientError, match=r"property\[CLUSTER\] is null") as error:
        create_reply_message(MessageExt(topic="T"), b"x")
    assert error.value.response_code == 10007


def test_an_answer_that_cannot_be_read_is_refused(world, parties):
    command = RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT)
    command.ext_fields = {"topic": "T"}
    answer = world.instance("P").process_request("10.0.1.1:10911", command)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "process reply message fail")
