"""Who asked for what, and what the broker held: subscriptions that an audit is given, or finds in `config/`.

A file has one JSON object a line. `{"group", "topic", "type", "expr"}` is a member's subscription, with `client` and
`until` (epoch ms) where they are known; with `"held": true` it is what the broker held for the group since `from`.
`"post": true` says that the member sends its subscription with every pull, so that the broker filters by that one: a
push consumer with `postSubscriptionWhenPull`, and every lite pull consumer.
`{"group", "clients": [...], "from", "strategy"}` names a group's client ids since `from` ([]: nobody was there), and
how they share the queues (`AVG` if it is left out): with them the owners of queues follow.
The events of a recording or of `rmqlab simulate` are understood too.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.filter.expression_type import SQL92, TAG
from rmqlab.message.topics import is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.spark.files.store_config import StoreConfig

ALWAYS, NEVER = -(1 << 62), 1 << 62
AVG, AVG_BY_CIRCLE = "AVG", "AVG_BY_CIRCLE"
_STRATEGIES = {"": AVG, "avg": AVG, "circle": AVG_BY_CIRCLE, "hash": "CONSISTENT_HASH"}
Key = tuple[str, str]  # group, topic


class SubscriptionsError(BadInput):
    """A file of subscriptions or deliveries with a line that cannot be understood."""


class Asked(NamedTuple):
    """What one member asked for: in force until `until` (epoch ms, included).

    `post`: it sends that with every pull, and the broker filters by it and not by what it holds for the group (4.8.0
    `PullMessageProcessor`, flag `FLAG_SUBSCRIPTION`).
    """

    client: str
    type: str
    expression: str
    until: int = NEVER
    post: bool = False


class Held(NamedTuple):
    """What the broker held for a group from `since` (epoch ms) on."""

    type: str
    expression: str
    since: int = ALWAYS


class Present(NamedTuple):
    """The client ids of a group's members from `since` (epoch ms) on, and the strategy by which they share queues.

    `strategy` is its name in 4.8.0, "" if members differ: then nobody can tell who owned a queue.
    """

    since: int
    clients: tuple[str, ...]
    strategy: str = AVG


class Subscriptions(NamedTuple):
    """By (group, topic): what members asked for, and what the broker held; by group: who was there. In order of time.

    `complete` names those of which every member is known: what none of them asked for, nobody did.
    """

    asked: dict[Key, list[Asked]]
    held: dict[Key, list[Held]]
    complete: frozenset[Key]
    present: dict[str, list[Present]]

    def keys(self) -> set[Key]:
        """Every (group, topic) of which something is known."""
        return {*self.asked, *self.held}


def from_config(config: StoreConfig) -> Subscriptions:
    """What consumerFilter.json remembers: SQL92 subscriptions, and not who else was in the group."""
    asked: dict[Key, list[Asked]] = defaultdict(list)
    for one in config.filters():
        if one.consumer_group and one.topic and one.expression:
            key = one.consumer_group, one.topic
            asked[key].append(Asked("", one.expression_type or SQL92, one.expression))
    return Subscriptions(dict(asked), {}, frozenset(), {})


def read_subscriptions(path: str | Path) -> Subscriptions:
    """Read a file, gzip or not; raise `SubscriptionsError` naming the line that is wrong."""
    lines = list(json_lines(path))
    if any("ev" in line for _, line in lines):
        return _of_events([line for _, line in lines])
    asked: dict[Key, list[Asked]] = defaultdict(list)
    held: dict[Key, list[Held]] = defaultdict(list)
    present: dict[str, list[Present]] = defaultdict(list)
    for number, line in lines:
        try:
            if "clients" in line:
                clients = tuple(sorted(map(str, line["clients"])))
                strategy = str(line.get("strategy", AVG))
                present[line["group"]].append(Present(int(line.get("from", ALWAYS)), clients, strategy))
                continue
            key, kind, expression = (line["group"], line["topic"]), line.get("type", TAG), line["expr"]
            if line.get("held"):
                held[key].append(Held(kind, expression, int(line.get("from", ALWAYS))))
            else:
                until, post = int(line.get("until", NEVER)), bool(line.get("post"))
                asked[key].append(Asked(line.get("client", ""), kind, expression, until, post))
        except (KeyError, TypeError, ValueError) as error:
            raise SubscriptionsError(
                f'{path}, line {number}: {error!r}; right would be {{"group": "G", "topic": "T", "type": "TAG", '
                '"expr": "tagA || tagB"}'
            ) from error
    for slots in held.values():
        slots.sort(key=lambda one: one.since)
    for moments in present.values():
        moments.sort()
    return Subscriptions(dict(asked), dict(held), frozenset(asked), dict(present))


def merged(given: Subscriptions, found: Subscriptions) -> Subscriptions:
    """Return what is given, and what was found about groups of which nothing is given."""
    known = given.keys()
    more = {key: asked for key, asked in found.asked.items() if key not in known}
    return Subscriptions({**more, **given.asked}, given.held, given.complete, given.present)


def json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of each line of a file, gzip or not; raise `SubscriptionsError`."""
    try:
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    except (OSError, ValueError, EOFError) as error:
        raise SubscriptionsError(f"{path}: {error}; name a file with one JSON object a line") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise SubscriptionsError(f"{path}, line {number}: {error}; one JSON object a line is needed") from error
        if not isinstance(value, dict):
            raise SubscriptionsError(f"{path}, line {number}: one JSON object a line is needed")
        yield number, value


