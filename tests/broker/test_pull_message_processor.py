"""Pulls: every check, every status, the door to long polling, the offset that rides along (rows S-58..S-75)."""

from __future__ import annotations

import json

import pytest

from rmqlab.filter.message_filter import ExpressionForRetryMessageFilter, ExpressionMessageFilter
from rmqlab.message.record import decode_records
from rmqlab.message.topics import OFFSET_MOVED_EVENT
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.consumer_headers import PullMessageResponseHeader
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab.store.config import BrokerRole
from rmqlab.store.queue_reader import GetMessageResult, GetMessageStatus

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


@pytest.fixture
def ready(bench):
    """A topic with two messages of each tag in queue 0, and a member that wants tagA."""
    bench.topic("T")
    for number, tag in enumerate(["tagA", "tagB", "tagA", "tagB"]):
        bench.send("T", b"m%d" % number, tag)
    bench.member = bench.channel()
    bench.subscribe(bench.member, "G", {"T": "tagA"}, version=100)
    return bench


@pytest.fixture
def sql(make_bench):
    """Two messages, with a = 1 and a = 2, on a broker that filters by properties."""
    bench = make_bench(config={"enable_property_filter": True})
    bench.topic("T")
    for number in (1, 2):
        bench.send("T", b"m%d" % number, props={"a": str(number)})
    bench.member = bench.channel()
    return bench


def assert_refused(answer, code, remark):
    assert (answer.code, answer.remark) == (code, remark)
    # Nothing but the empty header is sent, as in the recordings.
    assert answer.all_ext_fields() == {}
    assert answer.body is None


@pytest.mark.row("S-58")
def test_a_broker_that_may_not_be_read_refuses_every_pull(make_bench):
    bench = make_bench(config={"broker_permission": 2, "broker_ip1": "10.0.0.1"})
    answer = bench.pull(bench.channel(), "G", "NOSUCH")
    assert_refused(answer, ResponseCode.NO_PERMISSION, "the broker[10.0.0.1] pulling message is forbidden")


