"""Properties of a scenario, in three kinds: what every run keeps, what every run reaches, and what some run does.

``always``: nothing of the kind may happen at any time in any run. ``eventually``: every run has come there at its end.
``sometimes``: at least one run shows it. For the first two a run that fails is a counterexample, and the shortest
schedule that makes one is what an exploration hands out; for the third a run that shows it is the example.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.run import Run
from rmqlab.lab.scenario import Start, Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.scenario import Scenario


class Kind(StrEnum):
    """The three kinds."""

    ALWAYS = "always"
    EVENTUALLY = "eventually"
    SOMETIMES = "sometimes"


@dataclass(frozen=True, slots=True)
class Property:
    """``says`` gives what speaks against it in a run (always, eventually) or for it (sometimes); None: nothing."""

    kind: Kind
    name: str
    says: Callable[[Run], str | None]


def no_loss(run: Run) -> str | None:
    """No message that a member asked for is dropped or passed."""
    lost = [fate for fate in run.fates if fate.lost]
    if not lost:
        return None
    return f"{len(lost)} lost: {', '.join(f'{fate.body} {fate.fate} ({fate.culprit})' for fate in lost)}"


def no_duplicates(run: Run) -> str | None:
    """No message is taken twice in one group that divides its queues."""
    twice = duplicates(run)
    return None if not twice else f"taken more than once: {', '.join(twice)}"


def duplicates(run: Run) -> list[str]:
    """Bodies of the messages that were taken more than once in one group that divides its queues."""
    broadcasting = {
        step.group for step in run.scenario.steps if isinstance(step, Start) and step.mode == "broadcasting"
    }
    seen: dict[tuple[str, str], int] = {}
    for fact in run.facts.of("consume"):
        if fact["success"] and fact["group"] not in broadcasting:
            key = (fact["group"], fact["message_id"])
            seen[key] = seen.get(key, 0) + 1
    bodies = {fact["message_id"]: fact["body"] for fact in run.facts.of("consume")}
    return [bodies[message] for (_, message), times in seen.items() if times > 1]


def every_queue_owned(run: Run) -> str | None:
    """At the end every queue of every topic that a group's members subscribe has an owner."""
    missing = [
        f"{group}: {topic}/{queue}"
        for group, topic in _subscribed(run.scenario)
        for queue in range(run.queues.get(topic, 0))
        if not run.owners.get((group, topic, queue))
    ]
    return f"without an owner: {', '.join(missing)}" if missing else None


def one_owner(run: Run) -> str | None:
    """At the end no queue of a group that divides its queues has two owners."""
    broadcasting = {
        step.group for step in run.scenario.steps if isinstance(step, Start) and step.mode == "broadcasting"
    }
    shared = [
        f"{group}: {topic}/{queue} ({', '.join(sorted(who))})"
        for (group, topic, queue), who in sorted(run.owners.items())
        if len(who) > 1 and group not in broadcasting
    ]
    return f"with two owners: {', '.join(shared)}" if shared else None


def receives(who: str) -> Callable[[Run], str | None]:
    """Consumer ``who`` gets something."""

    def says(run: Run) -> str | None:
        bodies = run.outcome().bodies_of(who)
        return f"{who} gets {', '.join(bodies)}" if bodies else None

    return says


BUILT_IN: dict[str, Property] = {
    "no-loss": Property(Kind.ALWAYS, "no message that a member asked for is lost", no_loss),
    "no-duplicates": Property(Kind.ALWAYS, "no message is taken twice", no_duplicates),
    "every-queue-owned": Property(Kind.EVENTUALLY, "every queue has an owner", every_queue_owned),
    "one-owner": Property(Kind.EVENTUALLY, "no queue has two owners", one_owner),
}
RECEIVES = "receives:"


def property_named(name: str, scenario: Scenario) -> Property:
    """A property by its name: one of ``BUILT_IN``, or receives:WHO (sometimes).

    Raises:
        BadInput: there is no such property.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    who = name.removeprefix(RECEIVES)
    consumers = _consumers(scenario)
    if name.startswith(RECEIVES) and who in consumers:
        return Property(Kind.SOMETIMES, f"{who} receives a message", receives(who))
    known = [*BUILT_IN, *(RECEIVES + one for one in consumers)]
    raise BadInput(f"no property {name!r}; for this scenario there are: {', '.join(known)}")


def usual_properties(scenario: Scenario) -> list[Property]:
    """The built-in ones, and that each consumer receives something in some run."""
    some = [Property(Kind.SOMETIMES, f"{who} receives a message", receives(who)) for who in _consumers(scenario)]
    return [*BUILT_IN.values(), *some]


def _consumers(scenario: Scenario) -> Sequence[str]:
    return list(dict.fromkeys(step.who for step in scenario.steps if isinstance(step, Start)))


def _subscribed(scenario: Scenario) -> list[tuple[str, str]]:
    """Group and topic of the consumers that are not stopped again."""
    running: dict[str, Start] = {}
    for step in scenario.steps:
        if isinstance(step, Start):
            running[step.who] = step
        elif isinstance(step, Stop):
            running.pop(step.who, None)
    return sorted(
        {(step.group, topic) for step in running.values() if step.mode == "clustering" for topic in step.subscribe}
    )
