"""Rules that every run obeys; each broken laboratory breaks exactly the one named for it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.lab.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab.lab.run_view import RunView
from rmqlab.lab.scenario import read_scenarios
from rmqlab.lab.simulate import simulate
from rmqlab.lessons.checks_01 import hunted
from rmqlab.lessons.mutants import broken as broken_rules
from rmqlab.search.explorer.invariants import INVARIANTS, violations

pytestmark = pytest.mark.slow

PIDS = st.lists(st.integers(1, 99_999), min_size=2, max_size=2, unique=True)
BREAKS = {
    "amber": "client-checks-its-own-tags",
    "basalt": "older-version-is-ignored",
    "coral": "offsets-move-past-dropped-messages",
    "dune": "newer-slot-serves-everybody",
    "ember": "client-ids-decide-ownership",
    "flint": "broker-compares-tag-codes",
    "garnet": "queue-change-stamps-anew",
    "hazel": "equal-version-keeps-the-slot",
    "iris": "new-tags-notify-nobody",
    "jade": "next-offset-passes-dropped-entries",
}
TAGS = st.sampled_from(["tagA", "tagB", "tagA || tagB", "tagB||tagA", "*", "tagC", "Aa"])


@settings(max_examples=40)
@given(
    order=st.permutations("AB"),
    gap=st.sampled_from([0, 1, 7, 200, 3_000, 31_000, 60_000]),
    pids=PIDS,
    queues=st.integers(1, 9),
    tags=st.tuples(TAGS, TAGS),
    messages=st.lists(st.sampled_from(["tagA", "tagB", "tagC", "Aa", "BB"]), min_size=1, max_size=12),
    first_queue=st.integers(0, 8),
    skew=st.sampled_from([0, -3_600_000, -5, 5, 3_600_000]),
    seed=st.none() | st.integers(1, 99),
)
@pytest.mark.row("S-32", "S-51", "S-66", "S-77", "S-78", "S-82", "S-83", "S-84")
def test_every_run_obeys_every_rule(order, gap, pids, queues, tags, messages, first_queue, skew, seed):
    experiment = EightMessages(
        start_order=order,
        gap_ms=gap,
        client_ids={who: f"{CLIENT_IP}@{pid}" for who, pid in zip("AB", pids, strict=True)},
        queues=queues,
        tags=dict(zip("AB", tags, strict=True)),
        sending_order=messages,
        first_queue=first_queue,
        skew_ms={"A": skew},
        seed=seed,
    )
    assert violations(RunView(experiment.run())) == {}


def test_every_recorded_scenario_obeys_every_rule(golden):
    scenarios = read_scenarios(golden / "broker-4.8.0" / "base" / "scenarios.jsonl")
    broken = {scenario.id: violations(RunView(simulate(scenario))) for scenario in scenarios}
    assert len(broken) == 73
    assert {name: found for name, found in broken.items() if found} == {}


def test_sound_laboratory_is_sound():
    assert violations(RunView(hunted())) == {}


@pytest.mark.parametrize(("name", "invariant"), BREAKS.items())
def test_mutant_is_killed_by_exactly_its_invariant(name, invariant):
    broken = violations(RunView(hunted(broken_rules(name))))
    assert list(broken) == [invariant]
    assert all(violation.text and violation.facts for violation in broken[invariant])


def test_every_invariant_has_its_mutant():
    assert sorted(BREAKS.values()) == sorted(INVARIANTS)


def test_a_wrong_rule_leaves_the_sound_ones_alone():
    sound = hunted().lines()
    hunted(broken_rules("amber"))
    assert hunted().lines() == sound


def test_unknown_mutant_is_named():
    with pytest.raises(BadInput, match="'mica'; there are: amber, basalt"):
        broken_rules("mica")
