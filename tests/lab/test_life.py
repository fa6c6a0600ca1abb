"""Verbs of life: subscriptions that end, queues assigned by hand, topics and groups deleted while consumers run.

What comes out was recorded: data/golden/broker-4.8.0/life and life-strict.
"""

from __future__ import annotations

from collections import Counter

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.rules import RULES, assigned_expression
from rmqlab.scenario.scenario import parse_scenario, read_scenarios
from rmqlab_tools.show.link import Link
from tests.proof.recorded_outcomes import RecordedVerdict, compare

STRICT = {"autoCreateTopicEnable": False, "autoCreateSubscriptionGroup": False}


def fates(lab):
    return Counter(str(fate.fate) for fate in lab.fates())


def answers(lab, request="PULL_MESSAGE", since=0.0):
    return Counter(one.response for one in lab.frames() if one.request == request and one.response and one.t >= since)


def pair(**options):
    lab = Lab(topics={"T": 4})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "*"}, **options)
        lab.run(seconds=5)
    lab.run(seconds=20)
    return lab


# Unsubscribing.


@pytest.mark.row("S-79", "H-17")
def test_the_next_heartbeat_takes_the_topic_from_the_whole_group():
    lab = pair()
    held = lab.broker.consumer_manager.consumer_table["G"]
    lab.unsubscribe("A", "T")
    assert "T" in held.subscription_table  # nobody was told
    lab.run(until=lambda lab: "T" not in held.subscription_table)
    lab.run(until=lambda lab: answers(lab)["SUBSCRIPTION_NOT_EXIST"] > 0)  # B is refused, although it subscribes
    lab.run(until=lambda lab: "T" in held.subscription_table)  # until it beats itself
    assert len(held.client_ids) == 2  # and all the time both are members


@pytest.mark.row("S-93")
def test_queues_of_who_unsubscribed_have_no_owner():
    lab = pair()
    lab.unsubscribe("A", "T")
    lab.run(seconds=40)
    lab.send("T", ["x"] * 4, queues=range(4))
    lab.run(seconds=70)
    assert fates(lab) == {"delivered": 2, "no_owner": 2}
    assert {fate.queue for fate in lab.fates() if fate.fate == "no_owner"} == {0, 1}
    assert not any(fate.lost for fate in lab.fates())


def test_an_orderly_member_keeps_its_locks_for_a_minute_after_it_unsubscribed():
    lab = pair(orderly=True)
    lab.run(seconds=30)
    lab.unsubscribe("A", "T")
    lab.run(seconds=25)
    lab.stop("A")
    lab.run(seconds=10)
    assert len(lab.clients["B"].process_queue_table) == 3  # two of T and the retry queue
    lab.run(seconds=60)
    assert len(lab.clients["B"].process_queue_table) == 5


def test_a_lite_pull_consumer_hands_out_what_its_pulls_under_way_bring_and_never_commits_it():
    lab = Lab(topics={"T": 1, "U": 1})
    lab.consumer("A", group="G", subscribe={"T": "*", "U": "*"}, kind="lite")
    lab.run(seconds=10)
    lab.unsubscribe("A", "T")
    for topic in "TU":
        lab.send(topic, ["x", "y"], queues=0)
    lab.run(seconds=30)
    assert [(row.topic, row.offset) for row in lab.consumed()] == [("T", 0), ("U", 0), ("U", 1)]
    table = lab.broker.consumer_offset_manager.offset_table
    assert (table.get("T@G", {}).get(0, 0), table["U@G"][0]) == (0, 2)


def test_who_subscribes_again_reads_on():
    lab = pair()
    lab.unsubscribe("A", "T")
    lab.run(seconds=40)
    lab.send("T", ["x"] * 4, queues=range(4))
    lab.subscribe("A", "T", "*")
    lab.run(seconds=30)
    assert fates(lab) == {"delivered": 4}


# Assigning.


