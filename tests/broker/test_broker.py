"""The broker as a whole: who answers what, when it wants to be woken, what it tells the name servers."""

from __future__ import annotations

import pytest

from rmqlab.events import Filtered, Pull, Register, Wake
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.topic_config import TopicConfig


def test_a_request_nobody_knows_gets_no_answer(bench):
    # The admin processor takes whatever the others do not, and leaves what it does not know unanswered (4.8.0).
    assert bench.ask(bench.channel(), 9_999) is None


def test_a_body_that_cannot_be_read_is_a_system_error_and_the_broker_lives(bench):
    answer = bench.ask(bench.channel(), RequestCode.HEART_BEAT, None, b"{")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "JSON" in answer.remark
    assert bench.send("T").code == ResponseCode.SUCCESS


def test_a_one_way_request_has_no_answer_even_when_it_fails(bench):
    assert bench.ask(bench.channel(), RequestCode.HEART_BEAT, None, b"{", flag=2) is None


def test_an_answer_nobody_waits_for_is_dropped(bench):
    command = RemotingCommand.response(ResponseCode.SUCCESS)
    assert bench.broker.handle(bench.channel(), command, bench.now) is None


def test_timers_of_a_new_broker(bench):
    start = bench.now
    assert [name for _, name, _ in bench.broker.timers.upcoming()] == [
        "hold service", "client housekeeping", "filter data", "register broker", "half topic", "transaction check",
        "broker stats",
    ]  # fmt: skip
    assert bench.broker.next_timer() == start + 5_000


def test_the_broker_registers_at_once_after_ten_seconds_and_then_every_thirty(bench):
    times = []
    bench.broker.on_register = lambda registration: times.append((bench.broker.now - bench.now, registration.oneway))
    assert len(bench.registrations) == 1
    bench.broker.timers.run(bench.now + 100_000)
    # after 60 s the half topic is made, which is told at once and one-way
    assert times == [(10_000, False), (40_000, False), (60_000, True), (70_000, False), (100_000, False)]


@pytest.mark.parametrize(("period", "second"), [(1, 20_000), (999_999, 70_000)])
def test_the_period_has_a_least_and_a_greatest_length(make_bench, period, second):
    bench = make_bench(config={"register_name_server_period": period, "transaction_check_interval": 600_000})
    bench.pass_time(second - 1)
    assert len(bench.registrations) == 2
    bench.pass_time(1)
    assert len(bench.registrations) == 3


def test_what_is_registered(bench):
    (registration,) = bench.registrations
    assert registration.broker_addr == "127.0.0.1:10911"
    assert registration.ha_server_addr == "127.0.0.1:10912"
    assert (registration.cluster_name, registration.broker_name, registration.broker_id) == (
        "DefaultCluster",
        "broker-a",
        0,
    )
    assert (registration.check_order_config, registration.oneway) == (True, False)
    assert registration.filter_server_list == []
    assert registration.data_version.counter == 0


def test_a_broker_with_less_permission_lends_it_to_its_topics(make_bench):
    bench = make_bench(config={"broker_permission": 4})
    (registration,) = bench.registrations
    assert registration.topic_config_table["TBW102"] == TopicConfig("TBW102", 8, 8, 4)
    assert bench.broker.topic_config_manager.select_topic_config("TBW102").perm == 7


def test_timers_run_in_the_order_of_time_and_late_ones_too(bench):
    ran = []
    start = bench.now
    for name, due in (("b", 20), ("a", 10), ("c", 20)):
        bench.broker.timers.once(name, start + due, lambda now, name=name: ran.append((name, now - start)))
    bench.pass_time(30)
    assert ran == [("a", 10), ("b", 20), ("c", 20)]


def test_time_does_not_go_back_for_a_timer_that_runs_late(bench):
    seen = []
    bench.broker.timers.once("late", bench.now + 10, seen.append)
    bench.now += 25
    bench.send("T")
    bench.wake()
    assert seen == [bench.now]


def test_work_that_was_queued_runs_before_the_next_timer(bench):
    ran = []
    bench.broker.timers.once("timer", bench.now, lambda _: ran.append("timer"))
    bench.broker.timers.wake_up(lambda: ran.append("queued"))
    bench.broker.timers.wake_up(lambda: ran.append("queued later"))
    bench.wake()
    assert ran == ["queued", "queued later", "timer"]


def test_a_member_is_known_by_its_client_id_and_a_stranger_by_its_address(bench):
    member, stranger = bench.channel(), bench.channel()
    bench.subscribe(member, "G", {"T": "*"}, client="me")
    assert bench.broker.consumer_manager.client_id(member, "G") == "me"
    assert bench.broker.consumer_manager.client_id(stranger, "G") == stranger.remote_address
    assert bench.broker.consumer_manager.client_id(member, "NOSUCH") == member.remote_address


def assert_a_member_gets_its_tag(bench, bodies):
    """A pull that waits is answered with the message of its tag, not with the other."""
    bench.topic("T")
    member = bench.channel()
    bench.subscribe(member, "G", {"T": "tagA"}, version=1)
    assert bench.pull(member, "G", "T", version=1) is None
    bench.send("T", b"b", "tagB")
    bench.send("T", b"a", "tagA")
    bench.wake()
    assert bodies(member.sent[-1]) == [b"a"]


def test_a_broker_works_with_nobody_watching(bench, bodies):
    bench.broker.observe = None
    assert_a_member_gets_its_tag(bench, bodies)


@pytest.mark.parametrize("hears_pulls", [True, False])
def test_who_hears_of_groups_only_costs_no_event_for_each_message(bench, bodies, hears_pulls):
    """`rmqlab serve` tells who joins and leaves; an event for every message that a filter holds back took a third."""
    if not hears_pulls:
        bench.broker.hooks.observe_pull = None
    assert_a_member_gets_its_tag(bench, bodies)
    told = {kind for kind, _ in bench.facts}
    assert Register.kind in told
    assert told & {Pull.kind, Filtered.kind, Wake.kind} == (
        {Pull.kind, Filtered.kind, Wake.kind} if hears_pulls else set()
    )
