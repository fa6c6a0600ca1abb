"""`rmqlab.check("01-predict", answer)` says whether the answer to an exercise is right, and if not, by which rule.

A check runs the laboratory and judges by the rules of ``rmqlab.search.explorer.invariants`` and by fates; no answer is
written down. A wrong answer raises `CheckFailed`, whose text names the rule and shows the events that prove it.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rmqlab.lab.evidence import Line

    Check = Callable[[Any], str]


class CheckFailed(AssertionError):
    """An answer is not right yet: what is wrong, the rule that says so, and the events that prove it."""

    def __init__(self, problem: str, rule: str, lines: Iterable[Line | str] = ()) -> None:
        """`rule` is a sentence, with its row where there is one."""
        self.problem, self.rule, self.lines = problem, rule, list(lines)
        shown = "\n".join(f"  {line}" for line in self.lines)
        super().__init__(f"{problem}\nRule: {rule}" + (f"\nThe events that show it:\n{shown}" if shown else ""))

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the text alone, for the way through our code explains nothing."""
        return ["Not yet.", *str(self).splitlines()]


class Passed:
    """A right answer; shown as text."""

    def __init__(self, name: str, text: str) -> None:
        """`text` says what was checked."""
        self.name, self.text = name, text

    def __repr__(self) -> str:
        """One line."""
        return f"{self.name}: right. {self.text}"


def checks(notebook: str) -> dict[str, Check]:
    """The checks of one notebook ("01"): name to function; the functions raise `CheckFailed` or say what was right.

    Raises:
        BadInput: the notebook has no checks.
    """
    module = f"rmqlab.lessons.checks_{notebook}"
    if not notebook.isdigit() or find_spec(module) is None:
        raise BadInput(f"no checks for notebook {notebook!r}; names begin with the notebook's number, as 01-predict")
    found: dict[str, Check] = importlib.import_module(module).CHECKS
    return found


def check(name: str, answer: object) -> Passed:
    """Judge the answer to the exercise `name`.

    Raises:
        CheckFailed: it is not right yet.
        BadInput: no such exercise; the text names those there are.
    """
    known = checks(name.partition("-")[0])
    if name not in known:
        raise BadInput(f"no exercise {name!r}; there are: {', '.join(known)}")
    return Passed(name, known[name](answer))
