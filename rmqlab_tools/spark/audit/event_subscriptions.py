"""What the events of scenarios say of subscriptions: who asked for what when, what the broker held, who was there.

On the wire, names carry the scenario's id, topic `T` is `T_<id>`, unless the scenario says `plainNames`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.subscription_data import TAG
from rmqlab.rules import DEFAULT_RULES
from rmqlab.run.fates import NOTHING_SUBSCRIBED
from rmqlab.run.recorded_events import recorded_event
from rmqlab.run.run import tells_of
from rmqlab.scenario.fault_steps import Freeze, Kill, Pause, Slow
from rmqlab.scenario.life_steps import Assign, DeleteTopic, Unsubscribe
from rmqlab.scenario.scenario import ResetOffset, Resize, Scenario, Start, Step, Subscribe, convert_scenario
from rmqlab_tools.spark.audit.owners import EXPIRED_MS
from rmqlab_tools.spark.audit.subscriptions import (
    ALWAYS,
    AVG,
    AVG_BY_CIRCLE,
    NEVER,
    BrokerSubscription,
    ClientSubscription,
    Present,
    Subscriptions,
    reason,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab_tools.spark.audit.subscriptions import Key

_PULLING = {"push", "lite"}
_STRATEGIES = {"avg": AVG, "circle": AVG_BY_CIRCLE, "hash": "CONSISTENT_HASH"}


def of_events(lines: Iterable[tuple[str, dict[str, Any]]]) -> Subscriptions:
    """Read events, each with the place where it stands.

    Raises:
        BadInput: naming the first that is none.
    """
    facts = _EventFacts()
    for place, event in lines:
        try:
            facts.take(event)
        except (BadInput, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(
                _(
                    "{place}: {reason}; events of a recording or of `rmqlab simulate` are needed",
                    place=place,
                    reason=reason(error),
                )
            ) from error
    return facts.subscriptions()


class _EventFacts:
    """What is known so far. Times are epoch ms."""

    def __init__(self) -> None:
        self._held: dict[Key, list[BrokerSubscription]] = defaultdict(list)
        self._present: dict[str, list[Present]] = defaultdict(list)
        self._ids: dict[tuple[str, str], str] = {}
        self._ends: dict[tuple[str, str], int] = {}
        self._scenarios: dict[str, _Scenario] = {}
        self._last: dict[str, int] = {}
        self._scenario_of: dict[str, str] = {}

    def take(self, event: dict[str, Any]) -> None:
        """Look at one event."""
        scenario_id, kind = str(event["id"]), event.get("ev")
        if kind == "scenario" or "steps" in event:
            epoch_ms = int(event.get("epochMs", 0)) if kind else None
            self._scenarios[scenario_id] = _Scenario(convert_scenario(event["scenario"] if kind else event), epoch_ms)
            return
        now = round(event["t"]) + (self._scenarios[scenario_id].zero if scenario_id in self._scenarios else 0)
        self._last[scenario_id] = max(self._last.get(scenario_id, now), now)
        if scenario_id in self._scenarios:
            self._scenarios[scenario_id].happened(event, now)
        if kind == "started" and "clientId" in event:
            self._ids[scenario_id, event["who"]] = event["clientId"]
        elif kind in {"stopped", "stopping"}:
            self._ends.setdefault((scenario_id, event["who"]), now)
        elif kind == "broker" and "view" in event:
            self._look(scenario_id, event["group"], event["view"], now)

    def _suffix(self, scenario_id: str) -> str:
        """What the names on the wire end in."""
        scenario = self._scenarios.get(scenario_id)
        return "" if scenario is not None and scenario.plain_names else f"_{scenario_id}"

    def _look(self, scenario_id: str, group: str, view: dict[str, Any], now: int) -> None:
        """Take a look at what the broker has of a group."""
        suffix = self._suffix(scenario_id)
        group += suffix
        self._scenario_of[group] = scenario_id
        clients = tuple(sorted(f"{client}{suffix}" for client in view.get("clients") or ()))
        present = self._present[group]
        # Before its first member a group is not there either, and that says nothing.
        if clients if not present else present[-1].clients != clients:
            present.append(Present(now, clients))
        for topic, text in (view.get("subs") or {}).items():
            type_, _, expression = text.rpartition("@")[0].partition(":")
            slots = self._held[group, f"{topic}{suffix}"]
            if not is_retry_topic(topic) and (not slots or slots[-1][:2] != (type_, expression)):
                slots.append(BrokerSubscription(type_, expression, now))

    def subscriptions(self) -> Subscriptions:
        """What all of it says."""
        client_subscriptions: dict[Key, list[ClientSubscription]] = defaultdict(list)
        strategies: dict[str, set[str]] = defaultdict(set)
        reset: dict[Key, tuple[int, ...]] = {}
        paused: dict[str, list[tuple[int, int]]] = defaultdict(list)
        pulling, popping = set[str](), set[str]()
        for scenario_id, scenario in self._scenarios.items():
            suffix, members = self._suffix(scenario_id), scenario.members()
            for member_name, member in members.items():
                group = f"{member.group}{suffix}"
                strategies[group].add(member.strategy)
                (pulling if member.pulls else popping).add(group)
                known = self._ids.get((scenario_id, member_name))
                client = known or _named(f"@{member_name}{suffix}", self._present.get(group, [])) or member_name
                end = min(self._ends.get((scenario_id, member_name), NEVER), member.killed_at)
                for index, (at, topic, type_, expression) in enumerate(member.entries):
                    if type_ == NOTHING_SUBSCRIBED:
                        continue
                    later = [entry[0] for entry in member.entries[index + 1 :] if entry[1] == topic]
                    since, until = (at, min([end, *later])) if scenario.is_timed else (ALWAYS, NEVER)
                    client_subscriptions[group, f"{topic}{suffix}"].append(
                        ClientSubscription(client, type_, expression, until, member.post, since)
                    )
            for at, step in scenario.timed_steps():
                match step:
                    case ResetOffset():
                        key = f"{step.group}{suffix}", f"{step.topic}{suffix}"
                        reset[key] = (*reset.get(key, ()), at if scenario.is_timed else NEVER)
                    case Freeze() | Pause() | Slow() if scenario.is_timed:
                        hit = [member for name, member in members.items() if step.who in {name, "broker"}]
                        for group in {f"{member.group}{suffix}" for member in hit}:
                            paused[group].append((at, min(at + _takes(step), NEVER)))
        present = {}
        for group, moments in self._present.items():
            (strategy,) = names if len(names := strategies[group]) == 1 else [""]
            present[group] = [moment._replace(strategy=strategy) for moment in moments]
            if moments and moments[-1].clients:
                # Afterwards nobody looked: they may have left one by one, each taking over what another left.
                present[group].append(Present(self._last[self._scenario_of[group]], (), strategy))
        # Nobody pulls a new queue until all have asked for the route anew, and owners follow from one number of queues.
        resized = {
            f"{topic}{self._suffix(name)}"
            for name, of_scenario in self._scenarios.items()
            for topic in of_scenario.resized
        }
        slots = {key: history for key, history in self._held.items() if history and key[1] not in resized}
        complete = frozenset(key for key in client_subscriptions if key[1] not in resized)
        return Subscriptions(
            dict(client_subscriptions),
            slots,
            complete,
            present,
            reset,
            paused=dict(paused),
            pulling=frozenset(pulling),
            popping=frozenset(popping),
        )


class _Member:
    """A consumer of a scenario; `entries`: when (epoch ms) it subscribed, topic, type, expression; `killed_at`, too."""

    def __init__(self, start: Start, at: int) -> None:
        self.group, self.strategy = start.group, _STRATEGIES[start.strategy]
        self.post = start.post or start.kind == "lite"
        self.pulls = start.kind in _PULLING
        self.killed_at = NEVER
        self.entries: list[tuple[int, str, str, str]] = [
            (at, topic, subscription.type, subscription.expr) for topic, subscription in start.subscribe.items()
        ]
        self.assigns(at, start.assign or {})

    def assigns(self, at: int, topics: Iterable[str]) -> None:
        """It assigned itself queues: everything in these topics is asked for."""
        self.entries += [(at, topic, TAG, DEFAULT_RULES.assigned_expression(None)) for topic in topics]


class _Scenario:
    """What the steps of a scenario say; `zero` is when it was begun (epoch ms).

    A scenario that is no event has steps, and it is not known when that was.
    """

    def __init__(self, scenario: Scenario, epoch_ms: int | None) -> None:
        self.is_timed = epoch_ms is not None
        self.plain_names = scenario.plain_names
        self.zero = epoch_ms or 0
        self._steps = scenario.steps
        # Topics whose owners do not follow from one number of queues and the group's strategy.
        self.resized = {topic for step in self._steps for topic in _loose_topics(step)}
        # When (epoch ms) steps were made, by their place; those that no event has told of; when the last one was done.
        self._made: dict[int, int] = {}
        self._open = list(range(len(self._steps)))
        self._last_done = self.zero

    def happened(self, event: dict[str, Any], now: int) -> None:
        """Note when a step was made. One waits for the one before it, so that it may be late."""
        if event.get("ev") not in _OF_STEPS:
            return
        step_event = recorded_event(event)
        place = next((place for place in self._open if step_event and tells_of(step_event, self._steps[place])), None)
        if place is not None:
            self._open.remove(place)
            is_begin = event["ev"] == "starting"
            self._made[place] = now if is_begin else max(self._last_done, self._meant(self._steps[place].at))
        self._last_done = now

    def _meant(self, at: int) -> int:
        """Steps are timed from when the topics had settled, events from the recording's beginning.

        The first consumer that was started shows when the steps began.
        """
        first = next((place for place, step in enumerate(self._steps) if isinstance(step, Start)), None)
        return at + (self._made[first] - self._steps[first].at if first in self._made else self.zero)

    def timed_steps(self) -> list[tuple[int, Step]]:
        """All steps, each with when (epoch ms) it was made, or was meant to be."""
        return [(self._made.get(place, self._meant(step.at)), step) for place, step in enumerate(self._steps)]

    def members(self) -> dict[str, _Member]:
        """The consumers by name."""
        members: dict[str, _Member] = {}
        for at, step in self.timed_steps():
            match step:
                case Start():
                    members[step.who] = _Member(step, at)
                case Subscribe():
                    members[step.who].entries.append((at, step.topic, step.type, step.expr))
                case Unsubscribe():
                    members[step.who].entries.append((at, step.topic, NOTHING_SUBSCRIBED, ""))
                case Assign():
                    members[step.who].assigns(at, step.queues)
                case Kill():
                    members[step.who].killed_at = at + step.within
        return members


# Events of the one who makes the steps, one after the other; a listener's come at any time.
_OF_STEPS = {
    "starting", "started", "stopping", "stopped", "subscribed", "control", "sent", "alloc", "offset", "error",
    "unsubscribed", "assigned", "topicDeleted", "groupCreated", "groupDeleted", "resized",
}  # fmt: skip


def _loose_topics(step: Step) -> Iterable[str]:
    match step:
        case Resize(topic=topic) | DeleteTopic(topic=topic) | Unsubscribe(topic=topic):
            return (topic,)
        case Assign(queues=queues):
            return queues
        case Start(assign=assign) if assign is not None:
            return assign
    return ()


def _takes(step: Freeze | Pause | Slow) -> int:
    """After how long (ms) whoever stood still, or was slow, surely works as before."""
    if step.for_ms is not None:
        last = step.within + step.for_ms
        return last + 2 * step.ms if isinstance(step, Slow) else last
    # A link that swallows everything is closed once the broker has heard nothing for as long as it waits.
    return step.within + EXPIRED_MS if isinstance(step, Freeze) else NEVER


def _named(ending: str, moments: Iterable[Present]) -> str | None:
    """The client id that ends so: a lite pull consumer of a recording does not tell its own."""
    return next((client for moment in moments for client in moment.clients if client.endswith(ending)), None)
