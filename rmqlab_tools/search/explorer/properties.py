"""Properties of a scenario, in three kinds: what every run keeps, what every run reaches, and what some run does.

`always`: nothing of the kind may happen at any time in any run. `eventually`: every run has come there at its end.
`sometimes`: at least one run shows it. For the first two a run that fails is a counterexample, and the shortest
schedule that makes one is what an exploration hands out; for the third a run that shows it is the example.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab.run.recorded_events import Consumed
from rmqlab.run.run import Run
from rmqlab.scenario.fault_steps import Kill
from rmqlab.scenario.life_steps import Unsubscribe
from rmqlab.scenario.scenario import Start, Stop, Subscribe

if TYPE_CHECKING:
    from rmqlab.scenario.scenario import Scenario


class PropertyKind(StrEnum):
    """The three kinds."""

    ALWAYS = "always"
    EVENTUALLY = "eventually"
    SOMETIMES = "sometimes"


@dataclass(frozen=True, slots=True)
class RunProperty:
    """`says` gives what speaks against it in a run (always, eventually) or for it (sometimes); None: nothing."""

    kind: PropertyKind
    name: str
    says: Callable[[Run], str | None]


def no_loss(run: Run) -> str | None:
    """No message that a member asked for is dropped or passed."""
    lost = [fate for fate in run.fates if fate.lost]
    if not lost:
        return None
    named = (_("{body} {fate}", body=fate.body, fate=fate.sentence) for fate in lost)
    return _("{lost} lost: {body}", lost=len(lost), body=joined(", ", named))


def no_duplicates(run: Run) -> str | None:
    """No message is taken twice in one group that divides its queues."""
    twice = duplicates(run)
    return None if not twice else _("taken more than once: {twice}", twice=joined(", ", twice))


def duplicates(run: Run) -> list[str]:
    """Bodies of the messages that were taken more than once in one group that divides its queues."""
    broadcasting = _broadcasting(run.scenario)
    seen = Counter(
        (fact.event.group, fact.event.message_id)
        for fact in run.facts.of(Consumed)
        if fact.event.success and fact.event.group not in broadcasting
    )
    bodies = {fact.event.message_id: fact.event.body for fact in run.facts.of(Consumed)}
    return [bodies[message] for (_, message), times in seen.items() if times > 1]


def every_queue_owned(run: Run) -> str | None:
    """At the end every queue of every topic that the running members of a group subscribe has an owner."""
    missing = [
        f"{group}: {topic}/{queue}"
        for group, topic in _subscribed(run.scenario)
        for queue in range(run.queues.get(topic, 0))
        if not run.owners.get((group, topic, queue))
    ]
    return _("without an owner: {missing}", missing=joined(", ", missing)) if missing else None


def one_owner(run: Run) -> str | None:
    """At the end no queue of a group that divides its queues has two owners."""
    broadcasting = _broadcasting(run.scenario)
    shared = [
        f"{group}: {topic}/{queue} ({', '.join(sorted(owners))})"
        for (group, topic, queue), owners in sorted(run.owners.items())
        if len(owners) > 1 and group not in broadcasting
    ]
    return _("with two owners: {shared}", shared=joined(", ", shared)) if shared else None


def receives(client: str) -> Callable[[Run], str | None]:
    """Consumer `client` gets something."""
    return partial(_receives, client)


def _receives(client: str, run: Run) -> str | None:
    bodies = run.outcome().bodies_of(client)
    return _("{who} gets {bodies}", who=client, bodies=joined(", ", bodies)) if bodies else None


BUILT_IN: dict[str, RunProperty] = {
    "no-loss": RunProperty(PropertyKind.ALWAYS, _("no message that a member asked for is lost"), no_loss),
    "no-duplicates": RunProperty(PropertyKind.ALWAYS, _("no message is taken twice"), no_duplicates),
    "every-queue-owned": RunProperty(PropertyKind.EVENTUALLY, _("every queue has an owner"), every_queue_owned),
    "one-owner": RunProperty(PropertyKind.EVENTUALLY, _("no queue has two owners"), one_owner),
}
RECEIVES = "receives:"


def property_named(name: str, scenario: Scenario) -> RunProperty:
    """A property by its name: one of `BUILT_IN`, or receives:WHO (sometimes).

    Raises:
        BadInput: there is no such property.
    """
    known = BUILT_IN | _receiving(scenario)
    if name not in known:
        raise BadInput(
            _(
                "no property {name}{near}; for this scenario there are: {known}",
                name=f"{name!r}",
                near=did_you_mean(name, known),
                known=joined(", ", known),
            )
        )
    return known[name]


def usual_properties(scenario: Scenario) -> list[RunProperty]:
    """The built-in ones, and that each consumer receives something in some run."""
    return [*BUILT_IN.values(), *_receiving(scenario).values()]


def _broadcasting(scenario: Scenario) -> set[str]:
    return {step.group for step in scenario.steps if isinstance(step, Start) and step.broadcasts}


def _receiving(scenario: Scenario) -> dict[str, RunProperty]:
    return {
        RECEIVES + step.who: RunProperty(
            PropertyKind.SOMETIMES, _("{who} receives a message", who=step.who), receives(step.who)
        )
        for step in scenario.steps
        if isinstance(step, Start)
    }


def _subscribed(scenario: Scenario) -> list[tuple[str, str]]:
    """Group and topic of the consumers that divide queues and run at the end."""
    running: dict[str, tuple[str, set[str]]] = {}
    for step in scenario.steps:
        match step:
            case Start(who=name, broadcasts=False, pops=False):
                running[name] = step.group, set(step.subscribe)
            case Stop(who=name) | Kill(who=name):
                running.pop(name, None)
            case Subscribe(who=name, topic=topic) if name in running:
                running[name][1].add(topic)
            case Unsubscribe(who=name, topic=topic) if name in running:
                running[name][1].discard(topic)
    return sorted({(group, topic) for group, topics in running.values() for topic in topics})
