"""Who asked for what, and what the broker held: subscriptions that an audit is given, or finds in `config/`.

A file has one JSON object a line. `{"group", "topic", "type", "expr"}` is a member's subscription, with `client` and
`until` (epoch ms) where they are known; with `"held": true` it is what the broker held for the group since `from`.
`{"group", "clients": [...], "from"}` names a group's client ids since `from`: with them the owners of queues follow.
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

    from rmqlab.spark.store_config import StoreConfig

ALWAYS, NEVER = -(1 << 62), 1 << 62
Key = tuple[str, str]  # group, topic


class SubscriptionsError(BadInput):
    """A file of subscriptions or deliveries with a line that cannot be understood."""


class Asked(NamedTuple):
    """What one member asked for: in force until `until` (epoch ms, included)."""

    client: str
    type: str
    expression: str
    until: int = NEVER


class Held(NamedTuple):
    """What the broker held for a group from `since` (epoch ms) on."""

    type: str
    expression: str
    since: int = ALWAYS


class Present(NamedTuple):
    """The client ids of a group's members from `since` (epoch ms) on."""

    since: int
    clients: tuple[str, ...]


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
                present[line["group"]].append(Present(int(line.get("from", ALWAYS)), clients))
                continue
            key, kind, expression = (line["group"], line["topic"]), line.get("type", TAG), line["expr"]
            if line.get("held"):
                held[key].append(Held(kind, expression, int(line.get("from", ALWAYS))))
            else:
                asked[key].append(Asked(line.get("client", ""), kind, expression, int(line.get("until", NEVER))))
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
            if clients and (not present[group] or present[group][-1].clients != clients):
                present[group].append(Present(now, clients))
            for topic, text in (event["view"].get("subs") or {}).items():
                type_, _, expression = text.rpartition("@")[0].partition(":")
                slots = held[group, f"{topic}_{scenario_id}"]
                if not is_retry_topic(topic) and (not slots or slots[-1][:2] != (type_, expression)):
                    slots.append(Held(type_, expression, now))
    for scenario in scenarios:
        scenario_id = scenario["id"]
        begun = shift.get(scenario_id, zero[scenario_id])
        for who, (group, entries) in _members(scenario["steps"]).items():
            end = ends.get((scenario_id, who), NEVER)
            for index, (_, topic, type_, expression) in enumerate(entries):
                later = [begun + one[0] for one in entries[index + 1 :] if one[1] == topic]
                key = f"{group}_{scenario_id}", f"{topic}_{scenario_id}"
                client = ids.get((scenario_id, who), who)
                asked[key].append(Asked(client, type_, expression, min([end, *later])))
    slots_by_key = {key: slots for key, slots in held.items() if slots}
    return Subscriptions(dict(asked), slots_by_key, frozenset(asked), {key: list(one) for key, one in present.items()})


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
