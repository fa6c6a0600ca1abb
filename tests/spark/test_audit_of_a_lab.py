"""The store and the events of a lab that was driven by hand: what an audit says for certain is what the lab did."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import rmqlab
from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.audit_store import settings_of
from tests.spark.test_audit_of_a_tap import judged


def audited(lab, folder):
    """What an audit says of each message of topic T in group G, by queue and offset; and what the lab says."""
    store = lab.write_store(folder / "store")
    (folder / "events.jsonl").write_text(lab.finish().lines())
    told = {(fate.queue, fate.offset): fate.fate for fate in lab.fates() if (fate.group, fate.topic) == ("G", "T")}
    return judged(store, read_subscriptions(folder / "events.jsonl")), told


def lab_with_a_queue_that_nobody_pulls():
    """A asks for T and C only for U, and each has a queue of T; two minutes ago a message went into either."""
    lab = rmqlab.Lab(topics={"T": 2, "U": 2})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.consumer("C", group="G", subscribe={"U": "tagA"})
    lab.run(seconds=60)
    lab.send("T", ["tagB"] * 2, queues=[0, 1])
    lab.run(seconds=120)
    return lab


def test_steps_are_timed_from_the_topics_and_not_from_the_first_member(tmp_path):
    """The lab ran for a minute before A came; what A asks for from its second minute on counts from there."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.run(seconds=60)
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.subscribe("A", "T", "tagB")
    lab.run(seconds=25)
    lab.send("T", "tagB")
    lab.run(seconds=30)
    said, told = audited(lab, tmp_path)
    assert told == {(0, 0): Fate.DELIVERED}
    assert said == {(0, 0): (Fate.DELIVERED, "implied")}


@pytest.mark.row("S-79")
def test_members_that_subscribe_different_topics_leave_it_open_who_met_a_message(tmp_path):
    """C takes T out of the broker's table, and leaves its queue of T alone: B comes two minutes later, and pulls."""
    lab = lab_with_a_queue_that_nobody_pulls()
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=30)
    said, told = audited(lab, tmp_path)
    assert told == {(0, 0): Fate.DROPPED_BY_CLIENT, (1, 0): Fate.DELIVERED}  # the broker drops neither of them
    assert said == dict.fromkeys(told, (Fate.PASSED, "unknown"))


def test_a_member_that_subscribes_a_topic_late_leaves_open_who_met_what_came_before(tmp_path):
    """C has a queue of T from the beginning, and pulls it as soon as it asks for T: nobody looked at it until then."""
    lab = lab_with_a_queue_that_nobody_pulls()
    lab.subscribe("C", "T", "tagB")
    lab.run(seconds=30)
    said, told = audited(lab, tmp_path)
    assert told == {(0, 0): Fate.DROPPED_BY_CLIENT, (1, 0): Fate.DELIVERED}
    assert said == dict.fromkeys(told, (Fate.PASSED, "unknown"))


OPEN = (Fate.PASSED, "unknown")


@pytest.mark.parametrize("stops", ["killed", "frozen and stopped"])
def test_what_a_silent_member_may_not_have_looked_at_is_open_until_the_broker_has_missed_it(stops, tmp_path):
    """A says nothing more, and stays on the list for two minutes: B looks at what came meanwhile."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    if stops == "killed":
        lab.kill("A", silent=True)
    else:
        lab.freeze("A")
        lab.stop("A")
    lab.run(seconds=10)
    lab.send("T", ["tagA", "tagB"])
    lab.run(seconds=40)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=130)
    lab.send("T", ["tagA", "tagB"])
    lab.run(seconds=30)
    said, told = audited(lab, tmp_path)
    assert told == {
        (0, 0): Fate.DROPPED_BY_BROKER_TAG, (0, 1): Fate.DELIVERED,
        (0, 2): Fate.DROPPED_BY_BROKER_TAG, (0, 3): Fate.DELIVERED,
    }  # fmt: skip
    assert said == {
        (0, 0): OPEN, (0, 1): OPEN,
        (0, 2): (Fate.DROPPED_BY_BROKER_TAG, "implied"), (0, 3): (Fate.DELIVERED, "implied"),
    }  # fmt: skip


def test_what_a_killed_member_did_not_look_at_is_open_also_if_the_broker_never_missed_it(tmp_path):
    """B comes a minute after A's silent death, and everything ends before the broker takes A off its list."""
    lab = rmqlab.Lab(topics={"T": 2})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.kill("A", silent=True)
    lab.send("T", "tagB", queues=[1])
    lab.run(seconds=60)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=30)
    said, told = audited(lab, tmp_path)
    assert told == {(1, 0): Fate.DELIVERED}
    assert said == {(1, 0): OPEN}


