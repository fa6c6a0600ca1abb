"""Members that do not answer, are not everywhere, or have other modes, versions and clocks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_struct

from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import Certainty, State
from rmqlab_tools.doctor.snapshot import Unanswered
from tests.doctor.conftest import NOW, STARTED, M, finding, kinds, look

HOUR = 3_600_000


@pytest.mark.row("H-41", "H-42")
def test_a_java_member_that_does_not_answer():
    pair = [M("A"), M("B", silent=True)]
    one = finding(diagnose(look(pair)), "silent_member")
    assert (one.state, one.certainty) == (State.AT_RISK, Certainty.IMPLIED)
    assert "at most 130 s after its last heartbeat" in one.says
    later = finding(diagnose(look(pair), look(pair, at=NOW - 140_000)), "silent_member")
    assert "its heartbeats come, but it does not answer" in later.says


@pytest.mark.row("S-94")
def test_members_that_cannot_answer_leave_it_unknown():
    cpp = [M("A", silent=True, language="CPP"), M("B", silent=True, language="CPP")]
    found = diagnose(look(cpp))
    one = finding(found, "unknown_subscriptions")
    assert (one.state, one.certainty, found.status) == (State.UNKNOWN, Certainty.UNKNOWN, 4)
    assert "TAG 'tagA'" in one.says, "what the broker holds is said"
    assert "silent_member" not in kinds(found)
    alone = diagnose(look(cpp[:1]))
    assert (finding(alone, "heartbeat_table_only").state, alone.status) == (State.NOTE, 0)


def test_a_group_without_members():
    seen = look([M("A")], end=110)
    seen.groups["G"].members.clear()
    seen.groups["G"].slots.clear()
    one = finding(diagnose(seen), "no_members")
    assert (one.state, one.evidence["waiting"]) == (State.NOTE, 40)
    assert finding(diagnose(seen, look([M("A")])), "no_members").state is State.AT_RISK, "they were there a look ago"


@pytest.mark.row("H-21", "H-25")
def test_a_member_that_one_broker_does_not_list():
    pair = [M("A"), M("B", brokers=("broker-a",))]
    brokers = ("broker-a", "broker-b")
    seen = look(pair, brokers=brokers)
    one = finding(diagnose(seen), "not_at_every_broker")
    assert (one.certainty, one.evidence) == (Certainty.IMPLIED, {"broker": "broker-b", "missing": ["B"]})
    twice = finding(diagnose(seen, look(pair, brokers=brokers)), "not_at_every_broker")
    assert twice.certainty is Certainty.PROVED
    seen.topics["T"] = [queue for queue in seen.topics["T"] if queue.broker_name == "broker-a"]
    assert "not_at_every_broker" not in kinds(diagnose(seen)), "it need not beat where it has no topic"


@pytest.mark.row("S-04", "H-07", "H-09", "H-37")
@pytest.mark.parametrize(
    ("change", "kind", "state"),
    [
        ({"mode": "BROADCASTING"}, "different_models", State.AT_RISK),
        ({"kind": "CONSUME_ACTIVELY"}, "different_consume_types", State.AT_RISK),
        ({"properties": {"consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET"}}, "different_start", State.NOTE),
        ({"runs": "V4_9_4"}, "versions_differ", State.NOTE),
    ],
)
def test_members_of_different_settings(change, kind, state):
    one = finding(diagnose(look([M("A"), replace(M("B"), **change)])), kind)
    assert (one.state, one.certainty) == (state, Certainty.PROVED)


@pytest.mark.row("S-30", "S-84", "S-86")
def test_a_clock_that_is_ahead():
    one = finding(diagnose(look([M("A", last_pull=NOW + HOUR), M("B")])), "clock_differs")
    assert (one.state, one.certainty, one.evidence["member"]) == (State.AT_RISK, Certainty.PROVED, "A")
    small = finding(diagnose(look([M("A", last_pull=NOW + 3_000), M("B")])), "clock_differs")
    assert small.state is State.NOTE, "less than a heartbeat"
    behind = finding(diagnose(look([M("A", last_pull=NOW - HOUR), M("B")])), "clock_or_pulls")
    assert behind.certainty is Certainty.IMPLIED, "it may as well have stopped to pull"


@pytest.mark.row("S-78", "S-86")
def test_a_version_of_the_future():
    seen = look([M("A", version=NOW + HOUR), M("B")])
    one = finding(diagnose(seen), "version_in_future")
    assert (one.state, one.certainty, one.evidence["of"]) == (State.AT_RISK, Certainty.IMPLIED, ["A"])
    told = {"bootTimestamp": str(NOW - 90_061_000), "runtime": "[ 1 days, 1 hours, 1 minutes, 1 seconds ]"}
    seen.brokers["broker-a"] = replace(seen.brokers["broker-a"], runtime=told)
    found = diagnose(seen)
    assert finding(found, "version_in_future").certainty is Certainty.PROVED, "by the broker's clock too"
    assert "clock_differs" not in {cluster.kind for cluster in found.cluster}
    told["bootTimestamp"] = str(NOW - 90_061_000 + 2 * HOUR)
    found = diagnose(seen)
    assert finding(found, "version_in_future").certainty is Certainty.IMPLIED, "perhaps this machine's clock is wrong"
    assert [cluster.kind for cluster in found.cluster] == ["clock_differs"]


def test_versions_of_the_past_are_sane():
    assert kinds(diagnose(look([M("A", version=NOW), M("B", version=STARTED)]))) == set()


@pytest.mark.row("F-31", "S-90")
def test_a_cpp_client_alone_is_not_accused():
    """Real ones post their subscription, send the code 0 for every tag, and times that were never set."""
    seen = look([M("A", language="CPP", last_pull=3_547_185_475_665_092_976)])
    seen.groups["G"].slots["broker-a"].subscription_table["T"].code_set = {0}
    found = diagnose(seen)
    assert finding(found, "wrong_codes").state is State.NOTE
    assert found.status == 0
    mixed = look([M("A", language="CPP"), M("B", version=STARTED - 1)])
    mixed.groups["G"].slots["broker-a"].subscription_table["T"].code_set = {0}
    assert finding(diagnose(mixed), "wrong_codes").evidence["members"] == ["B"], "it is filtered by those codes"


def test_two_processes_with_one_client_id():
    seen, before = look([M("A"), M("B")]), look([M("A"), M("B")])
    for one in (seen, before):
        listed = one.groups["G"].slots["broker-a"].connection_set
        listed.append(replace_struct(listed[0], client_addr="10.0.0.2:7"))
    first = finding(diagnose(seen), "same_client_id")
    assert (first.state, first.certainty) == (State.AT_RISK, Certainty.IMPLIED), "one may just have reconnected"
    assert first.evidence == {"member": "A", "addresses": ["10.0.0.1:1", "10.0.0.2:7"]}
    assert finding(diagnose(seen, before), "same_client_id").certainty is Certainty.PROVED


def test_a_broker_that_does_not_answer_takes_no_members_away():
    seen = look([M("A")], end=110)
    seen.unanswered.append(Unanswered("10.0.0.9:10911", 0, "", "no connection"))
    group = seen.groups["G"]
    group.members.clear()
    group.slots.clear()
    assert kinds(diagnose(seen, look([M("A")]))) == set()
    group.offsets.clear()
    found = diagnose(seen, look([M("A")]))
    assert (kinds(found), found.groups[0].state) == ({"group_unknown"}, State.UNKNOWN)
