"""Sends: checks, codes, remarks, where a message lands."""

from __future__ import annotations

import pytest

from rmqlab.events import DeadLetter
from rmqlab.message.ids import time_of
from rmqlab.message.message import Message
from rmqlab.message.record import decode_records
from rmqlab.message.sysflag import MULTI_TAG, MULTI_TAGS_FLAG
from rmqlab.message.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC, MessageQueue
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.producer_headers import SendMessageRequestHeader
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab.rules import RULES
from rmqlab.store.clean_service import CleanService
from rmqlab.store.dispatch_request import PutMessageResult, PutMessageStatus
from tests.proof.clients.batch_send import encode_messages

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
MINE = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def stored(bench, topic, queue=0):
    result = bench.store.get_message("any", topic, queue, 0, 32, None)
    return decode_records(b"".join(result.messages))


def refusal(answer):
    # A refusal tells the region too, and nothing else.
    assert answer.all_ext_fields() == MINE
    return answer.code, answer.remark


def test_a_stored_message_has_the_senders_fields_and_the_brokers(bench):
    bench.topic("T")
    sender = bench.channel()
    answer = bench.send("T", b"hello", "tagA", queue=2, channel=sender, flag=7, reconsume_times=3)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert answer.all_ext_fields() == {
        **MINE,
        "msgId": "7F00000100002A9F0000000000000000",
        "queueId": "2",
        "queueOffset": "0",
    }
    (message,) = stored(bench, "T", 2)
    assert message.properties == {"TAGS": "tagA", "CLUSTER": "DefaultCluster"}
    assert (message.flag, message.reconsume_times, message.body) == (7, 3, b"hello")
    assert message.born_host.text == sender.remote_address
    assert message.store_host == bench.broker.config.store_host
    assert (message.born_timestamp, message.store_timestamp) == (bench.now, bench.now)


def test_version_one_of_the_request_says_the_same(bench):
    bench.topic("T")
    header = SendMessageRequestHeader("P", "T", "TBW102", 4, 1, 0, bench.now, 0, "TAGS\x01tagA\x02")
    answer = bench.ask(bench.channel(), RequestCode.SEND_MESSAGE, header, b"hello")
    assert answer.code == ResponseCode.SUCCESS
    (message,) = stored(bench, "T", 1)
    assert message.tags == "tagA"


def test_region_and_trace_are_settings(make_bench):
    bench = make_bench(config={"region_id": "moon", "trace_on": False})
    fields = bench.send("T").all_ext_fields()
    assert (fields["MSG_REGION"], fields["TRACE_ON"]) == ("moon", "false")


def test_property_text_stands_in_the_order_of_a_java_hash_map(bench):
    bench.topic("T")
    bench.send("T", props={"WAIT": "true", "UNIQ_KEY": "U", "KEYS": "k"}, tag="tagA")
    (message,) = stored(bench, "T")
    assert list(message.properties) == ["KEYS", "UNIQ_KEY", "CLUSTER", "WAIT", "TAGS"]


def test_a_topic_is_made_on_the_first_send_and_the_name_server_hears_of_it(bench):
    bench.send("NEW", default_topic_queue_nums=3)
    config = bench.broker.topic_config_manager.select_topic_config("NEW")
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (3, 3, 6)
    assert "NEW" in bench.registrations[-1].topic_config_table
    assert bench.registrations[-1].oneway


def test_a_broker_that_makes_no_topics_says_so(make_bench):
    bench = make_bench(config={"auto_create_topic_enable": False})
    answer = bench.send("NEW")
    assert refusal(answer) == (
        ResponseCode.TOPIC_NOT_EXIST,
        f"topic[NEW] not exist, apply first please!{FAQ}",
    )


def test_a_retry_topic_is_made_even_then(make_bench):
    bench = make_bench(config={"auto_create_topic_enable": False})
    assert bench.send("%RETRY%G", max_reconsume_times=16).code == ResponseCode.SUCCESS
    assert bench.broker.topic_config_manager.select_topic_config("%RETRY%G").write_queue_nums == 1


