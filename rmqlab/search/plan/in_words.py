"""A plan in words: what the verb prints, and what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.search.plan.change import Kind, text_of
from rmqlab.search.plan.checklist import checklist
from rmqlab.search.plan.procedures import Producers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rmqlab.search.plan.planner import Plan, Tried

MOST_NAMED = 6


def plan_lines(found: Plan, saved: Mapping[str, Path] | None = None) -> Iterator[str]:
    """What a plan found, line by line; ``saved`` names the files of the worst schedules."""
    change, setting = found.change, found.setting
    yield (
        f"{text_of(change.old)} -> {text_of(change.new)}: {setting.members} members, {setting.queues} queues,"
        f" {setting.pause_ms} ms between restarts, messages every {setting.every_ms} ms"
    )
    if change.same:
        yield "Both take the same messages."
    names = {Kind.OLD: "only OLD takes", Kind.NEW: "only NEW takes", Kind.BOTH: "both take"}
    for kind, properties in change.kinds.items():
        yield f"  {names[kind]}, sent as {kind}-1, {kind}-2, ...: {properties or 'a message without tag'}"
    if not change.proven:
        yield "  Other kinds of messages were looked for and not found; that there are none is not proven."
    for producers, headline in (
        (Producers.KEEP, "Producers send everything all the time:"),
        (Producers.WAIT, "Producers wait: what only NEW takes comes, and what only OLD takes ends, when it is time:"),
    ):
        tried = [one for one in found.tried if one.producers is producers]
        kept = [one.course for one in found.tried if one.producers is Producers.KEEP]
        if producers is Producers.WAIT and [one.course for one in tried] == kept:
            yield "There is nothing to wait for: producers that wait do the same."
            continue
        if tried:
            yield headline
        for one in tried:
            yield from _tried_lines(one, saved)
    yield _verdict(found)
    if found.lossless:
        best = found.lossless[0]
        yield f"Checklist for {best.procedure.name}:"
        for number, line in enumerate(checklist(best.procedure, change), 1):
            yield f"  {number}. {line}"


def _tried_lines(one: Tried, saved: Mapping[str, Path] | None) -> Iterator[str]:
    best, median, worst = one.spread()
    what = "loses nothing" if one.lossless else f"LOSES up to {worst} (at best {best}, median {median})"
    how = "every schedule" if one.exhausted else f"{one.runs} schedules tried"
    yield (
        f"  {one.procedure.name:18} {what}: {how}"
        + (f" ({one.runs} runs)" if one.exhausted else "")
        + f"; takes {one.usual.takes_ms} ms, longest wait {one.usual.longest_wait_ms} ms,"
        f" up to {one.duplicates} taken twice"
    )
    if one.lossless and one.conditions:
        yield f"    only if: {' '.join(one.conditions)}"
    if one.lost:
        for group in dict.fromkeys((lost.fate, lost.culprit, lost.subscription) for lost in one.lost):
            bodies = [lost.body for lost in one.lost if (lost.fate, lost.culprit, lost.subscription) == group]
            more = f" and {len(bodies) - MOST_NAMED} more" if len(bodies) > MOST_NAMED else ""
            fate, culprit, subscription = group
            yield (
                f"    {', '.join(bodies[:MOST_NAMED])}{more}: {fate}, {culprit}'s pull, the broker held {subscription}"
            )
        yield f"    {one.schedule.to_json()}"
    if saved is not None:
        yield f"    {saved[one.name]}"


def _verdict(found: Plan) -> str:
    if not found.lossless:
        return "Nothing safe was found."
    safe = list(dict.fromkeys(one.procedure.name for one in found.safe))
    others = list(dict.fromkeys(one.procedure.name for one in found.lossless if one.procedure.name not in safe))
    parts = [f"Safe whatever the producers do: {', '.join(safe)}." if safe else "Nothing is safe whatever they do."]
    if others:
        parts.append(f"Safe only if the producers do their part: {', '.join(others)}.")
    if not all(one.exhausted for one in found.lossless):
        parts.append("Where not every schedule was tried, that means: no loss was found.")
    return " ".join(parts)