@pytest.mark.row("S-90")
def test_a_consumer_that_assigns_takes_every_tag_and_empties_the_groups_table():
    lab = Lab(topics={"T": 4})
    lab.consumer("B", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=5)
    lab.consumer("A", group="G", kind="lite", assign={"T": range(4)})
    lab.run(seconds=50)
    sent = lab.send("T", ["tagA", "tagB"] * 2, queues=range(4))
    lab.run(seconds=2)
    assert [(row.who, row.body) for row in lab.consumed()] == [("A", row.body) for row in sent]
    assert lab.broker.consumer_manager.consumer_table["G"].subscription_table == {}
    assert sorted(queue.queue_id for queue in lab.clients["B"].queues if queue.topic == "T") == [2, 3]
    assert answers(lab, since=10_000)["SUBSCRIPTION_NOT_EXIST"] > 0


def test_assigning_again_drops_the_queues_that_are_not_named():
    lab = Lab(topics={"T": 4})
    lab.consumer("A", group="G", kind="lite")
    lab.assign("A", {"T": [0, 1]})
    lab.run(seconds=5)
    lab.assign("A", {"T": [1, 2]})
    lab.run(seconds=5)
    lab.send("T", ["x"] * 4, queues=range(4))
    lab.run(seconds=10)
    assert sorted(row.queue for row in lab.consumed()) == [1, 2]
    assert fates(lab) == {"delivered": 2, "no_owner": 2}
    assert [fate.asked for fate in lab.finish().run.fates] == [False, True, True, False]


def test_later_versions_filter_what_was_assigned():
    """4.9.8 and 5.x: `setSubExpressionForAssign`; the rule is the only thing that changes."""
    assert assigned_expression("tagA") == "*"
    lab = Lab(topics={"T": 1}, rules=RULES["4.8.0"].replace(assigned_expression=lambda _given: "tagA"))
    lab.consumer("A", group="G", kind="lite", assign={"T": [0]})
    lab.run(seconds=5)
    lab.send("T", ["tagA", "tagB"])
    lab.run(seconds=20)
    assert [row.tag for row in lab.consumed()] == ["tagA"]


# Deleting.


def consumed_four(**settings):
    lab = Lab(topics={"T": 4}, **settings)
    if settings:
        lab.create_group("G")
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=8)
    lab.send("T", ["x"] * 4, queues=range(4))
    lab.run(seconds=8)
    return lab


@pytest.mark.row("S-60")
def test_a_deleted_topic_refuses_pulls_and_a_send_makes_it_anew_behind_the_old_offsets():
    lab = consumed_four()
    lab.delete_topic("T")
    assert lab.namesrv.route_info_manager.pickup_topic_route_data("T") is None
    lab.run(seconds=20)
    assert answers(lab)["TOPIC_NOT_EXIST"] > 4
    assert len(lab.clients["A"].queues) == 5  # nobody told it: it keeps its route and its queues
    assert lab.broker.consumer_offset_manager.offset_table["T@G"] == dict.fromkeys(range(4), 1)
    sent = lab.send("T", ["x"] * 8, queues=[*range(4), *range(4)])
    assert [row.offset for row in sent] == [0] * 4 + [1] * 4
    lab.run(seconds=60)
    assert fates(lab) == {"delivered": 8, "skipped_by_offset": 4}
    assert {fate.offset for fate in lab.fates() if fate.fate == "skipped_by_offset"} == {0}
    assert sum(fate.lost for fate in lab.fates()) == 4


def test_a_topic_made_with_fewer_messages_than_the_old_offsets_is_read_from_its_beginning():
    lab = consumed_four()
    lab.send("T", ["x"] * 8, queues=[0] * 8)
    lab.run(seconds=8)
    lab.delete_topic("T")
    lab.run(seconds=10)
    lab.resize("T", 2)
    lab.send("T", ["x"], queues=0)
    lab.run(seconds=60)
    assert answers(lab)["PULL_OFFSET_MOVED"] > 0
    assert fates(lab) == {"delivered": 13}