def test_what_came_while_nobody_asked_is_open_where_nobody_knows_who_was_there(tmp_path):
    """A file says until when A asked and names no `clients`: the next member looks, and either gets a tagA."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.send("T", "tagA")
    lab.run(seconds=10)
    lab.stop("A")
    lab.run(seconds=10)
    lab.send("T", ["tagA", "tagB"])
    lab.run(seconds=300)
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(seconds=60)
    store = lab.write_store(tmp_path / "store")
    (tmp_path / "events.jsonl").write_text(lab.finish().lines())
    said = judged(store, read_subscriptions(tmp_path / "events.jsonl")._replace(present={}))
    assert [fate.fate for fate in lab.fates()] == [Fate.DELIVERED] * 3
    assert said == {(0, 0): (Fate.DELIVERED, "implied"), (0, 1): (Fate.DELIVERED, "implied"), (0, 2): OPEN}


@pytest.mark.parametrize(("stall", "first"), [("pause", Fate.DELIVERED), ("freeze", Fate.DROPPED_BY_BROKER_TAG)])
def test_what_came_to_a_member_that_stood_still_is_open_for_the_subscription_that_it_meets_then(stall, first, tmp_path):
    """A paused member's held pull brings the first message; all else waits, and B's subscription has come."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=10)
    getattr(lab, stall)("A", ms=60_000)
    lab.send("T", ["tagA", "tagA"])
    lab.run(seconds=40)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=120)
    said, told = audited(lab, tmp_path)
    assert told == {(0, 0): first, (0, 1): Fate.DROPPED_BY_BROKER_TAG}
    assert said == {(0, 0): OPEN, (0, 1): OPEN}


def test_what_came_shortly_before_a_member_ended_is_open_where_nobody_knows_who_was_there(tmp_path):
    """A stands still, so its last message waits for B; a file tells when A ended, and names no `clients`."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.slow("A", ms=15_000)
    lab.send("T", "tagB")
    lab.kill("A")
    lab.run(seconds=30)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=60)
    store = lab.write_store(tmp_path / "store")
    (tmp_path / "events.jsonl").write_text(lab.finish().lines())
    known = read_subscriptions(tmp_path / "events.jsonl")._replace(present={}, paused={})
    assert [fate.fate for fate in lab.fates()] == [Fate.DELIVERED]
    assert judged(store, known) == {(0, 0): OPEN}


def test_after_a_reset_another_subscription_may_have_met_what_was_dropped(tmp_path):
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.send("T", ["tagA", "tagB", "tagC"])
    lab.run(seconds=30)
    lab.subscribe("A", "T", "tagB")
    lab.run(seconds=60)
    lab.reset_offset("G", "T", 0)
    lab.run(seconds=60)
    said, told = audited(lab, tmp_path)
    assert told == {(0, 0): Fate.DELIVERED, (0, 1): Fate.DELIVERED, (0, 2): Fate.DROPPED_BY_BROKER_TAG}
    assert said == {(0, 0): (Fate.DELIVERED, "implied"), (0, 1): OPEN, (0, 2): (Fate.DROPPED_BY_BROKER_TAG, "implied")}


def test_where_a_topic_got_more_queues_nothing_is_implied(tmp_path):
    """Nobody pulls a new queue until the members have asked for the route anew."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.resize("T", 2)
    lab.send("T", ["tagA", "tagB"], queues=[1, 1])
    lab.run(seconds=90)
    said, _ = audited(lab, tmp_path)
    assert set(said.values()) == {OPEN}


