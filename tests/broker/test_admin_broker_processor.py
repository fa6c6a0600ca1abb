"""What the admin tool asks, and consumers on the way."""

from __future__ import annotations

import json

import pytest

from rmqlab.protocol.admin_headers import CreateTopicRequestHeader, DeleteSubscriptionGroupRequestHeader
from rmqlab.protocol.bodies import ConsumerConnection, GroupList, ProducerConnection
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    SearchOffsetRequestHeader,
)
from rmqlab.protocol.heartbeat import HeartbeatData, MessageModel, ProducerData
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab_tools.live.extra.admin_headers import (
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsRequestHeader,
    GetProducerConnectionListRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)


def create_topic(bench, topic="T", **fields):
    values = {"read_queue_nums": 4, "write_queue_nums": 2, "perm": 4, "topic_filter_type": "SINGLE_TAG"} | fields
    header = CreateTopicRequestHeader(topic=topic, default_topic="TBW102", **values)
    return bench.ask(bench.channel(), RequestCode.UPDATE_AND_CREATE_TOPIC, header)


def table_of(answer):
    """Read {"offsetTable": {{queue}: {...}}}, whose keys are objects without quotes, as fastjson writes them."""
    text = answer.body.decode()
    entries = text[text.index("{{") + 1 :]
    found = {}
    while entries.startswith("{"):
        key, length = json.JSONDecoder().raw_decode(entries)
        value, more = json.JSONDecoder().raw_decode(entries[length + 1 :])
        found[key["topic"], key["queueId"]] = value
        entries = entries[length + 1 + more + 1 :]
    return found


def test_a_topic_is_made_or_changed_and_the_broker_registers(bench):
    bench.registrations.clear()
    answer = create_topic(bench, topic_sys_flag=1)
    # 4.8.0 never clears the remark that a new answer begins with.
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "not set any response code")
    assert answer.all_ext_fields() is None
    topic = bench.broker.topic_config_manager.select_topic_config("T")
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_sys_flag) == (4, 2, 4, 1)
    assert len(bench.registrations) == 1
    create_topic(bench, read_queue_nums=8)
    assert bench.broker.topic_config_manager.select_topic_config("T").read_queue_nums == 8


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("broker-a", "The topic[broker-a] is conflict with system topic."),
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        (" ", "The specified topic is blank."),
    ],
)
def test_names_that_no_topic_may_have_are_refused(bench, topic, remark):
    answer = create_topic(bench, topic)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_a_topic_without_a_number_of_queues_fails_as_java_does(bench):
    answer = create_topic(bench, read_queue_nums=None)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_offsets_of_a_queue(bench):
    bench.topic("T")
    channel = bench.channel()
    first = bench.now
    for step in (0, 1_000, 5_000):
        bench.pass_time(step)
        bench.send("T", b"x", queue=1)
    queue = {"topic": "T", "queue_id": 1}
    search = SearchOffsetRequestHeader(**queue, timestamp=first + 999)
    for code, header, name, value in (
        (RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequestHeader(**queue), "offset", 3),
        (RequestCode.GET_MIN_OFFSET, GetMinOffsetRequestHeader(**queue), "offset", 0),
        (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, search, "offset", 1),
        (RequestCode.GET_EARLIEST_MSG_STORETIME, GetEarliestMsgStoretimeRequestHeader(**queue), "timestamp", first),
    ):
        answer = bench.ask(channel, code, header)
        assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
        assert answer.all_ext_fields() == {name: str(value)}


