"""What lint found of groups as checks, for SARIF, JUnit and GitHub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import joined
from rmqlab_tools.check_reports import Check, Level
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.lint_text import advice, difference_words, refusals, verdict_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab_tools.search.lint.findings import GroupLint

LEVELS = {
    LintVerdict.CONSISTENT: Level.NONE,
    LintVerdict.UNDECIDED: Level.WARNING,
    LintVerdict.INCONSISTENT: Level.ERROR,
}


def checks_of_groups(results: Iterable[GroupLint]) -> list[Check]:
    """One check for each group."""
    return [Check("members-differ", result.group, LEVELS[result.verdict], _text(result)) for result in results]


def _text(result: GroupLint) -> str:
    differences = [
        difference_words(difference)
        for topic in result.topics
        for difference in topic.differences
        if difference.verdict is not LintVerdict.CONSISTENT
    ]
    return joined(
        " ", [*refusals(result), verdict_words(result.verdict), *differences, *result.missing, advice(result)]
    )
