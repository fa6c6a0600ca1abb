"""The checks of notebook 01: predict an outcome, give A two messages, the most that can be had, the bug hunt."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from rmqlab.errors import BadInput
from rmqlab.lab.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab.lab.evidence import Line, line, lines, way_of
from rmqlab.lab.fates import Fate
from rmqlab.lab.run_view import RunView
from rmqlab.lessons.check import CheckFailed
from rmqlab.lessons.mutants import MUTANTS, hunted
from rmqlab.search.explorer.invariants import INVARIANTS, violations

PREDICT = EightMessages(
    start_order=("B", "A"),
    client_ids={"A": f"{CLIENT_IP}@5307", "B": f"{CLIENT_IP}@4902"},
    sending_order="ABABABAB",
)
PLACES = {
    "delivered": Fate.DELIVERED,
    "dropped by the broker": Fate.DROPPED_BY_BROKER_TAG,
    "dropped by a client": Fate.DROPPED_BY_CLIENT,
}
RULES_OF_FATES = {
    Fate.DELIVERED: "A message arrives if the slot has its tag's code and its queue's owner wants it (S-51, S-82).",
    Fate.DROPPED_BY_BROKER_TAG: "The broker compares tag codes with the group's one slot, whoever pulls (S-35, S-51).",
    Fate.DROPPED_BY_CLIENT: "What the broker returns, the consumer checks again against its own tags (S-82).",
}
ONE_SLOT = "The newest stamp holds the group's one slot; the last to look for queues usually has it (S-77, S-84)."
BY_IDS = "Queues go to the members in the order of their client ids, whoever started first (S-32)."
WANTED = ["MsgStr0", "MsgStr1"]
ONE_ROUND_MS = 1_000
HINTS = {
    "predict": "For each message: which tag does the broker let pass, and who owns the queue it lies in?",
    "two_for_a": "Two things decide: whose subscription the broker holds in the end, and which queues A gets.",
    "ceiling": "Try each choice of start order and client ids: run it, and count the fates.",
    "one_bug": "Compare the broken run with a sound one. Which event is the first that differs?",
}


def predict(answer: Any) -> str:
    """What becomes of each of the eight messages of ``PREDICT``: {place: [bodies]} with the three places."""
    reading = RunView(PREDICT.run())
    said = _places(answer, [fate.body for fate in reading.fates])
    for fate in reading.fates:
        if PLACES[said[fate.body]] is not fate.fate:
            problem = f'{fate.body} ({fate.tag}) is not "{said[fate.body]}".'
            raise CheckFailed(
                HINTS["predict"], problem=problem, rule=" ".join(RULES_OF_FATES.values()), lines=_causes(reading)
            )
    return "All eight messages end where you said."


def _causes(reading: RunView) -> list[Line]:
    """What decides the fates: who wrote the slot, who owns which queues, where the messages lie."""
    owners = {fact.source: fact for fact in reading.facts("rebalance")}
    stored = [way_of(reading, fate.body)[0] for fate in reading.fates]
    return [*lines([*reading.facts("subscription"), *owners.values()], reading), *stored]


def _places(answer: Any, bodies: list[str]) -> dict[str, str]:
    """Body to place; every message in exactly one."""
    form = f"Give a dict with the keys {', '.join(map(repr, PLACES))}, each with a list of bodies."
    rule = f"Each of {bodies[0]} to {bodies[-1]} has exactly one fate."
    if not isinstance(answer, dict) or set(answer) != set(PLACES):
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


def two_for_a(answer: Any) -> str:
    """Start order and client ids that give A exactly MsgStr0 and MsgStr1."""
    allowed = ("start_order", "client_ids")
    if not isinstance(answer, dict) or set(answer) != set(allowed):
        form = f"Give a dict with the keys {' and '.join(map(repr, allowed))}, and nothing else."
        raise CheckFailed(form, rule="Only the start order and the client ids may change.")
    try:
        reading = RunView(EightMessages(**answer).run())
    except BadInput as error:
        raise CheckFailed(str(error), rule="Both consumers start once, and their client ids differ.") from None
    got = sorted(fate.body for fate in reading.fates if fate.fate is Fate.DELIVERED and fate.culprit == "A")
    if got == WANTED:
        return f"A gets {' and '.join(got)}."
    slot = reading.slots[-1]
    problem = f"A gets {', '.join(got) or 'nothing'}; wanted: {', '.join(WANTED)}."
    if slot.expression != reading.asked["A"]:
        writes = [fact for fact in reading.facts("subscription") if fact.t >= slot.t - ONE_ROUND_MS + reading.zero]
        raise CheckFailed(
            HINTS["two_for_a"],
            problem=f"{problem} The slot ends as {slot.expression}.",
            rule=ONE_SLOT,
            lines=lines(writes, reading),
        )
    owned = [fact for fact in reading.facts("rebalance") if fact.source == "A"][-1:]
    where = [way_of(reading, body)[0] for body in WANTED]
    raise CheckFailed(
        HINTS["two_for_a"],
        problem=f"{problem} They lie in queues that A does not own.",
        rule=BY_IDS,
        lines=[*lines(owned, reading), *where],
    )


def ceiling(answer: Any) -> str:
    """The most that start order and client ids can do: counts for "delivered", "broker", "clients"."""
    keys = {
        "delivered": Fate.DELIVERED, "broker": Fate.DROPPED_BY_BROKER_TAG, "clients": Fate.DROPPED_BY_CLIENT,
    }  # fmt: skip
    if not isinstance(answer, dict) or set(answer) != set(keys):
        raise CheckFailed(
            f"Give a dict with the keys {', '.join(map(repr, keys))}.", rule="Three places, eight messages."
        )
    best: RunView | None = None
    most = -1
    for reading in _all_choices():
        count = sum(fate.fate is Fate.DELIVERED for fate in reading.fates)
        if count > most:
            best, most = reading, count
    if best is None:  # pragma: no cover - there are four choices
        raise BadInput("no choice was tried")
    for key, fate in keys.items():
        mine = [one for one in best.fates if one.fate is fate]
        if answer[key] != len(mine):
            example = way_of(best, mine[0].body) if mine else []
            problem = f'"{key}" is not {answer[key]}, in the best of the four choices of start order and client ids.'
            raise CheckFailed(HINTS["ceiling"], problem=problem, rule=RULES_OF_FATES[fate], lines=example)
    return "No start order and no client ids do better."


def _all_choices() -> list[RunView]:
    ids = (f"{CLIENT_IP}@4711", f"{CLIENT_IP}@4902")
    return [
        RunView(EightMessages(start_order=order, client_ids=dict(zip("AB", mine, strict=True))).run())
        for order in permutations("AB")
        for mine in permutations(ids)
    ]


HUNTED = ("amber", "basalt", "coral")


def bug_hunt(answer: Any) -> str:
    """For each broken broker of ``HUNTED``, the name of the rule that it breaks."""
    if not isinstance(answer, dict) or set(answer) != set(HUNTED):
        raise CheckFailed(
            f"Give a dict with the keys {', '.join(HUNTED)}.", rule="Every broken broker breaks one rule."
        )
    for name, said in answer.items():
        _one_bug(name, said)
    return f"{', '.join(f'{name} breaks {MUTANTS[name].breaks}' for name in HUNTED)}."


def _one_bug(name: str, said: object) -> None:
    if said not in INVARIANTS:
        known = ", ".join(INVARIANTS)
        raise CheckFailed(
            f"{name}: {said!r} is not the name of a rule; there are: {known}.", rule="A bug breaks a rule."
        )
    reading = RunView(hunted(name))
    broken = violations(reading)
    if said in broken:
        return
    claimed = INVARIANTS[str(said)]
    violation = next(iter(broken.values()))[0]
    evidence = [line(fact, reading) for fact in violation.facts]
    raise CheckFailed(
        HINTS["one_bug"],
        problem=f"{name}: this run keeps the rule {claimed.name}. Look at these events instead.",
        rule=claimed.rule,
        lines=evidence,
    )


CHECKS = {
    "01-predict": predict,
    "01-two-for-a": two_for_a,
    "01-ceiling": ceiling,
    "01-bug-hunt": bug_hunt,
}
