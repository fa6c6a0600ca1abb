"""A broker of another version on a socket: what real frames say of it, and what its consumers do."""

from __future__ import annotations

import asyncio
import time

import pytest

import rmqlab
from rmqlab.client.client_error import MQClientError
from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader, QueryConsumerOffsetRequestHeader
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.producer_headers import SendMessageRequestHeader
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import RULES
from rmqlab_tools.live.sockets import SocketRuntime


def answers(address, *requests):
    """Ask a broker over one connection, one request after another."""

    async def ask():
        runtime = SocketRuntime()
        try:
            return [await runtime.invoke(address, request, 5_000) for request in requests]
        finally:
            await runtime.aclose()

    return asyncio.run(ask())


def heartbeat():
    subscriptions = [build_subscription("T", "*", None, 1)]
    way = ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    data = HeartbeatData("A", consumer_data_set=[ConsumerData("G", *way, subscriptions)])
    return RemotingCommand.request(RequestCode.HEART_BEAT, body=data)


def send(properties=""):
    header = SendMessageRequestHeader("P", "T", "TBW102", 4, 0, 0, 1, 0, properties)
    return RemotingCommand.request(RequestCode.SEND_MESSAGE, header, b"hello")


def pull():
    header = PullMessageRequestHeader("G", "T", 0, 0, 32, 0, 0, 0, sub_version=1)
    return RemotingCommand.request(RequestCode.PULL_MESSAGE, header)


@pytest.mark.parametrize("version", RULES)
def test_the_frames_of_a_version_name_it_and_have_its_fields(version):
    wire = RULES[version].wire
    with rmqlab.serve(version=version) as broker:
        broker.create_topic("T", 1)
        offset = RemotingCommand.request(
            RequestCode.QUERY_CONSUMER_OFFSET, QueryConsumerOffsetRequestHeader("G", "T", 0)
        )
        beat, asked, sent, named, pulled = answers(
            broker.broker_addr, heartbeat(), offset, send(), send("UNIQ_KEY\x01U\x02"), pull()
        )
        stored = broker.messages("T")
    assert {answer.version for answer in (beat, asked, sent, named, pulled)} == {wire.version_number}
    assert (beat.ext_fields or {}) == dict(wire.heartbeat_fields)
    is_5 = wire.tells_sys_flags
    assert asked.code == (ResponseCode.QUERY_NOT_FOUND if is_5 else ResponseCode.SUCCESS)  # of an empty queue
    assert {"topicSysFlag", "groupSysFlag"} & (pulled.ext_fields or {}).keys() == (
        {"topicSysFlag", "groupSysFlag"} if is_5 else set()
    )
    assert (named.ext_fields or {}).get("transactionId") == ("U" if is_5 else None)
    assert (sent.ext_fields or {}).get("transactionId") == stored[0].unique_id
    assert (stored[0].unique_id is not None) == is_5
    assert {"MSG_REGION", "TRACE_ON"} & stored[0].properties.keys() == set(wire.stored_properties)


def test_consumers_of_5_5_0_settle_and_get_what_they_asked_for():
    with rmqlab.serve(version="5.5.0") as broker:
        broker.create_topic("T", 1)
        a = broker.consumer("A", group="G", subscribe={"T": "tagA"})
        for number, tag in enumerate(["tagA", "tagB", "tagA"]):
            broker.send("T", f"m{number}", tag)
        deadline = time.monotonic() + 20
        while len(a.got) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert a.got == ["m0", "m2"]
        with pytest.raises(MQClientError, match="docs/bestPractice/06FAQ"):
            broker.consumer("B", group="a group", subscribe={"T": "tagA"})


def test_a_version_that_is_not_there_is_refused():
    with pytest.raises(BadInput, match=r"no rules of version '5\.1\.0'; there are those of 4\.8\.0, 5\.3\.3, 5\.5\.0"):
        rmqlab.serve(version="5.1.0")
