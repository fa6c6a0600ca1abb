"""What real groups of 5.x got that pop is among what ours get: one stored run for each recorded outcome."""

from __future__ import annotations

import pytest

from rmqlab.rules import RULES
from rmqlab.run.run import Outcome
from rmqlab.sim.cluster import cluster_of
from tests.proof.outcome_search import ChosenByLabel, OutcomeSearch, chosen, distance, end_of
from tests.proof.popped_outcomes import NOT_REACHED, cell_of, reached, read_stored, recorded
from tests.sim.test_pop import group, run

SETS = {"broker-5.5.0/pop": 39, "broker-5.5.0/simple": 71}


@pytest.mark.parametrize(("name", "scenarios"), SETS.items())
def test_every_recorded_outcome_is_that_of_a_stored_run(root, name, scenarios):
    stored = read_stored()
    verdicts = {one.name: reached(one, stored) for one in recorded(root / "data" / "golden" / name)}
    assert len(verdicts) == scenarios
    assert {name for name, is_reached in verdicts.items() if not is_reached} == {
        known for known in NOT_REACHED if known.startswith(f"{name}/")
    }


def test_every_stored_run_is_of_a_recorded_scenario(root):
    sets = {run.rpartition("/")[0] for run in read_stored()}
    names = {one.name for name in sets for one in recorded(root / "data" / "golden" / name)}
    assert read_stored().keys() <= names


def test_slow_blocks_of_real_groups_lost_five_to_seven(root):
    lost = [
        8 - len({body for _who, body, _times in one.outcome.consumed})
        for one in recorded(root / "data" / "golden" / "broker-5.5.0" / "popslow")
        if cell_of(one.scenario.id) == "poptag-block"
    ]
    assert sorted(lost) == [5, 5, 6, 6, 7, 7]


def test_a_search_finds_what_two_pops_at_once_bring_about(root):
    """A and B are both at work when the fifth message comes: with pops in one piece nobody gets what they got."""
    one = next(
        one for one in recorded(root / "data" / "golden" / "broker-5.5.0" / "pop") if one.name.endswith("alt-002")
    )
    stored = read_stored()[one.name]
    assert any(label.startswith("pop ") for label, _nth in stored)
    whole = {key: option for key, option in stored.items() if not key[0].startswith("pop ")}
    assert distance(end_of(one.scenario, stored, one.cluster), one.outcome) == 0
    assert distance(end_of(one.scenario, whole, one.cluster), one.outcome) > 0


def test_a_search_keeps_only_choices_that_are_needed():
    scenario, cluster = group("pop", "AB", every=0), cluster_of({}, RULES["5.5.0"])
    usual = end_of(scenario, {}, cluster)
    drawn = (run(scenario, seed=seed).outcome() for seed in range(60))
    wanted = next(outcome for outcome in drawn if outcome.consumed != usual.consumed)
    found = OutcomeSearch(scenario, wanted, cluster).find(budget=400)
    assert found is not None
    assert end_of(scenario, found, cluster) == wanted
    for key in found:
        fewer = {other: option for other, option in found.items() if other != key}
        assert end_of(scenario, fewer, cluster) != wanted


def test_choices_go_by_label_and_count():
    chooser = ChosenByLabel({("a", 1): 2, ("b", 0): 7})
    assert [chooser.choose(label, 3) for label in ("a", "b", "a", "a")] == [0, 0, 2, 0]
    assert chosen(chooser) == {("a", 1): 2}


def test_a_distance_counts_messages_and_offsets():
    ours = Outcome((("A", "m", 1), ("B", "n", 2)), (("G", "T/0", 1),))
    theirs = Outcome((("A", "m", 1), ("A", "n", 1)), (("G", "T/0", 2),))
    assert (distance(ours, ours), distance(ours, theirs)) == (0, 4)


def test_a_message_that_was_not_stored_is_not_sent(root):
    """The real broker refused the sixth one of this recording: it was busy."""
    sent = {
        one.scenario.id: [message.body for step in one.scenario.steps for message in getattr(step, "messages", ())]
        for one in recorded(root / "data" / "golden" / "broker-5.5.0" / "grpc")
    }
    assert sent["g5-grpcretry-burst-010"] == [f"MsgStr{number}" for number in range(5)]
