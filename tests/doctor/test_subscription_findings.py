"""What the doctor says of what members ask for: by meaning, never by text."""

from __future__ import annotations

import json
import shlex

import pytest

from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import Certainty, State
from rmqlab_tools.doctor.history import SnapshotHistory
from rmqlab_tools.search.plan.planner import plan
from rmqlab_tools.search.plan.procedures import Setting
from tests.doctor.conftest import NOW, STARTED, M, finding, kinds, look


@pytest.mark.row("S-07", "S-08", "S-35")
def test_members_with_two_tags_are_found():
    found = diagnose(look([M("A", {"T": "tagA"}), M("B", {"T": "tagB"}, version=STARTED + 1)]))
    one = finding(found, "different_subscriptions")
    assert (one.state, one.certainty, one.topic) == (State.AT_RISK, Certainty.PROVED, "T")
    assert "A asks for TAG 'tagA'; B asks for TAG 'tagB'" in one.says
    assert "broker-a filters by TAG 'tagB', as B asked" in one.says
    by_tag = {example["message"]["TAGS"]: example for example in one.evidence["examples"]}
    assert by_tag["tagA"]["lost"] == 4, "the slot is B's, so tagA goes out to nobody"
    assert by_tag["tagB"]["lost"] == 2, "A's own check drops it in A's queues"
    assert found.status == 3


def test_members_that_differ_about_a_topic_without_queues():
    found = diagnose(look([M("A", {"T": "tagA"}, queues=[]), M("B", {"T": "tagB"}, queues=[])], queues=0))
    assert {"different_subscriptions", "no_readable_queues"} <= kinds(found)


@pytest.mark.row("S-10")
@pytest.mark.parametrize(
    ("first", "second"),
    [("tagA||tagB", "tagB || tagA"), ("tagA", "SQL92:TAGS = 'tagA'"), ("SQL92:a > 3", "SQL92:3 < a")],
)
def test_the_same_by_meaning_is_healthy(first, second):
    assert "different_subscriptions" not in kinds(diagnose(look([M("A", {"T": first}), M("B", {"T": second})])))


@pytest.mark.row("S-08")
def test_what_cannot_be_decided_stays_unknown():
    found = diagnose(look([M("A", {"T": "SQL92:a > b"}), M("B", {"T": "SQL92:b < a"})]))
    one = finding(found, "undecided_subscriptions")
    assert (one.state, one.certainty) == (State.UNKNOWN, Certainty.UNKNOWN)
    assert "different_subscriptions" not in kinds(found)


def test_the_advice_is_a_command_that_runs_with_the_group_s_numbers():
    one = finding(
        diagnose(look([M("A", {"T": "tagA"}), M("B", {"T": "SQL92:a > 3"}, version=STARTED + 1)])),
        "different_subscriptions",
    )
    planned = one.evidence["plan"]
    assert planned["command"] in one.advice
    assert shlex.split(planned["command"])[:4] == ["rmqlab", "plan", "tagA", "SQL92:a > 3"]
    setting = Setting(planned["members"], planned["queues"])
    assert setting == Setting(2, 4)
    assert plan(planned["old"], planned["new"], setting=setting, budget=1, procedures=["new-group"]).tried


@pytest.mark.row("S-03", "S-09", "S-92", "S-93")
def test_members_of_different_topics():
    found = diagnose(look([M("A", {"T": "*"}), M("B", {"U": "*"}, version=STARTED + 1)], topics=("T", "U")))
    every = [one for group in found.groups for one in group.findings]
    told = {one.topic: one for one in every if one.kind == "different_topics"}
    assert {topic: (one.certainty, one.evidence["unowned"]) for topic, one in told.items()} == {
        "T": (Certainty.PROVED, 2),
        "U": (Certainty.PROVED, 2),
    }
    held = next(one for one in every if one.kind == "topic_not_held")
    assert (held.topic, held.certainty) == ("T", Certainty.IMPLIED), "B's heartbeat took it out of the table"


