"""A chooser for tests that fix, say, the first queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.scenario.schedule import Chooser

if TYPE_CHECKING:
    from collections.abc import Mapping


class FixedChooser(Chooser):
    """Answers by label: ``answers[label]`` where given, else 0."""

    def __init__(self, answers: Mapping[str, int]) -> None:
        super().__init__()
        self._answers = answers

    def pick(self, number: int, label: str, n: int) -> int:
        """The fixed answer, modulo ``n`` so that one value serves any queue count."""
        return self._answers.get(label, 0) % n