def test_what_nobody_had_read_of_a_deleted_topic_has_no_owner():
    lab = Lab(topics={"T": 1})
    lab.send("T", ["x"])
    lab.consumer("A", group="G", subscribe={"T": "tagA"}, consume_from="first")
    lab.pause("A", 30_000)
    lab.delete_topic("T")
    lab.run(seconds=60)
    assert fates(lab) == {"no_owner": 1}


@pytest.mark.row("S-58")
def test_a_deleted_group_goes_on_where_it_was():
    lab = consumed_four()
    lab.stop("A")
    lab.delete_group("G")
    assert "G" not in lab.broker.subscription_group_manager.subscription_group_table
    assert lab.broker.consumer_offset_manager.offset_table["T@G"] == dict.fromkeys(range(4), 1)
    lab.send("T", ["x"] * 4, queues=range(4))
    lab.consumer("B", group="G", subscribe={"T": "*"}, consume_from="first")
    lab.run(seconds=10)
    assert [row.offset for row in lab.consumed() if row.who == "B"] == [1] * 4
    assert fates(lab) == {"delivered": 8}


def test_a_group_that_is_deleted_while_it_runs_is_made_by_its_next_pull():
    lab = consumed_four()
    lab.delete_group("G")
    lab.run(seconds=16)
    assert answers(lab)["TOPIC_NOT_EXIST"] > 0  # its retry topic is made by the next heartbeat only
    assert "G" in lab.broker.subscription_group_manager.subscription_group_table
    lab.send("T", ["x"] * 4)
    lab.run(seconds=20)
    assert fates(lab) == {"delivered": 8}


@pytest.mark.row("S-58")
def test_where_groups_are_made_by_hand_a_deleted_one_is_refused_until_it_is_made_again():
    lab = consumed_four(**STRICT)
    lab.delete_group("G")
    lab.send("T", ["x"] * 4, queues=range(4))
    lab.run(seconds=30)
    assert fates(lab) == {"delivered": 4, "waiting": 4}
    assert answers(lab)["SUBSCRIPTION_GROUP_NOT_EXIST"] > 8
    lab.create_group("G")
    lab.run(seconds=10)
    assert fates(lab) == {"delivered": 8}


def test_where_topics_are_made_by_hand_a_send_to_a_deleted_one_fails():
    lab = consumed_four(**STRICT)
    lab.delete_topic("T")
    assert lab.send("T", ["x"]) == []
    lab.resize("T", 4)
    assert len(lab.send("T", ["x"])) == 1


# Errors that teach, links, and what was recorded.


