"""The admin tool's questions beyond tables: settings, clients asked by way of the broker, entries, whole lists."""

from __future__ import annotations

import json

import pytest

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol import fastjson
from rmqlab.protocol.admin_headers import DeleteTopicRequestHeader, ResetOffsetRequestHeader
from rmqlab.protocol.bodies import (
    ConsumerOffsetSerializeWrapper,
    GetConsumerStatusBody,
    KVTable,
    QueryConsumeQueueResponseBody,
    ResetOffsetBody,
)
from rmqlab.protocol.codes import VERSION_CODES, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper
from rmqlab_tools.live.extra.admin_headers import (
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    QueryConsumeQueueRequestHeader,
)


def settings_of(answer):
    return dict(line.split("=", 1) for line in answer.body.decode().splitlines())


def test_settings_are_shown_and_changed(bench):
    before = bench.ask(bench.channel(), RequestCode.GET_BROKER_CONFIG)
    assert settings_of(before)["longPollingEnable"] == "true"
    assert settings_of(before)["sendThreadPoolQueueCapacity"] == "10000"
    assert settings_of(before)["mappedFileSizeConsumeQueue"] == "6000000"
    assert json.loads(before.all_ext_fields()["version"])["counter"] == 0
    body = b"#comment\nlongPollingEnable=false\ndefaultQueryMaxNum = 7\nnoSuchSetting=1\nlistenPort=none\n"
    assert bench.ask(bench.channel(), RequestCode.UPDATE_BROKER_CONFIG, None, body).code == ResponseCode.SUCCESS
    after = bench.ask(bench.channel(), RequestCode.GET_BROKER_CONFIG)
    assert settings_of(after)["longPollingEnable"] == "false"
    assert settings_of(after)["defaultQueryMaxNum"] == "7"
    assert settings_of(after)["listenPort"] == settings_of(before)["listenPort"]
    assert json.loads(after.all_ext_fields()["version"]) == {"counter": 1, "timestamp": bench.now}
    # it works at once: a pull is now held for a second, not as long as it asks
    bench.topic("T", queues=1)
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "*"})
    assert bench.pull(channel, "G", "T", version=bench.now) is None
    bench.pass_time(5_500)
    assert channel.sent[-1].code == ResponseCode.PULL_NOT_FOUND


def test_settings_that_java_cannot_read_are_refused(bench):
    body = b"longPollingEnable=false\nbrokerName=\\u00\n"
    answer = bench.ask(bench.channel(), RequestCode.UPDATE_BROKER_CONFIG, None, body)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "string2Properties error")
    assert settings_of(bench.ask(bench.channel(), RequestCode.GET_BROKER_CONFIG))["longPollingEnable"] == "true"


def test_another_permission_is_told_to_the_name_servers(bench):
    bench.registrations.clear()
    bench.ask(bench.channel(), RequestCode.UPDATE_BROKER_CONFIG, None, b"brokerPermission=4\n")
    assert len(bench.registrations) == 1
    assert bench.registrations[0].topic_config_table["broker-a"].perm & 2 == 0


