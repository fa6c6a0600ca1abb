"""A rule that a learner wrote, judged by every order of what a lab did."""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lessons.check import THEIRS, CheckFailed
from rmqlab.lessons.rule_cases import in_words
from rmqlab.lessons.rule_judge import differs_in_a_case, in_a_sentence, rule_text
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.search.explorer.deviations import replay_schedule
from rmqlab.search.explorer.explanation import blame
from rmqlab.search.explorer.open_search import OpenSearch, gc_tuning
from rmqlab.search.explorer.timings import search_timing

if TYPE_CHECKING:
    from rmqlab.lab.run import Outcome, Run
    from rmqlab.lab.scenario import Scenario

BUDGET = 2_000
ORDERS = "Your rule must hold in every order of the frames. Which two could arrive the other way round?"
_KNOWN: dict[tuple[str, ...], set[Outcome]] = {}
_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "list[T]": (list,), "Table": (dict,)}
Wanted = Callable[["Run"], str | None] | None  # what is wrong with a run, if anything is


class HasScenario(Protocol):
    """A `Lab`, or what is like one: it says what was done."""

    def scenario(self) -> Scenario:
        """What was done, as data."""


def must_be_like(
    field: str,
    mine: Any,
    labs: Sequence[HasScenario],
    wanted: Wanted = None,
    *,
    order_hint: str = ORDERS,
) -> None:
    """Judge a learner's rule by cases, then by every order; `order_hint` is the hint of the second ("": the task's).

    Raises:
        CheckFailed: a case, or an order, in which it is not like the rule of 4.8.0 named `field`.
    """
    if mine is getattr(DEFAULT_RULES, field):  # no order can tell it from itself
        raise CheckFailed(THEIRS)
    failed = differs_in_a_case(field, mine)
    if failed is None:
        rules = DEFAULT_RULES.replace(**{field: mine})
        failed = broken_order(labs, rules, wanted, hint=order_hint)
    if failed is not None:
        raise failed


def broken_order(
    labs: Sequence[HasScenario],
    rules: Rules,
    wanted: Wanted = None,
    *,
    hint: str = ORDERS,
    budget: int = BUDGET,
) -> CheckFailed | None:
    """Try every order of what the `labs` did under a learner's `rules`; the smallest lab comes first.

    `wanted` says what is wrong with a run; without it only endings may come that the rules of 4.8.0 have too, and all
    of them. The answer's picture is the shortest order that breaks it.

    Raises:
        ValueError: there are more orders than `budget` runs can try; the text says so.
    """
    fields = [
        one.name for one in dataclasses.fields(rules) if getattr(rules, one.name) != getattr(DEFAULT_RULES, one.name)
    ]
    text = " ".join(rule_text(field) for field in fields if callable(getattr(rules, field)))
    for lab in labs:
        failed = _in_lab(lab, rules, fields, wanted, budget)
        if failed is not None:
            failed.hint, failed.rule = hint, text
            return failed
    return None


def _in_lab(lab: HasScenario, rules: Rules, fields: list[str], wanted: Wanted, budget: int) -> CheckFailed | None:
    scenario = lab.scenario()
    cluster: ClusterConfig = getattr(lab, "_cluster", None) or ClusterConfig()
    stopped: list[str] = []
    guarded = {
        field: _guarded(getattr(rules, field), getattr(DEFAULT_RULES, field), stopped)
        for field in fields
        if callable(getattr(rules, field))
    }
    mine = dataclasses.replace(cluster, rules=rules.replace(**guarded))
    known = _endings(scenario, cluster, budget) if wanted is None else set()
    reached: set[Outcome] = set()
    search = OpenSearch(scenario, _key, timing=search_timing(scenario, ()), cluster=mine)
    for run in _runs(search, budget):  # those with fewer unusual choices first
        text = _ending(known, run) if wanted is None else wanted(run)
        if stopped:
            return CheckFailed(problem=stopped[0])
        if text is not None:
            return _story(scenario, run, mine, text)
        reached.add(run.outcome())
    if stopped:
        return CheckFailed(problem=stopped[0])
    if not search.exhausted:
        return CheckFailed(problem=f"Your rule leads to more orders than {budget} runs can try.")
    missing = len(known - reached)
    if missing:
        return CheckFailed(problem=f"4.8.0 can end in {missing} more ways, in which your rule never ends.")
    return None


def _runs(search: OpenSearch, budget: int) -> Iterator[Run]:
    """The runs that end in a new way, as they are found."""
    seen = 0
    with gc_tuning():
        while not search.exhausted and search.runs < budget:
            search.step()
            yield from (ending.run for ending in search.endings[seen:])
            seen = len(search.endings)


def _key(run: Run) -> Hashable:
    """Runs that end alike: what was consumed, dropped and lost, and what happened on the way."""
    fates = tuple(sorted((fate.group, fate.body, str(fate.fate), fate.culprit or "") for fate in run.fates))
    kinds = tuple(sorted(Counter(fact.kind for fact in run.facts).items()))
    return run.outcome(), fates, kinds


def _endings(scenario: Scenario, cluster: ClusterConfig, budget: int) -> set[Outcome]:
    """How the scenario can end under the rules of 4.8.0."""
    key = (scenario.to_json(), repr(cluster.broker), repr(cluster.store))
    if key not in _KNOWN:
        sound = dataclasses.replace(cluster, rules=DEFAULT_RULES)
        search = OpenSearch(scenario, _key, timing=search_timing(scenario, ()), cluster=sound)
        _KNOWN[key] = {run.outcome() for run in _runs(search, budget)}
        if not search.exhausted:
            del _KNOWN[key]
            raise ValueError(f"{scenario.id} has more orders than {budget} runs can try: give a smaller lab")
    return _KNOWN[key]


def _story(scenario: Scenario, run: Run, cluster: ClusterConfig, text: str) -> CheckFailed:
    from rmqlab.show.schedules.schedule_story import story_picture

    told = replay_schedule(scenario, run.schedule, cluster=cluster)
    usual = [f"unusual  {one.text}" for one in told.deviations] or ["This is the usual order."]
    picture = story_picture(told, "The shortest order in which your rule goes wrong")
    lines = [*usual, *blame(told.run), f"schedule  {run.schedule.to_json()}"]
    return CheckFailed(problem=f"{text}.", lines=lines, picture=picture)


def _ending(known: set[Outcome], run: Run) -> str | None:
    """Who got what, if it is not among the known endings."""
    if run.outcome() in known:
        return None
    consumed = run.outcome().as_json()["consumed"]
    told = "; ".join(f"{who} gets {', '.join(bodies)}" for who, bodies in consumed.items()) or "nobody gets anything"
    return f"It ends in a way in which 4.8.0 never ends: {told}"


def _guarded(mine: Any, real: Any, stopped: list[str]) -> Any:
    """The learner's rule; where it raises or answers with the wrong type, that is noted, and the real one goes on."""
    kind = _KINDS.get(str(inspect.signature(real).return_annotation), ())

    @wraps(real)
    def guarded(*args: Any) -> Any:
        try:
            answer = mine(*args)
        except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
            stopped.append(f"In a run {in_a_sentence(error, mine)}")
            return real(*args)
        if kind and not isinstance(answer, kind):
            stopped.append(f"In a run your function gives {in_words(answer)}; it must be a {kind[0].__name__}.")
            return real(*args)
        return answer

    return guarded
