"""POP: what a pop gets, what it skips, and what refuses it."""

from __future__ import annotations

import pytest

from rmqlab.broker.pop.pop_services import pop_of
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.pop_headers import PopMessageResponseHeader, PopResponseCode
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab.rules import RULES


def test_a_pop_gets_what_its_own_expression_wants_and_skips_the_rest(pop_bench):
    member = pop_bench.channel()
    for number in range(8):
        pop_bench.send("T", b"%d" % number, "tagA" if number < 4 else "tagB", queue=number % 4)
    answer = pop_bench.pop(member, "tagA", max_msg_nums=3)
    header = answer.decode_header(PopMessageResponseHeader)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "FOUND")
    assert (header.start_offset_info, header.msg_offset_info) == ("0 0 0;0 3 0;0 2 0", "0 0 0;0 3 0;0 2 0")
    # The answer was full at queue 2, where it did not look further; at queue 1 it did not look at all.
    assert (header.rest_num, pop_bench.bodies(answer)) == (3, [b"0", b"3", b"2"])
    answer = pop_bench.pop(member, "tagB")
    assert pop_bench.bodies(answer) == [b"6", b"5"]
    assert [(name["queue"], name["offset"]) for name in pop_bench.seen("skipped_by_pop")] == [(0, 1), (3, 1), (1, 0)]


@pytest.mark.parametrize(("version", "order"), [("5.3.3", (2, 3, 0, 1)), ("5.5.0", (2, 1, 0, 3))])
def test_queues_are_looked_at_round_from_the_chosen_one(make_pop_bench, version, order):
    """5.5.0 goes down: `priorityOrderAsc` is on by default, and only a topic of priorities is to notice."""
    bench = make_pop_bench(rules=RULES[version], choose=lambda label, _n: 2 if label == "first queue of T" else 0)
    for queue in range(4):
        bench.send("T", b"%d" % queue, queue=queue)
    answer = bench.pop(bench.channel())
    starts = answer.decode_header(PopMessageResponseHeader).start_offset_info
    assert starts == ";".join(f"0 {queue} 0" for queue in order)
    assert bench.bodies(answer) == [b"%d" % queue for queue in order]
    assert bench.labels == [("first queue of T", 4)]


def test_a_pop_of_one_queue_asks_for_no_choice(pop_bench):
    pop_bench.send("T", b"x", queue=3)
    assert pop_bench.bodies(pop_bench.pop(pop_bench.channel(), queue=3)) == [b"x"]
    assert pop_bench.labels == []


def test_the_revive_queue_is_the_next_one_round(pop_bench):
    queues = []
    for _ in range(9):
        pop_bench.send("T", b"x")
        queues.append(pop_bench.pop(pop_bench.channel()).decode_header(PopMessageResponseHeader).revive_qid)
    assert queues == [0, 1, 2, 3, 4, 5, 6, 7, 0]


def test_the_next_pop_goes_on_behind_and_the_offset_is_committed_a_moment_later(pop_bench):
    member = pop_bench.channel()
    pop_bench.send("T", b"0")
    pop_bench.pop(member)
    assert pop_bench.committed() == 0
    pop_bench.send("T", b"1")
    assert pop_bench.bodies(pop_bench.pop(member)) == [b"1"]
    pop_bench.pass_time(5)
    assert pop_bench.committed() == 2


@pytest.mark.parametrize(("mode", "first"), [(0, b"0"), (1, b"0")])
def test_a_new_group_begins_with_the_first_message_while_it_is_in_memory(pop_bench, mode, first):
    for number in range(3):
        pop_bench.send("T", b"%d" % number)
    assert pop_bench.bodies(pop_bench.pop(pop_bench.channel(), init_mode=mode))[0] == first


def test_a_new_group_begins_with_the_last_message_where_memory_is_not_asked(make_pop_bench):
    bench = make_pop_bench(initPopOffsetByCheckMsgInMem=False)
    for number in range(3):
        bench.send("T", b"%d" % number)
    assert bench.bodies(bench.pop(bench.channel())) == [b"2"]
    assert bench.bodies(bench.pop(bench.channel(), init_mode=0, group="H")) == [b"0", b"1", b"2"]


def test_sql92_is_served_where_the_property_filter_is_off(pop_bench):
    """`enablePropertyFilter` is asked by pulls only: seen over gRPC on a broker that refuses SQL92 to push."""
    assert not pop_bench.broker.config.enable_property_filter
    for number in range(2):
        pop_bench.send("T", b"%d" % number, props={"a": str(number)})
    assert pop_bench.bodies(pop_bench.pop(pop_bench.channel(), "a = '1'", exp_type="SQL92")) == [b"1"]


