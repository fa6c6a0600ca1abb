"""What was found in sources, in words: groups that differ with each place, what is not known, then the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.limits import named
from rmqlab_tools.search.lint.lint_text import advice, holder_words, lint_lines, refused, share_words, witness_words
from rmqlab_tools.styled import BAD, GOOD, HEAD, SOFT, WARN, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.search.lint.findings import GroupLint
    from rmqlab_tools.source.groups import SourceLint


def source_lines(result: SourceLint, *, verbose: bool = False) -> Iterator[str]:
    """Line by line. With `verbose` also what is compared in groups whose members agree."""
    bad = [group for group in result.groups if group.verdict is LintVerdict.INCONSISTENT]
    good = [group for group in result.groups if group.verdict is LintVerdict.CONSISTENT and not refused(group)]
    for group in result.groups:
        if verbose or group in bad or refused(group) or (group.verdict is LintVerdict.UNDECIDED and not group.missing):
            yield from lint_lines(group)
            yield from _place_lines(result, group)
    if result.gaps:
        yield Line((_("Not known:"), HEAD))
        for gap in result.gaps:
            yield Line(f"  {gap.file}:{gap.line}: ", (gap.sentence(), WARN))
    if result.base.troubles:
        yield Line((_("Not read:"), HEAD))
        for file, why in result.base.troubles:
            yield Line(f"  {file}: ", (why, WARN))
    if good and not verbose:
        names = joined(", ", (f"{group.group} ({len(group.members)})" for group in good))
        yield Line((_("Consistent, with their places: {names}", names=names), GOOD))
    for note in result.base.notes:
        yield Line((_("note: {note}", note=note), SOFT))
    yield _summary(result, len(bad))


def _place_lines(result: SourceLint, group: GroupLint) -> Iterator[str]:
    yield Line("  ", (_("Places"), HEAD))
    for place in result.places[group.group].values():
        yield f"     {place.label}: {place.file}:{place.line} ({place.name})"


def _summary(result: SourceLint, bad: int) -> str:
    base = result.base
    groups = ngettext("{count} group", "{count} groups", len(result.groups))
    members = ngettext("{count} place", "{count} places", sum(len(group.members) for group in result.groups))
    files = ngettext("{count} file", "{count} files", base.files)
    parts = [_("{groups} at {members} in {files}", groups=groups, members=members, files=files)]
    if bad:
        parts.append(_("{count} inconsistent", count=bad))
    if result.refused:
        parts.append(_("{count} refused", count=len(result.refused)))
    if result.gaps:
        parts.append(_("{count} not known", count=len(result.gaps)))
    if base.tests:
        left = ngettext("{count} file of tests left out", "{count} files of tests left out", base.tests)
        parts.append(_("{left} (--tests reads them)", left=left))
    return Line((joined("; ", parts), BAD if bad or result.refused else WARN if result.is_open else GOOD))


def difference_sentence(group: GroupLint, member: str) -> str:
    """For a line of code: what this member asks for, what others do, and a message that shows it."""
    parts = []
    for topic in group.topics:
        if topic.verdict is not LintVerdict.INCONSISTENT:
            continue
        mine = next((wish for wish in topic.wishes if member in wish.members), None)
        if mine is None:
            continue
        others = joined(
            "; ", (f"{wish} ({named(wish.members)})" for wish in topic.wishes if member not in wish.members)
        )
        parts.append(
            _(
                "group {group}, topic {topic}: {mine} here, {others} elsewhere.",
                group=group.group, topic=topic.topic, mine=str(mine), others=others,
            )
        )  # fmt: skip
        for witness in topic.witnesses[:1]:
            parts.append(f"{witness_words(witness)}.")
            for loss in witness.losses[:1]:
                share = share_words(loss.lost or loss.stuck, topic.queues)
                fate = _("lost in {share}", share=share) if loss.lost else _("waits in {share}", share=share)
                parts.append(f"{holder_words([loss.holder])}: {fate}.")
    for shared in group.shared_ids:
        parts += [*shared.lines()][:1]
    return joined(" ", [*parts, advice(group)])
