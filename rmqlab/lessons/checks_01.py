"""The checks of notebook 01: predict an outcome, steer one, write a rule of the broker and a protocol, hunt bugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.lab.evidence import line, lines, way_of
from rmqlab.lab.fates import Fate
from rmqlab.lab.lab import Lab
from rmqlab.lab.run_view import RunView
from rmqlab.lab.scenario import Send, Start
from rmqlab.lessons.check import CheckFailed
from rmqlab.lessons.mutants import MUTANTS, hunted
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.search.explorer.invariants import violations
from rmqlab.show.swimlane import swimlane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.lab.evidence import Line
    from rmqlab.lab.run import Run

TOPIC, GROUP = "T", "G"
ASKED = {"A": "tagA", "B": "tagB"}
EIGHT = ("tagA",) * 4 + ("tagB",) * 4
QUEUES = (2, 3, 0, 1) * 2
PLACES = {
    "delivered": Fate.DELIVERED,
    "dropped by the broker": Fate.DROPPED_BY_BROKER_TAG,
    "dropped by a client": Fate.DROPPED_BY_CLIENT,
}
RULE_OF_FATES = (
    "The broker compares tag codes with the group's one slot, whoever pulls (S-35, S-51). What it returns, the "
    "consumer checks again against its own tags (S-82)."
)
BY_IDS = "Queues go to the members in the order of their client ids, whoever started first (S-32)."
ONE_SLOT = "The highest version holds the group's one slot; the last to look for queues usually has it (S-77, S-84)."


def played(
    order: str = "AB", tags: Iterable[str] = EIGHT, queues: int = 4, rules: Rules = DEFAULT_RULES, seed: int | None = None
) -> Lab:
    """The experiment of the lesson: two consumers a minute apart, then the messages, the first one into queue 2."""
    lab = Lab(topics={TOPIC: queues}, rules=rules, seed=seed)
    for number, who in enumerate(order):
        lab.run(seconds=60 * number)
        lab.consumer(who, group=GROUP, subscribe={TOPIC: ASKED[who]})
    lab.run(seconds=5)
    sent = list(tags)
    lab.send(TOPIC, sent, queues=[(2 + number) % queues for number in range(len(sent))])
    lab.run(seconds=25)
    return lab


def _view(lab: Lab) -> RunView:
    return RunView(lab.finish().run)


# Predict.


def predicted() -> RunView:
    """What is to be predicted: B starts first, tags come in turn."""
    return _view(played("BA", ("tagA", "tagB") * 4))


def predict(answer: Any) -> str:
    """What becomes of each of the eight messages: {place: [bodies]} with the three places."""
    reading = predicted()
    said = _places(answer, [fate.body for fate in reading.fates])
    for fate in reading.fates:
        if PLACES[said[fate.body]] is not fate.fate:
            raise CheckFailed(
                "For each message: which tag does the broker let pass, and who owns the queue it lies in?",
                problem=f'{fate.body} ({fate.tag}) is not "{said[fate.body]}".',
                rule=RULE_OF_FATES,
                lines=_causes(reading),
            )
    return "All eight messages end where you said."


def _causes(reading: RunView) -> list[Line]:
    """What decides the fates: who wrote the slot, who owns which queues, where the messages lie."""
    owners = {fact.source: fact for fact in reading.facts("rebalance")}
    stored = [way_of(reading, fate.body)[0] for fate in reading.fates]
    return [*lines([*reading.facts("subscription"), *owners.values()], reading), *stored]


def _places(answer: Any, bodies: list[str]) -> dict[str, str]:
    """Body to place; every message in exactly one."""
    rule = f"Each of {bodies[0]} to {bodies[-1]} has exactly one fate."
    if not isinstance(answer, dict) or set(answer) != set(PLACES):
        form = f"Give a dict with the keys {', '.join(map(repr, PLACES))}, each with a list of bodies."
        raise CheckFailed(form, rule=rule)
    said: dict[str, str] = {}
    for place, mine in answer.items():
        for body in mine:
            if body in said or body not in bodies:
                why = "stands twice in your answer" if body in said else "was never sent"
                raise CheckFailed(f"{body} {why}.", rule=rule)
            said[body] = place
    missing = [body for body in bodies if body not in said]
    if missing:
        raise CheckFailed(f"Your answer says nothing about {', '.join(missing)}.", rule=rule)
    return said


# Steer.

WANTED = ["MsgStr0", "MsgStr1"]


def steer(answer: Any) -> str:
    """A lab in which the consumer that asks for tagA gets exactly MsgStr0 and MsgStr1."""
    if not isinstance(answer, Lab):
        raise CheckFailed("Give the lab itself, after its last `run`.")
    scenario = answer.scenario()
    starts = {step.who: step for step in scenario.steps if isinstance(step, Start)}
    asks = {step.subscribe[TOPIC].expr: who for who, step in starts.items() if TOPIC in step.subscribe}
    sent = [message for step in scenario.steps if isinstance(step, Send) for message in step.messages]
    kinds = {type(step).__name__ for step in scenario.steps} - {"Start", "Send", "Alloc", "Offsets"}
    same = [(one.tag, one.queue) for one in sent] == list(zip(EIGHT, QUEUES, strict=True))
    if set(asks) != set(ASKED.values()) or len(starts) != len(ASKED) or not same or kinds or scenario.topics != {TOPIC: 4}:
        raise CheckFailed(
            "Two consumers, one for tagA and one for tagB, four queues, the eight messages of the lesson, and no fault."
        )
    if answer.rules != DEFAULT_RULES:
        raise CheckFailed("The rules are to stay as they are.")
    who = asks["tagA"]
    got = [row.body for row in answer.consumed() if row.who == who]
    if sorted(got) == WANTED:
        return f"{who} gets {' and '.join(WANTED)}."
    reading = RunView(answer._account_run())  # noqa: SLF001 - the run so far, of a lab that may go on
    owned = [fact for fact in reading.facts("rebalance") if fact.source == who][-1:]
    raise CheckFailed(
        "Two things decide: whose subscription the broker holds in the end, and who gets queues 2 and 3.",
        problem=f"{who} gets {', '.join(got) or 'nothing'}.",
        rule=f"{ONE_SLOT} {BY_IDS}",
        lines=lines([*reading.facts("subscription"), *owned], reading),
    )


# A rule of the broker.


class RuleCase(NamedTuple):
    """One call of `update_subscription`: what it shows, the table held, what a heartbeat told."""

    about: str
    held: dict[str, tuple[str, int]]
    told: dict[str, tuple[str, int]]


CASES = (
    RuleCase("a topic that is new", {}, {"T": ("tagA", 7)}),
    RuleCase("a topic with a higher version", {"T": ("tagA", 7)}, {"T": ("tagB", 8)}),
    RuleCase("a topic with a lower version", {"T": ("tagA", 7)}, {"T": ("tagB", 6)}),
    RuleCase("a topic with the same version", {"T": ("tagA", 7)}, {"T": ("tagB", 7)}),
    RuleCase("a topic that was not told", {"T": ("tagA", 7), "U": ("*", 7)}, {"T": ("tagA", 7)}),
    RuleCase("two topics", {"T": ("tagA", 7), "U": ("*", 7)}, {"U": ("x", 9), "T": ("tagB", 3), "V": ("*", 1)}),
    RuleCase("a heartbeat without topics", {"T": ("tagA", 7)}, {}),
)


def _subscriptions(table: dict[str, tuple[str, int]]) -> dict[str | None, SubscriptionData]:
    return {topic: SubscriptionData(topic, text, sub_version=version) for topic, (text, version) in table.items()}


def _told(table: dict[Any, SubscriptionData]) -> dict[Any, tuple[str | None, int]]:
    return {topic: (one.sub_string, one.sub_version) for topic, one in table.items()}


def rule(answer: Any) -> str:
    """A function with the behaviour of `update_subscription`."""
    if not callable(answer):
        raise CheckFailed("Give the function itself, without brackets behind its name.")
    for case in CASES:
        held = _subscriptions(case.held)
        found = answer(dict(held), list(_subscriptions(case.told).values()))
        if not isinstance(found, dict):
            raise CheckFailed(f"Your function returns a {type(found).__name__}; a dict is wanted: topic to subscription.")
        if _told(found) != _told(DEFAULT_RULES.update_subscription(held, list(_subscriptions(case.told).values()))):
            raise CheckFailed(
                "Read the four sentences once more: one of them does not hold yet.",
                problem=f"The first case that goes wrong is {case.about}.",
                rule="A higher version takes the slot, all others are passed over; what is not told goes (S-76..S-79).",
                lines=[f"held: {case.held}", f"told: {case.told}", f"your table: {_told(found)}"],
            )
    mine, real = (
        {found.outcome for found in played(queues=1, tags=("tagA", "tagB"), rules=rules).explore(samples=0).outcomes}
        for rules in (DEFAULT_RULES.replace(update_subscription=answer), DEFAULT_RULES)
    )
    if mine != real:
        raise CheckFailed("Each single case is right, but two consumers together end in another way.")
    return f"It does as the broker in {len(CASES)} cases, and in every order of frames of two consumers and two messages."


# A protocol of one's own.


def _unfair(consumed: Iterable[tuple[str, str, int]], tags: dict[str, str]) -> str:
    """What is wrong with who got what, in words; empty when each message went once to a member that asked for it."""
    got: Counter[str] = Counter()
    for who, body, times in consumed:
        if ASKED[who] != tags[body]:
            return f"{who} gets {body} ({tags[body]}), and did not ask for it"
        got[body] += times
    wrong = [body for body in tags if got[body] != 1]
    if not wrong:
        return ""
    times = got[wrong[0]]
    return f"nobody gets {wrong[0]} ({tags[wrong[0]]})" if not times else f"{wrong[0]} is taken {times} times"


def _judge_run(run: Run) -> None:
    tags = {event["body"]: event["tag"] for event in run.events if event["ev"] == "sent"}
    problem = _unfair(run.outcome().consumed, tags)
    if not problem:
        return
    reading = RunView(run)
    body = next(body for body in tags if body in problem)
    raise CheckFailed(
        "Follow one message that does not arrive: who may pull its queue, what does the broker let pass, what the client?",
        problem=f"{problem}.",
        rule=f"{BY_IDS} {RULE_OF_FATES} Your protocol may change each of these.",
        lines=way_of(reading, body),
        picture=swimlane(run),
    )


def protocol(answer: Any) -> str:
    """Rules with which each message goes once to a member that asked for it, in every order of frames."""
    if not isinstance(answer, Rules):
        raise CheckFailed('Give rules: rmqlab.RULES["4.8.0"].replace(...).')
    for order in ("AB", "BA"):
        for seed in (None, 1, 2):
            _judge_run(played(order, rules=answer, seed=seed).finish().run)
    explored = played(queues=1, tags=("tagA", "tagB"), rules=answer).explore(samples=0)
    for found in explored.outcomes:
        _judge_run(found.run)
    how_many = "every order" if explored.exhausted else f"{explored.runs:,} orders (there are more)"
    return f"The eight messages arrive, and on one queue two messages arrive in {how_many} of frames."


# Hunt.

HUNTED = ("amber", "basalt", "coral", "dune", "ember")


def bug_hunt(answer: Any) -> str:
    """For each of ``HUNTED`` the name of the rule that is wrong in it."""
    if not isinstance(answer, dict) or set(answer) != set(HUNTED):
        raise CheckFailed(f"Give a dict with the keys {', '.join(HUNTED)}.")
    known = [name for name, value in DEFAULT_RULES.as_dict().items() if callable(value)]
    for name, said in answer.items():
        if said not in known:
            raise CheckFailed(f"{name}: {said!r} is not the name of a rule; there are: {', '.join(known)}.")
    for name, said in answer.items():
        if said not in MUTANTS[name].wrong:
            violation = next(iter(violations(reading := RunView(hunted(name))).values()))[0]
            raise CheckFailed(
                "Not all names are right. Put each broken lab beside the sound one: which table or picture differs first?",
                problem=f"{name} does not have a wrong {said}. Look here: {violation.text}.",
                rule="Each rule says when it is asked: rmqlab.RULES['4.8.0'].source(name) shows its lines and its Java.",
                lines=[line(fact, reading) for fact in violation.facts],
            )
    return f"You found all {len(HUNTED)} by what they do."


CHECKS: dict[str, Callable[[Any], str]] = {
    "01-predict": predict,
    "01-steer": steer,
    "01-rule": rule,
    "01-protocol": protocol,
    "01-bug-hunt": bug_hunt,
}
