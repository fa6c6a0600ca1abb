"""The line of waiters: who is woken by what."""

from __future__ import annotations

import pytest

from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.pop_headers import PopMessageResponseHeader, PopResponseCode
from rmqlab.rules import RULES


@pytest.fixture
def two(pop_bench):
    """A wants tagA, B wants tagB; A waits first."""
    pop_bench.a, pop_bench.b = pop_bench.channel(), pop_bench.channel()
    assert pop_bench.pop(pop_bench.a, "tagA") is None
    pop_bench.pass_time(1)
    assert pop_bench.pop(pop_bench.b, "tagB") is None
    return pop_bench


def got(bench, channel):
    return [body for answer in channel.sent for body in bench.bodies(answer)]


def test_a_message_wakes_the_first_who_wants_it(two):
    two.send("T", b"a", "tagA")
    assert two.broker.next_timer() == two.now
    two.wake()
    assert (got(two, two.a), got(two, two.b)) == ([b"a"], [])
    assert len(two.broker.pop.line.waiting("T", "G")) == 1


def test_a_message_for_the_second_wakes_nobody_and_the_first_skips_it(two):
    """The loss that 5.x has and 4.8.0 has not: A's next pop goes past B's message."""
    two.send("T", b"b", "tagB")
    two.wake()
    assert (two.a.sent, two.b.sent) == ([], [])
    client = two.a.remote_address
    assert two.seen("not_woken") == [{"client": client, "group": "G", "topic": "T", "queue": 0, "offset": 0}]
    two.send("T", b"a", "tagA")
    two.wake()
    assert (got(two, two.a), got(two, two.b)) == ([b"a"], [])
    two.pass_time(60_000)
    assert got(two, two.b) == []
    assert two.committed() == 2


def test_a_learners_rule_that_asks_everyone_saves_it(make_pop_bench):
    asks_everyone = RULES["5.5.0"].replace(
        waiter_to_wake=lambda waiters, wants: next((one for one in waiters if wants(one)), None)
    )
    bench = make_pop_bench(rules=asks_everyone)
    a, b = bench.channel(), bench.channel()
    bench.pop(a, "tagA")
    bench.pass_time(1)
    bench.pop(b, "tagB")
    bench.send("T", b"b", "tagB")
    bench.wake()
    assert (got(bench, a), got(bench, b)) == ([], [b"b"])


def test_whose_time_ends_first_is_first(pop_bench):
    late, early = pop_bench.channel(), pop_bench.channel()
    pop_bench.pop(late, poll=15_000)
    pop_bench.pop(early, poll=10_000)
    assert [pop.channel for pop in pop_bench.broker.pop.line.waiting("T", "G")] == [early, late]


def test_a_pop_waits_until_50_ms_before_its_time_is_over(two):
    two.pass_time(14_949)
    assert two.a.sent == []
    two.pass_time(20)
    (answer,) = two.a.sent
    assert (answer.code, answer.remark) == (PopResponseCode.POLLING_TIMEOUT, "NO_MESSAGE_IN_QUEUE")
    header = answer.decode_header(PopMessageResponseHeader)
    assert (header.pop_time, header.rest_num, header.start_offset_info) == (two.now - 10, 0, "")
    assert [(facts["queue"], facts["why"]) for facts in two.seen("woken")] == [(-1, "timeout")] * 2


@pytest.mark.parametrize("poll", [0, 50])
def test_a_pop_that_does_not_want_to_wait_is_answered_at_once(pop_bench, poll):
    code = PopResponseCode.POLLING_TIMEOUT
    pop_bench.pass_time(1)
    assert pop_bench.pop(pop_bench.channel(), poll=poll, born_time=pop_bench.now - 1).code == code


def test_there_is_room_for_so_many_in_a_line(make_pop_bench):
    bench = make_pop_bench(popPollingSize=0)
    assert bench.pop(bench.channel()) is None
    answer = bench.pop(bench.channel())
    assert (answer.code, answer.remark) == (PopResponseCode.POLLING_FULL, "NO_MESSAGE_IN_QUEUE")
    bench = make_pop_bench(maxPopPollingSize=1)
    assert bench.pop(bench.channel()) is None
    assert bench.pop(bench.channel(), group="H").code == PopResponseCode.POLLING_FULL


def test_a_connection_that_is_gone_is_passed_by(two):
    two.broker.on_channel_close(two.a, two.now)
    two.send("T", b"b", "tagB")
    two.wake()
    assert got(two, two.b) == [b"b"]


def test_pops_of_one_queue_wait_in_a_line_of_their_own(two):
    of_queue, of_another = two.channel(), two.channel()
    two.pop(of_queue, "tagA", queue=0)
    two.pop(of_another, "tagA", queue=1)
    two.send("T", b"1", "tagA")
    two.wake()
    # Both are woken; the one of all queues takes it, and the other waits again.
    assert (got(two, two.a), got(two, of_queue), of_another.sent) == ([b"1"], [], [])
    assert len(two.broker.pop.line.waiting("T", "G", 0)) == 1


def test_every_800th_message_of_a_queue_wakes_the_first_whatever_he_wants(make_pop_bench):
    bench = make_pop_bench(popLongPollingForceNotifyInterval=2)
    a = bench.channel()
    bench.pop(a, "tagA")
    woken = []
    for _ in range(4):
        bench.send("T", b"b", "tagB")
        bench.wake()
        woken.append([facts["why"] for facts in bench.seen("woken")])
    assert woken == [[], ["forced"], ["forced"], ["forced", "forced"]]


def test_who_leaves_something_wakes_the_next(pop_bench):
    first, second = pop_bench.channel(), pop_bench.channel()
    pop_bench.pop(first, max_msg_nums=1)
    pop_bench.pass_time(1)
    pop_bench.pop(second, max_msg_nums=1)
    pop_bench.store.defers_dispatch = True
    pop_bench.send("T", b"0")
    pop_bench.send("T", b"1")
    pop_bench.store.dispatch()
    pop_bench.wake()
    assert (got(pop_bench, first), got(pop_bench, second)) == ([b"0"], [b"1"])
    assert first.sent[0].code == ResponseCode.SUCCESS


def test_without_long_polling_no_message_wakes_anybody(make_pop_bench):
    bench = make_pop_bench(config={"long_polling_enable": False})
    member = bench.channel()
    bench.pop(member)
    bench.send("T", b"x")
    bench.wake()
    assert member.sent == []
