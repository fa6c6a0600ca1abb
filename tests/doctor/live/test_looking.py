"""Looks at a cluster of ours over real connections."""

from __future__ import annotations

import time

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.message.java import string_hash
from rmqlab.message.topics import MessageQueue
from rmqlab_tools.doctor.read_client import _member_answer
from tests.doctor.live.conftest import commit_at, look_at

TAG_A, TAG_B = string_hash("tagA"), string_hash("tagB")
Q0, Q1 = (MessageQueue("T", "broker-a", number) for number in (0, 1))


@pytest.fixture
def two_members(member):
    return member("a", {"G": {"T": "tagA"}}, queues=(Q0,)), member("b", {"G": {"T": "tagB"}}, queues=(Q1,))


def test_members_tell_what_they_ask_for_and_the_broker_what_it_holds(looks, two_members):
    (look,) = looks(*two_members)
    assert look.unanswered == []
    assert list(look.groups) == ["G"]
    seen = look.groups["G"]
    asked_for = {name: member.subscriptions["T"].sub_string for name, member in seen.members.items()}
    assert asked_for == {"a": "tagA", "b": "tagB"}
    assert seen.slots["broker-a"].subscription_table["T"].sub_string in {"tagA", "tagB"}
    assert {name: member.queues for name, member in seen.members.items()} == {"a": {Q0}, "b": {Q1}}
    assert look.topics["T"] == [Q0, Q1]
    member = seen.members["a"]
    assert (member.language, member.version, member.brokers) == ("JAVA", "V4_8_0", {"broker-a"})
    assert look.at <= member.asked_at <= member.answered_at


def test_what_the_offsets_passed_is_counted_by_tag_code(looks, commit, two_members):
    commit("G", "T", 4, 3)
    first, second, third = looks(*two_members, times=3, messages=1, between=lambda: commit("G", "T", 4, 4))
    seen = first.groups["G"]
    assert {queue: (one.committed, one.raw_lag) for queue, one in seen.offsets.items() if queue.topic == "T"} == {
        Q0: (4, 0),
        Q1: (3, 1),
    }
    passed = seen.passed[Q0]
    assert (passed.start, passed.end, passed.read) == (0, 4, 4)
    assert passed.codes == {TAG_A: 2, TAG_B: 2}
    assert passed.kept == {string_hash(passed.slot.sub_string): 2}
    assert set(seen.behind) == {Q1}
    assert seen.behind[Q1].codes == {TAG_B: 1}
    assert {(message.queue, message.offset) for message in seen.messages} == {(Q0, 3), (Q1, 2)}
    assert {message.properties["TAGS"] for message in seen.messages} == {"tagB"}
    assert second.since == first.at
    moved = second.groups["G"].passed
    assert set(moved) == {Q1}
    assert (moved[Q1].start, moved[Q1].end, moved[Q1].codes) == (3, 4, {TAG_B: 1})
    assert third.groups["G"].passed == third.groups["G"].behind == {}


def test_a_window_bounds_what_is_read_and_the_newest_are_read(looks, commit, two_members):
    commit("G", "T", 3, 0)
    (look,) = looks(*two_members, window=1)
    seen = look.groups["G"]
    assert (seen.passed[Q0].start, seen.passed[Q0].codes) == (2, {TAG_B: 1})
    assert (seen.behind[Q1].start, seen.behind[Q1].end, seen.behind[Q1].codes) == (0, 4, {TAG_A: 1})


def test_a_commit_of_nought_is_not_the_same_as_none(looks, commit, two_members):
    commit("G", "T", 0)
    (look,) = looks(*two_members)
    offsets = look.groups["G"].offsets
    assert (offsets[Q0].committed, offsets[Q1].committed) == (0, -1)
    assert (offsets[Q0].raw_lag, offsets[Q1].raw_lag) == (4, 4)


