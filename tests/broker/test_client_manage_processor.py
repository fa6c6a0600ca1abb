"""Heartbeats, goodbyes, checks of expressions."""

from __future__ import annotations

import pytest

from rmqlab.protocol.bodies import CheckClientRequestBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import UnregisterClientRequestHeader
from rmqlab.protocol.heartbeat import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
)
from rmqlab.protocol.subscription_data import SubscriptionData, build_subscription
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab.rules import RULES


def consumer(group, **more):
    return ConsumerData(
        group_name=group,
        consume_type=ConsumeType.CONSUME_PASSIVELY,
        message_model=MessageModel.CLUSTERING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        subscription_data_set=[build_subscription("T", "*", None, 1)],
        **more,
    )


def beat(bench, channel, consumers=(), producers=()):
    data = HeartbeatData(
        client_id="A",
        consumer_data_set=list(consumers),
        producer_data_set=[ProducerData(group_name=group) for group in producers],
    )
    return bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode())


@pytest.mark.row("H-26")
def test_a_beat_registers_all_consumers_then_all_producers_and_always_succeeds(bench):
    answer = beat(bench, bench.channel(), [consumer("G"), consumer("H")], ["PG", "QG"])
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert (answer.all_ext_fields(), answer.body) == (None, None)
    assert [fact["group"] for fact in bench.seen("register")] == ["G", "H", "PG", "QG"]
    assert beat(bench, bench.channel()).code == ResponseCode.SUCCESS


@pytest.mark.row("H-32")
def test_the_retry_topic_is_made_and_pushed_to_the_name_server_by_the_first_beat_only(bench):
    bench.registrations.clear()
    channel = bench.channel()
    for pushes in (1, 1, 1):
        beat(bench, channel, [consumer("G")])
        assert len(bench.registrations) == pushes
    topic = bench.broker.topic_config_manager.select_topic_config("%RETRY%G")
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_sys_flag) == (1, 1, 6, 0)


@pytest.mark.row("H-32")
def test_the_retry_topic_follows_the_configuration_of_the_group(bench):
    bench.broker.subscription_group_manager.update_subscription_group_config(
        SubscriptionGroupConfig("G", retry_queue_nums=3)
    )
    beat(bench, bench.channel(), [consumer("G", unit_mode=True)])
    topic = bench.broker.topic_config_manager.select_topic_config("%RETRY%G")
    assert (topic.read_queue_nums, topic.topic_sys_flag) == (3, 2)


@pytest.mark.row("H-32")
def test_a_group_without_configuration_gets_no_retry_topic_but_is_registered_and_notified(make_bench):
    bench = make_bench(config={"auto_create_subscription_group": False})
    channel = bench.channel()
    beat(bench, channel, [consumer("G")])
    assert bench.broker.topic_config_manager.select_topic_config("%RETRY%G") is None
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is not None
    assert [command.code for command in channel.sent] == [RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


def test_what_the_broker_remembers_of_a_client_comes_from_the_frame(bench):
    channel = bench.channel()
    data = HeartbeatData(client_id="A", consumer_data_set=[consumer("G")])
    bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode(), language="GO", version=200)
    info = bench.broker.consumer_manager.find_channel("G", "A")
    assert (info.language, info.version, info.last_update_timestamp) == ("GO", 200, bench.now)


def test_a_goodbye_may_name_a_consumer_group_a_producer_group_or_none(bench):
    channel = bench.channel()
    beat(bench, channel, [consumer("G")], ["PG"])
    header = UnregisterClientRequestHeader(client_id="A")
    answer = bench.ask(channel, RequestCode.UNREGISTER_CLIENT, header)
    assert (answer.code, answer.remark, answer.all_ext_fields()) == (ResponseCode.SUCCESS, None, {})
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is not None
    bench.ask(channel, RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader("A", "PG", "G"))
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None
    assert bench.broker.producer_manager.group_channel_table == {}


def check(bench, subscription):
    body = CheckClientRequestBody(client_id="A", group="G", subscription_data=subscription)
    return bench.ask(bench.channel(), RequestCode.CHECK_CLIENT_CONFIG, None, body.encode())


