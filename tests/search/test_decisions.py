"""Which choices decide: what changes nothing is left out, equal odds go together, shares add up."""

from __future__ import annotations

import pytest

from rmqlab_tools.search.explorer.choice_graph import ChoiceGraph, decisions
from rmqlab_tools.search.explorer.explore import Explorer
from tests.search.explored_models import ONE, TWO_ON_TWO_QUEUES

pytestmark = pytest.mark.slow


def graph(root, *nodes):
    made = ChoiceGraph()
    for label, targets in nodes:
        number = made.add(label, len(targets))
        for option, target in enumerate(targets):
            made.lead((number, option), target)
    made.root = root
    return made


def walk(place):
    yield place
    for branch in place.branches:
        yield from walk(branch)


def test_a_choice_that_changes_nothing_is_left_out():
    idle = graph(0, ("a | b", [1, 1]), ("c | d", [-1, -2]))
    tree = decisions(idle, ["x", "y"], ["x", "y"])
    assert tree.odds == {0: 0.5, 1: 0.5}
    assert [(branch.made, branch.share, list(branch.odds)) for branch in tree.branches] == [
        (("c",), 0.5, [0]),
        (("d",), 0.5, [1]),
    ]


def test_options_with_the_same_odds_go_together():
    tree = decisions(graph(0, ("a | b | c", [-1, -2, -1])), ["x", "y"], ["y", "x"])
    assert [(branch.made, round(branch.share, 3), list(branch.odds)) for branch in tree.branches] == [
        (("a", "c"), 0.667, [1]), (("b",), 0.333, [0]),
    ]  # fmt: skip
    assert tree.as_json()["branches"][0]["made"] == ["a", "c"]


def test_one_outcome_needs_no_tree():
    tree = decisions(graph(-1), ["x"], ["x"])
    assert (tree.odds, tree.branches) == ({0: 1.0}, ())


@pytest.mark.row("S-84")
def test_two_members_race_from_the_first_frame_on():
    found = Explorer(TWO_ON_TWO_QUEUES, samples=2).explore()
    tree = found.decisions
    assert tree.odds == {number: pytest.approx(one.share) for number, one in enumerate(found.outcomes)}
    for place in walk(tree):
        assert sum(place.odds.values()) == pytest.approx(1)
        if place.branches:
            assert sum(branch.share for branch in place.branches) == pytest.approx(place.share)
            for number, share in place.odds.items():
                mixed = sum(branch.share * branch.odds.get(number, 0) for branch in place.branches)
                assert mixed == pytest.approx(share * place.share)
    assert all(text[0] in "AB" for place in walk(tree) for text in place.made)


def test_a_scenario_without_a_race_has_one_decided_place():
    assert Explorer(ONE, samples=2).explore().decisions.odds == {0: pytest.approx(1)}
