"""Messages that a consumer sends back: retries at rising delays, then a dead letter."""

from __future__ import annotations

import pytest

from rmqlab.message.ids import decode_message_id
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import ConsumerSendMsgBackRequestHeader
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab.rules import RULES
from rmqlab.store.dispatch_request import PutMessageResult, PutMessageStatus

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
# Levels 3..18, which sixteen retries go through.
DELAYS = [
    10 * SECOND, 30 * SECOND, *(minutes * MINUTE for minutes in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)), HOUR, 2 * HOUR
]  # fmt: skip


@pytest.fixture
def ready(bench):
    bench.topic("T")
    answer = bench.send("T", b"again", "tagA", props={"UNIQ_KEY": "U"})
    bench.first = decode_message_id(answer.header.msg_id).offset
    bench.first_id = answer.header.msg_id
    return bench


def send_back(bench, offset, delay_level=0, max_times=16, **fields):
    header = ConsumerSendMsgBackRequestHeader(
        offset=offset, group="G", delay_level=delay_level, max_reconsume_times=max_times
    )
    for name in [name for name in fields if hasattr(header, name)]:
        setattr(header, name, fields.pop(name))
    return bench.ask(bench.channel(), RequestCode.CONSUMER_SEND_MSG_BACK, header, **fields)


def stored(bench, topic, queue=0):
    result = bench.store.get_message("any", topic, queue, 0, 32, None)
    return decode_records(b"".join(result.messages))


def test_a_message_comes_again_in_the_groups_retry_topic_after_ten_seconds(ready):
    answer = send_back(ready, ready.first)
    assert (answer.code, answer.remark, answer.all_ext_fields()) == (ResponseCode.SUCCESS, None, None)
    (waiting,) = stored(ready, SCHEDULE, 2)
    assert waiting.properties["REAL_TOPIC"] == "%RETRY%G"
    assert stored(ready, "%RETRY%G") == []
    ready.pass_time(10_000)
    (message,) = stored(ready, "%RETRY%G")
    assert (message.body, message.reconsume_times, message.tags) == (b"again", 1, "tagA")
    # Names and order are those of the recorded retry: the text still carries the delay level.
    assert list(message.properties.items()) == [
        ("REAL_TOPIC", "%RETRY%G"),
        ("ORIGIN_MESSAGE_ID", ready.first_id),
        ("RETRY_TOPIC", "T"),
        ("UNIQ_KEY", "U"),
        ("CLUSTER", "DefaultCluster"),
        ("WAIT", "false"),
        ("DELAY", "3"),
        ("TAGS", "tagA"),
        ("REAL_QID", "0"),
    ]


def test_every_retry_waits_longer_and_the_seventeenth_time_it_is_a_dead_letter(ready):
    offset, times = ready.first, []
    for number in range(1, 17):
        sent = ready.now
        assert send_back(ready, offset).code == ResponseCode.SUCCESS
        while len(stored(ready, "%RETRY%G")) < number:
            ready.pass_time(ready.broker.next_timer() - ready.now)
        times.append(ready.now - sent)
        message = stored(ready, "%RETRY%G")[-1]
        assert (message.reconsume_times, message.properties["DELAY"]) == (number, str(2 + number))
        assert message.properties["ORIGIN_MESSAGE_ID"] == ready.first_id
        offset = message.commit_log_offset
    assert times == DELAYS
    assert send_back(ready, offset).code == ResponseCode.SUCCESS
    # The delay level of the last retry is still among its properties: it waits two hours more.
    assert stored(ready, "%DLQ%G") == []
    ready.pass_time(2 * HOUR)
    (dead,) = stored(ready, "%DLQ%G")
    assert (dead.body, dead.reconsume_times, dead.properties["RETRY_TOPIC"]) == (b"again", 17, "T")
    config = ready.broker.topic_config_manager.select_topic_config("%DLQ%G")
    assert (config.perm, config.write_queue_nums) == (2, 1)


def test_a_negative_level_makes_a_dead_letter_at_once(ready):
    send_back(ready, ready.first, delay_level=-1)
    (dead,) = stored(ready, "%DLQ%G")
    assert (dead.reconsume_times, dead.properties["WAIT"]) == (1, "false")
    # The origin's id comes after the text was written, and nothing writes it again.
    assert "ORIGIN_MESSAGE_ID" not in dead.properties


def test_the_consumer_may_name_the_level(ready):
    send_back(ready, ready.first, delay_level=1)
    assert len(stored(ready, SCHEDULE, 0)) == 1


def test_a_level_above_the_highest_is_the_highest(ready):
    send_back(ready, ready.first, delay_level=99)
    assert len(stored(ready, SCHEDULE, 17)) == 1


