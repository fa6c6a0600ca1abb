"""Work beside other work: the same answers, errors and nothing left over."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from rmqlab_tools import beside as module
from rmqlab_tools.beside import Beside
from rmqlab_tools.course.articles.experiments import Experiment, chosen, read_manifest, reproduce, reproduced

OURS = os.getpid()


def fail():
    raise ValueError(f"of {os.getpid() == OURS}")


def die():
    """In a fork it ends; here it answers."""
    if os.getpid() != OURS:
        os._exit(0)
    return "here"


@pytest.fixture(params=[True, False], ids=["forked", "here"])
def forks(request, monkeypatch):
    monkeypatch.setattr(module, "_is_safe", lambda: request.param)
    return request.param


def test_the_answer_is_the_calls_and_only_a_fork_makes_it_elsewhere(forks):
    assert (Beside(os.getpid).result() != os.getpid()) is forks
    assert len(Beside(lambda: "x" * 1_000_000).result()) == 1_000_000


def test_an_error_is_raised_here_and_a_fork_that_ends_early_is_made_up_for(forks):
    with pytest.raises(ValueError, match="of True"):
        Beside(fail).result()
    assert Beside(die).result() == "here"
    assert Beside(lambda: lambda: "no pickle takes this").result()() == "no pickle takes this"


def test_what_nobody_asks_for_is_ended(forks):
    work = Beside(partial(threading.Event().wait, 600)) if forks else Beside(die)
    number = work._number
    work.end()
    work.end()
    assert bool(number) is forks
    if number:
        with pytest.raises(ChildProcessError):
            os.waitpid(number, 0)


def test_with_other_threads_nothing_is_forked():
    go_on = threading.Event()
    other = threading.Thread(target=go_on.wait)
    other.start()
    try:
        assert not module._is_safe()
    finally:
        go_on.set()
        other.join()


def test_experiments_are_the_same_beside_each_other_and_in_their_order(forks):
    wanted = chosen(["E1race", "E2e", "E7"], read_manifest())
    results = list(reproduced(wanted))
    assert [result.as_json() for result in results] == [reproduce(experiment).as_json() for experiment in wanted]
    assert [result.experiment.id for result in results] == ["E1race", "E2e", "E7"]


def test_runs_that_a_process_took_and_did_not_bring_are_made_here(monkeypatch):
    here, seeded = os.getpid(), Experiment.seeded
    monkeypatch.setattr(Experiment, "seeded", lambda *of: seeded(*of) if os.getpid() == here else os._exit(1))
    wanted = chosen(["E1race", "E7"], read_manifest())
    assert [result.as_json() for result in reproduced(wanted)] == [reproduce(each).as_json() for each in wanted]
