"""A run, read for pictures and checks: who took part, when it began, which subscription was in force, who owned what.

Times are ms since the topics were ready, as `Lab.now`; versions too, as an exact clock would show them.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.events import Heartbeat, SubscriptionChanged
from rmqlab.language import _, joined
from rmqlab.protocol.subscription_data import TAG
from rmqlab.run.recorded_events import (
    Assigned,
    Control,
    GroupCreated,
    GroupDeleted,
    MessageSent,
    OffsetAsked,
    Owned,
    Resized,
    Started,
    StartFailed,
    Starting,
    Stopped,
    Subscribed,
    TapSent,
    TopicDeleted,
    Unsubscribed,
)
from rmqlab.scenario.life_steps import Unsubscribe
from rmqlab.scenario.scenario import Start, Subscribe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.events import Event
    from rmqlab.run.facts import E, Fact
    from rmqlab.run.fates import MessageFate
    from rmqlab.run.recorded_events import Recorded
    from rmqlab.run.run import Run

SCRIPTED: tuple[type[Recorded], ...] = (
    Starting, Started, StartFailed, Subscribed, Unsubscribed, Assigned, MessageSent, TapSent, Owned, OffsetAsked,
    Control, Stopped, TopicDeleted, GroupCreated, GroupDeleted, Resized,
)  # fmt: skip


NO_MORE = "-"
"""What a member asks for that unsubscribed."""


class Beat(NamedTuple):
    """A heartbeat as it reached the broker: the subscription it carried, and whether that took the group's slot.

    `order`: its place among the run's facts, as for a slot; it decides where times are equal.
    """

    t: float
    who: str
    expression: str
    version: float
    taken: bool
    order: int


class BrokerSubscriptionSpan(NamedTuple):
    """The group's subscription in the broker from `t` on: `kind` TAG or SQL92, written by `who`."""

    t: float
    who: str
    kind: str
    expression: str
    order: int


