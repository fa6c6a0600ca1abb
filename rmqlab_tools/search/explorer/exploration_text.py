"""What an exploration found, in words: first what can be lost and how rare that is, then outcomes and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import N_, _, joined, ngettext
from rmqlab_tools.search.explorer.deviations import MAX_RUNS
from rmqlab_tools.search.explorer.properties import PropertyKind
from rmqlab_tools.styled import BAD, GOOD, HEAD, SOFT, WARN, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.search.explorer.exploration import Exploration, FoundOutcome, PropertyVerdict

MAX_OUTCOMES_SHOWN = 20
RARE, USUAL_RUN = 0.05, 0.5
"""Shares below which the worst is called rare, and from which on usual."""


PROPERTY_KINDS = {
    PropertyKind.ALWAYS: N_("always"),
    PropertyKind.EVENTUALLY: N_("eventually"),
    PropertyKind.SOMETIMES: N_("sometimes"),
}


def exploration_lines(explored: Exploration, *, verbose: bool = False) -> Iterator[str]:
    """The answer in a sentence, how sure it is, the outcomes, the properties; `verbose`: assumptions and schedules."""
    yield Line((answer(explored), BAD if _most(explored) else GOOD))
    yield from _sure_lines(explored, verbose=verbose)
    count = len(explored.outcomes)
    for number, outcome in enumerate(explored.outcomes[:MAX_OUTCOMES_SHOWN], 1):
        yield from _outcome_lines(number, outcome, explored, verbose=verbose)
    if count > MAX_OUTCOMES_SHOWN:
        yield ngettext(
            "     and {more} more outcome (--json has them all)",
            "     and {more} more outcomes (--json has them all)",
            count - MAX_OUTCOMES_SHOWN,
            more=count - MAX_OUTCOMES_SHOWN,
        )
    for verdict in explored.verdicts:
        yield from _verdict_lines(verdict, explored.searched + explored.sampled, verbose=verbose)
    if not verbose:
        yield Line((_("-v shows the schedules, with what was varied and assumed"), SOFT))


def answer(explored: Exploration) -> str:
    """What can be lost, and how rare the worst is, in one sentence."""
    name = explored.scenario.id
    sent = max((len(outcome.run.fates) for outcome in explored.outcomes), default=0)
    if not sent:
        return _("{name}: no message was stored, so nothing is known of losses.", name=name)
    losses = sorted({lost_by(outcome) for outcome in explored.outcomes})
    of = ngettext("{count} message", "{count} messages", sent)
    if losses == [0]:
        if explored.exhausted:
            return _("{name} loses none of {messages}, in any order of frames.", name=name, messages=of)
        return _("{name}: no run lost any of {messages}.", name=name, messages=of)
    if len(losses) == 1:
        if explored.exhausted:
            return _(
                "{name} loses {lost} of {messages}, in every order of frames.", name=name, lost=losses[0], messages=of
            )
        return ngettext(
            "{name} loses {lost} of {messages} in the run that was made.",
            "{name} loses {lost} of {messages} in each of the {count} runs that were made.",
            explored.searched + explored.sampled, name=name, lost=losses[0], messages=of,
        )  # fmt: skip
    values = {"name": name, "least": losses[0], "most": losses[-1], "messages": of}
    return _("{name} loses {least} to {most} of {messages}{worst}", worst=_worst(explored), **values)


def lost_by(outcome: FoundOutcome) -> int:
    """How many messages are lost in an outcome."""
    return sum(fate.lost for fate in outcome.run.fates)


def _most(explored: Exploration) -> int:
    return max(map(lost_by, explored.outcomes), default=0)


def _worst(explored: Exploration) -> str:
    most = _most(explored)
    shares = [outcome.share for outcome in explored.outcomes if lost_by(outcome) == most]
    if any(share is None for share in shares):
        return _("; how often the worst comes is not known.")
    share = sum(share for share in shares if share is not None)
    if share < RARE:
        return _("; the worst is rare: {share}.", share=percent(share))
    if share < USUAL_RUN:
        return _("; the worst comes in {share}.", share=percent(share))
    return _("; the worst is usual: {share}.", share=percent(share))


def percent(share: float) -> str:
    """A share in percent, with as many digits as it takes to see that there is something.

    >>> percent(0.24), percent(0.002), percent(0.0)
    ('24 %', '0.2 %', '0 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.01 or not share else f"{100 * share:.2g} %"


def _sure_lines(explored: Exploration, *, verbose: bool) -> Iterator[str]:
    outcomes = ngettext("{count} outcome", "{count} outcomes", len(explored.outcomes))
    searched = ngettext("{count} run", "{count} runs", explored.searched)
    if explored.exhausted:
        schedules = sum(outcome.schedules or 0 for outcome in explored.outcomes)
        yield _(
            "{outcomes}: every order of frames was tried, {paths} in {searched}.",
            outcomes=outcomes, searched=searched,
            paths=ngettext("{number} schedule", "{number} schedules", schedules, number=f"{schedules:,}"),
        )  # fmt: skip
    else:
        said = _(
            "{outcomes} in {searched} of the search and {sampled} by chance; not every order was tried.",
            outcomes=outcomes, searched=searched, sampled=explored.sampled,
        )  # fmt: skip
        yield Line((said, WARN))
    if explored.out_of_time:
        yield _("the limit of time came before the budget was used up: more runs may find more (--seconds)")
    if not verbose:
        return
    yield _("  states {states}, merged {merged}", states=explored.states, merged=explored.merged)
    yield _("  varied by the search: {names}", names=joined(", ", [_("the order of frames"), *explored.varied]))
    yield _("  assumed by it: {assumptions}", assumptions=joined("; ", explored.assumptions))
    if explored.sampled:
        yield _("  varied by the runs by chance: all of that, with times as recorded")
    if explored.exhausted:
        yield _("  share: each option of each choice counts the same (not each order)")
    else:
        yield _("  share: of the runs by chance")
    if explored.beyond:
        only = len(explored.beyond)
        yield ngettext(
            "  {count} outcome came by other times only", "  {count} outcomes came by other times only", only
        )
    if explored.not_shortened:
        yield ngettext(
            "  the schedule of {number} outcome may be longer than need be: shortening stopped after {runs}"
            " (--shorten; at most {limit} for each)",
            "  the schedules of {number} outcomes may be longer than need be: shortening stopped after {runs}"
            " (--shorten; at most {limit} for each)",
            explored.not_shortened, number=explored.not_shortened, limit=MAX_RUNS,
            runs=ngettext("{count} run", "{count} runs", explored.shortening),
        )  # fmt: skip


def _outcome_lines(number: int, outcome: FoundOutcome, explored: Exploration, *, verbose: bool) -> Iterator[str]:
    lost = outcome.lost
    what = _("lost: {names}", names=joined(", ", lost)) if lost else _("nothing is lost")
    head = f"{number:>3}  {_share(outcome, explored)}  "
    yield Line((head, HEAD), outcome.outcome.words, _("; "), (what, BAD if lost else GOOD))
    if verbose:
        committed = " ".join(f"{queue}={offset}" for queue, offset in outcome.outcome.as_json()["committed"].items())
        if committed:
            yield _("     committed {offsets}", offsets=committed)
    if outcome.run.under_way:
        yield _("     ended although {under_way}", under_way=outcome.run.under_way)
    for line in outcome.blame():
        yield f"     {line}"
    if verbose and outcome.schedule.taken:
        yield Line((f"     {outcome.schedule.to_json()}", SOFT))


def _share(outcome: FoundOutcome, explored: Exploration) -> str:
    if outcome.share is None:
        return str(_("share unknown"))
    share = f"{percent(outcome.share):>6}"
    if not explored.exhausted:
        counted = _("({number} of {runs})", number=outcome.sampled, runs=explored.sampled)
        return f"{share} {counted}"
    schedules = ngettext("({count} schedule)", "({count} schedules)", outcome.schedules or 0)
    return f"{share} {schedules}"


def _verdict_lines(verdict: PropertyVerdict, runs: int, *, verbose: bool) -> Iterator[str]:
    judged = verdict.property
    if verdict.proved:
        said = (_("holds"), GOOD) if verdict.holds else (_("FAILS"), BAD)
    elif verdict.holds:
        said = (
            ngettext(
                "not proved: {runs} run was made, and it does not speak against it",
                "not proved: none of {runs} runs speaks against it",
                runs,
                runs=runs,
            ),
            WARN,
        )
    else:
        said = (
            ngettext(
                "not proved: {runs} run was made, and it does not show it",
                "not proved: none of {runs} runs shows it",
                runs,
                runs=runs,
            ),
            WARN,
        )
    yield Line(_("{kind}: {property}: ", kind=_(PROPERTY_KINDS[judged.kind]), property=_(judged.name)), said)
    if verdict.text is not None and not (judged.kind is PropertyKind.SOMETIMES and verdict.holds):
        yield f"     {verdict.text}"
        if verbose and verdict.run is not None and verdict.run.schedule.taken:
            yield Line((f"     {verdict.run.schedule.to_json()}", SOFT))
        if verbose and not verdict.shortened:
            yield _("     this schedule may be longer than need be: shortening stopped before its end")