@pytest.mark.parametrize(("topic", "flag"), [("NEW", 1), ("%RETRY%G", 2)])
def test_unit_mode_marks_the_new_topic(make_bench, topic, flag):
    bench = make_bench()
    bench.send(topic, unit_mode=True, max_reconsume_times=16)
    assert bench.broker.topic_config_manager.select_topic_config(topic).topic_sys_flag == flag


@pytest.mark.parametrize(
    ("topic", "code", "remark"),
    [
        (" ", ResponseCode.SYSTEM_ERROR, "The specified topic is blank."),
        (
            "a.b",
            ResponseCode.SYSTEM_ERROR,
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("x" * 128, ResponseCode.SYSTEM_ERROR, "The specified topic is longer than topic max length."),
        (
            SCHEDULE_TOPIC,
            ResponseCode.NO_PERMISSION,
            "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden.",
        ),
    ],
)
def test_topics_nobody_may_send_to(bench, topic, code, remark):
    assert refusal(bench.send(topic)) == (code, remark)


def test_a_queue_beyond_all_queues_is_refused_with_the_whole_topic(bench):
    bench.topic("T", queues=4)
    sender = bench.channel()
    remark = (
        "request queueId[4] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, perm=RW-, "
        f"topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false] Producer: {sender.remote_address}"
    )
    assert refusal(bench.send("T", queue=4, channel=sender)) == (ResponseCode.SYSTEM_ERROR, remark)


def test_a_queue_is_valid_up_to_the_larger_of_both_numbers(bench):
    bench.topic("T", queues=2)
    bench.broker.topic_config_manager.select_topic_config("T").write_queue_nums = 1
    assert bench.send("T", queue=1).code == ResponseCode.SUCCESS
    assert bench.send("T", queue=2).code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize(("chosen", "queue"), [(0, 0), (3, 3), (4, -1), (6, -3)])
def test_the_broker_chooses_a_queue_and_may_choose_one_below_zero(make_bench, chosen, queue):
    bench = make_bench(choose=lambda _label, _n: chosen)
    bench.topic("T", queues=4)
    answer = bench.send("T", queue=-1)
    assert answer.header.queue_id == queue
    assert bench.labels == [("queue of T", 7)]
    assert len(stored(bench, "T", queue)) == 1


def test_a_broker_that_may_not_be_written_refuses_ordered_topics_only(make_bench):
    bench = make_bench(config={"broker_permission": 4, "broker_ip1": "10.0.0.1"})
    bench.topic("ordered", order=True)
    bench.topic("plain")
    assert refusal(bench.send("ordered")) == (
        ResponseCode.NO_PERMISSION,
        "the broker[10.0.0.1] sending message is forbidden",
    )
    assert bench.send("plain").code == ResponseCode.SUCCESS


def test_a_topic_with_many_tags_marks_its_messages(bench):
    bench.topic("T", topic_filter_type=MULTI_TAG)
    bench.send("T", sys_flag=0)
    (message,) = stored(bench, "T")
    assert message.sys_flag == MULTI_TAGS_FLAG


LIMITS = (
    "the message is illegal, maybe msg body or properties length not matched. msg body length limit 128k, "
    "msg properties length limit 32k."
)
ILLEGAL = (ResponseCode.MESSAGE_ILLEGAL, LIMITS)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("CREATE_MAPEDFILE_FAILED", (1, "create mapped file failed, server is busy or broken.")),
        ("MESSAGE_ILLEGAL", ILLEGAL),
    ],
)
def test_what_the_store_refuses(bench, status, expected):
    bench.topic("T")
    bench.store.async_put_message = lambda *_: PutMessageResult(PutMessageStatus[status])
    assert refusal(bench.send("T")) == expected


