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
MESSAGE_KINDS = {
    MessageKind.OLD: N_("only OLD takes"),
    MessageKind.NEW: N_("only NEW takes"),
    MessageKind.BOTH: N_("both take"),
}
HEADLINES = {
    Producers.KEEP: N_("Producers send everything all the time:"),
    Producers.WAIT: N_("Producers wait: what only NEW takes comes, and what only OLD takes ends, when it is time:"),
}


def plan_lines(result: Plan, saved: Mapping[str, Path] | None = None, *, verbose: bool = False) -> Iterator[str]:
    """What a plan found, line by line; `saved` names the files of the worst schedules, `verbose` shows them."""
    yield Line((answer(result), GOOD if result.safe else WARN if result.lossless else BAD))
    yield from _setting_lines(result)
    for producers in Producers:
        yield from _ways(result, producers, saved, verbose=verbose)
    if verbose and any(tried.exhausted for tried in result.tried):
        yield _("every schedule: every order of frames; assumed: {assumed}", assumed=joined("; ", assumed(())))
    if result.cut:
        yield _("the limit of time came before the budget was used up: more runs may find more (--seconds)")
    if result.lossless:
        best = result.lossless[0]
        yield Line((_("Checklist for {way}:", way=best.procedure.name), HEAD))
        for number, line in enumerate(checklist(best.procedure, result.change, result.setting.kind), 1):
            yield f"  {number}. {line}"
    if not verbose:
        yield Line((_("-v shows the messages that each way lost, with the schedule of its worst run"), SOFT))


def answer(result: Plan) -> str:
    """Which way to go, what it loses and how sure that is, in a sentence or two."""
    change = _("{old} to {new}", old=text_of(result.change.old), new=text_of(result.change.new))
    if not result.lossless:
        best = min(result.tried, key=lambda tried: tried.spread()[2])
        return _(
            "{change}: nothing safe was found; the least is lost by {way}: up to {worst} of {messages}.",
            change=change, way=best.procedure.name, worst=best.spread()[2], messages=best.cost.wanted,
        )  # fmt: skip
    safe = list(dict.fromkeys(tried.procedure.name for tried in result.safe))
    others = list(dict.fromkeys(tried.procedure.name for tried in result.lossless if tried.procedure.name not in safe))
    parts = [_("{change}: safe whatever the producers do: {ways}.", change=change, ways=joined(", ", safe))]
    if not safe:
        parts = [_("{change}: nothing is safe whatever the producers do.", change=change)]
    if others:
        parts.append(_("Safe only if the producers do their part: {ways}.", ways=joined(", ", others)))
    if not all(tried.exhausted for tried in result.lossless):
        parts.append(_("Where not every schedule was tried, that means: no loss was found."))
    return sentences(*parts)


def _setting_lines(result: Plan) -> Iterator[str]:
    setting, change = result.setting, result.change
    yield _(
        "Tried with {members}, {queues}, {pause} ms between restarts, messages every {every} ms.",
        members=ngettext("{count} member", "{count} members", setting.members),
        queues=ngettext("{count} queue", "{count} queues", setting.queues),
        pause=setting.pause_ms, every=setting.every_ms,
    )  # fmt: skip
    if setting.pops:
        yield _(
            "Members pop ({kind}), by the rules of {version}: each request carries its own expression; lost is what a "
            "pop goes past, retries too.",
            kind=setting.kind, version=change.rules.version,
        )  # fmt: skip
    if change.same:
        yield _("Both take the same messages.")
    for kind, properties in change.kinds.items():
        yield _(
            "  {kind}, sent as {name}-1, {name}-2, ...: {message}",
            kind=_(MESSAGE_KINDS[kind]), name=kind.value, message=message_words(properties),
        )  # fmt: skip
    if not change.proven:
        yield _("  Other kinds of messages were looked for and not found; that there are none is not proven.")


def _ways(result: Plan, producers: Producers, saved: Mapping[str, Path] | None, *, verbose: bool) -> Iterator[str]:
    tried = [trial for trial in result.tried if trial.producers is producers]
    kept = [trial.course for trial in result.tried if trial.producers is Producers.KEEP]
    if producers is Producers.WAIT and [trial.course for trial in tried] == kept:
        yield _("There is nothing to wait for: producers that wait do the same.")
        return
    if tried:
        yield Line((_(HEADLINES[producers]), HEAD))
    for trial in tried:
        yield from _way_lines(trial, saved, verbose=verbose, pops=result.setting.pops)


def _way_lines(tried: ProcedureResult, saved: Mapping[str, Path] | None, *, verbose: bool, pops: bool) -> Iterator[str]:
    best, median, worst = tried.spread()
    if tried.lossless:
        what = _("loses nothing")
    else:
        what = _("LOSES up to {worst} (at best {best}, median {median})", worst=worst, best=best, median=median)
    if tried.exhausted:
        how = ngettext("every schedule ({count} run)", "every schedule ({count} runs)", tried.runs)
    else:
        how = ngettext("{count} schedule tried", "{count} schedules tried", tried.runs)
    cost = _(
        "takes up to {takes} ms, a message waits up to {waits} ms, up to {twice} are taken twice",
        takes=tried.takes_ms, waits=tried.longest_wait_ms, twice=tried.duplicates,
    )  # fmt: skip
    style = BAD if not tried.lossless else GOOD if tried.safe else WARN
    yield Line(f"  {tried.procedure.name:18} ", (what, style), _(": {how}; {cost}", how=how, cost=cost))
    if tried.lossless and tried.conditions:
        yield _("    only if: {conditions}", conditions=sentences(*tried.conditions))
    if verbose and tried.lost:
        yield from _lost_lines(tried, pops=pops)
    if saved is not None:
        yield f"    {saved[tried.name]}"


def _lost_lines(tried: ProcedureResult, *, pops: bool) -> Iterator[str]:
    for group in dict.fromkeys((lost.fate, lost.culprit, lost.subscription) for lost in tried.lost):
        bodies = [lost.body for lost in tried.lost if (lost.fate, lost.culprit, lost.subscription) == group]
        named = shortened(bodies, MAX_NAMED)
        fate, culprit, subscription = group
        values = {"names": named, "fate": fate_words(fate), "culprit": culprit, "subscription": subscription}
        if pops:
            yield "    " + _("{names}: {fate}, {culprit}'s pop, which carried {subscription}", **values)
        else:
            yield "    " + _("{names}: {fate}, {culprit}'s pull, the broker held {subscription}", **values)
    yield Line((f"    {tried.schedule.to_json()}", SOFT))