def test_the_state_of_the_broker(bench):
    bench.topic("T", queues=1)
    bench.extras.runtime_info.disk_space = lambda: (4 << 30, 1 << 30, 0)
    for _ in range(5):
        bench.pass_time(1_000)
        bench.send("T")
    bench.pass_time(7_000)
    table = KVTable.decode(bench.ask(bench.channel(), RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert table["msgPutTotalTodayNow"] == table["putMessageTimesTotal"] == "5"
    assert table["commitLogMaxOffset"] == str(bench.store.max_phy_offset)
    assert table["runtime"] == "[ 0 days, 0 hours, 0 minutes, 12 seconds ]"
    assert table["commitLogDiskRatio"] == "0.75"
    assert table["commitLogDirCapacity"] == "Total : 4.0 GiB, Free : 1.0 GiB."
    assert table["brokerVersionDesc"] == "V4_8_0"
    # of the last ten seconds four sends are older than the first sample, and no minute is over yet
    assert table["putTps"] == "0.4  "
    assert table["getTotalTps"] == "0.0 0.0 0.0"
    bench.pass_time(86_400_000)
    table = KVTable.decode(bench.ask(bench.channel(), RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert (table["msgPutTotalYesterdayMorning"], table["msgPutTotalTodayMorning"]) == ("0", "5")


def test_a_deleted_topic_loses_its_queues_and_begins_anew(bench):
    bench.topic("T", queues=1)
    bench.send("T")
    answer = bench.ask(bench.channel(), RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="T"))
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert bench.broker.topic_config_manager.select_topic_config("T") is None
    bench.topic("T", queues=1)
    assert bench.store.get_max_offset_in_queue("T", 0) == 0
    refused = bench.ask(bench.channel(), RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="TBW102"))
    assert (refused.code, refused.remark) == (
        ResponseCode.SYSTEM_ERROR, "The topic[TBW102] is conflict with system topic.",
    )  # fmt: skip


def reset(bench, **fields):
    header = ResetOffsetRequestHeader(**({"topic": "T", "group": "G", "timestamp": 0, "is_force": True} | fields))
    return bench.ask(bench.channel(), RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)


def test_every_consumer_is_told_where_to_go_on(bench):
    bench.topic("T", queues=2)
    for _ in range(3):
        bench.send("T", queue=1)
    assert reset(bench).remark == "THe consumer group <G> not exist"
    for queue in (0, 1):
        bench.broker.consumer_offset_manager.commit_offset("h", "G", "T", queue, queue * 3)
    offline = reset(bench)
    assert offline.code == ResponseCode.CONSUMER_NOT_ONLINE
    assert offline.remark == "Consumer not online, so can not reset offset, Group: G Topic: T Timestamp: 0"
    one, other = bench.channel(), bench.channel()
    bench.subscribe(one, "G", {"T": "*"}, client="A")
    bench.subscribe(other, "G", {"T": "*"}, client="B")
    one.sent.clear()
    answer = reset(bench)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "not set any response code")
    offsets = {queue.queue_id: offset for queue, offset in ResetOffsetBody.decode(answer.body).offset_table.items()}
    assert offsets == {0: 0, 1: 0}
    for channel in (one, other):
        told = channel.sent[-1]
        assert (told.code, told.is_oneway, told.body) == (RequestCode.RESET_CONSUMER_CLIENT_OFFSET, True, answer.body)
    # at the end, and not forward unless forced
    ends = ResetOffsetBody.decode(reset(bench, timestamp=-1).body).offset_table
    assert ends[MessageQueue("T", "broker-a", 1)] == 3
    assert reset(bench, topic="NONE").remark.endswith("no topic in this broker. topic=NONE")


def running_info(bench, admin, client="A"):
    header = GetConsumerRunningInfoRequestHeader(consumer_group="G", client_id=client)
    return bench.ask(admin, RequestCode.GET_CONSUMER_RUNNING_INFO, header)


def test_a_consumers_answer_is_passed_on(bench):
    admin, channel = bench.channel(), bench.channel()
    assert running_info(bench, admin).remark == "The Consumer <G> <A> not online"
    bench.subscribe(channel, "G", {"T": "*"}, client="A")
    channel.sent.clear()
    assert running_info(bench, admin) is None
    asked = channel.sent[-1]
    assert asked.all_ext_fields() == {"consumerGroup": "G", "clientId": "A", "jstackEnable": "false"}
    answer = RemotingCommand.response(ResponseCode.SUCCESS, "hello", body=b"{}").reply_to(asked)
    bench.broker.handle(channel, answer, bench.now)
    passed = admin.sent[-1]
    assert (passed.remark, passed.body, passed.is_response) == ("hello", b"{}", True)
    assert passed.opaque != asked.opaque


def test_a_consumer_that_does_not_answer_in_ten_seconds(bench):
    admin, channel = bench.channel(), bench.channel()
    bench.subscribe(channel, "G", {"T": "*"}, client="A")
    assert running_info(bench, admin) is None
    bench.pass_time(10_000)
    assert admin.sent[-1].code == ResponseCode.CONSUME_MSG_TIMEOUT
    assert admin.sent[-1].remark.startswith("consumer <G> <A> Timeout: org.apache.rocketmq.remoting.exception.Remoting")


def test_entries_of_a_queue_with_what_the_filter_makes_of_them(make_bench):
    bench = make_bench(
        config={"enable_calc_filter_bit_map": True, "enable_property_filter": True},
        store_config={"enable_consume_queue_ext": True, "bit_map_length_consume_queue_ext": 112},
    )
    bench.topic("T", queues=1)
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "a > 3"}, kind="SQL92")
    bench.pass_time(10)
    bench.send("T", props={"a": "5"})
    bench.send("T", props={"a": "1"})

    def ask(**fields):
        header = QueryConsumeQueueRequestHeader(**({"topic": "T", "index": 0, "count": 10} | fields))
        return bench.ask(bench.channel(), RequestCode.QUERY_CONSUME_QUEUE, header)

    body = QueryConsumeQueueResponseBody.decode(ask(consumer_group="G").body)
    assert [entry.eval for entry in body.queue_data] == [True, False]
    assert json.loads(body.queue_data[0].extend_data_json)["msgStoreTime"] == bench.now
    assert body.queue_data[0].bit_map.count("1") > body.queue_data[1].bit_map.count("1")
    assert json.loads(body.filter_data)["expression"] == "a > 3"
    assert (body.max_queue_index, body.min_queue_index) == (2, 0)
    assert len(QueryConsumeQueueResponseBody.decode(ask(count=1).body).queue_data) == 1
    nobody = QueryConsumeQueueResponseBody.decode(ask(consumer_group="X").body)
    assert nobody.filter_data == "X@T is not online!"
    assert ask(index=5).remark == "Index 5 of 0@T is not exist!"
    missing = ask(queue_id=3)
    assert (missing.code, missing.remark) == (ResponseCode.SYSTEM_ERROR, "3@T is not exist!")


