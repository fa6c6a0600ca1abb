"""A rule that a learner wrote, judged by small cases, by vectors, and by every order of what a lab did.

Each function answers with None if nothing speaks against the rule, else with a `CheckFailed` to raise: its evidence is
the first case that differs, or the shortest order that goes wrong, as a picture. What the right rule gives is not told.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import linecache
import re
import traceback
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol

from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.gc_tuning import gc_tuning
from rmqlab.lessons.check import OPEN, CheckFailed
from rmqlab.lessons.rule_cases import CASES, UNKNOWN, Case, in_words, vector_cases
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.search.explorer.deviations import replay_schedule
from rmqlab.search.explorer.explanation import blame
from rmqlab.search.explorer.invariants import INVARIANTS
from rmqlab.search.explorer.open_search import OpenSearch
from rmqlab.search.explorer.properties import BUILT_IN
from rmqlab.search.explorer.timings import search_timing

if TYPE_CHECKING:
    from rmqlab.lab.run import Outcome, Run
    from rmqlab.lab.scenario import Scenario

BUDGET = 2_000
_KNOWN: dict[tuple[str, ...], set[Outcome]] = {}
_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "list[T]": (list,), "Table": (dict,)}
OUTCOMES = "outcomes"
Wanted = str | Callable[["Run"], str | None]


class HasScenario(Protocol):
    """A `Lab`, or what is like one: it says what was done."""

    def scenario(self) -> Scenario:
        """What was done, as data."""


def differs_in_a_case(
    field: str, mine: object, cases: Iterable[Case | tuple[Any, ...]] | None = None, *, hint: str = ""
) -> CheckFailed | None:
    """Compare a learner's rule with that of ``RULES`` on `cases`: by default small ones, then those of the real jars.

    A case is a `Case`, or the arguments alone. The first that differs is told.

    >>> differs_in_a_case("is_expired", lambda now, last, expiry: now - last > expiry)
    >>> print(differs_in_a_case("is_expired", lambda now, last, expiry: now - last >= expiry).problem)
    now=501, last_update_timestamp=500, channel_expired_ms=1: your function gives True.
    """
    say = hint or f"Take small inputs of {field}, and work out by hand what comes out."
    real = getattr(DEFAULT_RULES, field)
    failed = _no_rule(real, mine, field)
    if failed is not None:
        return failed
    for case in [*CASES[field](), *vector_cases(field)] if cases is None else cases:
        args, expected = (case.args, case.expected) if isinstance(case, Case) else (case, UNKNOWN)
        right = real(*copy.deepcopy(args)) if expected is UNKNOWN else expected
        problem = _answers(mine, args, right, real)
        if problem:
            given = ", ".join(
                f"{name}={in_words(value)}"
                for name, value in zip(inspect.signature(real).parameters, args, strict=True)
            )
            return CheckFailed(say, rule=rule_text(field), problem=f"{given}: {problem}")
    return None


def broken_order(
    labs: Sequence[HasScenario],
    rules: Rules,
    wanted: Wanted = OUTCOMES,
    *,
    hint: str = "",
    budget: int = BUDGET,
) -> CheckFailed | None:
    """Try every order of what the `labs` did under a learner's `rules`; the smallest lab comes first.

    `wanted` is what must hold in each: "outcomes" (only endings that the rules of 4.8.0 have too, and all of them), a
    property ("no-loss", "no-duplicates", "every-queue-owned", "one-owner"), the name of an invariant, or a function of
    a run that says what is wrong, or None. The answer's picture is the shortest order that breaks it.

    Raises:
        ValueError: there are more orders than `budget` runs can try; the text says so.
    """
    say = hint or "Your rule must hold in every order of the frames. Which two could arrive the other way round?"
    fields = [
        one.name for one in dataclasses.fields(rules) if getattr(rules, one.name) != getattr(DEFAULT_RULES, one.name)
    ]
    text = " ".join(rule_text(field) for field in fields if callable(getattr(rules, field)))
    for lab in labs:
        failed = _in_lab(lab, rules, fields, wanted, budget)
        if failed is not None:
            failed.hint, failed.rule = say, _rule_of(wanted) or text
            return failed
    return None


def rule_text(field: str) -> str:
    """What a rule does, in words, with its rows: its docstring.

    >>> rule_text("is_latest")
    "Whether the broker's subscription may serve a pull; an older one is refused, a newer one serves in silence. (S-66)"
    """
    doc = " ".join((inspect.getdoc(getattr(DEFAULT_RULES, field)) or "").partition(">>>")[0].split())
    return re.sub(r"4\.8\.0 `[^`]+`; ((?:[SFH]-\d+(?:, |\.\.)?)+)\.?", r"(\1)", doc).strip()


# Cases.


def _no_rule(real: object, mine: object, field: str) -> CheckFailed | None:
    """It is no function, or takes another number of arguments."""
    if mine is ...:
        return CheckFailed(OPEN)
    names = list(inspect.signature(real).parameters) if callable(real) else []
    form = f"Give a function with {len(names)} parameter{'s' if len(names) != 1 else ''}: {', '.join(names)}."
    if not callable(mine):
        return CheckFailed(form, rule=rule_text(field))
    try:
        inspect.signature(mine).bind(*names)
    except TypeError:
        return CheckFailed(form, rule=rule_text(field))
    except ValueError:
        pass  # a built-in without a signature: its first call will tell
    return None


def _answers(mine: Any, args: tuple[Any, ...], right: object, real: object) -> str:
    """What is wrong with the answer of a rule, or nothing."""
    given = copy.deepcopy(args)
    try:
        answer = mine(*given)
    except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
        return in_a_sentence(error, mine)
    if answer is ... or (answer is None and right is not None and not _says_none(real)):
        return f"your function gives {answer!r}. Does every way through it end in return?"
    kind = _kind_of(right)
    if kind and not isinstance(answer, kind) and answer is not None:
        return f"your function gives {in_words(answer)}, a {type(answer).__name__}; it must be a {kind[0].__name__}."
    if _changed(args, given):
        return "your function changes what it was given; make a new object and return that."
    same = list(answer) == right if isinstance(right, list) and answer is not None else answer == right
    return "" if same else f"your function gives {in_words(answer)}."


def _kind_of(right: object) -> tuple[type, ...]:
    if isinstance(right, bool):
        return (bool,)
    if isinstance(right, int):
        return (int,)
    if isinstance(right, list):
        return (list, tuple)
    return (dict, Mapping) if isinstance(right, Mapping) else ()


def _says_none(real: object) -> bool:
    return "None" in str(inspect.signature(real).return_annotation) if callable(real) else False


def _changed(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    return any(one != other for one, other in zip(before, after, strict=True) if isinstance(one, list | Mapping))


def in_a_sentence(error: BaseException, mine: object) -> str:
    """Where a learner's function stopped, by its own line, and why."""
    file = getattr(getattr(mine, "__code__", None), "co_filename", None)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, NotImplementedError):
        return "your function is not written yet."
    if isinstance(error, RecursionError):
        why = "it calls itself without an end"
    if not frames or frames[-1].lineno is None:
        return f"your function stops: {why}."
    line = (frames[-1].line or linecache.getline(frames[-1].filename, frames[-1].lineno)).strip()
    return (
        f"your function stops at `{line}`: {why}."
        if line
        else f"your function stops in line {frames[-1].lineno}: {why}."
    )


