"""Runs of a search made ahead by helpers, one for each processor: what waits to be tried is known beforehand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from rmqlab_tools.gc_tuning import gc_tuning
from rmqlab_tools.processors import processors
from rmqlab_tools.search.explorer.path_runs import run_path
from rmqlab_tools.side_by_side import DONE, FAILED, Helper

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab_tools.search.explorer.path_runs import PathResult, Space, Untried

TOGETHER = 8  # paths of one question: those that lie side by side meet the same states
QUESTIONS = 2  # that a helper has at once, so that it never waits
_Question = tuple[bytes, list[bytes]]  # digests of states that are new, one after the other; paths
DIGEST_BYTES = 16


_SEARCHES: list[tuple[Space, set[bytes]]] = []
"""In a helper: the search that it works for, and the states that it knows."""


def _begin(space: Space, _progress: object) -> None:
    _SEARCHES[:] = [(space, set())]


def _follow(question: _Question, _progress: object) -> list[PathResult]:
    news, paths = question
    [(space, known)] = _SEARCHES
    known.update(news[place : place + DIGEST_BYTES] for place in range(0, len(news), DIGEST_BYTES))
    results = []
    with gc_tuning():
        for path in paths:
            result = run_path(space, path, known)
            known.update(visit.digest for visit in result.visits if visit.digest is not None)
            results.append(result._replace(run=None))
    return results


@dataclass(slots=True, eq=False)
class _Line:
    """A helper: the questions that it has not answered, and how many of the search's states it has heard of."""

    helper: Helper = field(default_factory=Helper)
    questions: SimpleQueue[_Question | None] = field(default_factory=SimpleQueue)
    is_ready: bool = False
    open: int = 0
    heard: int = 0


class RunsAhead:
    """Helpers for a search. Until they have started, and where one has failed, there is no result: make the run.

    `states` are the digests of the search's states, in the order in which it came to them; more may follow.
    """

    def __init__(self, space: Space, states: Collection[bytes]) -> None:
        self._states = states
        self._results: dict[bytes, PathResult | None] = {}
        self._asked = 0  # so many of the first that wait
        self._answers: SimpleQueue[tuple[_Line, dict[bytes, PathResult | None]]] = SimpleQueue()
        self._lines = [_Line() for _ in range(processors())]
        for line in self._lines:
            Thread(target=_serve, args=(line, space, self._answers), daemon=True).start()

    def result(self, waiting: Collection[Untried], most: int) -> PathResult | None:
        """The result of the first that waits, None when there is none; `most` of them will be made."""
        while not self._answers.empty():
            self._hear()
        for line in self._lines:
            while line.is_ready and line.open < QUESTIONS:
                paths = [untried.path for untried in islice(waiting, self._asked, min(self._asked + TOGETHER, most))]
                if not paths:
                    break
                line.questions.put((b"".join(islice(self._states, line.heard, None)), paths))
                line.heard, line.open = len(self._states), line.open + 1
                self._asked += len(paths)
        if not self._asked:
            return None
        self._asked -= 1
        path = next(iter(waiting)).path
        while path not in self._results:
            self._hear()
        return self._results.pop(path)

    def _hear(self) -> None:
        """Wait for an answer; one that failed has no results."""
        line, results = self._answers.get()
        line.open -= 1
        self._results |= results

    def end(self) -> None:
        """End the helpers."""
        for line in self._lines:
            line.is_ready = False
            line.questions.put(None)
            line.helper.end()


def _serve(line: _Line, space: Space, answers: SimpleQueue[tuple[_Line, dict[bytes, PathResult | None]]]) -> None:
    """Ask a helper one question after the other; where it fails, the paths have no results."""
    with suppress(Exception):
        _answer(line.helper, _begin, space)
        line.is_ready = True
    while (question := line.questions.get()) is not None:
        paths = question[1]
        results: list[PathResult | None] = [None] * len(paths)
        if line.is_ready:
            try:
                results = _answer(line.helper, _follow, question)
            except Exception:  # noqa: BLE001 - whatever it is, who makes the run here meets it
                line.is_ready = False
        answers.put((line, dict(zip(paths, results, strict=True))))


def _answer(helper: Helper, work: Any, task: Any) -> Any:
    for kind, value in helper.answers(work, task):
        if kind == DONE:
            return value
        if kind == FAILED:
            raise value
    raise EOFError("a helper ends with an answer")