@pytest.mark.row("S-58")
def test_an_unknown_group_is_made_or_refused(make_bench):
    bench = make_bench(config={"auto_create_subscription_group": False})
    answer = bench.pull(bench.channel(), "G", "NOSUCH")
    assert_refused(answer, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [G] does not exist, {FAQ}")
    bench = make_bench()
    assert bench.pull(bench.channel(), "G", "NOSUCH").code == ResponseCode.TOPIC_NOT_EXIST
    assert bench.broker.subscription_group_manager.subscription_group_table["G"].consume_enable


@pytest.mark.row("S-58")
def test_a_group_that_may_not_consume_is_refused_before_its_topic_is_looked_at(bench):
    bench.broker.subscription_group_manager.update_subscription_group_config(
        SubscriptionGroupConfig("G", consume_enable=False)
    )
    answer = bench.pull(bench.channel(), "G", "NOSUCH")
    assert_refused(answer, ResponseCode.NO_PERMISSION, "subscription group no permission, G")


@pytest.mark.row("S-60")
def test_an_unknown_topic(bench):
    answer = bench.pull(bench.channel(), "G", "NOSUCH")
    assert_refused(answer, ResponseCode.TOPIC_NOT_EXIST, f"topic[NOSUCH] not exist, apply first please! {FAQ}")


@pytest.mark.row("S-61")
def test_a_topic_that_may_not_be_read(bench):
    bench.topic("T", perm=2)
    answer = bench.pull(bench.channel(), "G", "T", queue=99)
    assert_refused(answer, ResponseCode.NO_PERMISSION, "the topic[T] pulling message is forbidden")


@pytest.mark.row("S-62")
@pytest.mark.parametrize("queue", [-1, 4])
def test_a_queue_that_the_topic_does_not_have(bench, queue):
    bench.topic("T", queues=4)
    channel = bench.channel()
    answer = bench.pull(channel, "G", "T", queue=queue)
    assert_refused(
        answer,
        ResponseCode.SYSTEM_ERROR,
        f"queueId[{queue}] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/{channel.remote_address}]",
    )


@pytest.mark.row("S-63")
@pytest.mark.parametrize(("kind", "own"), [("TAG", "||"), ("SQL92", "")])
def test_an_expression_that_cannot_be_split_or_is_missing(bench, kind, own):
    bench.topic("T")
    answer = bench.pull(bench.channel(), "G", "T", own=own, kind=kind)
    assert_refused(answer, ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")


@pytest.mark.row("S-63", "F-72", "F-75")
def test_an_expression_in_the_request_is_compiled_and_one_that_does_not_compile_lets_everything_pass(sql, bodies):
    assert bodies(sql.pull(sql.member, "G", "T", own="a = 2", kind="SQL92")) == [b"m2"]
    assert bodies(sql.pull(sql.member, "G", "T", own="a > 'x'", kind="SQL92")) == [b"m1", b"m2"]
    assert bodies(sql.pull(sql.member, "G", "T", own="a = 2", kind="NOSUCH")) == [b"m1", b"m2"]


@pytest.mark.row("S-64")
def test_without_its_own_subscription_a_pull_needs_a_registered_group(bench):
    bench.topic("T")
    answer = bench.pull(bench.channel(), "G", "T")
    assert_refused(answer, ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{FAQ}")


@pytest.mark.row("S-64")
def test_a_group_may_be_forbidden_to_broadcast(bench):
    bench.topic("T")
    member = bench.channel()
    bench.subscribe(member, "G", {"T": "*"}, model=MessageModel.BROADCASTING)
    assert bench.pull(member, "G", "T") is None
    bench.broker.subscription_group_manager.subscription_group_table["G"].consume_broadcast_enable = False
    answer = bench.pull(member, "G", "T")
    assert_refused(answer, ResponseCode.NO_PERMISSION, "the consumer group[G] can not consume by broadcast way")
    # A pull that brings its subscription is not asked for its model.
    assert bench.pull(member, "G", "T", own="*") is None


@pytest.mark.row("S-65")
def test_a_group_that_does_not_subscribe_to_the_topic(ready):
    ready.topic("OTHER")
    answer = ready.pull(ready.member, "G", "OTHER")
    assert_refused(answer, ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{FAQ}")


@pytest.mark.row("S-66")
def test_a_table_older_than_the_pull_is_refused(ready):
    answer = ready.pull(ready.member, "G", "T", version=101)
    assert_refused(answer, ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")


@pytest.mark.row("S-66", "S-89")
def test_a_table_newer_than_the_pull_serves_it_in_silence_with_the_other_members_tags(ready, bodies):
    other = ready.channel()
    ready.subscribe(other, "G", {"T": "tagB"}, version=200, client="D")
    assert bodies(ready.pull(ready.member, "G", "T", version=100)) == [b"m1", b"m3"]


@pytest.mark.row("S-90")
def test_a_pull_with_its_own_subscription_gets_what_it_wants_whatever_the_table_says(ready, bodies):
    ready.subscribe(ready.channel(), "G", {"T": "tagB"}, version=200, client="D")
    assert bodies(ready.pull(ready.member, "G", "T", version=100, own="tagA")) == [b"m0", b"m2"]


@pytest.mark.row("S-67")
def test_an_expression_that_never_compiled_has_no_filter_data(sql):
    sql.subscribe(sql.member, "G", {"T": "a > 'x'"}, version=1, kind="SQL92")
    answer = sql.pull(sql.member, "G", "T", version=1, kind="SQL92")
    assert_refused(
        answer,
        ResponseCode.FILTER_DATA_NOT_EXIST,
        "The broker's consumer filter data is not exist!Your expression may be wrong!",
    )


@pytest.mark.row("S-68")
def test_filter_data_older_than_the_pull_is_refused(sql):
    sql.subscribe(sql.member, "G", {"T": "a = 1"}, version=7, kind="SQL92")
    sql.broker.consumer_filter_manager.get("T", "G").client_version = 6
    answer = sql.pull(sql.member, "G", "T", version=7, kind="SQL92")
    assert_refused(answer, ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")


@pytest.mark.row("F-47", "F-72", "F-75")
def test_a_registered_expression_filters_while_the_broker_serves_the_pull(sql, bodies):
    sql.subscribe(sql.member, "G", {"T": "a = 1"}, version=7, kind="SQL92")
    assert bodies(sql.pull(sql.member, "G", "T", version=7, kind="SQL92")) == [b"m1"]
    assert [(fact["offset"], fact["stage"]) for fact in sql.seen("filtered")] == [(1, "sql")]


@pytest.mark.row("S-69")
@pytest.mark.parametrize("own", [None, "a = 1"])
def test_a_broker_that_does_not_filter_by_properties_names_the_type(make_bench, own):
    bench = make_bench()
    bench.topic("T")
    member = bench.channel()
    bench.subscribe(member, "G", {"T": "a = 1"}, version=7, kind="SQL92")
    answer = bench.pull(member, "G", "T", version=7, own=own, kind="SQL92")
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, "The broker does not support consumer to filter message by SQL92")


@pytest.mark.row("S-70", "F-66")
@pytest.mark.parametrize(
    ("support", "kind"), [(False, ExpressionMessageFilter), (True, ExpressionForRetryMessageFilter)]
)
def test_which_filter_serves_a_pull(make_bench, support, kind):
    bench = make_bench(config={"filter_support_retry": support})
    bench.topic("T")
    member = bench.channel()
    bench.subscribe(member, "G", {"T": "*"})
    assert bench.pull(member, "G", "T") is None
    held = bench.broker.pull_request_hold_service.held("T", 0)
    assert [type(pull.message_filter) for pull in held] == [kind]


@pytest.mark.row("F-66")
@pytest.mark.parametrize(("support", "wanted"), [(False, [b"m1", b"m2"]), (True, [b"m2"])])
def test_a_retried_message_is_filtered_by_the_expression_for_its_first_topic(make_bench, bodies, support, wanted):
    bench = make_bench(config={"enable_property_filter": True, "filter_support_retry": support})
    bench.topic("T")
    member = bench.channel()
    bench.subscribe(member, "G", {"T": "a = 2", "U": "a > 0"}, version=7, kind="SQL92")
    for number in (1, 2):
        props = {"a": str(number), "RETRY_TOPIC": "T"}
        bench.send("%RETRY%G", b"m%d" % number, props=props, max_reconsume_times=16)
    assert bodies(bench.pull(member, "G", "%RETRY%G", own="*")) == wanted


@pytest.mark.row("S-71")
@pytest.mark.parametrize(
    ("status", "offset", "code"),
    [
        ("FOUND", 0, ResponseCode.SUCCESS),
        ("MESSAGE_WAS_REMOVING", 0, ResponseCode.PULL_RETRY_IMMEDIATELY),
        ("NO_MATCHED_LOGIC_QUEUE", 0, ResponseCode.PULL_NOT_FOUND),
        ("NO_MATCHED_LOGIC_QUEUE", 1, ResponseCode.PULL_OFFSET_MOVED),
        ("NO_MESSAGE_IN_QUEUE", 0, ResponseCode.PULL_NOT_FOUND),
        ("NO_MESSAGE_IN_QUEUE", 1, ResponseCode.PULL_OFFSET_MOVED),
        ("NO_MATCHED_MESSAGE", 0, ResponseCode.PULL_RETRY_IMMEDIATELY),
        ("OFFSET_FOUND_NULL", 0, ResponseCode.PULL_NOT_FOUND),
        ("OFFSET_OVERFLOW_BADLY", 0, ResponseCode.PULL_OFFSET_MOVED),
        ("OFFSET_OVERFLOW_ONE", 0, ResponseCode.PULL_NOT_FOUND),
        ("OFFSET_TOO_SMALL", 0, ResponseCode.PULL_OFFSET_MOVED),
    ],
)
def test_code_of_each_status(ready, status, offset, code):
    ready.store.get_message = lambda *_: GetMessageResult(GetMessageStatus[status], 5, 1, 9, [b"record"])
    answer = ready.pull(ready.member, "G", "T", offset=offset, suspend=False)
    assert (answer.code, answer.remark) == (code, status)
    assert answer.header == PullMessageResponseHeader(0, 5, 1, 9)
    assert answer.body == (b"record" if code is ResponseCode.SUCCESS else None)


@pytest.mark.row("S-71")
def test_statuses_that_a_small_store_reaches_by_itself(ready):
    got = {}
    for offset in (0, 1, 4, 5):
        answer = ready.pull(ready.member, "G", "T", offset=offset, suspend=False)
        got[offset] = answer.remark, answer.code, answer.header.next_begin_offset
    assert got == {
        0: ("FOUND", ResponseCode.SUCCESS, 4),
        1: ("FOUND", ResponseCode.SUCCESS, 4),
        4: ("OFFSET_OVERFLOW_ONE", ResponseCode.PULL_NOT_FOUND, 4),
        5: ("OFFSET_OVERFLOW_BADLY", ResponseCode.PULL_OFFSET_MOVED, 0),
    }
    answer = ready.pull(ready.member, "G", "T", offset=3, suspend=False)
    assert (answer.code, answer.remark) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")


@pytest.mark.row("S-71")
def test_a_store_that_may_not_be_read_gives_a_system_error(ready):
    ready.store.shutdown()
    answer = ready.pull(ready.member, "G", "T", commit=3)
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, "store getMessage return null")
    # The offset is committed all the same.
    assert ready.broker.consumer_offset_manager.query_offset("G", "T", 0) == 3


@pytest.mark.row("S-72")
@pytest.mark.parametrize(
    ("slave_read", "slow", "suggested"), [(False, False, 0), (False, True, 0), (True, True, 7), (True, False, 5)]
)
def test_which_broker_is_suggested(make_bench, slave_read, slow, suggested):
    bench = make_bench(config={"slave_read_enable": slave_read})
    bench.topic("T")
    group = SubscriptionGroupConfig("G", broker_id=5, which_broker_when_consume_slowly=7)
    bench.broker.subscription_group_manager.update_subscription_group_config(group)
    bench.store.get_message = lambda *_: GetMessageResult(GetMessageStatus.FOUND, suggest_pulling_from_slave=slow)
    answer = bench.pull(bench.channel(), "G", "T", own="*")
    assert answer.header.suggest_which_broker_id == suggested


@pytest.mark.row("S-72", "S-74", "S-75")
@pytest.mark.parametrize("checks_offsets", [False, True])
def test_a_slave_asks_to_come_again_instead_of_moving_offsets_and_commits_nothing(make_bench, checks_offsets):
    store = {"broker_role": BrokerRole.SLAVE, "offset_check_in_slave": checks_offsets}
    bench = make_bench(store_config=store, config={"slave_read_enable": True})
    bench.topic("T")
    group = SubscriptionGroupConfig("G", broker_id=5)
    bench.broker.subscription_group_manager.update_subscription_group_config(group)
    answer = bench.pull(bench.channel(), "G", "T", offset=9, own="*", commit=9)
    moved = ResponseCode.PULL_OFFSET_MOVED if checks_offsets else ResponseCode.PULL_RETRY_IMMEDIATELY
    assert (answer.code, answer.remark) == (moved, "NO_MESSAGE_IN_QUEUE")
    assert answer.header.suggest_which_broker_id == 5
    assert bench.broker.consumer_offset_manager.query_offset("G", "T", 0) == -1


@pytest.mark.row("S-59", "S-73")
def test_nothing_found_is_held_only_when_the_client_asked_to_wait(ready):
    answer = ready.pull(ready.member, "G", "T", offset=4, suspend=False)
    assert (answer.code, answer.remark) == (ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE")
    assert ready.pull(ready.member, "G", "T", offset=4) is None
    (held,) = ready.broker.pull_request_hold_service.held("T", 0)
    assert (held.pull_from, held.timeout, held.suspended_at) == (4, 15_000, ready.now)
    assert [fact["held"] for fact in ready.seen("pull")] == [False, True]


@pytest.mark.row("S-73")
def test_without_long_polling_the_wait_is_short(make_bench):
    bench = make_bench(config={"long_polling_enable": False, "short_polling_time_mills": 700})
    bench.topic("T")
    assert bench.pull(bench.channel(), "G", "T", own="*") is None
    assert bench.broker.pull_request_hold_service.held("T", 0)[0].timeout == 700


@pytest.mark.row("S-74")
def test_a_moved_offset_is_written_to_a_system_topic(ready):
    answer = ready.pull(ready.member, "G", "T", queue=1, offset=77)
    assert (answer.code, answer.remark) == (ResponseCode.PULL_OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE")
    result = ready.store.get_message("any", OFFSET_MOVED_EVENT, 0, 0, 32, None)
    (event,) = decode_records(b"".join(result.messages))
    assert json.loads(event.body) == {
        "consumerGroup": "G",
        "messageQueue": {"brokerName": "broker-a", "queueId": 1, "topic": "T"},
        "offsetNew": 0,
        "offsetRequest": 77,
    }
    assert list(json.loads(event.body)) == ["consumerGroup", "messageQueue", "offsetNew", "offsetRequest"]
    assert event.properties == {"TAGS": "G", "KEYS": "G", "DELAY": "0"}
    assert event.born_host == event.store_host == ready.broker.config.store_host


@pytest.mark.row("S-59", "S-75")
def test_the_offset_rides_along_with_any_pull_that_is_not_refused(ready):
    manager = ready.broker.consumer_offset_manager
    ready.pull(ready.member, "G", "T", offset=4, commit=2)
    assert manager.query_offset("G", "T", 0) == 2
    ready.pull(ready.member, "G", "T", version=101, commit=3)
    assert manager.query_offset("G", "T", 0) == 2
    ready.pull(ready.member, "G", "T", offset=0, commit=None, commit_offset=9)
    assert manager.query_offset("G", "T", 0) == 2


@pytest.mark.row("S-75")
def test_a_pull_that_is_woken_commits_nothing(ready):
    manager = ready.broker.consumer_offset_manager
    assert ready.pull(ready.member, "G", "T", offset=4, commit=2) is None
    manager.commit_offset("x", "G", "T", 0, 4)
    ready.send("T", b"new", "tagA")
    ready.wake()
    assert ready.member.sent[-1].code == ResponseCode.SUCCESS
    assert manager.query_offset("G", "T", 0) == 4


@pytest.mark.parametrize("field", ["sys_flag", "queue_id", "sub_version"])
def test_a_pull_without_a_required_field_is_a_system_error(ready, field):
    answer = ready.pull(ready.member, "G", "T", **{field: None})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_what_a_filter_rejects_is_reported_with_the_subscription_in_force(ready):
    ready.pull(ready.member, "G", "T")
    assert ready.seen("filtered") == [
        {
            "client": "C",
            "group": "G",
            "topic": "T",
            "queue": 0,
            "offset": offset,
            "stage": "tags_code",
            "subscription": "tagA",
            "version": 100,
        }
        for offset in (1, 3)
    ]
    (pull,) = ready.seen("pull")
    assert (pull["client"], pull["status"], pull["code"], pull["next"], pull["count"]) == ("C", "FOUND", 0, 4, 2)