def test_a_topic_that_is_subscribed_but_never_committed_has_its_end(looks, two_members):
    (look,) = looks(*two_members)
    assert {queue: one.committed for queue, one in look.groups["G"].offsets.items() if queue.topic == "T"} == {
        Q0: -1,
        Q1: -1,
    }


def test_a_group_that_nobody_runs_keeps_its_offsets(looks, commit):
    commit("gone", "T", 2, 2)
    (look,) = looks()
    seen = look.groups["gone"]
    assert (seen.slots, seen.members, seen.configs) == ({}, {}, {})
    assert seen.passed[Q0].codes == {TAG_A: 2}
    assert seen.passed[Q0].slot is None
    assert seen.passed[Q0].kept == {}


def test_dead_letters_are_told(broker, looks, two_members):
    broker.create_topic("%DLQ%G", 1)
    broker.send("%DLQ%G", "dead", "tagA")
    (look,) = looks(*two_members)
    ((queue, offsets),) = look.groups["G"].dead_letters.items()
    assert (queue.topic, offsets.min_offset, offsets.max_offset) == ("%DLQ%G", 0, 1)


def test_members_that_do_not_answer_are_told_in_words(looks, member, two_members):
    silent = member("cpp", {"G": {"T": "tagA"}}, answers=None, language="CPP")
    refusing = member("go", {"G": {"T": "tagA"}}, answers="not supported", language="GO")
    old = member("old", {"G": {"T": "tagA"}}, version=0)
    (look,) = looks(silent, refusing, old, *two_members, member_timeout_ms=100)
    members = look.groups["G"].members
    assert {name for name, member in members.items() if member.running is not None} == {"a", "b"}
    assert members["cpp"].unanswered == "no answer within 100 ms"
    assert members["go"].unanswered == "refused with code 1: not supported"
    assert "too low to finish, please upgrade it to V3_1_8_SNAPSHOT" in members["old"].unanswered
    assert members["cpp"].subscriptions is None
    assert members["cpp"].queues is None
    assert (members["cpp"].language, members["go"].language) == ("CPP", "GO")
    assert look.unanswered == []


def test_many_silent_members_are_given_up_by_their_language(looks, member, monkeypatch):
    monkeypatch.setattr("rmqlab_tools.doctor.read_client.MEMBER_HELD_SECONDS", 0.1)
    silent = [member(f"cpp{number}", {f"G{number}": {"T": "*"}}, None, "CPP") for number in range(12)]
    (look,) = looks(*silent, member("java", {"J": {"T": "*"}}), member_timeout_ms=300)
    told = [member.unanswered for group in look.groups.values() for member in group.members.values()]
    assert told.count("no answer within 300 ms") in range(8, 12)
    assert look.groups["J"].members["java"].running is not None


def test_brokers_tell_their_settings_and_what_a_look_costs_is_counted(broker, looks, commit, two_members):
    commit("G", "T", 4, 4)
    first, second = looks(*two_members, times=2)
    seen = first.brokers["broker-a"]
    assert seen.addr == broker.broker_addr
    assert seen.settings["enablePropertyFilter"] == "false"
    assert seen.runtime["brokerVersionDesc"] == seen.version == "V4_8_0"
    assert first.groups["G"].configs["broker-a"].consume_enable
    cost = first.cost[broker.broker_addr]
    # 26 28 21 43 201; 203 208 208 (of the retry topic) 307 307; 321 for each of two queues
    assert cost.requests == 5 + 5 + 2
    assert second.cost[broker.broker_addr].requests == 5 + 5
    assert cost.received_bytes > cost.sent_bytes > 100 * cost.requests
    assert first.cost[broker.namesrv_addr].requests == 1