@pytest.mark.row("S-76", "S-77")
def test_flips_are_at_least_what_was_seen():
    pair = [M("A", {"T": "tagA"}), M("B", {"T": "tagB"}, version=STARTED + 1)]
    found = diagnose(look(pair), look(pair, slot="A"))
    one = finding(found, "different_subscriptions")
    assert one.evidence["flips"] == {"seen": 1, "looks": 2, "per_minute": None}
    assert "changed at least 1 time in 2 looks" in one.says

    history = SnapshotHistory()
    for number, slot in enumerate("ABA"):
        history.saw(look(pair, slot=slot, at=NOW + number * 30_000))
    one = finding(diagnose(look(pair), history=history), "different_subscriptions")
    assert one.evidence["flips"] == {"seen": 2, "looks": 3, "per_minute": 2.0}


@pytest.mark.row("S-66")
def test_a_broker_that_holds_an_older_version_refuses():
    pair = [M("A", version=STARTED + 5), M("B", version=STARTED)]
    seen = look(pair, slot="B")
    assert finding(diagnose(seen), "slot_older").certainty is Certainty.IMPLIED
    assert finding(diagnose(seen, look(pair, slot="B", at=NOW - 31_000)), "slot_older").certainty is Certainty.PROVED
    assert "slot_older" not in kinds(diagnose(look([M("A", version=NOW - 1_000), M("B")], slot="B"))), "a beat is due"
    assert "slot_older" not in kinds(diagnose(look(pair, slot="A"))), "an older one is served in silence"


@pytest.mark.row("S-06", "S-90")
def test_broadcasting_members_that_post_their_own_lose_nothing():
    pair = [
        M("A", {"T": "tagA"}, mode="BROADCASTING", properties={"postSubscriptionWhenPull": "true"}),
        M("B", {"T": "tagB"}, mode="BROADCASTING", properties={"postSubscriptionWhenPull": "true"}),
    ]
    assert finding(diagnose(look(pair)), "different_subscriptions").state is State.NOTE


@pytest.mark.row("S-08", "F-52")
def test_tag_and_sql92_of_one_meaning_are_no_fault():
    pair = [M("A", {"T": "tagA"}), M("B", {"T": "SQL92:TAGS = 'tagA'"})]
    assert diagnose(look(pair, settings={"enablePropertyFilter": "true"})).groups[0].state is State.HEALTHY


def test_the_text_has_the_worst_first_and_the_healthy_together():
    seen = look([M("A", {"T": "tagA"}), M("B", {"T": "tagB"})])
    for name in ("H1", "H2"):
        seen.groups[name] = look([M(f"{name}-A")], group=name).groups[name]
    found = diagnose(seen)
    first, second, *_, last = found.lines()
    assert (first, last) == ("G: at risk, 2 members", "healthy: H1, H2")
    assert second.startswith("  T: A asks for TAG 'tagA'; B asks for TAG 'tagB'; A wants a message with the tag tagA")
    assert json.loads(json.dumps(found.as_json()))["groups"][0]["findings"][0]["kind"] == "different_subscriptions"
    assert repr(found) == "\n".join(found.lines())
    assert "different_subscriptions" in found._repr_html_()


@pytest.mark.row("S-90")
def test_what_a_broker_holds_is_no_matter_to_pulls_that_carry_their_own():
    lite = [M("A", kind="CONSUME_ACTIVELY", version=NOW - 60_000), M("B", kind="CONSUME_ACTIVELY")]
    seen = look(lite, slot="B")
    assert kinds(diagnose(seen)) == set(), "an older slot refuses none of them"
    seen.groups["G"].slots["broker-a"].subscription_table.clear()
    assert kinds(diagnose(seen)) == set()


def test_the_plan_leads_to_what_the_member_that_started_last_asks_for():
    old = M("A", {"T": "tagA"}, version=NOW - 1_000, started=NOW - 9_000_000)  # a rebalance stamped it anew
    new = M("B", {"T": "tagA||tagB"}, version=NOW - 60_000, started=NOW - 60_000)
    plan = finding(diagnose(look([old, new])), "different_subscriptions").evidence["plan"]
    assert (plan["old"], plan["new"]) == ("tagA", "tagA||tagB")
