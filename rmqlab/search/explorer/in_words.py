"""An exploration in words: what the verb prints, and what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.search.explorer.properties import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.run import Outcome
    from rmqlab.search.explorer.explored import Explored, FoundOutcome, Verdict

MOST_SHOWN = 20
SHARES = "each option of each choice counts the same (not each order)"


def explored_lines(explored: Explored) -> Iterator[str]:
    """What an exploration found, line by line: its claim, the outcomes, the properties."""
    count = len(explored.outcomes)
    yield f"{explored.scenario.id}: {count} outcome{'s' if count != 1 else ''}, {_claim(explored)}"
    varied = ", ".join(["the order of frames", *explored.varied])
    yield f"varied by the search: {varied}"
    if explored.assumptions:
        yield f"assumed by it: {'; '.join(explored.assumptions)}"
    if explored.sampled:
        yield "varied by the runs by chance: all of that, with times as recorded"
    yield f"share: {SHARES if explored.exhausted else 'of the runs by chance'}"
    for number, found in enumerate(explored.outcomes[:MOST_SHOWN], 1):
        yield f"{number:>3}  {_share(found, explored)}  {_told(found.outcome)}"
        if found.lost:
            yield f"     lost: {', '.join(found.lost)}"
        if found.run.under_way:
            yield f"     ended although {found.run.under_way}"
        for line in found.blame():
            yield f"     {line}"
        if found.schedule.taken:
            yield f"     {found.schedule.to_json()}"
    if count > MOST_SHOWN:
        yield f"     and {count - MOST_SHOWN} more (--json has them all)"
    if explored.not_shortened:
        limit = f"{explored.shortening} runs of shortening were not enough"
        yield f"{limit}: {explored.not_shortened} outcomes have longer schedules than need be (--shorten)"
    for verdict in explored.verdicts:
        yield from _verdict_lines(verdict)


def _claim(explored: Explored) -> str:
    what = "every order of frames" + (" and what else was varied" if explored.varied else "")
    searched = f"{explored.searched} runs through {explored.states} states ({explored.merged} merged)"
    if explored.exhausted:
        paths = sum(found.schedules or 0 for found in explored.outcomes)
        beside = f"; {explored.sampled} runs by chance found no other" if explored.sampled else ""
        return f"exhausted: {what}, {paths:,} schedules in {searched}{beside}"
    if explored.beyond:
        only = len(explored.beyond)
        return f"not exhausted: {only} of them by other times only; {searched}, {explored.sampled} by chance"
    return f"not exhausted: {searched}, {explored.sampled} by chance"


def _share(found: FoundOutcome, explored: Explored) -> str:
    text = f"{found.share:7.2%}"
    if not explored.exhausted:
        return f"{text} ({found.sampled} of {explored.sampled})"
    chance = f"; by chance {found.sampled / explored.sampled:.0%}" if explored.sampled else ""
    return f"{text} ({found.schedules or 0:,} schedules{chance})"


def _told(outcome: Outcome) -> str:
    told = outcome.as_json()
    consumed = "; ".join(f"{who}: {' '.join(bodies)}" for who, bodies in told["consumed"].items()) or "nobody anything"
    committed = " ".join(f"{queue}={offset}" for queue, offset in told["committed"].items())
    return f"{consumed}   committed {committed}" if committed else consumed


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    one = verdict.property
    yield f"{one.kind}: {one.name}: {'holds' if verdict.holds else 'FAILS'}"
    if verdict.text is not None and not (one.kind is Kind.SOMETIMES and verdict.holds):
        yield f"     {verdict.text}"
        if verdict.run is not None and verdict.run.schedule.taken:
            yield f"     {verdict.run.schedule.to_json()}"
