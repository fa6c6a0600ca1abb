"""The checks of notebook 08: a schedule as text, two texts that no order can hurt, a wrong rule, your own rule."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate
from rmqlab.scenario.schedule import Schedule
from rmqlab_tools.course.answers import called, needs_function
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.search.consistency import tell_apart
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.search.explorer.explanation import blame, deviation

if TYPE_CHECKING:
    from rmqlab_tools.search.explorer.exploration import Exploration, FoundOutcome

TASK_GAP_S: Final = 12
FEW, ALL = 60, 2_000  # runs: for a first look, for every order
GAPS_S = (2.0, 1.0, 3.0, 5.0, 8.0)  # between the two starts
SHAPE = _("Give the function itself: it takes (held, told) and answers with a dict, as update_subscription does.")


def meet(
    first: str = "AB",
    *,
    queues: int = 4,
    gap_s: float = 2,
    tags: tuple[str, str] = ("tagA", "tagB"),
    rules: Rules = DEFAULT_RULES,
    seed: int | None = None,
) -> Lab:
    """A asks for the first tag, B for the second; they start in the order of `first`; each queue gets one of each."""
    lab = Lab(topics={"T": queues}, rules=rules, seed=seed)
    for name, wait_s in zip(first, (gap_s, 8), strict=True):
        lab.consumer(name, group="G", subscribe={"T": tags["AB".index(name)]})
        lab.run(seconds=wait_s)
    lab.send("T", ["tagA"] * queues + ["tagB"] * queues, queues=[*range(queues)] * 2)
    lab.run(seconds=60)
    return lab


def first_starter_wins(answer: Any) -> str:
    """A schedule as text, with which A, who starts 12 s before B, has the slot."""
    if not isinstance(answer, str):
        raise CheckFailed(case="form")
    run = replay_schedule(meet(gap_s=TASK_GAP_S).scenario(), Schedule.from_json(answer))
    outcome = run.outcome()
    if outcome.bodies_of("B") or not outcome.bodies_of("A"):
        problem = _("It ends with: {words}.", words=outcome.words)
        raise CheckFailed(problem=problem, lines=blame(run))
    unusual = [deviation(choice, run.schedule.timing) for choice in run.unusual]
    if len(unusual) > 1:
        problem = _("{unusual} choices are unusual; one is enough.", unusual=len(unusual))
        raise CheckFailed(case="fewest", problem=problem, lines=unusual)
    return _("One unusual choice, and A has the slot: {unusual}.", unusual=unusual[0])


@lru_cache(maxsize=8)
def _of_texts(a: str, b: str, budget: int) -> Exploration:
    return meet(queues=2, tags=(a, b)).explore(budget=budget, samples=0)


def harmless(answer: Any) -> str:
    """Two different tag expressions, for A and B, with which no order of frames loses a message of tagA or tagB."""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or not all(isinstance(text, str) for text in answer):
        raise CheckFailed(_('Give two texts, such as ("tagA", "tagB").'), rule=OF_TASK)
    a, b = answer
    if a == b:
        raise CheckFailed(
            _("The two texts are the same. A tool that reads texts shall see a difference."), rule=OF_TASK
        )
    for budget in (FEW, ALL):
        exploration = _of_texts(a, b, budget)
        losing = [outcome for outcome in exploration.outcomes if outcome.lost]
        if losing:
            shortest = min(losing, key=lambda outcome: len(outcome.schedule.taken))
            problem = _("Some order loses {lost}.", lost=joined(", ", shortest.lost))
            picture = shortest.story(_("The shortest schedule that loses"))
            raise CheckFailed(problem=problem, lines=shortest.blame(), picture=picture)
    if not any(outcome.outcome.consumed for outcome in exploration.outcomes):
        raise CheckFailed(problem=_("Nobody gets a message, so nothing can be lost."))
    apart = tell_apart(build_subscription("T", a, "TAG"), build_subscription("T", b, "TAG"))
    proof = (" " + _("The two let the same messages pass.")) if apart.same else ""
    return _(
        "{schedules} schedules, and none loses a message.{proof}", schedules=f"{_schedules(exploration):,}", proof=proof
    )


def _schedules(exploration: Exploration) -> int:
    return sum(outcome.schedules or 0 for outcome in exploration.outcomes)


def _rules(answer: Any) -> Rules:
    needs_function(answer, SHAPE)
    if not isinstance(said := called(answer, {}, [build_subscription("T", "tagA", "TAG")]), dict):
        raise CheckFailed(SHAPE, problem=_("your function gives {said}.", said=f"{said!r}"), rule=OF_TASK)
    return DEFAULT_RULES.replace(update_subscription=answer)


def wrong_rule(answer: Any) -> str:
    """The rule that explains it: no member gets a message and none is lost, whoever starts first."""
    rules = _rules(answer)
    for gap_s in GAPS_S:
        for first in ("AB", "BA"):
            lab = meet(first, queues=2, gap_s=gap_s, rules=rules)
            if {fate.fate for fate in lab.fates()} != {Fate.WAITING}:
                problem = _("{first} first, with this rule: {words}.", first=first[0], words=lab.outcome().words)
                raise CheckFailed(problem=problem, picture=lab.swimlane())
    return _("Every message waits, whoever starts first, in {runs} runs.", runs=2 * len(GAPS_S))


def own_rule(answer: Any) -> str:
    """A rule for update_subscription with which every order ends alike, whoever starts first, and nothing waits."""
    rules = _rules(answer)
    labs = {first: meet(first, queues=2, gap_s=0, rules=rules) for first in ("AB", "BA")}
    ends: dict[str, FoundOutcome] = {}
    for budget in (FEW, ALL):
        explorations = {first: lab.explore(budget=budget, samples=0) for first, lab in labs.items()}
        for first, explored in explorations.items():
            for outcome in explored.outcomes:
                ends.setdefault(outcome.words, outcome)
                if len(ends) > 1:
                    problem = _("Two orders end otherwise: {ends}.", ends="; or ".join(ends))
                    raise CheckFailed(problem=problem, lines=outcome.blame(), picture=outcome.story())
                waiting = [fate.body for fate in outcome.run.fates if fate.fate is Fate.WAITING]
                if waiting:
                    problem = _(
                        "{first} first: {waiting} wait for ever.", first=first[0], waiting=joined(", ", waiting)
                    )
                    raise CheckFailed(case="waits", problem=problem, picture=outcome.story())
                if not outcome.outcome.consumed:
                    raise CheckFailed(
                        problem=_("{first} first: nobody gets a message.", first=first[0]), picture=outcome.story()
                    )
    if not all(exploration.exhausted for exploration in explorations.values()):
        raise BadInput(_("after {all} runs the search is not at its end; give a simpler rule", all=ALL))
    (words,) = ends
    lost = max(len(outcome.lost) for explored in explorations.values() for outcome in explored.outcomes)
    total = sum(map(_schedules, explorations.values()))
    return _(
        "{total} schedules, and each ends so: {words}. {lost} of 4 are lost; with the rule of 4.8.0 it is 3.",
        total=f"{total:,}",
        words=words,
        lost=lost,
    )


CHECKS = {"08-paste": first_starter_wins, "08-harmless": harmless, "08-hunt": wrong_rule, "08-rule": own_rule}