def test_an_expression_is_checked_by_compiling_it(make_bench):
    bench = make_bench(config={"enable_property_filter": True})
    assert check(bench, build_subscription("T", "a > 1", "SQL92")).code == ResponseCode.SUCCESS
    refused = check(bench, build_subscription("T", "a between 3 and 1", "SQL92"))
    assert refused.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert refused.remark == (
        "java.lang.RuntimeException: Illegal values of between, left value(3) must less than or equal to right value(1)"
    )
    unknown = check(bench, SubscriptionData("T", "x", expression_type="sql92"))
    assert unknown.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "FilterFactory.get(String)" in unknown.remark
    assert bench.broker.consumer_filter_manager.filter_data_by_topic == {}


def test_a_broker_without_property_filter_refuses_every_expression_but_tags(bench):
    refused = check(bench, build_subscription("T", "a > 1", "SQL92"))
    assert refused.code == ResponseCode.SYSTEM_ERROR
    assert refused.remark == "The broker does not support consumer to filter message by SQL92"
    assert check(bench, build_subscription("T", "||a", "TAG")).code == ResponseCode.SUCCESS
    assert check(bench, None).code == ResponseCode.SUCCESS
    without_body = bench.ask(bench.channel(), RequestCode.CHECK_CLIENT_CONFIG)
    assert without_body.code == ResponseCode.SYSTEM_ERROR  # as 4.8.0: see data/golden/request_codes


@pytest.fixture
def five(make_bench):
    return make_bench(rules=RULES["5.5.0"])


def beat_v2(bench, channel, expression, fingerprint, *, told=True):
    data = HeartbeatData("A", [], [consumer("G")], fingerprint, not told)
    subscriptions = [build_subscription("T", expression, None, bench.now)] if told else []
    data.consumer_data_set[0].subscription_data_set = subscriptions
    answer = bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode())
    return answer.all_ext_fields()["IS_SUB_CHANGE"]


def test_a_beat_with_a_fingerprint_may_leave_its_subscriptions_out(five):
    """5.3.3 `heartBeatV2`: the broker keeps what it holds, and refreshes the member."""
    channel = five.channel()
    assert beat_v2(five, channel, "tagA", 7) == "false"
    five.pass_time(100_000)
    assert beat_v2(five, channel, "", 7, told=False) == "false"
    group = five.broker.consumer_manager.get_consumer_group_info("G")
    assert {topic: held.sub_string for topic, held in group.subscription_table.items()} == {"T": "tagA"}
    assert group.channel_info_table[channel].last_update_timestamp == five.now


def test_a_beat_with_another_fingerprint_than_the_groups_last_one_hears_of_it(five):
    """Members that differ hear it at each beat, and send all again: nobody is refused."""
    one, other = five.channel(), five.channel()
    answers = [
        beat_v2(five, channel, tag, mark) for _ in "12" for channel, tag, mark in ((one, "a", 7), (other, "b", 8))
    ]
    assert answers == ["false", "true", "true", "true"]
    plain = beat(five, one, [consumer("G")])
    assert plain.all_ext_fields() == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    assert beat_v2(five, one, "a", 7) == "true"  # the beat between had none


def test_a_beat_without_subscriptions_of_a_member_that_is_new_is_notified(five):
    first, second = five.channel(), five.channel()
    beat_v2(five, first, "tagA", 7)
    beat_v2(five, second, "", 7, told=False)
    codes = [RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]
    assert [command.code for command in second.sent] == codes
    assert [command.code for command in first.sent] == codes * 2


def test_4_8_0_knows_no_fingerprint_and_takes_no_subscription_for_none(bench):
    channel = bench.channel()
    data = HeartbeatData("A", [], [consumer("G")], 7, without_sub=True)
    data.consumer_data_set[0].subscription_data_set = []
    assert bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode()).all_ext_fields() is None
    assert bench.broker.consumer_manager.get_consumer_group_info("G").subscription_table == {}


def test_5_x_registers_no_group_without_configuration(make_bench):
    """5.3.3 `ClientManageProcessor.heartBeat` goes on to the next group."""
    bench = make_bench(config={"auto_create_subscription_group": False}, rules=RULES["5.5.0"])
    channel = bench.channel()
    assert beat(bench, channel, [consumer("G")]).code == ResponseCode.SUCCESS
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None
    assert channel.sent == []
