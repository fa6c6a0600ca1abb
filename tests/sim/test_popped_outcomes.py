"""What real groups of 5.x got that pop is among what ours get: one stored run for each recorded outcome."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rmqlab.rules import RULES
from rmqlab.run.run import Outcome
from rmqlab.sim.cluster import cluster_of
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.deviations import deviations_of
from rmqlab_tools.search.explorer.timings import NETWORK_TIMING, NetworkChooser
from tests.proof.outcome_search import OutcomeSearch, PointsChooser, distance, end_of
from tests.proof.popped_outcomes import cell_of, reached, read_stored, recorded
from tests.sim.test_pop import group, run

SETS = {
    "broker-5.5.0/pop": 39, "broker-5.5.0/popslow": 17, "broker-5.5.0/grpc": 62, "broker-5.5.0/simple": 71,
    "broker-5.5.0/slow": 23, "broker-5.5.0/kv": 23, "broker-5.5.0/noprop": 18, "broker-5.3.3/pop": 17,
    "broker-5.3.3/grpc-small": 37,
}  # fmt: skip
# Lost of eight that come one every 2.5 s in blocks: what real groups lost, lowest and highest, by the kind of members.
BLOCKS = {"pop": (5, 7), "grpc": (6, 7), "simple": (4, 6)}


@pytest.mark.parametrize(("name", "scenarios"), SETS.items())
def test_every_recorded_outcome_is_that_of_a_stored_run(root, name, scenarios):
    stored = read_stored()
    verdicts = {recording.name: reached(recording, stored) for recording in recorded(root / "data" / "golden" / name)}
    assert len(verdicts) == scenarios
    assert [scenario for scenario, is_reached in verdicts.items() if not is_reached] == []


def test_every_stored_run_is_of_a_recorded_scenario(root):
    sets = {run.rpartition("/")[0] for run in read_stored()}
    names = {recording.name for name in sets for recording in recorded(root / "data" / "golden" / name)}
    assert read_stored().keys() <= names


@pytest.mark.parametrize(("kind", "range_of"), BLOCKS.items())
def test_slow_blocks_lose_what_real_groups_lost_and_nothing_else(root, kind, range_of):
    """Each recorded scenario of two subscriptions anew, with times as on a real network."""
    theirs, ours = set(), set()
    for name in ("broker-5.5.0/popslow", "broker-5.5.0/slow", "broker-5.3.3/grpc-small"):
        for recording in recorded(root / "data" / "golden" / name):
            cell, start = cell_of(recording.scenario.id), recording.scenario.steps[0]
            if not cell.endswith("-block") or "same" in cell or start.asks_as != kind:
                continue
            theirs.add(lost(recording.outcome))
            for seed in range(4):
                chooser = NetworkChooser(seed)
                run = simulate(recording.scenario, chooser=chooser, timing=NETWORK_TIMING, cluster=recording.cluster)
                ours.add(lost(run.outcome()))
    assert (min(theirs), max(theirs)) == (min(ours), max(ours)) == range_of


def lost(outcome):
    return 8 - len({body for _who, body, _times in outcome.consumed})


def test_a_search_finds_what_two_pops_at_once_bring_about(root):
    """A and B are both at work when the fifth message comes: with pops in one piece nobody gets what they got."""
    recordings = recorded(root / "data" / "golden" / "broker-5.5.0" / "pop")
    recording = next(recording for recording in recordings if recording.name.endswith("alt-002"))
    stored = read_stored()[recording.name]
    assert any(label.startswith("pop ") for label, _nth in stored)
    whole = {key: option for key, option in stored.items() if not key[0].startswith("pop ")}
    assert distance(end_of(recording.scenario, stored, recording.cluster), recording.outcome) == 0
    assert distance(end_of(recording.scenario, whole, recording.cluster), recording.outcome) > 0


def test_a_search_keeps_only_choices_that_are_needed():
    scenario, cluster = group("pop", "AB", every=0), cluster_of({}, RULES["5.5.0"])
    usual = end_of(scenario, {}, cluster)
    drawn = (run(scenario, seed=seed).outcome() for seed in range(60))
    wanted = next(outcome for outcome in drawn if outcome.consumed != usual.consumed)
    choices = OutcomeSearch(scenario, wanted, cluster).find(budget=400)
    assert choices is not None
    assert end_of(scenario, choices, cluster) == wanted
    for key in choices:
        fewer = {other: option for other, option in choices.items() if other != key}
        assert end_of(scenario, fewer, cluster) != wanted


def test_choices_go_by_label_and_count():
    chooser = PointsChooser({("a", 1): 2, ("b", 0): 7})
    assert [chooser.choose(label, 3) for label in ("a", "b", "a", "a")] == [0, 0, 2, 0]
    assert deviations_of(SimpleNamespace(choices=chooser.made)) == {("a", 1): 2}
    assert [(point.label, point.nth, point.options) for point in chooser.points] == [
        ("a", 0, 3), ("b", 0, 3), ("a", 1, 3), ("a", 2, 3),
    ]  # fmt: skip


def test_a_distance_counts_messages_and_offsets():
    ours = Outcome((("A", "m", 1), ("B", "n", 2)), (("G", "T/0", 1),))
    theirs = Outcome((("A", "m", 1), ("A", "n", 1)), (("G", "T/0", 2),))
    assert (distance(ours, ours), distance(ours, theirs)) == (0, 4)


def test_a_message_that_was_not_stored_is_not_sent(root):
    """The real broker refused the sixth one of this recording: it was busy."""
    scenarios = (recording.scenario for recording in recorded(root / "data" / "golden" / "broker-5.5.0" / "grpc"))
    sent = {
        scenario.id: [message.body for step in scenario.steps for message in getattr(step, "messages", ())]
        for scenario in scenarios
    }
    assert sent["g5-grpcretry-burst-010"] == [f"MsgStr{number}" for number in range(5)]
