"""A rule that a learner wrote, judged by every order of what a lab did."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.course.answers import BY_HAND
from rmqlab_tools.course.check import CheckFailed
from rmqlab_tools.course.mutants import FUNCTIONS
from rmqlab_tools.course.rule_judge import answered, kinds_of, must_agree_in_cases, rule_text
from rmqlab_tools.gc_tuning import gc_tuning
from rmqlab_tools.search.explorer.explanation import blame, deviation
from rmqlab_tools.search.explorer.open_search import OpenSearch
from rmqlab_tools.search.explorer.timings import search_timing
from rmqlab_tools.show.swimlane import story_picture

if TYPE_CHECKING:
    from rmqlab.lab.lab import Lab
    from rmqlab.run.run import Outcome, Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.sim.cluster import ClusterConfig

ORDER_BUDGET = 2_000
ORDERS_HINT = _("Your rule must hold in every order of the frames. Which two could arrive the other way round?")
_KNOWN: dict[tuple[str, ...], set[Outcome]] = {}
Wanted = Callable[["Run"], str | None] | None  # what is wrong with a run, if anything is


def must_be_like(
    field: str, mine: Any, labs: Sequence[Lab], wanted: Wanted = None, *, order_hint: str = ORDERS_HINT
) -> None:
    """Judge a learner's rule by cases, then by every order; `order_hint` is the hint of the second ("": the task's).

    Raises:
        CheckFailed: a case, or an order, in which it is not like the rule of 4.8.0 named `field`.
    """
    must_agree_in_cases(field, mine)
    must_hold_in_every_order(labs, DEFAULT_RULES.replace(**{field: mine}), wanted, hint=order_hint)


def must_hold_in_every_order(
    labs: Sequence[Lab], rules: Rules, wanted: Wanted = None, *, hint: str = ORDERS_HINT
) -> None:
    """Try every order of what the `labs` did under a learner's `rules`; the smallest lab comes first.

    `wanted` says what is wrong with a run; without it only endings may come that the rules of 4.8.0 have too, and all
    of them.

    Raises:
        CheckFailed: an order breaks it; its picture is the shortest one.
        ValueError: there are more orders than `ORDER_BUDGET` runs can try; the text says so.
    """
    mine = {name: rule for name in FUNCTIONS if (rule := getattr(rules, name)) != getattr(DEFAULT_RULES, name)}
    for lab in labs:
        stopped: list[str] = []
        guarded = {name: _guarded(name, rule, stopped) for name, rule in mine.items()}
        failed = _in_lab(lab, rules.replace(**guarded), wanted, stopped)
        if failed is not None:
            failed.hint, failed.rule = BY_HAND if stopped else hint, " ".join(map(rule_text, mine))
            raise failed


def _in_lab(lab: Lab, rules: Rules, wanted: Wanted, stopped: list[str]) -> CheckFailed | None:
    """What breaks the rules in this lab; `stopped` grows where one of them raises."""
    cluster = dataclasses.replace(lab._cluster, rules=rules)  # noqa: SLF001 - to try the lab's scenario again
    scenario = lab.scenario()
    known = _endings(scenario, cluster) if wanted is None else set()
    reached: set[Outcome] = set()
    search = OpenSearch(scenario, _key, timing=search_timing(scenario, ()), cluster=cluster)
    for run in _runs(search, ORDER_BUDGET):  # those with fewer unusual choices first
        text = _ending(known, run) if wanted is None else wanted(run)
        if stopped:
            break
        if text is not None:
            return _story(run, text)
        reached.add(run.outcome())
    if stopped:
        return CheckFailed(problem=stopped[0])
    if not search.exhausted:
        return CheckFailed(problem=_("Your rule leads to more orders than {budget} runs can try.", budget=ORDER_BUDGET))
    missing = len(known - reached)
    if missing:
        return CheckFailed(
            problem=_("Your rule never ends in {missing} of the ways in which 4.8.0 can end.", missing=missing)
        )
    return None


def _runs(search: OpenSearch, budget: int) -> Iterator[Run]:
    """The runs that end in a new way, as they are found; `budget` runs at most."""
    seen = 0
    with gc_tuning():
        while not search.exhausted and search.runs < budget:
            search.step()
            yield from search.endings[seen:]
            seen = len(search.endings)


def first_wrong(lab: Lab, wanted: Callable[[Run], str | None], budget: int) -> tuple[Run | None, int, bool]:
    """The first run of a lab's scenario in which `wanted` finds something wrong, those with few unusual choices first.

    Beside it how many runs were tried, and whether these were all there are.
    """
    search = OpenSearch(lab.scenario(), _key, timing=search_timing(lab.scenario(), ()), cluster=lab._cluster)  # noqa: SLF001
    for run in _runs(search, budget):
        if wanted(run) is not None:
            return run, search.runs, search.exhausted
    return None, search.runs, search.exhausted


def _key(run: Run) -> Hashable:
    """Runs that end alike: what was consumed, dropped and lost, and what happened on the way."""
    fates = tuple(sorted((fate.group, fate.body, str(fate.fate), fate.culprit or "") for fate in run.fates))
    kinds = tuple(sorted(Counter(fact.event.kind for fact in run.facts).items()))
    return run.outcome(), fates, kinds


def _endings(scenario: Scenario, cluster: ClusterConfig) -> set[Outcome]:
    """How the scenario can end under the rules of 4.8.0."""
    key = (scenario.to_json(), repr(cluster.broker), repr(cluster.store))
    if key not in _KNOWN:
        sound = dataclasses.replace(cluster, rules=DEFAULT_RULES)
        search = OpenSearch(scenario, _key, timing=search_timing(scenario, ()), cluster=sound)
        endings = {run.outcome() for run in _runs(search, ORDER_BUDGET)}
        if not search.exhausted:
            raise ValueError(f"{scenario.id} has more orders than {ORDER_BUDGET} runs can try: give a smaller lab")
        _KNOWN[key] = endings
    return _KNOWN[key]


def _story(run: Run, text: str) -> CheckFailed:
    unusual = [_("unusual  {deviation}", deviation=deviation(choice, run.schedule.timing)) for choice in run.unusual]
    lines = [
        *(unusual or [_("This is the usual order.")]),
        *blame(run),
        _("schedule  {to_json}", to_json=run.schedule.to_json()),
    ]
    picture = story_picture(run, _("The shortest order in which your rule goes wrong"))
    return CheckFailed(problem=f"{text}.", lines=lines, picture=picture)


def _ending(known: set[Outcome], run: Run) -> str | None:
    """Who got what, if it is not among the known endings."""
    if run.outcome() in known:
        return None
    consumed = run.outcome().as_json()["consumed"]
    endings = joined(
        "; ", (_("{who} gets {bodies}", who=client, bodies=joined(", ", bodies)) for client, bodies in consumed.items())
    ) or _("nobody gets anything")
    return _("It ends in a way in which 4.8.0 never ends: {told}", told=endings)


def _guarded(field: str, mine: Any, stopped: list[str]) -> Any:
    """The learner's rule; where it raises or answers with the wrong type, that is noted, and the real one goes on."""
    real = getattr(DEFAULT_RULES, field)
    kinds = kinds_of(real)

    @wraps(real)
    def guarded(*args: Any) -> Any:
        given = tuple(list(argument) if isinstance(argument, list) else argument for argument in args)
        answer, problem = answered(mine, args, given, kinds)
        if problem:
            stopped.append(_("In a run {problem}", problem=problem))
        return real(*args) if problem else answer

    return guarded