def _of_events(events: Iterable[dict[str, Any]]) -> Subscriptions:
    """Read the events of scenarios. On the wire, names carry the scenario's id: topic `T` is `T_<id>`."""
    asked: dict[Key, list[Asked]] = defaultdict(list)
    held: dict[Key, list[Held]] = defaultdict(list)
    present: dict[str, list[Present]] = defaultdict(list)
    ids: dict[tuple[str, str], str] = {}
    zero: dict[str, int] = {}
    shift: dict[str, int] = {}
    ends: dict[tuple[str, str], int] = {}
    scenarios = []
    for event in events:
        scenario_id, kind, at = event["id"], event["ev"], event["t"]
        now = zero.get(scenario_id, 0) + round(at)
        if kind == "scenario":
            zero[scenario_id] = event.get("epochMs", 0)
            scenarios.append(event["scenario"])
        elif kind == "starting":
            # Steps are timed from the first of them, events from the recording's beginning.
            shift.setdefault(scenario_id, now)
        elif kind == "started" and "clientId" in event:
            ids[scenario_id, event["who"]] = event["clientId"]
        elif kind in {"stopped", "stopping"}:
            ends.setdefault((scenario_id, event["who"]), now)
        elif kind == "broker" and "view" in event:
            group = f"{event['group']}_{scenario_id}"
            clients = tuple(sorted(f"{one}_{scenario_id}" for one in event["view"].get("clients") or ()))
            # Before its first member a group is not there either, and that says nothing.
            if clients if not present[group] else present[group][-1].clients != clients:
                present[group].append(Present(now, clients))
            for topic, text in (event["view"].get("subs") or {}).items():
                type_, _, expression = text.rpartition("@")[0].partition(":")
                slots = held[group, f"{topic}_{scenario_id}"]
                if not is_retry_topic(topic) and (not slots or slots[-1][:2] != (type_, expression)):
                    slots.append(Held(type_, expression, now))
    strategies: dict[str, set[str]] = defaultdict(set)
    for scenario in scenarios:
        scenario_id = scenario["id"]
        begun = shift.get(scenario_id, zero[scenario_id])
        starts = {step["who"]: step for step in scenario["steps"] if step["do"] == "start"}
        for who, (group, entries) in _members(scenario["steps"]).items():
            own = f"{group}_{scenario_id}"
            strategies[own].add(_STRATEGIES.get(starts[who].get("strategy", ""), ""))
            post = bool(starts[who].get("post")) or starts[who].get("kind") == "lite"
            client = ids.get((scenario_id, who)) or _named(f"@{who}_{scenario_id}", present.get(own, [])) or who
            end = ends.get((scenario_id, who), NEVER)
            for index, (_, topic, type_, expression) in enumerate(entries):
                later = [begun + one[0] for one in entries[index + 1 :] if one[1] == topic]
                key = own, f"{topic}_{scenario_id}"
                asked[key].append(Asked(client, type_, expression, min([end, *later]), post))
    slots_by_key = {key: slots for key, slots in held.items() if slots}
    by_group = {}
    for group, moments in present.items():
        (strategy,) = names if len(names := strategies[group]) == 1 else [""]
        by_group[group] = [one._replace(strategy=strategy) for one in moments]
    return Subscriptions(dict(asked), slots_by_key, frozenset(asked), by_group)


def _named(ending: str, moments: Iterable[Present]) -> str | None:
    """Return the client id that ends so: a lite pull consumer of a recording does not tell its own."""
    return next((client for one in moments for client in one.clients if client.endswith(ending)), None)


def _members(steps: list[dict[str, Any]]) -> dict[str, tuple[str, list[tuple[int, str, str, str]]]]:
    """Return by client: its group, and its subscriptions: when (ms), topic, type, expression."""
    members: dict[str, tuple[str, list[tuple[int, str, str, str]]]] = {}
    for step in steps:
        if step["do"] == "start":
            subscriptions = step.get("subscribe") or {}
            members[step["who"]] = (
                step.get("group", ""),
                [
                    (step["at"], topic, one.get("type", TAG), one.get("expr", "*"))
                    for topic, one in subscriptions.items()
                ],
            )
        elif step["do"] == "subscribe" and step["who"] in members:
            one = step["at"], step["topic"], step.get("type", TAG), step.get("expr", "*")
            members[step["who"]][1].append(one)
    return members
