"""Long polling (rows S-73, S-91 and F-47)."""

from __future__ import annotations

import pytest

from rmqlab.protocol.codes import ResponseCode


@pytest.fixture
def ready(bench):
    bench.topic("T")
    bench.member = bench.channel()
    bench.subscribe(bench.member, "G", {"T": "tagA"}, version=100)
    return bench


def hold(bench, queue=0, offset=0, **more):
    assert bench.pull(bench.member, "G", "T", queue, offset, **more) is None


def answers(channel):
    return [(one.code, one.remark) for one in channel.sent if one.is_response]


@pytest.mark.row("S-73")
def test_a_message_wakes_the_pull_that_wants_it_after_its_sender_has_the_answer(ready, bodies):
    hold(ready)
    assert ready.send("T", b"new", "tagA").code == ResponseCode.SUCCESS
    # The executor has not run yet: it wants to be called at once.
    assert answers(ready.member) == []
    assert ready.broker.next_timer() == ready.now
    ready.wake()
    assert answers(ready.member) == [(ResponseCode.SUCCESS, "FOUND")]
    answer = ready.member.sent[-1]
    assert (answer.opaque, bodies(answer)) == (2, [b"new"])
    assert ready.broker.pull_request_hold_service.held("T", 0) == []


@pytest.mark.row("S-91", "F-47")
def test_a_message_with_another_tag_does_not_wake_it(ready):
    hold(ready)
    ready.send("T", b"other", "tagB")
    ready.wake()
    assert answers(ready.member) == []
    assert len(ready.broker.pull_request_hold_service.held("T", 0)) == 1


def test_the_check_after_one_that_came_late_comes_a_whole_pause_later(ready):
    """`PullRequestHoldService.run` of 4.8.0 waits, then looks: it keeps no grid."""
    timers, late = ready.broker.timers, ready.now + 5_300
    ready.broker.run_timers(late)
    assert next(due for due, name, _ in timers.upcoming() if name == "hold service") == late + 5_000


@pytest.mark.row("S-91")
def test_the_check_every_five_seconds_knows_no_tag_and_wakes_whoever_is_behind(ready):
    hold(ready)
    ready.send("T", b"other", "tagB")
    ready.pass_time(4_999)
    assert answers(ready.member) == []
    ready.pass_time(1)
    assert answers(ready.member) == [(ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")]
    assert ready.seen("wake") == [{"topic": "T", "queue": 0, "offset": 0, "why": "arrived"}]


@pytest.mark.row("S-91")
def test_the_filter_of_the_holding_decides_about_waking_but_the_table_of_now_about_the_messages(ready, bodies):
    hold(ready, version=100)
    ready.send("T", b"b", "tagB")
    ready.subscribe(ready.channel(), "G", {"T": "tagB"}, version=200, client="D")
    # tagA wakes the pull, for that was in force when it was held; what it gets is what tagB lets through.
    ready.send("T", b"a", "tagA")
    ready.wake()
    assert bodies(ready.member.sent[-1]) == [b"b"]


@pytest.mark.row("S-73")
def test_a_pull_is_answered_at_the_first_check_after_its_time(ready):
    ready.pass_time(1)
    hold(ready)
    ready.pass_time(14_999)
    assert answers(ready.member) == []
    ready.pass_time(4_999)
    assert answers(ready.member) == []
    ready.pass_time(1)
    assert answers(ready.member) == [(ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")]
    assert [fact["why"] for fact in ready.seen("wake")] == ["timeout"]


@pytest.mark.row("S-73")
def test_a_check_exactly_at_the_end_of_its_time_answers(ready):
    hold(ready)
    ready.pass_time(15_000)
    assert answers(ready.member) == [(ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")]


@pytest.mark.row("S-73")
def test_without_long_polling_messages_wake_nobody_but_a_check_every_second_does(make_bench):
    bench = make_bench(config={"long_polling_enable": False})
    bench.topic("T")
    bench.member = bench.channel()
    bench.subscribe(bench.member, "G", {"T": "tagA"}, version=100)
    hold(bench)
    bench.send("T", b"new", "tagA")
    bench.wake()
    assert answers(bench.member) == []
    bench.pass_time(1_000)
    assert answers(bench.member) == [(ResponseCode.SUCCESS, "FOUND")]


def test_pulls_wake_in_the_order_they_were_held(ready):
    members = [ready.channel() for _ in range(3)]
    order = []
    for number, member in enumerate(members):
        member.send = lambda command, number=number: order.append((number, command.code))
        assert ready.pull(member, "G", "T", own="*") is None
    ready.send("T", b"new")
    ready.wake()
    assert order == [(0, 0), (1, 0), (2, 0)]


def test_only_pulls_behind_the_message_are_woken(ready):
    ready.send("T", b"one", "tagA")
    hold(ready, offset=1)
    ready.broker.pull_request_hold_service.notify_message_arriving("T", 0, 1, 3552231, now=ready.now)
    ready.wake()
    assert answers(ready.member) == []
    # A stale offset is looked up again: the queue has grown since.
    ready.store.message_arriving = None
    ready.send("T", b"two", "tagA")
    ready.broker.pull_request_hold_service.notify_message_arriving("T", 0, 1, 3552231, now=ready.now)
    ready.wake()
    assert answers(ready.member) == [(ResponseCode.SUCCESS, "FOUND")]


def test_a_held_pull_of_a_group_that_left_is_refused_when_it_wakes(ready):
    hold(ready)
    ready.broker.on_channel_close(ready.member, ready.now)
    ready.pass_time(15_000)
    assert [code for code, _ in answers(ready.member)] == [ResponseCode.SUBSCRIPTION_NOT_EXIST]


def test_a_sql_pull_is_woken_only_by_messages_that_fulfil_it(make_bench, bodies):
    bench = make_bench(config={"enable_property_filter": True})
    bench.topic("T")
    bench.member = bench.channel()
    bench.subscribe(bench.member, "G", {"T": "a > 1"}, version=100, kind="SQL92")
    hold(bench, version=100, kind="SQL92")
    bench.send("T", b"no", props={"a": "1"})
    bench.wake()
    assert answers(bench.member) == []
    bench.send("T", b"yes", props={"a": "2"})
    bench.wake()
    assert bodies(bench.member.sent[-1]) == [b"yes"]