@pytest.mark.parametrize("handed_out", [False, True])
def test_what_a_lite_pull_consumer_dropped_is_left_to_the_next_owner_until_it_hands_a_message_out(handed_out, tmp_path):
    """No pull of it moves the committed offset, only a message that it hands out: so A looks at B's tagA once more."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("B", group="G", kind="lite", subscribe={"T": "tagB"})
    lab.run(seconds=60)
    lab.send("T", ["tagA", "tagB"] if handed_out else "tagA")
    lab.run(seconds=60)
    lab.consumer("A", group="G", kind="lite", subscribe={"T": "tagA"})
    lab.run(seconds=30)
    lab.send("T", "tagA")
    lab.run(seconds=60)
    said, told = audited(lab, tmp_path)
    dropped, delivered = (Fate.DROPPED_BY_BROKER_TAG, "implied"), (Fate.DELIVERED, "implied")
    if handed_out:
        assert said == {(0, 0): dropped, (0, 1): delivered, (0, 2): delivered}
    else:
        assert told == {(0, 0): Fate.DELIVERED, (0, 1): Fate.DELIVERED}
        assert said == {(0, 0): OPEN, (0, 1): delivered}


def test_what_came_to_a_frozen_member_is_open_where_the_recording_ends_before_the_broker_missed_it(tmp_path):
    lab = rmqlab.Lab(topics={"T": 1, "U": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=30)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=30)
    lab.freeze("A")
    lab.run(seconds=10)
    lab.send("T", "tagB")
    lab.run(seconds=30)
    lab.send("U", "tagB", bodies=["the last thing that was seen"])
    lab.run(seconds=150)
    store = lab.write_store(tmp_path / "store")
    events = lab.finish().lines().splitlines(keepends=True)
    end = next(number for number, line in enumerate(events, 1) if '"sent"' in line and "seen" in line)
    (tmp_path / "events.jsonl").write_text("".join(events[:end]))
    assert [fate.fate for fate in lab.fates() if fate.topic == "T"] == [Fate.DELIVERED]
    assert judged(store, read_subscriptions(tmp_path / "events.jsonl")) == {(0, 0): OPEN}


def test_what_a_client_drops_is_left_to_the_next_owner_as_long_as_no_answer_is_empty(tmp_path):
    """B's `*` lets every tagB pass, and A drops it itself: each answer brings one, so that none moves A's offset on."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=30)
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(seconds=30)
    for _ in range(6):
        lab.send("T", "tagB")
        lab.run(seconds=10)
    lab.stop("A")
    lab.run(seconds=60)
    lab.send("T", "tagC")
    lab.run(seconds=30)
    said, told = audited(lab, tmp_path)
    assert told == dict.fromkeys(((0, number) for number in range(7)), Fate.DELIVERED)
    assert said == dict.fromkeys(((0, number) for number in range(6)), OPEN) | {(0, 6): (Fate.DELIVERED, "implied")}


def test_where_members_are_not_told_of_others_the_owner_before_pulls_on_until_its_rebalance(tmp_path):
    """4.8.0 `notifyConsumerIdsChangedEnable`: A keeps for 20 s the queue that B has by now. Their tags share a hash."""
    lab = rmqlab.Lab(topics={"T": 2}, notifyConsumerIdsChangedEnable=False)
    lab.consumer("A", group="G", subscribe={"T": "Aa"})
    lab.run(seconds=61)
    lab.consumer("B", group="G", subscribe={"T": "BB"})
    lab.run(seconds=3)
    lab.send("T", "Aa", queues=[1])
    lab.run(seconds=60)
    store = lab.write_store(tmp_path / "store")
    (tmp_path / "events.jsonl").write_text(lab.finish().lines())
    (tmp_path / "broker.conf").write_text("notifyConsumerIdsChangedEnable=false\n")
    known = read_subscriptions(tmp_path / "events.jsonl")
    assert [fate.fate for fate in lab.fates()] == [Fate.DELIVERED]
    assert judged(store, known, **settings_of(tmp_path / "broker.conf")) == {(1, 0): OPEN}