@pytest.mark.parametrize(("version", "topic"), [(373, "%DLQ%G"), (120, "%RETRY%G")])
def test_who_says_how_often_depends_on_the_clients_version(ready, version, topic):
    # Clients before 3.4.9 do not say it: the group's sixteen times count.
    send_back(ready, ready.first, delay_level=1, max_times=0, version=version)
    ready.pass_time(1_000)
    assert len(stored(ready, topic)) == 1


def test_a_new_client_that_does_not_say_it_is_a_system_error(ready):
    answer = send_back(ready, ready.first, max_times=None)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_the_broker_chooses_one_of_the_groups_retry_queues(make_bench):
    bench = make_bench(choose=lambda _label, n: n - 1)
    bench.topic("T")
    bench.send("T", b"again")
    bench.broker.subscription_group_manager.update_subscription_group_config(
        SubscriptionGroupConfig("G", retry_queue_nums=3)
    )
    send_back(bench, 0, delay_level=1)
    assert bench.labels == [("queue of %RETRY%G", 3)]
    bench.pass_time(1_000)
    assert len(stored(bench, "%RETRY%G", 2)) == 1


def test_a_group_without_retry_queues_loses_the_message_and_hears_that_all_is_well(ready):
    ready.broker.subscription_group_manager.update_subscription_group_config(
        SubscriptionGroupConfig("G", retry_queue_nums=0)
    )
    end = ready.store.max_phy_offset
    assert send_back(ready, ready.first).code == ResponseCode.SUCCESS
    assert ready.store.max_phy_offset == end


def test_unit_mode_marks_the_retry_topic(ready):
    send_back(ready, ready.first, unit_mode=True)
    assert ready.broker.topic_config_manager.select_topic_config("%RETRY%G").topic_sys_flag == 2


def test_a_group_the_broker_does_not_know(make_bench):
    bench = make_bench(config={"auto_create_subscription_group": False})
    answer = send_back(bench, 0)
    assert (answer.code, answer.remark) == (
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        f"subscription group not exist, G {FAQ}",
    )


def test_a_broker_or_retry_topic_that_may_not_be_written(make_bench):
    bench = make_bench(config={"broker_permission": 4})
    answer = send_back(bench, 0)
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending message is forbidden",
    )
    bench = make_bench()
    bench.topic("%RETRY%G", perm=4)
    answer = send_back(bench, 0)
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "the topic[%RETRY%G] sending message is forbidden",
    )


def test_a_message_that_is_not_there(ready):
    answer = send_back(ready, 123_456)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "look message by offset failed, 123456")


def test_what_the_store_refuses_is_named(ready):
    ready.store.async_put_message = lambda *_: PutMessageResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
    answer = send_back(ready, ready.first)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "CREATE_MAPEDFILE_FAILED")


def test_a_message_without_an_offset_is_a_system_error(ready):
    assert send_back(ready, None).remark == "java.lang.NullPointerException"


@pytest.mark.parametrize(
    ("times", "topic", "then"), [(0x7FFFFFFE, "%RETRY%G", 0x7FFFFFFF), (0x7FFFFFFF, "%DLQ%G", -(1 << 31))]
)
def test_the_number_of_retries_wraps_as_an_int_of_java(ready, times, topic, then):
    """What a damaged log says of a message does not end the broker; a level below 0 is no delay."""
    inner = MessageExtBrokerInner.of_broker(Message.of("T", b"again"), 0, ready.broker.config.store_host, ready.now)
    inner.reconsume_times = times
    offset = ready.store.put_message(inner, ready.now).wrote_offset
    ready.store.dispatch()
    assert send_back(ready, offset, max_times=0x7FFFFFFF).code == ResponseCode.SUCCESS
    (message,) = stored(ready, topic)
    assert message.reconsume_times == then


@pytest.mark.parametrize("version", ["5.3.3", "5.5.0"])
def test_5_x_retries_as_often_as_the_group_says_where_a_client_says_nothing(make_bench, version):
    """5.3.3 `AbstractSendMessageProcessor.consumerSendMsgBack`; 4.8.0 throws NullPointerException."""
    bench = make_bench(rules=RULES[version])
    bench.topic("T")
    offset = decode_message_id(bench.send("T", b"again").header.msg_id).offset
    groups = bench.broker.subscription_group_manager
    groups.update_subscription_group_config(SubscriptionGroupConfig("G", retry_max_times=0))
    assert send_back(bench, offset, max_times=None).code == ResponseCode.SUCCESS
    assert len(stored(bench, "%DLQ%G")) == 1
    groups.update_subscription_group_config(SubscriptionGroupConfig("G", retry_max_times=1))
    assert send_back(bench, offset, max_times=None).code == ResponseCode.SUCCESS
    assert len(stored(bench, "%DLQ%G")) == 1