def test_a_group_is_configured_and_deleted(bench):
    config = SubscriptionGroupConfig("G", consume_enable=False)
    channel = bench.channel()
    bench.ask(channel, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, config.encode())
    manager = bench.broker.subscription_group_manager
    assert manager.find_subscription_group_config("G").consume_enable is False
    header = DeleteSubscriptionGroupRequestHeader(group_name="G")
    assert bench.ask(channel, RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == ResponseCode.SUCCESS
    assert manager.find_subscription_group_config("G").consume_enable is True
    answer = bench.ask(channel, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
    assert answer.code == ResponseCode.SYSTEM_ERROR  # as 4.8.0: see data/golden/request_codes


def test_the_members_and_subscriptions_of_a_group(bench):
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "tagA"}, version=7, client="A", model=MessageModel.BROADCASTING)
    header = GetConsumerConnectionListRequestHeader(consumer_group="G")
    answer = bench.ask(bench.channel(), RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
    body = ConsumerConnection.decode(answer.body)
    assert [(one.client_id, one.client_addr, one.language, one.version) for one in body.connection_set] == [
        ("A", channel.remote_address, "JAVA", 373)
    ]
    assert body.message_model is MessageModel.BROADCASTING
    assert (body.subscription_table["T"].sub_string, body.subscription_table["T"].sub_version) == ("tagA", 7)
    header = GetConsumerConnectionListRequestHeader(consumer_group="H")
    answer = bench.ask(channel, RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
    assert (answer.code, answer.remark) == (ResponseCode.CONSUMER_NOT_ONLINE, "the consumer group[H] not online")


def test_the_members_of_a_producer_group(bench):
    channel = bench.channel()
    data = HeartbeatData(client_id="P", producer_data_set=[ProducerData(group_name="PG")])
    bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode())

    def ask(group):
        header = GetProducerConnectionListRequestHeader(producer_group=group)
        return bench.ask(bench.channel(), RequestCode.GET_PRODUCER_CONNECTION_LIST, header)

    assert [one.client_id for one in ProducerConnection.decode(ask("PG").body).connection_set] == ["P"]
    bench.broker.on_channel_close(channel, bench.now)
    assert ProducerConnection.decode(ask("PG").body).connection_set == []
    answer = ask("QG")
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "the producer group[QG] not exist")


def test_how_far_the_queues_of_a_topic_are(bench):
    bench.topic("T", 2)
    bench.send("T", b"x", queue=1)
    ask = bench.ask(bench.channel(), RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic="T"))
    assert table_of(ask) == {
        ("T", 0): {"lastUpdateTimestamp": 0, "maxOffset": 0, "minOffset": 0},
        ("T", 1): {"lastUpdateTimestamp": bench.now, "maxOffset": 1, "minOffset": 0},
    }
    ask = bench.ask(bench.channel(), RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic="U"))
    assert (ask.code, ask.remark) == (ResponseCode.TOPIC_NOT_EXIST, "topic[U] not exist")


def stats(bench, topic=None):
    header = GetConsumeStatsRequestHeader(consumer_group="G", topic=topic)
    return bench.ask(bench.channel(), RequestCode.GET_CONSUME_STATS, header)


def test_how_far_a_group_is(bench):
    for topic in ("T", "U"):
        bench.topic(topic, 1)
        bench.send(topic, b"x")
        bench.broker.consumer_offset_manager.commit_offset("c", "G", topic, 0, 1)
    stored = bench.now
    bench.pass_time(5)
    bench.send("T", b"y")
    consumed = {"brokerOffset": 1, "consumerOffset": 1, "lastTimestamp": stored}
    assert table_of(stats(bench, "T")) == {("T", 0): consumed | {"brokerOffset": 2}}
    assert table_of(stats(bench)) == {("T", 0): consumed | {"brokerOffset": 2}, ("U", 0): consumed}


def test_topics_that_a_group_online_does_not_subscribe_to_are_left_out(bench):
    for topic in ("T", "U"):
        bench.topic(topic, 1)
        bench.broker.consumer_offset_manager.commit_offset("c", "G", topic, 0, 0)
    bench.subscribe(bench.channel(), "G", {"U": "*"}, client="A")
    assert list(table_of(stats(bench))) == [("U", 0)]
    assert b'"offsetTable":{}' in stats(bench, "unknown").body


def test_who_consumes_a_topic(bench):
    bench.subscribe(bench.channel(), "G", {"T": "*"}, client="A")
    bench.broker.consumer_offset_manager.commit_offset("c", "H", "T", 0, 0)
    header = QueryTopicConsumeByWhoRequestHeader(topic="T")
    answer = bench.ask(bench.channel(), RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
    assert sorted(GroupList.decode(answer.body).group_list) == ["G", "H"]


def test_an_unknown_code_is_not_answered_at_all(bench):
    assert bench.ask(bench.channel(), 9_999) is None


@pytest.mark.parametrize("nums", [{"read_queue_nums": 2**31 - 1}, {"write_queue_nums": 65_537}])
def test_a_topic_of_too_many_queues_is_refused(bench, nums):
    """Whoever asked for its offsets would stop the broker for hours."""
    answer = create_topic(bench, "Huge", **nums)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR, "topic[Huge]: at most 65536 queues can be looked after",
    )  # fmt: skip
    assert bench.broker.topic_config_manager.select_topic_config("Huge") is None
