from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.java import string_hash
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
)
from rmqlab.protocol.subscription_data import SUB_ALL, SubscriptionData

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
TAGS = st.sets(TEXT, max_size=20)
SUBSCRIPTIONS = st.builds(
    SubscriptionData,
    topic=TEXT,
    sub_string=TEXT,
    class_filter_mode=st.booleans(),
    tags_set=TAGS,
    code_set=st.sets(st.integers(-(2**31), 2**31 - 1), max_size=20),
    sub_version=st.integers(0, 2**60),
    expression_type=st.sampled_from(["TAG", "SQL92"]),
)
CONSUMERS = st.builds(
    ConsumerData,
    group_name=TEXT,
    consume_type=st.sampled_from(ConsumeType),
    message_model=st.sampled_from(MessageModel),
    consume_from_where=st.sampled_from(ConsumeFromWhere),
    subscription_data_set=st.lists(SUBSCRIPTIONS, max_size=3),
    unit_mode=st.booleans(),
)
HEARTBEATS = st.builds(
    HeartbeatData,
    client_id=TEXT,
    producer_data_set=st.lists(st.builds(ProducerData, group_name=TEXT), max_size=3),
    consumer_data_set=st.lists(CONSUMERS, max_size=3),
)


@given(HEARTBEATS)
@pytest.mark.row("H-04")
def test_a_body_gives_back_the_heartbeat(heartbeat):
    body = heartbeat.encode()
    assert HeartbeatData.decode(body) == heartbeat
    assert json.loads(body).keys() == {"clientID", "producerDataSet", "consumerDataSet"}


@pytest.mark.row("H-05", "H-06", "H-10")
def test_the_fields_on_the_wire():
    tags = {"TagA", "TagB"}
    subscription = SubscriptionData(
        "T", "TagA || TagB", tags_set=tags, code_set={string_hash(tag) for tag in tags}, sub_version=1_609_459_200_000
    )
    subscription.filter_class_source = "class X {}"
    consumer = ConsumerData(
        "G",
        ConsumeType.CONSUME_PASSIVELY,
        MessageModel.CLUSTERING,
        ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        [subscription],
    )
    heartbeat = HeartbeatData("c@1", [ProducerData("PG")], [consumer])
    assert heartbeat.encode().decode() == (
        '{"clientID":"c@1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
        '"consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":['
        '{"classFilterMode":false,"codeSet":[2598919,2598920],"expressionType":"TAG","subString":"TagA || TagB",'
        '"subVersion":1609459200000,"tagsSet":["TagA","TagB"],"topic":"T"}],"unitMode":false}],'
        '"producerDataSet":[{"groupName":"PG"}]}'
    )


@pytest.mark.row("H-10")
def test_a_subscription_that_says_little_gets_the_defaults():
    body = b'{"consumerDataSet":[{"subscriptionDataSet":[{"topic":"T"}]}]}'
    (subscription,) = HeartbeatData.decode(body).consumer_data_set[0].subscription_data_set
    assert subscription == SubscriptionData("T", expression_type="TAG")
    assert (subscription.class_filter_mode, subscription.tags_set, subscription.code_set) == (False, set(), set())
    assert SUB_ALL == "*"


@pytest.mark.row("H-07", "H-08", "H-09")
def test_enums():
    assert {kind.name: kind.value for kind in ConsumeType} == {"CONSUME_ACTIVELY": "PULL", "CONSUME_PASSIVELY": "PUSH"}
    assert [model.name for model in MessageModel] == ["BROADCASTING", "CLUSTERING"]
    assert len(ConsumeFromWhere) == 6


@pytest.mark.row("H-08")
def test_a_consumer_has_no_defaults_of_its_own():
    consumer = HeartbeatData.decode(b'{"clientID":"c","consumerDataSet":[{"groupName":"G"}]}').consumer_data_set[0]
    assert (consumer.consume_type, consumer.message_model, consumer.consume_from_where) == (None, None, None)
    assert "messageModel" not in json.loads(consumer.encode())


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'{"producerDataSet":5}', b'{"producerDataSet":[5]}', b"x",
                                  b'{"producerDataSet":[null]}', b'{"consumerDataSet":[null]}',
                                  b'{"consumerDataSet":[{"groupName":"G","subscriptionDataSet":[null]}]}'])  # fmt: skip
def test_a_body_that_is_no_heartbeat_is_refused(body):
    with pytest.raises(FrameError):
        HeartbeatData.decode(body)
