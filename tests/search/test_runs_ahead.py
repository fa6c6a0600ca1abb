"""Runs made ahead by helpers: the graph of a search grows as without them."""

from __future__ import annotations

from operator import methodcaller
from time import monotonic, sleep

import pytest

from rmqlab.sim.cluster import default_settings
from rmqlab_tools.search.explorer import open_search, runs_ahead
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.open_search import OpenSearch
from rmqlab_tools.search.explorer.path_runs import run_path
from rmqlab_tools.search.explorer.properties import PropertyKind, RunProperty, no_loss
from tests.search.explored_models import TWO_ON_ONE_QUEUE

OUTCOME = methodcaller("outcome")
LONGEST_S = 60


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Helpers at once, two of them, a path or two at a time."""
    monkeypatch.setattr(open_search, "ALONE", 1)
    monkeypatch.setattr(runs_ahead, "TOGETHER", 2)
    for module in (open_search, runs_ahead):
        monkeypatch.setattr(module, "processors", lambda: 2)


def searched(key_of=OUTCOME, *, runs=1_000, **more):
    search = OpenSearch(TWO_ON_ONE_QUEUE, key_of, cluster=default_settings(), **more)
    while not search.exhausted and search.runs < runs:
        search.step(1_000)
    return search


def grown(search):
    """All that a search has found."""
    nodes = [(node.label, node.targets) for node in search.graph.nodes]
    endings = [(run.schedule.to_json(), run.lines()) for run in search.endings]
    return search.graph.root, nodes, search.graph.merged, search.runs, search.exhausted, endings


FEW = 20


@pytest.fixture(scope="module")
def alone():
    return grown(searched(runs=FEW))


def test_helpers_make_the_same_graph(monkeypatch):
    made = []
    monkeypatch.setattr(open_search, "run_path", lambda *what: made.append(what) or run_path(*what))
    search = searched(runs=3, helpers=True)
    deadline = monotonic() + LONGEST_S
    while not all(line.is_ready for line in search._helpers._lines) and monotonic() < deadline:
        sleep(0.01)
    while not search.exhausted:
        search.step(1_000)
    search.close()
    assert len(made) < search.runs / 2
    assert grown(search) == grown(searched())


def test_a_key_that_cannot_be_sent_is_made_here(alone):
    search = searched(lambda run: run.outcome(), runs=FEW, helpers=True)
    search.close()
    assert grown(search) == alone


def test_a_run_given_up_at_a_state_that_is_not_known_is_made_again(alone, monkeypatch):
    """A helper may have met a state on a way that the search never took."""

    class GivesUp:
        def __init__(self, space, _states):
            self._space = space

        def result(self, waiting, _most):
            return run_path(self._space, waiting[0].path, _Everything())

    class _Everything:
        def __contains__(self, _digest):
            return True

    monkeypatch.setattr(open_search, "RunsAhead", GivesUp)
    assert grown(searched(runs=FEW, helpers=True)) == alone


def test_only_properties_of_ours_are_sent():
    mine = RunProperty(PropertyKind.ALWAYS, "mine", lambda _run: None)
    ours = RunProperty(PropertyKind.ALWAYS, "ours", no_loss)
    settings = default_settings()
    assert Explorer(TWO_ON_ONE_QUEUE, cluster=settings, helpers=True)._helpers
    assert Explorer(TWO_ON_ONE_QUEUE, cluster=settings, properties=[ours], helpers=True)._helpers
    assert not Explorer(TWO_ON_ONE_QUEUE, cluster=settings, properties=[ours, mine], helpers=True)._helpers