# Orders.


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
    known: set[Outcome] = set()
    says = _says(wanted)
    if wanted == OUTCOMES:
        known = _endings(scenario, cluster, budget)
        says = partial(_ending, known)
    reached: set[Outcome] = set()
    search = OpenSearch(scenario, _key, timing=search_timing(scenario, ()), cluster=mine)
    for run in _runs(search, budget):  # those with fewer unusual choices first
        text = says(run)
        if stopped:
            return CheckFailed("", problem=stopped[0])
        if text is not None:
            return _story(scenario, run, mine, text)
        reached.add(run.outcome())
    if stopped:
        return CheckFailed("", problem=stopped[0])
    if not search.exhausted:
        return CheckFailed("", problem=f"Your rule leads to more orders than {budget} runs can try.")
    missing = len(known - reached)
    if missing:
        return CheckFailed("", problem=f"4.8.0 can end in {missing} more ways, in which your rule never ends.")
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
    kinds = tuple(sorted(Counter(fact.kind for fact in run.facts.facts).items()))
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
    return CheckFailed("", problem=f"{text}.", lines=lines, picture=picture)


def _ending(known: set[Outcome], run: Run) -> str | None:
    """Who got what, if it is not among the known endings."""
    if run.outcome() in known:
        return None
    consumed = run.outcome().as_json()["consumed"]
    told = "; ".join(f"{who} gets {', '.join(bodies)}" for who, bodies in consumed.items()) or "nobody gets anything"
    return f"It ends in a way in which 4.8.0 never ends: {told}"


def _says(wanted: Wanted) -> Callable[[Run], str | None]:
    if callable(wanted):
        return wanted
    if wanted in BUILT_IN:
        return BUILT_IN[wanted].says
    if wanted == OUTCOMES:
        return lambda _: None
    invariant = INVARIANTS[wanted]

    def says(run: Run) -> str | None:
        from rmqlab.lab.run_view import RunView

        broken = next(invariant.find(RunView(run)), None)
        return None if broken is None else broken.text

    return says


def _rule_of(wanted: Wanted) -> str:
    invariant = INVARIANTS.get(wanted) if isinstance(wanted, str) else None
    return "" if invariant is None else f"{invariant.rule} ({invariant.row})"


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
