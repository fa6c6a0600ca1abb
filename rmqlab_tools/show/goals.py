"""The goals of a control: what is worth finding with it, and what was found so far."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from rmqlab.language import _, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class GoalSearch:
    """Goals by their words, each with a function that says of what was drawn whether it is found there.

    >>> search = GoalSearch({"nothing is lost": lambda lost: lost == 0, "all is lost": lambda lost: lost == 8})
    >>> search.look(0), search.count()
    (['nothing is lost'], 'Found 1 of 2')
    """

    def __init__(self, goals: Mapping[str, Callable[[Any], bool]]) -> None:
        """None is found yet."""
        self.goals = dict(goals)
        self.found: set[str] = set()
        self.latest: list[str] = []

    def look(self, facts: Any) -> list[str]:
        """The goals that are found in `facts` for the first time; they stay found."""
        self.latest = [words for words, is_found in self.goals.items() if words not in self.found and is_found(facts)]
        self.found.update(self.latest)
        return self.latest

    def count(self) -> str:
        """How many are found, in words."""
        return str(_("Found {found} of {goals}", found=len(self.found), goals=len(self.goals)))

    def html(self) -> str:
        """The goals with marks, and how many are found; a screen reader says it when it changes."""
        items = "".join(
            f"<li>{'✓' if words in self.found else '☐'} {self._emphasized(words)}</li>" for words in self.goals
        )
        return (
            f'<div class="rmqlab-goals" role="status"><strong>{html.escape(self.count())}</strong>'
            f'<ul style="list-style:none;margin:0;padding:0">{items}</ul></div>'
        )

    def _emphasized(self, words: str) -> str:
        said = html.escape(translate(words))
        return f"<strong>{said}</strong>" if words in self.latest else said