class RunView:
    """One group and one topic of a run (by default the first of each)."""

    def __init__(self, run: Run, group: str | None = None, topic: str | None = None) -> None:
        """Read the run.

        `starts_with`: what each member asks for when it starts; `asked`: what it asks for first, then or later;
        `asks`: all that it asks for, one after another; `broadcasting`: all members are.

        Raises:
            BadInput: no member of that group subscribes that topic.
        """
        self.run = run
        starts = [step for step in run.scenario.steps if isinstance(step, Start)]
        self.group = group or (starts[0].group if starts else "")
        mine = [step for step in starts if step.group == self.group]
        self.topic = topic or next((name for step in mine for name in step.subscribe), "")
        self.starts_with = {step.who: step.subscribe[self.topic].expr for step in mine if self.topic in step.subscribe}
        expressions_of = {client: [expression] for client, expression in self.starts_with.items()}
        self.broadcasting = all(step.broadcasts for step in mine)
        members = {step.who for step in mine}
        for step in run.scenario.steps:
            if isinstance(step, Subscribe) and step.topic == self.topic and step.who in members:
                expressions_of.setdefault(step.who, []).append(step.expr)
            elif isinstance(step, Unsubscribe) and step.topic == self.topic and step.who in members:
                expressions_of.setdefault(step.who, []).append(NO_MORE)
        self.asked = {client: expressions[0] for client, expressions in expressions_of.items()}
        self.asks = {
            client: " → ".join(key for key, _ in groupby(expressions)) for client, expressions in expressions_of.items()
        }
        if not self.asked:
            known = joined(
                ", ",
                sorted(
                    {
                        _("{topic} of {group}", topic=topic, group=step.group)
                        for step in starts
                        for topic in step.subscribe
                    }
                ),
            )
            wanted = " of ".join(repr(name) for name in (topic, group) if name)
            problem = (
                _("nobody subscribes {wanted}; subscribed are: {known}", wanted=wanted, known=known)
                if known
                else _("no consumer was started")
            )
            raise BadInput(_("run {id}: {told}", id=f"{run.scenario.id!r}", told=problem))
        self.names = sorted(self.asked)
        self._epoch: int = run.events[0]["epochMs"]
        self.zero = run.zero
        asked_at = run.scenario.steps[-1].at  # a step may come late, and may leave no event
        seen_at = max(fact.t for fact in run.recorded(*SCRIPTED)) - self.zero
        self.end: float = max(asked_at, seen_at)

    def is_member(self, client: str, t: float) -> bool:
        """Whether this is the group that `client` was last started in by `t` (ms since the run began)."""
        return [group for since, group in self._groups[client] if since <= t][-1:] == [self.group]

    @cached_property
    def _groups(self) -> dict[str, list[tuple[float, str]]]:
        """When each consumer was started, and in which group, in order of time."""
        groups: dict[str, list[str]] = defaultdict(list)
        by_client: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for step in self.run.scenario.steps:
            if isinstance(step, Start):
                groups[step.who].append(step.group)
        for fact in self.run.recorded(Starting):
            if len(by_client[client := fact.event.who]) < len(groups[client]):
                by_client[client].append((fact.t, groups[client][len(by_client[client])]))
        return by_client

    def version(self, sub_version: int) -> float:
        """A subscription version (epoch ms) as ms since the topics were ready."""
        return sub_version - self._epoch - self.zero

    def facts(self, *kinds: type[E]) -> list[Fact[E]]:
        """Facts of these kinds (of all, by `Event`) about this group and topic, up to the scenario's last step."""
        return [
            fact
            for fact in self.run.facts.of(*kinds)
            if fact.t - self.zero <= self.end and fact.event.is_about(self.group, self.topic)
        ]

    def place(self, fact: Fact[Event]) -> int:
        """The place of a fact among all of the run."""
        return self._places[id(fact)]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(fact): place for place, fact in enumerate(self.run.facts)}

    @cached_property
    def fates(self) -> list[MessageFate]:
        """Fates of this group's messages, in sending order."""
        return [fate for fate in self.run.fates if (fate.group, fate.topic) == (self.group, self.topic)]

    @cached_property
    def slots(self) -> list[BrokerSubscriptionSpan]:
        """Every change of the group's subscription of the topic."""
        return [
            BrokerSubscriptionSpan(
                fact.t - self.zero,
                fact.event.client,
                new.expression_type or TAG,
                new.sub_string or "",
                self.place(fact),
            )
            for fact in self.facts(SubscriptionChanged)
            if (new := fact.event.new) is not None
        ]

    @cached_property
    def beats(self) -> list[Beat]:
        """Every heartbeat of the group's members that carries the topic, as the broker got it; no other group's."""
        heartbeats: list[Beat] = []
        facts: list[Fact[Event]] = self.facts(Heartbeat, SubscriptionChanged)
        for fact, follows in zip_longest(facts, facts[1:]):
            if not isinstance(beat := fact.event, Heartbeat):
                continue
            taken = follows is not None and isinstance(follows.event, SubscriptionChanged) and follows.t == fact.t
            for group, data in beat.subscriptions:
                if (self.run.scenario_name(group), self.run.scenario_name(data.topic)) == (self.group, self.topic):
                    version, place = self.version(data.sub_version), self.place(fact)
                    heartbeats.append(
                        Beat(fact.t - self.zero, beat.client, data.sub_string or "", version, taken, place)
                    )
        return heartbeats

    @cached_property
    def owners(self) -> dict[int, list[str]]:
        """Who owned each queue when the scenario last asked, by name; a queue that no member owned is missing."""
        queues_of: dict[str, list[int]] = {}
        for fact in self.run.recorded(Owned):
            client = fact.event.who
            if client in self.asked and self.is_member(client, fact.t):
                if client in queues_of:  # it is asked again, so all are; who is gone is not asked
                    queues_of.clear()
                queues_of[client] = fact.event.queues.get(self.topic, [])
        owners: dict[int, list[str]] = {}
        for client, queues in sorted(queues_of.items()):
            for queue in queues:
                owners.setdefault(queue, []).append(client)
        return owners

    @cached_property
    def offsets(self) -> dict[int, tuple[object, int]]:
        """Committed and maximum offset of each queue when the scenario last asked."""
        return {
            fact.event.queue: (fact.event.committed, fact.event.max)
            for fact in self.run.recorded(OffsetAsked)
            if (fact.event.group, fact.event.topic) == (self.group, self.topic)
        }

    @property
    def queues(self) -> int:
        """Number of queues of the topic, those that came later among them."""
        return max(self.run.queues.get(self.topic, 0), self.run.scenario.topics[self.topic])


def seconds(ms: float) -> str:
    """A time for people: 12 ms, 1.500 s, 60.014 s."""
    if abs(ms) < 1_000:
        return f"{round(ms, 1):g} ms"
    return f"{ms / 1_000:.3f} s"


LONGEST_EXPRESSION_SHOWN = 11  # letters of an expression in a picture; tables have it whole


def short(expression: str) -> str:
    """An expression that fits into a label."""
    return (
        expression if len(expression) <= LONGEST_EXPRESSION_SHOWN else f"{expression[: LONGEST_EXPRESSION_SHOWN - 1]}…"
    )


def ranges(numbers: Iterable[int]) -> str:
    """Numbers for people: "0, 1" or, when many follow each other, "0-8"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [joined(", ", run) if len(run) < 5 else f"{run[0]}-{run[-1]}" for run in runs]
    return joined(", ", texts)
