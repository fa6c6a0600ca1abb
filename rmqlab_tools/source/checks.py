"""What was found in sources as checks: one for each group, one for each thing that is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.check_reports import Check, Level, Spot
from rmqlab_tools.search.lint.checks import LEVELS
from rmqlab_tools.search.lint.lint_text import refused, verdict_words
from rmqlab_tools.source.source_text import difference_sentence

if TYPE_CHECKING:
    from rmqlab_tools.source.groups import SourceLint


def checks_of(result: SourceLint) -> list[Check]:
    """Groups that differ, with a line at each of their places, then groups that agree, gaps, files not read."""
    checks = []
    for group in result.groups:
        level = LEVELS[group.verdict]
        places = result.places[group.group].values()
        for members, sentence in refused(group):
            spots = tuple(Spot(place.file, place.line) for place in places if place.label in members)
            checks.append(Check("expression-refused", group.group, Level.ERROR, sentence, spots))
        if level is Level.WARNING and group.missing:
            continue  # its gaps say it, each at its own place
        spots = tuple(
            Spot(place.file, place.line, difference_sentence(group, place.label) if level is Level.ERROR else "")
            for place in places
        )
        text = spots[0].text if level is Level.ERROR and spots else verdict_words(group.verdict)
        checks.append(Check("members-differ", group.group, level, text, spots))
    checks += [
        Check("not-known", gap.group or gap.name, Level.WARNING, gap.sentence(), (Spot(gap.file, gap.line),))
        for gap in result.gaps
    ]
    checks += [
        Check("not-read", file, Level.WARNING, _("{file}: {why}", file=file, why=why), (Spot(file, 1),))
        for file, why in result.base.troubles
    ]
    return checks