def test_a_full_disk_says_how_full(bench):
    bench.topic("T")
    CleanService(bench.store).note_disk_space(0.95)
    code, remark = refusal(bench.send("T"))
    assert code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "[CL:  0.95 CQ:  0.95 INDEX:  0.95]" in remark


def test_a_store_that_is_shut_down_names_the_reasons(bench):
    bench.topic("T")
    bench.store.shutdown()
    code, remark = refusal(bench.send("T"))
    assert code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert remark.startswith("service not available now. It may be caused by one of the following reasons: ")


def test_a_body_over_the_limit_is_illegal(make_bench):
    bench = make_bench(store_config={"max_message_size": 1_000})
    bench.topic("T")
    assert refusal(bench.send("T", bytes(1_001))) == ILLEGAL


def test_a_message_whose_slave_is_missing_is_stored_and_says_so(bench):
    bench.topic("T")
    put = bench.store.async_put_message

    def put_without_slave(message, now):
        result = put(message, now)
        result.status = PutMessageStatus.SLAVE_NOT_AVAILABLE
        return result

    bench.store.async_put_message = put_without_slave
    answer = bench.send("T")
    assert (answer.code, answer.remark) == (ResponseCode.SLAVE_NOT_AVAILABLE, None)
    assert answer.header.queue_offset == 0


def test_a_delay_level_that_is_no_number_is_a_system_error(bench):
    bench.topic("T")
    answer = bench.send("T", props={"DELAY": "soon"})
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        'java.lang.NumberFormatException: For input string: "soon"',
    )


@pytest.mark.parametrize("field", ["queue_id", "sys_flag", "born_timestamp", "flag"])
def test_a_send_without_a_required_field_is_a_system_error(bench, field):
    bench.topic("T")
    answer = bench.send("T", **{field: None})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_a_batch_is_taken_apart(bench):
    bench.topic("T")
    body = encode_messages([Message.of("T", b"one", tags="tagA"), Message.of("T", b"two", tags="tagB")])
    answer = bench.send("T", body, code=RequestCode.SEND_BATCH_MESSAGE, batch=True)
    assert answer.code == ResponseCode.SUCCESS
    messages = stored(bench, "T")
    assert [(one.body, one.tags, one.properties["CLUSTER"]) for one in messages] == [
        (b"one", "tagA", "DefaultCluster"),
        (b"two", "tagB", "DefaultCluster"),
    ]
    assert answer.header.msg_id == ",".join(one.msg_id for one in messages)


@pytest.mark.parametrize("body", [b"\0\0\0\x09nonsense", None])
def test_a_batch_that_is_none_is_a_system_error(bench, body):
    bench.topic("T")
    answer = bench.send("T", body, code=RequestCode.SEND_BATCH_MESSAGE, batch=True)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark.startswith("java.")


def test_one_way_sends_are_stored_without_an_answer(bench):
    bench.topic("T")
    header = SendMessageRequestHeader("P", "T", "TBW102", 4, 0, 0, bench.now, 0, "")
    assert bench.ask(bench.channel(), RequestCode.SEND_MESSAGE, header, b"x", flag=2) is None
    assert len(stored(bench, "T")) == 1


