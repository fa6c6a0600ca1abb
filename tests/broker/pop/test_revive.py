"""What was popped: acked, made invisible for longer, or revived; with times and bodies of recorded brokers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.broker.pop.pop_check_point import AckMsg, PopCheckPoint
from rmqlab.broker.pop.timer_message_store import timer_out_ms
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.pop_headers import ChangeInvisibleTimeResponseHeader
from rmqlab.rules import RULES

RETRY = "%RETRY%G_T"


@pytest.fixture
def popped(pop_bench):
    """A popped `x` of queue 0, with 10 s to go."""
    pop_bench.member = pop_bench.channel()
    pop_bench.send("T", b"x", "tagA")
    pop_bench.message, pop_bench.handle = pop_bench.popped(pop_bench.pop(pop_bench.member, "tagA", invisible=10_000))[0]
    return pop_bench


def test_what_is_acked_never_comes_again(popped):
    assert popped.ack(popped.member, popped.message, popped.handle).code == ResponseCode.SUCCESS
    ack = popped.queue("rmq_sys_wheel_timer")[1]
    assert ack.body == b'{"ao":0,"bn":"broker-a","c":"G","pt":1700000000000,"q":0,"so":0,"t":"T"}'
    assert (ack.tags, ack.properties["UNIQ_KEY"]) == ("ack", "T@0@0@G@1700000000000@broker-a@ack")
    assert popped.broker.pop.holds_back()
    popped.pass_time(60_000)
    assert [message.tags for message in popped.revive_log()] == ["ck", "ack"]
    assert popped.queue(RETRY) == []
    assert not popped.broker.pop.holds_back()
    assert [facts["offset"] for facts in popped.seen("acked")] == [0]


def test_what_is_not_acked_comes_again_two_to_four_seconds_after_its_time(popped):
    """Recorded: 2.0 to 4.3 s after it could be seen again."""
    popped.pass_time(12_000)
    assert popped.queue(RETRY) == []
    popped.pass_time(2_500)
    (again,) = popped.queue(RETRY)
    assert (again.body, again.tags, again.reconsume_times) == (b"x", "tagA", 1)
    assert again.properties["1ST_POP_TIME"] == "1700000000000"
    assert again.properties["ORIGIN_GROUP"] == "G"
    assert again.born_host == again.store_host
    (revived,) = popped.seen("revived")
    assert (revived["topic"], revived["offset"], revived["retry_topic"]) == ("T", 0, RETRY)
    assert popped.committed(RETRY) == 0


def test_properties_of_a_revived_message_stand_in_java_order(make_pop_bench):
    """As in a recorded store of 5.5.0."""
    bench = make_pop_bench()
    bench.send("T", b"x", "tagB", props={"WAIT": "true", "UNIQ_KEY": "FD00"})
    bench.pop(bench.channel(), invisible=10_000)
    bench.pass_time(20_000)
    (again,) = bench.queue(RETRY)
    assert list(again.properties) == [
        "ORIGIN_GROUP", "TRACE_ON", "MSG_REGION", "UNIQ_KEY", "CLUSTER", "1ST_POP_TIME", "WAIT", "TAGS",
    ]  # fmt: skip


@pytest.mark.parametrize(("version", "origin"), [("5.3.3", None), ("5.5.0", "G")])
def test_a_retry_wakes_whoever_is_first_since_5_5_0(make_pop_bench, version, origin):
    bench = make_pop_bench(rules=RULES[version])
    member = bench.channel()
    bench.send("T", b"x", "tagA")
    bench.pop(member, "tagA", invisible=5_000)
    bench.pass_time(1)
    bench.pop(member, "tagB", poll=20_000)
    bench.pass_time(15_000)
    (again,) = bench.queue(RETRY)
    assert again.properties.get("ORIGIN_GROUP") == origin
    assert [facts["why"] for facts in bench.seen("woken")] == (["forced"] if origin else [])


def test_who_pops_a_retry_does_so_with_his_own_expression(popped):
    """A's failed message is lost when B is first: B's pop skips it."""
    popped.pass_time(20_000)
    assert popped.pop(popped.member, "tagB", poll=0).code != ResponseCode.SUCCESS
    assert popped.pop(popped.member, "tagA", poll=0).code != ResponseCode.SUCCESS
    assert [(facts["topic"], facts["subscription"]) for facts in popped.seen("skipped_by_pop")] == [(RETRY, "tagB")]


def test_a_retry_comes_with_its_handle_and_may_be_acked(popped):
    popped.pass_time(20_000)
    (again, handle) = popped.popped(popped.pop(popped.member, "tagA"))[0]
    assert (again.topic, again.body, again.reconsume_times, handle.retry) == ("T", b"x", 1, "1")
    assert handle.start_offset == handle.queue_offset == 0
    assert popped.ack(popped.member, again, handle).code == ResponseCode.SUCCESS
    popped.pass_time(80_000)
    assert len(popped.queue(RETRY)) == 1


@pytest.mark.parametrize(("chosen", "order"), [(4, [b"again", b"new"]), (3, [b"new", b"again"])])
def test_one_pop_of_five_looks_at_the_retry_topic_first(make_pop_bench, chosen, order):
    bench = make_pop_bench(choose=lambda label, _n: chosen if label.startswith("retries") else 0)
    bench.send("T", b"again")
    bench.pop(bench.channel(), invisible=5_000)
    bench.pass_time(15_000)
    bench.send("T", b"new")
    assert bench.bodies(bench.pop(bench.channel())) == order
    assert ("retries of G, T first", 5) in bench.labels


def test_version_2_of_the_retry_topic_has_a_plus(make_pop_bench):
    bench = make_pop_bench(enableRetryTopicV2=True, choose=lambda label, _n: 1 if label.startswith("version") else 0)
    bench.send("T", b"x")
    bench.pop(bench.channel(), invisible=5_000)
    bench.pass_time(15_000)
    assert [message.body for message in bench.queue("%RETRY%G+T")] == [b"x"]
    (_, handle) = bench.popped(bench.pop(bench.channel()))[0]
    assert handle.retry == "2"


def test_invisibility_that_is_changed_counts_from_then_on(popped):
    popped.pass_time(5_000)
    answer = popped.change(popped.member, popped.message, popped.handle, 30_000)
    header = answer.decode_header(ChangeInvisibleTimeResponseHeader)
    assert (answer.code, header.pop_time, header.invisible_time, header.revive_qid) == (0, popped.now, 30_000, 0)
    assert [message.tags for message in popped.queue("rmq_sys_wheel_timer")] == ["ck", "ck", "ack"]
    popped.pass_time(31_000)
    assert popped.queue(RETRY) == []
    popped.pass_time(4_000)
    assert len(popped.queue(RETRY)) == 1


def test_what_is_suspended_is_not_counted(popped):
    popped.change(popped.member, popped.message, popped.handle, 1_000, suspend=True)
    popped.pass_time(20_000)
    assert [message.reconsume_times for message in popped.queue(RETRY)] == [0]


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": "X"}, ResponseCode.TOPIC_NOT_EXIST, "topic[X] not exist"),
        ({"queue_id": 4}, ResponseCode.MESSAGE_ILLEGAL, "queueId[4] is illegal"),
        ({"queue_id": -1}, ResponseCode.MESSAGE_ILLEGAL, "queueId[-1] is illegal"),
        ({"offset": 2}, ResponseCode.NO_MESSAGE, "offset is illegal, key:T@0, commit:2, store:0~1"),
        ({"extra_info": "1 2"}, ResponseCode.SYSTEM_ERROR, "java.lang.IllegalArgumentException: receipt handle '1 2'"),
        ({"extra_info": None}, ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException"),
    ],
)
def test_acks_that_are_refused(popped, fields, code, remark):
    answer = popped.ack(popped.member, popped.message, popped.handle, **fields)
    assert answer.code == code
    assert answer.remark.startswith(remark)


@pytest.mark.parametrize(("ms", "code"), [(-1, 0), (0, 0), (3 * 86_400_000 + 10_000, 1)])
def test_a_broker_takes_every_invisibility_that_its_timer_takes(popped, ms, code):
    answer = popped.change(popped.member, popped.message, popped.handle, ms)
    assert answer.code == code
    popped.pass_time(20_000)
    # Of what was refused the first check point counts.
    assert len(popped.queue(RETRY)) == 1


def test_a_change_behind_the_end_of_its_queue_is_refused(popped):
    answer = popped.change(popped.member, popped.message, popped.handle, 10_000, offset=1)
    assert (answer.code, answer.remark) == (ResponseCode.NO_MESSAGE, "not set any response code")
    assert popped.change(popped.member, popped.message, popped.handle, 10_000, queue_id=9).code == 13


def test_a_pop_whose_check_point_the_timer_refuses_is_given_and_never_committed(pop_bench):
    pop_bench.send("T", b"x")
    answer = pop_bench.pop(pop_bench.channel(), invisible=4 * 86_400_000)
    assert pop_bench.bodies(answer) == [b"x"]
    pop_bench.pass_time(1_000)
    assert (pop_bench.committed(), pop_bench.queue("rmq_sys_wheel_timer")) == (0, [])


def test_a_topic_that_was_deleted_is_not_revived(popped):
    popped.broker.topic_config_manager.delete_topic_config("T")
    popped.pass_time(30_000)
    assert popped.queue(RETRY) == []


@given(st.integers(1, 2**40), st.sampled_from([100, 200, 500, 1000]))
def test_a_slot_is_the_last_multiple_before_its_time(deliver_ms, precision_ms):
    out = timer_out_ms(deliver_ms, precision_ms)
    assert out % precision_ms == 0
    assert out < deliver_ms <= out + precision_ms


@given(st.integers(0, 100), st.sets(st.integers(0, 30), max_size=31), st.data())
def test_what_is_acked_is_no_longer_unacked(start, diffs, data):
    point = PopCheckPoint(start_offset=start, queue_offset_diff=sorted(diffs), num=len(diffs))
    offsets = [start + diff for diff in sorted(diffs)]
    acked = data.draw(st.sets(st.sampled_from(offsets)) if offsets else st.just(set()))
    for offset in [*acked, start - 1]:
        point.ack(offset)
    assert point.unacked() == [offset for offset in offsets if offset not in acked]


def test_bodies_are_those_of_a_recorded_store():
    text = (
        b'{"bm":0,"bn":"broker-a","c":"G","d":[0,1],"it":60000,"n":2,"pt":1795699144508,"q":0,'
        b'"reviveTime":1795699204508,"ro":0,"so":0,"sp":false,"t":"T"}'
    )
    point = PopCheckPoint.decode(text)
    assert (point.encode(), point.unacked()) == (text, [0, 1])
    assert point.unique_key() == "T@0@0@G@1795699144508@broker-a@ck"
    text = b'{"ao":1,"bn":"broker-a","c":"G","pt":1795699144508,"q":0,"so":0,"t":"T"}'
    ack = AckMsg.decode(text)
    assert (ack.encode(), ack.key, ack.unique_key()) == (text, point.key, "T@0@1@G@1795699144508@broker-a@ack")