@pytest.mark.parametrize(
    ("words", "act"),
    [
        ("topic is 'U'; A subscribes T", lambda lab: lab.unsubscribe("A", "U")),
        ("who is 'C', who was not started", lambda lab: lab.unsubscribe("C", "T")),
        ("only lite pull consumers assign", lambda lab: lab.assign("A", {"T": [0]})),
        ("L subscribed T before; subscribe and assign exclude", lambda lab: lab.assign("L", {"T": [0]})),
        ("T has queues 0..1", lambda lab: lab.assign("M", {"T": [2]})),
        ("names no queue", lambda lab: lab.assign("M", {"T": []})),
        ("names a queue twice", lambda lab: lab.assign("M", {"T": [0, 0]})),
        ("right is a topic and ids of queues", lambda lab: lab.assign("M", {"T": 0})),
        ("names topic 'V'", lambda lab: lab.assign("M", {"V": [0]})),
        ("assigned itself queues before", lambda lab: lab.subscribe("N", "T", "*")),
        ("topic is 'V'; known topics: T, U", lambda lab: lab.delete_topic("V")),
        ("group is 'H'; known groups: G", lambda lab: lab.delete_group("H")),
        ("group is empty", lambda lab: lab.create_group("")),
        (
            "was deleted before; resize makes it again",
            lambda lab: [lab.delete_topic("U"), lab.delete_topic("U")],
        ),
        (
            "has subscribe and assign; subscribe and assign exclude",
            lambda lab: lab.consumer("X", group="G", kind="lite", subscribe={"T": "*"}, assign={"T": [0]}),
        ),
        ("assign is for lite pull", lambda lab: lab.consumer("X", group="G", subscribe={"T": "*"}, assign={"T": [0]})),
    ],
)
def test_what_cannot_be_done_is_said(words, act):
    lab = Lab(topics={"T": 2, "U": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.consumer("L", group="G", subscribe={"T": "*"}, kind="lite")
    lab.consumer("M", group="G", kind="lite")
    lab.consumer("N", group="G", kind="lite", assign={"T": [0]})
    with pytest.raises(BadInput) as caught:
        act(lab)
    assert words in str(caught.value)
    assert "lab" not in str(caught.value).split()[0]


def everything():
    lab = pair()
    lab.consumer("L", group="H", kind="lite", assign={"T": [0]})
    lab.unsubscribe("A", "T")
    lab.assign("L", {"T": [1]})
    lab.run(seconds=3)
    lab.delete_topic("T")
    lab.create_group("J")
    lab.delete_group("G")
    lab.resize("T", 2)
    lab.run(seconds=30)
    return lab


def test_a_link_and_a_scenario_hold_all_of_it():
    lab = everything()
    link, scenario = Link.read(lab.link()), lab.scenario()
    lines = lab.finish().lines()
    assert link.run().lines() == lines
    assert parse_scenario(scenario.to_json()) == scenario
    assert Lab.from_scenario(scenario.to_builtins()).finish().lines() == lines


def test_a_picture_and_words_of_it():
    lab = everything()
    kinds = {"unsubscribed", "assigned", "topicDeleted", "groupCreated", "groupDeleted", "resized"}
    assert kinds <= {row.ev for row in lab.events()}
    for picture in (lab.timeline(), lab.grid()):
        assert picture.svg if hasattr(picture, "svg") else str(picture)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["life", "life-strict"])
def test_every_recorded_end_is_reached(golden, name):
    folder = golden / "broker-4.8.0" / name
    scenarios = [one for one in read_scenarios(folder / "scenarios.jsonl") if one.id.endswith(("-000", "-002"))]
    verdicts = {one.scenario_id: one.verdict for one in compare(folder, scenarios)}
    assert len(verdicts) >= 4
    assert set(verdicts.values()) <= {RecordedVerdict.SAME, RecordedVerdict.REACHED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scenario"),
    [("life", "l-assign-all-000"), ("life", "l-group-back-000"), ("life-strict", "s-back-000")],
)
def test_every_order_explored_contains_what_was_recorded(golden, name, scenario):
    folder = golden / "broker-4.8.0" / name
    recorded = Lab.from_recording(folder, scenario).outcome()
    settings = STRICT if name == "life-strict" else {}
    found = Lab.from_scenario(f"{folder / 'scenarios.jsonl'}#{scenario}", **settings).explore(budget=150, samples=0)
    assert recorded in [one.outcome for one in found.outcomes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("life", "l-topic-sent-000"), ("life", "l-topic-made-000"), ("life", "l-unsub-alone-000"),
        ("life", "l-unsub-lite-000"), ("life", "l-assign-beside-000"), ("life", "l-assign-change-000"),
        ("life", "l-group-runs-000"), ("life-strict", "s-group-000"), ("life-strict", "s-topic-000"),
    ],
)  # fmt: skip
def test_the_fates_are_those_of_the_recording(golden, name, scenario):
    folder = golden / "broker-4.8.0" / name
    settings = STRICT if name == "life-strict" else {}
    ours = Lab.from_scenario(f"{folder / 'scenarios.jsonl'}#{scenario}", **settings).finish()
    theirs = Lab.from_recording(folder, scenario)
    assert [(fate.body, fate.fate, fate.lost) for fate in ours.fates()] == [
        (fate.body, fate.fate, fate.lost) for fate in theirs.fates()
    ]
