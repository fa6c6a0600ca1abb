"""What the fuzzer of frames found: fields that are missing, numbers that are too large, objects for names."""

from __future__ import annotations

import math

import pytest

from rmqlab.message.topics import MAX_QUEUES, MessageQueue, message_queue_order, queues_of
from rmqlab.protocol import fastjson
from rmqlab.protocol.bodies import (
    ConsumerOffsetSerializeWrapper,
    ConsumeStats,
    LockBatchRequestBody,
    QueryConsumeTimeSpanBody,
)
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper
from rmqlab_tools.doctor.evidence.door import explain
from rmqlab_tools.live.wire.frame_codec import decode_frame

NOTHING = MessageQueue(None, None, 0)


def test_a_queue_without_its_fields_has_what_java_has_there():
    body = LockBatchRequestBody.decode(b'{"mqSet":[{"topic":"T"},{},null,{"brokerName":"b","queueId":3}]}')
    assert body.mq_set == [MessageQueue("T", None, 0), NOTHING, None, MessageQueue(None, "b", 3)]
    assert body.encode() == b'{"mqSet":[{"queueId":0,"topic":"T"},{"queueId":0},null,{"brokerName":"b","queueId":3}]}'
    assert message_queue_order([NOTHING]) == [NOTHING]
    (span,) = QueryConsumeTimeSpanBody.decode(b'{"consumeTimeSpanSet":[{"minTimeStamp":5}]}').consume_time_span_set
    assert (span.message_queue, span.min_time_stamp, span.max_time_stamp) == (None, 5, 0)


def test_an_object_for_a_name_has_no_list_in_it():
    with pytest.raises(FrameError, match="that is a name"):
        ConsumeStats.decode(b'{"offsetTable":{{"brokerName":[1],"queueId":0}:{"brokerOffset":1}}}')


@pytest.mark.parametrize(("number", "value"), [(b"9" * 400, math.inf), (b"-" + b"9" * 400, -math.inf)])
def test_a_number_of_400_digits_is_infinite(number, value):
    assert ConsumeStats.decode(b'{"consumeTps":' + number + b"}").consume_tps == value


def test_objects_in_a_header_may_have_numbers_and_objects_for_names():
    def remark(text):
        header = b'{"code":0,"remark":' + text + b"}"
        return decode_frame(len(header).to_bytes(4) + header).remark

    assert remark(b'{"b":{17:1,2:3,"a":4}}') == '{"b":{17:1,"a":4,2:3}}'
    assert remark(b'{{"a":1}:2}') == '{{"a":1}:2}'
    with pytest.raises(FrameError, match="that is a name"):
        remark(b'{{"a":[1]}:2}')


def test_more_queues_than_anybody_lists_are_cut_and_that_is_said(caplog):
    assert len(queues_of("T\x1b[2J", "b", 1 << 31)) == MAX_QUEUES
    assert "topic 'T\\x1b[2J': 2147483648 queues; the first 65536 are looked at" in caplog.text
    assert queues_of("T", "b", -1) == []
    text = '{"dataVersion":{"counter":0},"topicConfigTable":{"T":{"topicName":"T","readQueueNums":2147483647}}}'
    assert "topics of a broker" in repr(explain(text))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (TopicConfigSerializeWrapper, b'{"topicConfigTable":{"T":null}}'),
        (SubscriptionGroupWrapper, b'{"subscriptionGroupTable":{"G":null}}'),
        (ConsumerOffsetSerializeWrapper, b'{"offsetTable":{"T@G":{0:null}}}'),
        (ConsumerOffsetSerializeWrapper, b'{"offsetTable":{"T@G":null}}'),
    ],
)
def test_a_table_with_null_in_it_is_refused_as_a_concurrent_map_refuses_it(body, text):
    with pytest.raises(FrameError, match="null for a value"):
        body.decode(text)
    assert explain(text.decode()).pieces


def test_the_names_of_a_map_are_ordered_as_java_does():
    assert fastjson.to_text({"b": 1, "a": 2}) == '{"a":2,"b":1}'
    assert fastjson.to_text({1 << 40: 1, 5: 2, None: 3}) == "{1099511627776:1,null:3,5:2}"  # two in the first bucket