def test_a_retry_by_the_producer_becomes_a_dead_letter_when_it_was_retried_enough(bench):
    told = []
    bench.broker.observe = told.append

    def answer(times, **more):
        return bench.send("%RETRY%G", b"x", reconsume_times=times, **more)

    assert answer(15, max_reconsume_times=16).header.queue_id == 0
    assert len(stored(bench, "%RETRY%G")) == 1
    bench.send("%RETRY%G", b"x", reconsume_times=3, max_reconsume_times=16, props={"DELAY": "3", "UNIQ_KEY": "later"})
    answer(16, max_reconsume_times=16, props={"UNIQ_KEY": "U"})
    assert [event for event in told if isinstance(event, DeadLetter)] == [DeadLetter("G", "U")]
    (dead,) = stored(bench, "%DLQ%G")
    assert dead.reconsume_times == 16
    assert bench.broker.topic_config_manager.select_topic_config("%DLQ%G").perm == 2
    refused = answer(1)
    assert (refused.code, refused.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_a_retry_for_an_unknown_group_is_refused_where_groups_are_not_made(make_bench):
    bench = make_bench(config={"auto_create_subscription_group": False})
    assert refusal(bench.send("%RETRY%G", max_reconsume_times=16)) == (
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        f"subscription group not exist, G {FAQ}",
    )


def test_a_prepared_message_waits_in_the_half_topic_unless_transactions_are_forbidden(make_bench):
    bench = make_bench()
    bench.topic("T")
    assert bench.send("T", queue=3, props={"TRAN_MSG": "true"}).header.queue_id == 3
    assert stored(bench, "T", 3) == []
    (half,) = stored(bench, TRANS_HALF_TOPIC)
    assert (half.properties["REAL_TOPIC"], half.properties["REAL_QID"]) == ("T", "3")
    bench = make_bench(config={"reject_transaction_message": True})
    bench.topic("T")
    assert refusal(bench.send("T", props={"TRAN_MSG": "true"})) == (
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending transaction message is forbidden",
    )


@pytest.fixture
def five(make_bench):
    return make_bench(rules=RULES["5.5.0"])


def test_5_x_gives_a_unique_id_to_a_message_without_one_and_says_it(five):
    """5.3.3 `SendMessageProcessor.sendMessage`; 4.8.0 leaves it without."""
    five.topic("T")
    answers = [five.send("T", b"hello") for _ in range(2)]
    told = [answer.all_ext_fields()["transactionId"] for answer in answers]
    assert [message.unique_id for message in stored(five, "T")] == told
    assert len(set(told)) == 2
    assert {len(text) for text in told} == {32}
    assert [time_of(text, five.now + 1) for text in told] == [five.now] * 2
    assert five.send("T", props={"UNIQ_KEY": "U"}).all_ext_fields()["transactionId"] == "U"


def test_4_8_0_leaves_a_message_without_a_unique_id(bench):
    bench.topic("T")
    bench.send("T", b"hello")
    assert stored(bench, "T")[0].unique_id is None


def lock(bench):
    queues = {MessageQueue("T", "broker-a", 0)}
    assert bench.broker.rebalance_lock_manager.try_lock_batch("G", queues, "A", bench.now)


@pytest.mark.parametrize(
    ("version", "times", "locked", "dead"),
    [
        ("4.8.0", 16, False, True),
        ("4.8.0", 0, True, False),
        ("5.5.0", 16, False, False),
        ("5.5.0", 17, False, True),
        ("5.5.0", 0, True, True),
    ],
)
def test_what_is_sent_to_a_retry_topic_becomes_a_dead_letter_as_the_version_says(
    make_bench, version, times, locked, dead
):
    """To 5.x a message of a group whose members hold locks comes from one that consumes in order, and gave up."""
    bench = make_bench(rules=RULES[version])
    bench.broker.subscription_group_manager.update_subscription_group_config(SubscriptionGroupConfig("G"))
    if locked:
        lock(bench)
    bench.send("%RETRY%G", reconsume_times=times, max_reconsume_times=16, props={"DELAY": "0"})
    letters = stored(bench, "%DLQ%G")
    assert len(letters) == dead
    if dead:
        assert letters[0].properties["DELAY"] == ("0" if version == "4.8.0" else "-1")


def test_a_lock_that_expired_makes_no_dead_letter(five):
    five.broker.subscription_group_manager.update_subscription_group_config(SubscriptionGroupConfig("G"))
    lock(five)
    five.pass_time(60_001)
    five.send("%RETRY%G", reconsume_times=1, max_reconsume_times=16)
    assert stored(five, "%DLQ%G") == []