@pytest.mark.parametrize(("kind", "text"), [("SQL92", "a > "), ("SQL92", "1 +")])
def test_an_expression_that_is_none_is_refused_at_each_pop(pop_bench, kind, text):
    for _ in range(2):
        answer = pop_bench.pop(pop_bench.channel(), text, exp_type=kind)
        assert (answer.code, answer.remark) == (
            ResponseCode.SUBSCRIPTION_PARSE_FAILED,
            "parse the consumer's subscription failed",
        )
        assert answer.all_ext_fields() == {"popTime": "0", "invisibleTime": "0", "reviveQid": "0", "restNum": "0"}


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"max_msg_nums": 33}, ResponseCode.INVALID_PARAMETER, "the broker[127.0.0.1] pop message's num is greater"),
        ({"topic": "X"}, ResponseCode.TOPIC_NOT_EXIST, "topic[X] not exist, apply first please! \nSee https://"),
        (
            {"queue": 4},
            ResponseCode.INVALID_PARAMETER,
            "queueId[4] is illegal, topic:[T] topicConfig.readQueueNums:[4]",
        ),
        ({"born_time": 1}, PopResponseCode.POLLING_TIMEOUT, "the broker[127.0.0.1] pop message is timeout too much"),
        ({"group": "off"}, ResponseCode.NO_PERMISSION, "subscription group no permission, off"),
        ({"topic": "W"}, ResponseCode.NO_PERMISSION, "the topic[W] peeking message is forbidden"),
    ],
)
def test_what_a_broker_refuses(pop_bench, fields, code, remark):
    pop_bench.topic("W", perm=2)
    pop_bench.broker.subscription_group_manager.update_subscription_group_config(
        SubscriptionGroupConfig("off", consume_enable=False)
    )
    answer = pop_bench.pop(pop_bench.channel(), **fields)
    assert answer.code == code
    assert answer.remark.startswith(remark)


def test_a_broker_without_a_timer_refuses_every_pop(make_pop_bench):
    bench = make_pop_bench(timerWheelEnable=False)
    answer = bench.pop(bench.channel())
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "the broker[127.0.0.1] pop message is forbidden because timerWheelEnable is false",
    )


def test_a_broker_that_may_not_be_read_refuses_every_pop(make_pop_bench):
    bench = make_pop_bench(config={"broker_permission": 2})
    assert bench.pop(bench.channel()).code == ResponseCode.NO_PERMISSION


def test_a_pop_without_a_field_is_a_null_pointer(pop_bench):
    answer = pop_bench.pop(pop_bench.channel(), max_msg_nums=None)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_4_8_0_has_no_answer_to_a_pop(make_pop_bench):
    bench = make_pop_bench(rules=RULES["4.8.0"])
    unknown = []
    bench.broker.on_unknown = unknown.append
    assert bench.pop(bench.channel()) is None
    assert unknown == [RequestCode.POP_MESSAGE]
    assert bench.broker.pop is None


def test_a_pop_that_wants_more_than_there_is_room_for_leaves_the_rest(pop_bench):
    for queue in range(2):
        for _ in range(3):
            pop_bench.send("T", b"x", queue=queue)
    answer = pop_bench.pop(pop_bench.channel(), max_msg_nums=4)
    header = answer.decode_header(PopMessageResponseHeader)
    assert (header.msg_offset_info, header.rest_num) == ("0 0 0,1,2;0 1 0", 2)


def test_a_check_point_of_each_queue_lies_in_the_timer(pop_bench):
    pop_bench.send("T", b"x", queue=1)
    pop_bench.send("T", b"y", queue=2)
    pop_bench.pop(pop_bench.channel())
    points = pop_bench.queue("rmq_sys_wheel_timer")
    assert [point.body for point in points] == [
        b'{"bm":0,"bn":"broker-a","c":"G","d":[0],"it":60000,"n":1,"pt":1700000000000,"q":%d,'
        b'"reviveTime":1700000060000,"ro":0,"so":0,"sp":false,"t":"T"}' % queue
        for queue in (2, 1)
    ]
    assert points[1].properties == {
        "REAL_TOPIC": "rmq_sys_REVIVE_LOG_DefaultCluster",
        "TIMER_DELIVER_MS": "1700000059000",
        "UNIQ_KEY": "T@1@0@G@1700000000000@broker-a@ck",
        "TAGS": "ck",
        "TIMER_OUT_MS": "1700000058000",
        "REAL_QID": "0",
    }


class Threads:
    """Every pop stands still before each step until it is told to go on: one step of one of them at a time."""

    def __init__(self, bench):
        self.processor = pop_of(bench.broker).pop_message_processor
        self.processor.pause = self.pause
        self.standing = []

    def pause(self, go_on):
        self.standing.append(go_on)
        return True

    def go_on(self, number, steps=1):
        for _ in range(steps):
            self.standing.insert(number, None)
            go_on = self.standing.pop(number + 1)
            before = len(self.standing)
            go_on()
            later = self.standing.pop() if len(self.standing) > before else None
            self.standing[number] = later


def test_between_two_steps_of_a_pop_messages_come_and_others_pop(pop_bench):
    """A looks at queue 0 before its message is there, and at queue 3 after: what one piece could not give."""
    threads, member = Threads(pop_bench), pop_bench.channel()
    assert pop_bench.pop(member) is None
    threads.go_on(0)
    for queue in (0, 3):
        pop_bench.send("T", b"%d" % queue, queue=queue)
    threads.go_on(0, 5)
    assert pop_bench.bodies(member.sent[-1]) == [b"3"]


def test_a_queue_that_another_pop_holds_is_passed_by_and_its_rest_is_told(pop_bench):
    threads, first, second = Threads(pop_bench), pop_bench.channel(), pop_bench.channel()
    pop_bench.send("T", b"0", queue=0)
    assert pop_bench.pop(first) is None
    threads.go_on(0)  # it has looked at queue 0, and stores its check point next
    assert threads.processor.locked == {("T", "G", 0)}
    pop_bench.send("T", b"3", queue=3)
    assert pop_bench.pop(second) is None
    threads.go_on(1, 6)
    answer = second.sent[-1]
    assert pop_bench.bodies(answer) == [b"3"]
    assert answer.decode_header(PopMessageResponseHeader).rest_num == 1
    threads.go_on(0, 5)
    assert pop_bench.bodies(first.sent[-1]) == [b"0"]
    assert threads.processor.locked == set()
