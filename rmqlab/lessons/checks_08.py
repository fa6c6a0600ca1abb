"""The checks of notebook 08: a pasted schedule, numbers of outcomes, two texts that no order of events can hurt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.filter.consistency import tell_apart
from rmqlab.filter.filter_api import build
from rmqlab.lab.articles.rare_outcomes import eight, outcome_text
from rmqlab.lab.scenario import Scenario, convert_scenario
from rmqlab.lessons.check import CheckFailed
from rmqlab.runtime.schedule import Schedule
from rmqlab.search.explorer.deviations import replay_schedule
from rmqlab.search.explorer.explanation import blame
from rmqlab.search.explorer.explore import Explorer
from rmqlab.search.explorer.properties import property_named
from rmqlab.search.explorer.recorded_outcomes import default_settings

if TYPE_CHECKING:
    from rmqlab.search.explorer.exploration import Exploration

TASK_GAP_MS: Final = 12_000
BUDGET: Final = 2_000
STAMPS = "The slot belongs to the highest version, that is to the last member that stamped (S-77, S-84, S-86)."
FEWEST = "A schedule is the shorter, the fewer of its choices are not the usual ones; the usual order has none."
ALL = "An outcome counts if some order of frames leads to it, however unlikely."
MEANING = "Nothing is lost in any order only if all members ask for the same messages (S-03, S-07)."
HINTS = {
    "first_starter_wins": "Whose version must be the highest, and which single frame could come late to make it so?",
    "outcome_counts": "Who can hold the slot in the end, and who can own which queue? Which pairs can occur?",
    "harmless": "When do two different texts ask for the same messages?",
}


def _small(queues: int, tags: Mapping[str, str], mode: str = "clustering") -> Scenario:
    """A starts first, B two seconds later; one message of tag a and one of tag b to each queue."""
    messages = [{"body": f"m{number}", "tag": "ab"[number % 2], "queue": number // 2} for number in range(2 * queues)]
    steps: list[dict[str, Any]] = [
        {
            "at": 2_000 * number, "do": "start", "who": who, "group": "G", "mode": mode,
            "subscribe": {"T": {"type": "TAG", "expr": tags[who]}},
        }
        for number, who in enumerate("AB")
    ]  # fmt: skip
    steps += [
        {"at": 8_000, "do": "send", "topic": "T", "messages": messages},
        {"at": 34_000, "do": "offsets"},
    ]
    return convert_scenario({"id": "small", "topics": {"T": queues}, "steps": steps})


GROUPS: Final = {
    "two queues": (2, "a", "b", "clustering"),
    "one queue": (1, "a", "b", "clustering"),
    "broadcasting, one queue": (1, "a", "b", "broadcasting"),
}


@lru_cache(maxsize=16)
def explored_group(queues: int, a: str, b: str, mode: str = "clustering") -> Exploration:
    """Every order of a small group: A asks for ``a`` and starts first, B asks for ``b``."""
    scenario = _small(queues, {"A": a, "B": b}, mode)
    wanted = [property_named("no-loss", scenario)]
    return Explorer(scenario, cluster=default_settings(), budget=BUDGET, samples=0, properties=wanted).explore()


def first_starter_wins(answer: Any) -> str:
    """A schedule as text, with which A, who starts 12 s before B, has the slot."""
    if not isinstance(answer, str):
        raise CheckFailed("Give the schedule as text: one JSON object.", rule=FEWEST)
    scenario = eight(gap_ms=TASK_GAP_MS)
    try:
        schedule = Schedule.from_json(answer)
        told = replay_schedule(scenario, schedule, cluster=default_settings())
    except BadInput as error:
        raise CheckFailed(f"That cannot be run: {error}.", rule=FEWEST) from None
    outcome = told.run.outcome()
    if outcome.bodies_of("B") or not outcome.bodies_of("A"):
        raise CheckFailed(
            HINTS["first_starter_wins"],
            problem=f"It ends with {outcome_text(outcome)}, not with A alone.",
            rule=STAMPS,
            lines=blame(told.run),
        )
    taken = len(told.deviations)
    if taken > 1:
        lines = [deviation.text for deviation in told.deviations]
        raise CheckFailed(
            HINTS["first_starter_wins"],
            problem=f"{taken} choices are unusual; one is enough.",
            rule=FEWEST,
            lines=lines,
        )
    return f"One unusual choice, and A has the slot: {told.deviations[0].text}."


def outcome_counts(answer: Any) -> str:
    """For each group of ``GROUPS``: how many outcomes it has (who got which messages)."""
    if not isinstance(answer, Mapping) or set(answer) != set(GROUPS):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, GROUPS))}.", rule=ALL)
    for name, (queues, a, b, mode) in GROUPS.items():
        found = explored_group(queues, a, b, mode)
        endings = list(dict.fromkeys(outcome_text(one.outcome) for one in found.outcomes))
        if answer[name] != len(endings):
            lines = [f"explorer  one of them: {endings[0]}"]
            raise CheckFailed(
                HINTS["outcome_counts"], problem=f"{name}: not {answer[name]!r} outcomes.", rule=ALL, lines=lines
            )
    return f"{len(GROUPS)} groups, every order of each looked at."


def harmless(answer: Any) -> str:
    """Two different tag expressions, for A and B, with which no order of frames loses a message of tag a or b."""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or not all(isinstance(one, str) for one in answer):
        raise CheckFailed('Give two texts, such as ("a", "b").', rule=MEANING)
    a, b = answer
    if a == b:
        raise CheckFailed(
            "The two texts are the same.", rule="The group shall look inconsistent to a tool that reads texts."
        )
    try:
        mine, other = build("T", a, "TAG"), build("T", b, "TAG")
        found = explored_group(2, a, b)
    except BadInput as error:
        raise CheckFailed(f"That cannot be run: {error}.", rule=MEANING) from None
    (verdict,) = found.verdicts
    if not verdict.holds and verdict.run is not None:
        raise CheckFailed(
            HINTS["harmless"],
            problem=f"Some order loses messages: {verdict.text}.",
            rule=MEANING,
            lines=blame(verdict.run),
        )
    if not any(one.outcome.consumed for one in found.outcomes):
        raise CheckFailed(
            HINTS["harmless"],
            problem="Nobody asks for anything, so nothing can be lost.",
            rule="Somebody shall get a message.",
        )
    apart = tell_apart(mine, other)
    proof = " The two let the same messages pass." if apart.same else ""
    return f"{sum(one.schedules or 0 for one in found.outcomes):,} schedules, and none loses a message.{proof}"


CHECKS = {"08-paste": first_starter_wins, "08-count": outcome_counts, "08-harmless": harmless}