def test_whole_tables(bench):
    bench.topic("T", queues=3)
    bench.broker.consumer_offset_manager.commit_offset("h", "G", "T", 1, 5)
    ask = lambda code: bench.ask(bench.channel(), code)  # noqa: E731
    topics = TopicConfigSerializeWrapper.decode(ask(RequestCode.GET_ALL_TOPIC_CONFIG).body)
    assert topics.topic_config_table["T"].read_queue_nums == 3
    groups = SubscriptionGroupWrapper.decode(ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)
    assert "TOOLS_CONSUMER" in groups.subscription_group_table
    offsets = ConsumerOffsetSerializeWrapper.decode(ask(RequestCode.GET_ALL_CONSUMER_OFFSET).body)
    assert offsets.offset_table == {"T@G": {1: 5}}
    assert fastjson.read(ask(RequestCode.GET_ALL_DELAY_OFFSET).body) == {"offsetTable": {}}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "V3_0_0_SNAPSHOT"),
        (28, "V3_0_7_SNAPSHOT"),
        (62, "V3_1_8_SNAPSHOT"),
        (373, "V4_8_0"),
        (9_999, "HIGHER_VERSION"),
    ],
)
def test_versions_have_names(number, name):
    assert version_desc(number) == name
    assert len(VERSION_CODES) == 613


def test_memory_and_what_took_its_time(bench):
    """A broker in memory has no disk, and says how much memory there is; slow puts count for their minute."""
    table = KVTable.decode(bench.ask(bench.channel(), RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert "commitLogDirCapacity" not in table
    bench.extras.runtime_info.memory_space = lambda: (16 << 30, 2 << 30)
    bench.topic("T", queues=1)
    for _ in range(5):
        bench.send("T")
    for ms in (1, 9, 60, 12_000):
        bench.store.store_stats_service.note_put(ms)
    bench.store.store_stats_service.note_get(7)
    table = KVTable.decode(bench.ask(bench.channel(), RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert table["commitLogDirCapacity"] == "Total : 16.0 GiB, Free : 2.0 GiB."
    assert (table["commitLogDiskRatio"], table["consumeQueueDiskRatio"]) == ("-1.0", "-1.0")
    assert table["putMessageDistributeTime"].startswith("[<=0ms]:1 [0~10ms]:2 [10~50ms]:0 [50~100ms]:1 [100~200ms]:0")
    assert table["putMessageDistributeTime"].endswith("[10s~]:1 ")
    assert (table["putMessageEntireTimeMax"], table["getMessageEntireTimeMax"]) == ("12000", "7")
    bench.pass_time(61_000)
    table = KVTable.decode(bench.ask(bench.channel(), RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert {part.split(":")[1] for part in table["putMessageDistributeTime"].split()} == {"0"}
    assert table["putMessageEntireTimeMax"] == "12000"


def status(bench, admin, client=None):
    header = GetConsumerStatusRequestHeader("T", "G", client)
    return bench.ask(admin, RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, header)


def at(queue_id, offset):
    return GetConsumerStatusBody(message_queue_table={MessageQueue("T", "broker-a", queue_id): offset}).encode()


def test_consumers_are_asked_one_after_the_other_how_far_they_are(bench):
    admin, first, second, silent = (bench.channel() for _ in range(4))
    for channel, client in ((first, "A"), (second, "B"), (silent, "C")):
        bench.subscribe(channel, "G", {"T": "*"}, client=client)
    for channel in (first, second, silent):
        channel.sent.clear()
    assert status(bench, admin) is None
    assert [len(one.sent) for one in (first, second, silent)] == [1, 0, 0]
    for channel, queue_id in ((first, 0), (second, 1)):
        answer = RemotingCommand.response(ResponseCode.SUCCESS, body=at(queue_id, 7)).reply_to(channel.sent[-1])
        bench.broker.handle(channel, answer, bench.now)
    assert admin.sent == []
    bench.pass_time(5_000)  # C says nothing, and is left out
    body = GetConsumerStatusBody.decode(admin.sent[-1].body)
    assert body.consumer_table == {name: {MessageQueue("T", "broker-a", n): 7} for n, name in enumerate("AB")}
    assert status(bench, admin, "B") is None
    assert (len(first.sent), len(second.sent)) == (1, 2)


def test_a_consumer_that_is_too_old_is_not_asked(bench):
    admin, channel = bench.channel(), bench.channel()
    bench.subscribe(channel, "G", {"T": "*"}, client="A")
    (member,) = bench.broker.consumer_manager.get_consumer_group_info("G").channel_info_table.values()
    member.version = VERSION_CODES.index("V3_0_6")
    channel.sent.clear()
    assert status(bench, admin).remark == "the client does not support this feature. version=V3_0_6"
    assert channel.sent == []
