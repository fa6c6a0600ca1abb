from __future__ import annotations

import pytest
from hypothesis import strategies as st

from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import ONEWAY, RemotingCommand, SerializeType
from rmqlab.protocol.consumer_headers import (
    GetConsumerListByGroupRequestHeader,
    PullMessageRequestHeader,
)
from rmqlab.protocol.producer_headers import SendMessageResponseHeader

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
INT32 = st.integers(-(2**31), 2**31 - 1)
INT16 = st.integers(-(2**15), 2**15 - 1)


def test_a_header_stays_an_object_inside_the_process():
    header = PullMessageRequestHeader(consumer_group="G", topic="T", queue_id=1)
    command = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
    assert command.decode_header(PullMessageRequestHeader) is header
    assert command.ext_fields is None
    assert command.decode_header(GetConsumerListByGroupRequestHeader).consumer_group == "G"


def test_texts_beside_the_header_travel_with_it():
    response = RemotingCommand.response(0, header=SendMessageResponseHeader("ID", 0, 7))
    response.ext_fields = {"TRACE_ON": "true"}
    assert response.all_ext_fields() == {"TRACE_ON": "true", "msgId": "ID", "queueId": "0", "queueOffset": "7"}


def test_a_reply_takes_the_number_of_its_request_and_keeps_its_own_serialisation():
    request = RemotingCommand(34, opaque=9, serialize_type=SerializeType.ROCKETMQ)
    reply = RemotingCommand(0).reply_to(request)
    assert (reply.opaque, reply.is_response, reply.serialize_type) == (9, True, SerializeType.JSON)


def test_flags():
    command = RemotingCommand(1)
    assert not command.is_response
    assert not command.is_oneway
    command.flag |= ONEWAY
    assert (command.flag, command.is_oneway) == (2, True)
    command.flag |= 1
    assert (command.flag, command.is_response) == (3, True)


@pytest.mark.row("H-23")
def test_heart_beat_is_34():
    assert RequestCode.HEART_BEAT == 34


@pytest.mark.row("S-71")
def test_response_codes_of_a_pull():
    names = ("SUCCESS", "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED")
    assert [ResponseCode[name] for name in names] == [0, 19, 20, 21]
