"""What a plan found, in words: first the way to go and what it loses, then every way, then its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import N_, _, joined, ngettext, sentences, shortened
from rmqlab.run.fates import fate_words
from rmqlab_tools.search.explorer.timings import assumed
from rmqlab_tools.search.lint.lint_text import message_words
from rmqlab_tools.search.plan.change import MessageKind, text_of
from rmqlab_tools.search.plan.checklist import checklist
from rmqlab_tools.search.plan.procedures import Producers
from rmqlab_tools.styled import BAD, GOOD, HEAD, SOFT, WARN, Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rmqlab_tools.search.plan.results import Plan, ProcedureResult

MAX_NAMED = 6
KINDS = {
    MessageKind.OLD: N_("only OLD takes"),
    MessageKind.NEW: N_("only NEW takes"),
    MessageKind.BOTH: N_("both take"),
}
HEADLINES = {
    Producers.KEEP: N_("Producers send everything all the time:"),
    Producers.WAIT: N_("Producers wait: what only NEW takes comes, and what only OLD takes ends, when it is time:"),
}


def plan_lines(found: Plan, saved: Mapping[str, Path] | None = None, *, verbose: bool = False) -> Iterator[str]:
    """What a plan found, line by line; `saved` names the files of the worst schedules, `verbose` shows them."""
    yield Line((answer(found), GOOD if found.safe else WARN if found.lossless else BAD))
    yield from _setting_lines(found)
    for producers in Producers:
        yield from _ways(found, producers, saved, verbose=verbose)
    if verbose and any(one.exhausted for one in found.tried):
        yield _("every schedule: every order of frames; assumed: {assumed}", assumed=joined("; ", assumed(())))
    if found.cut:
        yield _("the limit of time came before the budget was used up: more runs may find more (--seconds)")
    if found.lossless:
        best = found.lossless[0]
        yield Line((_("Checklist for {way}:", way=best.procedure.name), HEAD))
        for number, line in enumerate(checklist(best.procedure, found.change), 1):
            yield f"  {number}. {line}"
    if not verbose:
        yield Line((_("-v shows the messages that each way lost, with the schedule of its worst run"), SOFT))


def answer(found: Plan) -> str:
    """Which way to go, what it loses and how sure that is, in a sentence or two."""
    change = _("{old} to {new}", old=text_of(found.change.old), new=text_of(found.change.new))
    if not found.lossless:
        best = min(found.tried, key=lambda one: one.spread()[2])
        return _(
            "{change}: nothing safe was found; the least is lost by {way}: up to {worst} of {messages}.",
            change=change, way=best.procedure.name, worst=best.spread()[2], messages=best.cost.wanted,
        )  # fmt: skip
    safe = list(dict.fromkeys(one.procedure.name for one in found.safe))
    others = list(dict.fromkeys(one.procedure.name for one in found.lossless if one.procedure.name not in safe))
    parts = [_("{change}: safe whatever the producers do: {ways}.", change=change, ways=joined(", ", safe))]
    if not safe:
        parts = [_("{change}: nothing is safe whatever the producers do.", change=change)]
    if others:
        parts.append(_("Safe only if the producers do their part: {ways}.", ways=joined(", ", others)))
    if not all(one.exhausted for one in found.lossless):
        parts.append(_("Where not every schedule was tried, that means: no loss was found."))
    return sentences(*parts)


def _setting_lines(found: Plan) -> Iterator[str]:
    setting, change = found.setting, found.change
    yield _(
        "Tried with {members} members, {queues} queues, {pause} ms between restarts, messages every {every} ms.",
        members=setting.members, queues=setting.queues, pause=setting.pause_ms, every=setting.every_ms,
    )  # fmt: skip
    if change.same:
        yield _("Both take the same messages.")
    for kind, properties in change.kinds.items():
        yield _(
            "  {kind}, sent as {name}-1, {name}-2, ...: {message}",
            kind=_(KINDS[kind]), name=kind.value, message=message_words(properties),
        )  # fmt: skip
    if not change.proven:
        yield _("  Other kinds of messages were looked for and not found; that there are none is not proven.")


def _ways(found: Plan, producers: Producers, saved: Mapping[str, Path] | None, *, verbose: bool) -> Iterator[str]:
    tried = [one for one in found.tried if one.producers is producers]
    kept = [one.course for one in found.tried if one.producers is Producers.KEEP]
    if producers is Producers.WAIT and [one.course for one in tried] == kept:
        yield _("There is nothing to wait for: producers that wait do the same.")
        return
    if tried:
        yield Line((_(HEADLINES[producers]), HEAD))
    for one in tried:
        yield from _way_lines(one, saved, verbose=verbose)


def _way_lines(one: ProcedureResult, saved: Mapping[str, Path] | None, *, verbose: bool) -> Iterator[str]:
    best, median, worst = one.spread()
    if one.lossless:
        what = _("loses nothing")
    else:
        what = _("LOSES up to {worst} (at best {best}, median {median})", worst=worst, best=best, median=median)
    if one.exhausted:
        how = ngettext("every schedule ({count} run)", "every schedule ({count} runs)", one.runs)
    else:
        how = ngettext("{count} schedule tried", "{count} schedules tried", one.runs)
    cost = _(
        "takes up to {takes} ms, a message waits up to {waits} ms, up to {twice} are taken twice",
        takes=one.takes_ms, waits=one.longest_wait_ms, twice=one.duplicates,
    )  # fmt: skip
    style = BAD if not one.lossless else GOOD if one.safe else WARN
    yield Line(f"  {one.procedure.name:18} ", (what, style), _(": {how}; {cost}", how=how, cost=cost))
    if one.lossless and one.conditions:
        yield _("    only if: {conditions}", conditions=sentences(*one.conditions))
    if verbose and one.lost:
        yield from _lost_lines(one)
    if saved is not None:
        yield f"    {saved[one.name]}"


def _lost_lines(one: ProcedureResult) -> Iterator[str]:
    for group in dict.fromkeys((lost.fate, lost.culprit, lost.subscription) for lost in one.lost):
        bodies = [lost.body for lost in one.lost if (lost.fate, lost.culprit, lost.subscription) == group]
        named = shortened(bodies, MAX_NAMED)
        fate, culprit, subscription = group
        yield "    " + _(
            "{names}: {fate}, {culprit}'s pull, the broker held {subscription}",
            names=named, fate=fate_words(fate), culprit=culprit, subscription=subscription,
        )  # fmt: skip
    yield Line((f"    {one.schedule.to_json()}", SOFT))
