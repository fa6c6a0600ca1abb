"""A heartbeat that stays in the process says what its bytes would say, and lets its sender go on."""

from hypothesis import given
from hypothesis import strategies as st

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
)
from rmqlab.protocol.subscription_data import SubscriptionData

NAMES = st.text(max_size=8) | st.sampled_from(["\ud800", "\udc00\ud800", "é\u2028\x00", ""])
SUBSCRIPTIONS = st.builds(
    SubscriptionData,
    topic=NAMES,
    sub_string=NAMES | st.none(),
    class_filter_mode=st.booleans(),
    tags_set=st.sets(NAMES, max_size=3),
    code_set=st.sets(st.integers(-(2**31), 2**31 - 1), max_size=3),
    sub_version=st.integers(0, 2**62),
    expression_type=st.sampled_from(["TAG", "SQL92", None]),
    filter_class_source=st.sampled_from([None, "class A {}"]),
)
CONSUMERS = st.builds(
    ConsumerData,
    group_name=NAMES,
    consume_type=st.sampled_from(ConsumeType),
    message_model=st.sampled_from(MessageModel),
    consume_from_where=st.sampled_from(ConsumeFromWhere),
    subscription_data_set=st.lists(SUBSCRIPTIONS, max_size=3),
    unit_mode=st.booleans(),
)
HEARTBEATS = st.builds(
    HeartbeatData,
    client_id=NAMES,
    producer_data_set=st.lists(st.builds(ProducerData, group_name=NAMES), max_size=2),
    consumer_data_set=st.lists(CONSUMERS, max_size=2),
)


@given(HEARTBEATS)
def test_what_is_received_is_what_the_bytes_say(beat):
    in_process = RemotingCommand.request(RequestCode.HEART_BEAT, body=beat.as_sent())
    from_bytes = RemotingCommand.request(RequestCode.HEART_BEAT, body=beat.encode())
    assert in_process.decode_body(HeartbeatData) == from_bytes.decode_body(HeartbeatData)
    assert in_process.body == from_bytes.body


def test_the_sender_may_change_its_subscription_after_sending():
    subscription = SubscriptionData("T", "tagA", sub_version=1)
    beat = HeartbeatData("id", consumer_data_set=[ConsumerData("G", subscription_data_set=[subscription])])
    command = RemotingCommand.request(RequestCode.HEART_BEAT, body=beat.as_sent())
    subscription.sub_version, subscription.filter_class_source = 2, "class A {}"
    (told,) = command.decode_body(HeartbeatData).consumer_data_set[0].subscription_data_set
    assert (told.sub_version, told.filter_class_source) == (1, None)
