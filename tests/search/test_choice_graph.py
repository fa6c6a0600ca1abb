"""The graph of choices: exact shares and numbers of schedules, against counting every path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab_tools.search.explorer.choice_graph import ChoiceGraph


def graph_of(*targets):
    graph = ChoiceGraph()
    for number, options in enumerate(targets):
        graph.add(f"choice {number}", len(options))
    graph.lead(None, 0 if targets else -1)
    for number, options in enumerate(targets):
        for option, target in enumerate(options):
            graph.lead((number, option), target)
    return graph


def test_states_that_meet_again_count_once_and_their_paths_twice():
    graph = graph_of([1, 2], [3, -1], [3, 3], [-1, -2])
    assert graph.complete
    assert graph.schedules() == {0: 4, 1: 3}
    assert graph.shares() == {0: pytest.approx(0.25 + 0.375), 1: pytest.approx(0.375)}


def test_a_run_without_a_choice_is_one_schedule():
    graph = graph_of()
    assert graph.schedules() == {0: 1}
    assert graph.shares() == {0: 1.0}


def test_an_option_that_nobody_took_leaves_it_incomplete():
    graph = ChoiceGraph()
    graph.lead(None, graph.add("first", 2))
    graph.lead((0, 0), -1)
    assert not graph.complete
    graph.lead((0, 1), -2)
    assert graph.complete


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 7))
    target = [st.integers(-3, -1) | st.integers(number + 1, size - 1) if number + 1 < size else st.integers(-3, -1)
              for number in range(size)]  # fmt: skip
    return [draw(st.lists(target[number], min_size=1, max_size=3)) for number in range(size)]


@given(graphs())
def test_shares_and_schedules_are_those_of_walking_every_path(targets):
    def walk(target, weight):
        if target < 0:
            yield -1 - target, weight
            return
        for one in targets[target]:
            yield from walk(one, weight / len(targets[target]))

    paths = list(walk(0, 1.0))
    graph = graph_of(*targets)
    counted, weighed = {}, {}
    for ending, weight in paths:
        counted[ending] = counted.get(ending, 0) + 1
        weighed[ending] = weighed.get(ending, 0) + weight
    assert graph.schedules() == counted
    assert graph.shares() == {ending: pytest.approx(weight) for ending, weight in weighed.items()}
