"""Headers, receipt handles and assignments of POP, with what the real 5.5.0 and its clients sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.assignment import (
    MessageQueueAssignment,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from rmqlab.protocol.extra_info import (
    NORMAL,
    RETRY,
    RETRY_V2,
    ReceiptHandle,
    ReceiptHandleError,
    build_msg_offset_info,
    build_start_offset_info,
    parse_msg_offset_info,
    parse_start_offset_info,
)
from rmqlab.protocol.header import header_from_ext_fields
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.pop_headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1)
MARKS = st.sampled_from([NORMAL, RETRY, RETRY_V2])
QUEUES = st.tuples(MARKS, INTS)


@given(st.builds(ReceiptHandle, LONGS, LONGS, LONGS, INTS, MARKS, NAMES, INTS, st.none() | LONGS))
def test_a_receipt_handle_comes_back(handle):
    assert ReceiptHandle.parse(handle.encode()) == handle


@given(st.dictionaries(QUEUES, LONGS), st.dictionaries(QUEUES, st.lists(LONGS, min_size=1)))
def test_offsets_of_a_pop_come_back(starts, popped):
    assert parse_start_offset_info(build_start_offset_info((*key, start) for key, start in starts.items())) == starts
    assert parse_msg_offset_info(build_msg_offset_info((*key, offsets) for key, offsets in popped.items())) == popped


def test_handle_of_a_recorded_ack():
    handle = ReceiptHandle.parse("0 1795693030143 60000 1 0 broker-a 3 1")
    assert handle == (0, 1795693030143, 60_000, 1, NORMAL, "broker-a", 3, 1)
    assert handle.visible_at == 1795693090143


@pytest.mark.parametrize("text", [None, "", "1 2 3", "a 1 60000 1 0 broker-a 3 1", "0 1 60000 1 0 broker-a 3 1 9"])
def test_a_text_that_is_no_handle_is_named(text):
    with pytest.raises(ReceiptHandleError) as refused:
        ReceiptHandle.parse(text)
    assert str(refused.value).startswith(f"receipt handle {text!r}: ")


@pytest.mark.parametrize(("text", "why"), [("0 3", "right would be"), ("0 3 1;0 3 2", "queue 3"), ("0 x 1", "x")])
def test_offsets_that_cannot_be_read_are_named(text, why):
    with pytest.raises(ReceiptHandleError, match=why):
        parse_msg_offset_info(text)


def test_headers_are_those_of_a_recorded_client():
    fields = {
        "pollTime": "15000", "invisibleTime": "60000", "queueId": "-1", "bornTime": "1795693027124", "maxMsgNums": "32",
        "bname": "broker-a", "topic": "T", "expType": "SQL92", "exp": "TAGS = 'tagB'", "consumerGroup": "G",
        "initMode": "1", "order": "false",
    }  # fmt: skip
    pop = header_from_ext_fields(PopMessageRequestHeader, fields)
    assert pop.to_ext_fields() == fields
    assert (pop.exp, pop.queue_id, pop.born_time, pop.order) == ("TAGS = 'tagB'", -1, 1795693027124, False)
    ack = {
        "queueId": "3", "offset": "1", "bname": "broker-a", "topic": "T", "consumerGroup": "G",
        "extraInfo": "0 1795693030143 60000 1 0 broker-a 3 1",
    }  # fmt: skip
    assert header_from_ext_fields(AckMessageRequestHeader, ack).to_ext_fields() == ack
    change = ack | {"invisibleTime": "10000"}
    assert header_from_ext_fields(ChangeInvisibleTimeRequestHeader, change).to_ext_fields() == change
    answer = {
        "invisibleTime": "60000", "startOffsetInfo": "0 3 0;0 2 0", "restNum": "0", "popTime": "1795693030143",
        "reviveQid": "1", "msgOffsetInfo": "0 3 1;0 2 1",
    }  # fmt: skip
    assert header_from_ext_fields(PopMessageResponseHeader, answer).to_ext_fields() == answer


@pytest.mark.parametrize(("late", "is_too_late"), [(500, False), (501, True)])
def test_a_poll_that_ended_half_a_second_ago_is_too_late(late, is_too_late):
    header = PopMessageRequestHeader(born_time=1_000, poll_time=15_000)
    assert header.is_timeout_too_much(16_000 + late) is is_too_late


def test_assignments_are_those_of_a_recorded_broker():
    queue = MessageQueue("T", "broker-a", -1)
    answer = QueryAssignmentResponseBody([MessageQueueAssignment(queue, MessageRequestMode.POP)])
    text = (
        b'{"messageQueueAssignments":'
        b'[{"messageQueue":{"brokerName":"broker-a","queueId":-1,"topic":"T"},"mode":"POP"}]}'
    )
    assert answer.encode() == text
    assert QueryAssignmentResponseBody.decode(text) == answer
    assert QueryAssignmentResponseBody([]).encode() == b'{"messageQueueAssignments":[]}'
    assert QueryAssignmentResponseBody().encode() == b"{}"
    asked = QueryAssignmentRequestBody("T", "G", "C", "AVG", MessageModel.CLUSTERING)
    text = b'{"clientId":"C","consumerGroup":"G","messageModel":"CLUSTERING","strategyName":"AVG","topic":"T"}'
    assert (asked.encode(), QueryAssignmentRequestBody.decode(text)) == (text, asked)
    mode = SetMessageRequestModeRequestBody("T", "G", MessageRequestMode.POP, 3)
    assert SetMessageRequestModeRequestBody.decode(mode.encode()) == mode
