"""Every outcome of the shortest scenario in which the line of waiters loses messages, and of the rule that mends it."""

from __future__ import annotations

import json

import pytest

from rmqlab import RULES
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.sim.cluster import cluster_of
from rmqlab_tools.search.explorer.explore import Explorer

BUDGET = 400


def explored(root, rules, *, kind="grpc", vary=()):
    """What an exploration finds of the eight messages in blocks, one every 2.5 s, to two members of this kind."""
    fields = json.loads((root / "data" / "pop" / "slow_in_blocks.jsonl").read_text())
    for step in fields["steps"][:2]:
        step["kind"] = kind
    scenario = parse_scenario(json.dumps(fields))
    return Explorer(scenario, budget=BUDGET, samples=0, vary=vary, cluster=cluster_of({}, rules)).explore()


def lost_in(exploration):
    return {sum(fate.lost for fate in outcome.run.fates) for outcome in exploration.outcomes}


def test_slow_blocks_over_grpc_lose_five_or_more_in_every_order_and_every_phase(root):
    exploration = explored(root, RULES["5.5.0"], vary=("start",))
    assert exploration.exhausted
    assert len(exploration.outcomes) > 2
    assert lost_in(exploration) <= {5, 6, 7}


@pytest.mark.parametrize("kind", ["pop", "grpc"])
def test_asking_every_waiter_loses_none_in_every_order(root, kind):
    asks_all = RULES["5.5.0"].replace(waiter_to_wake=lambda waiters, wants: next(filter(wants, waiters), None))
    exploration = explored(root, asks_all, kind=kind)
    assert exploration.exhausted
    assert lost_in(exploration) == {0}


def test_slow_blocks_by_pop_lose_most_in_every_order(root):
    exploration = explored(root, RULES["5.5.0"], kind="pop")
    assert exploration.exhausted
    assert lost_in(exploration) <= {5, 6, 7}
