"""Queues that nobody or two hold, or that cannot be pulled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import Certainty, State
from rmqlab_tools.doctor.snapshot import QueueSeen
from tests.doctor.conftest import NOW, M, finding, kinds, look, passed

EARLIER = NOW - 20_000
QUEUES = [MessageQueue("T", "broker-a", number) for number in range(4)]


@pytest.mark.row("S-93", "H-47")
def test_a_queue_that_nobody_owns():
    pair = [M("A", queues=QUEUES[:1]), M("B", queues=QUEUES[2:])]
    seen = look(pair, end=105)
    one = finding(diagnose(seen), "no_owner")
    assert (one.state, one.certainty) == (State.AT_RISK, Certainty.IMPLIED), "a rebalance may be under way"
    assert "queue 1 of broker-a; not consumed there: 5 messages" in one.says
    soon = finding(diagnose(seen, look(pair, end=103, at=NOW - 10_000)), "no_owner")
    assert (soon.state, soon.certainty) == (State.LOSING, Certainty.IMPLIED), "both looks may see one rebalance"
    twice = finding(diagnose(seen, look(pair, end=103, at=EARLIER)), "no_owner")
    assert (twice.state, twice.certainty) == (State.LOSING, Certainty.PROVED)
    young = look([pair[0], replace(pair[1], started=NOW - 5_000)])
    assert finding(diagnose(young), "no_owner").state is State.NOTE
    moving = look(pair, committed=101, end=105)
    assert "no_owner" not in kinds(diagnose(moving, look(pair, committed=100))), "somebody commits"
    assert "no_owner" not in kinds(diagnose(look([pair[0], replace(pair[1], silent=True)]))), (
        "it may be the silent one's"
    )


def test_who_pops_owns_no_queue():
    pops = {"clientRebalance": "false"}
    alike = [M("A", queues=[], properties=pops), M("B", queues=[], properties=pops)]
    assert kinds(diagnose(look(alike, end=105))) == set()
    orderly = [replace(one, properties={**pops, "consumeOrderly": "true"}) for one in alike]
    assert kinds(diagnose(look(orderly, end=105))) == {"no_owner"}, "an orderly member divides queues itself"
    differ = passed(look([alike[0], replace(alike[1], asks={"T": "tagB"})]), ["tagA", "tagB"])
    assert kinds(diagnose(differ)) == {"pop_members_differ"}, "pops carry their own tags: no slot filters them"
    one_pulls = [alike[0], replace(alike[1], properties={}, queues=None)]
    assert kinds(diagnose(look(one_pulls))) >= {"mixed_modes"}


def test_a_broker_that_says_pull_is_believed():
    pops = {"clientRebalance": "false"}
    pair = [M("A", properties=pops), M("B", properties=pops, asks={"T": "tagB"})]
    seen = look(pair, settings={"defaultMessageRequestMode": "PULL"})
    seen.brokers["broker-a"] = replace(seen.brokers["broker-a"], request_modes={})
    assert "different_subscriptions" in kinds(diagnose(seen)), "they leave the rebalance to a broker whose mode is PULL"
    seen.brokers["broker-a"] = replace(seen.brokers["broker-a"], request_modes={"T": {"G": "POP"}})
    assert "pop_members_differ" in kinds(diagnose(seen))
    usual = look(pair, settings={"defaultMessageRequestMode": "POP"})
    usual.brokers["broker-a"] = replace(usual.brokers["broker-a"], request_modes={})
    assert "pop_members_differ" in kinds(diagnose(usual))


@pytest.mark.row("S-05", "H-47")
def test_a_queue_of_two():
    pair = [M("A", queues=QUEUES[:3]), M("B", queues=QUEUES[2:])]
    one = finding(diagnose(look(pair)), "two_owners")
    assert (one.certainty, one.evidence["queues"]) == (Certainty.IMPLIED, [["T", "broker-a", 2, ["A", "B"]]])
    assert finding(diagnose(look(pair), look(pair, at=EARLIER)), "two_owners").certainty is Certainty.PROVED
    assert finding(diagnose(look(pair), look(pair[::-1], at=EARLIER)), "two_owners").certainty is Certainty.PROVED, (
        "in any order"
    )
    assert kinds(diagnose(look([M("A", mode="BROADCASTING"), M("B", mode="BROADCASTING")]))) == set()


@pytest.mark.row("S-05", "S-87")
def test_more_members_than_queues():
    one = finding(diagnose(look([M(name) for name in "ABCDE"])), "idle_members")
    assert (one.state, one.evidence["idle"]) == (State.NOTE, ["E"])


@pytest.mark.row("S-96")
def test_no_committed_offset():
    seen = look([M("A")])
    seen.groups["G"].offsets[QUEUES[3]] = QueueSeen(-1, 20)
    one = finding(diagnose(seen), "no_committed_offset")
    assert (one.state, one.says) == (
        State.NOTE, "T: no offset is committed for queue 3 of broker-a; a member begins there at: end",
    )  # fmt: skip


@pytest.mark.row("H-47")
def test_a_queue_that_is_no_longer_pulled():
    seen = look([M("A")], end=105)
    seen.groups["G"].members["A"].running.mq_table[QUEUES[1]].last_pull_timestamp = NOW - 130_000
    one = finding(diagnose(seen), "pulls_stopped")
    assert (one.state, one.certainty) == (State.AT_RISK, Certainty.IMPLIED)
    assert "queue 1 of broker-a" in one.says


@pytest.mark.row("S-58", "S-64")
def test_groups_that_may_not_consume():
    seen = look([M("A", mode="BROADCASTING")], end=101)
    config = SubscriptionGroupConfig(group_name="G", consume_enable=False, consume_broadcast_enable=False)
    seen.groups["G"].configs["broker-a"] = config
    found = diagnose(seen)
    assert finding(found, "consume_disabled").state is State.LOSING
    assert finding(found, "broadcast_disabled").evidence == {"brokers": ["broker-a"]}


@pytest.mark.row("S-95")
def test_retries_that_grow_are_a_note():
    first, second = look([M("A")]), look([M("A")])
    retry = MessageQueue("%RETRY%G", "broker-a", 0)
    first.groups["G"].offsets[retry], second.groups["G"].offsets[retry] = QueueSeen(3, 3), QueueSeen(7, 8)
    assert finding(diagnose(second, first), "retries").evidence == {"messages": {"%RETRY%G": 5}}
    assert kinds(diagnose(first)) == set()


@pytest.mark.row("S-60", "S-61")
def test_a_topic_without_a_queue():
    seen = look([M("A")])
    seen.topics.clear()
    assert finding(diagnose(seen), "no_readable_queues").state is State.NOTE