def test_only_groups_and_topics_that_were_asked_for(broker, looks, member):
    broker.create_topic("U", 1)
    members = [member("a", {"G": {"T": "*", "U": "*"}, "H": {"U": "*"}, "TOOLS_CONSUMER": {"T": "*"}})]
    assert set(looks(*members)[0].groups) == {"G", "H"}
    assert set(looks(*members, groups=("H",))[0].groups) == {"H"}
    assert set(looks(*members, groups=("TOOLS_CONSUMER",))[0].groups) == {"TOOLS_CONSUMER"}
    (look,) = looks(*members, topics=("T",))
    assert {queue.topic for group in look.groups.values() for queue in group.offsets} == {"T", "%RETRY%G"}
    assert set(look.groups) == {"G"}


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"groups": ("GG",)}, r"no broker of \S+ knows a consumer group 'GG'; did you mean G\?"),
        ({"topics": ("TT",)}, r"topic 'TT' has no route at \S+; did you mean T\?"),
    ],
)
def test_names_that_nobody_knows(asked, text, looks, two_members):
    with pytest.raises(BadInput, match=text):
        looks(*two_members, **asked)


@pytest.mark.parametrize("extension", [False, True])
def test_sql92_is_judged_by_the_bit_map_where_there_is_one(member, extension):
    on = {"enableConsumeQueueExt": extension, "enableCalcFilterBitMap": extension}
    with rmqlab.serve(enablePropertyFilter=True, **on) as served:
        served.create_topic("S", 1)

        def send():
            time.sleep(0.01)  # a filter judges only what was stored after its millisecond
            for colour, tag in (("red", "tagA"), ("blue", "tagA"), ("red", "tagB")):
                served.send("S", "x", tag, colour=colour)
            commit_at(served, "G", "S", 3)

        one = member("a", {"G": {"S": "colour = 'red'"}}, expression_type="SQL92")
        (look,) = look_at(served, one, before=send)
    passed = look.groups["G"].passed[MessageQueue("S", "broker-a", 0)]
    assert passed.codes == {TAG_A: 2, TAG_B: 1}
    assert passed.slot.expression_type == "SQL92"
    # without a bit map nothing is known at this stage: the broker reads the properties later
    assert passed.kept == ({TAG_A: 1, TAG_B: 1} if extension else {TAG_A: 2, TAG_B: 1})


def test_a_broker_without_a_master_is_told():
    with rmqlab.serve(brokerId=1, brokerRole="SLAVE") as served:
        (look,) = look_at(served)
        address = served.broker_addr
    assert look.brokers == {}
    assert [told.reason for told in look.unanswered] == [f"broker broker-a has no master, only slaves: {address}"]


def test_entries_that_the_broker_no_longer_has_are_left_out(broker, commit, looks, member):
    commit("G", "T", 4, 4)

    def forget(inside):
        inside.message_store.get_consume_queue("T", 0).min_logic_offset = 3 * 20

    broker.call(forget)
    (look,) = looks(member("a", {"G": {"T": "*"}}))
    assert look.unanswered == []
    assert {queue: one.read for queue, one in look.groups["G"].passed.items()} == {Q0: 1, Q1: 4}


def test_what_a_group_skipped_at_its_start_it_never_passed(looks, commit, two_members):
    first, second = looks(*two_members, times=2, between=lambda: commit("G", "T", 4, 4))
    assert {seen.committed for seen in first.groups["G"].offsets.values()} == {-1}
    assert second.groups["G"].passed == {}, "it began at the end"


def test_names_that_a_5_x_broker_keeps_for_itself_are_no_groups(looks, commit, two_members):
    commit("G@broadcast", "T", 4, 4)
    (look,) = looks(*two_members)
    assert list(look.groups) == ["G"]


def test_a_number_that_was_never_set_is_not_told():
    queue = b'{"brokerName":"broker-a","queueId":0,"topic":"T"}'
    body = b'{"mqTable":{%s:{"lastPullTimestamp":18446744073709551615,"commitOffset":9223372036854775807}}}' % queue
    (info,) = _member_answer(body).running.mq_table.values()
    assert (info.last_pull_timestamp, info.commit_offset) == (0, 2**63 - 1)
