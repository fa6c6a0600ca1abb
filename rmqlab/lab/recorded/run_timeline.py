"""A strip: what could be seen of one run from outside, recorded or simulated, in the same words.

Times are ms since the first consumer was started. Of a recording the heartbeats, notices and pulls are read from the
frames between clients and broker; who held the group's slot, what was sent and consumed from the observer's events. Of
a simulation they come from the same events and from facts.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.lab.facts import BROKER
from rmqlab.lab.scenario import Scenario, Start, read_scenarios
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.runtime.tap_summary import TapSummary
from rmqlab.search.explorer.recorded_outcomes import recorded_events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rmqlab.lab.run import Event, Run

VERSION = "broker-4.8.0"
SETS = ("base", "bitmap", "noprop", "lite")
PULLS = {RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}


class Mark(NamedTuple):
    """Something of one client at one moment; ``text`` is the message, the answer to a pull (then ``t``), or empty."""

    t: float
    who: str
    text: str = ""


class SlotValue(NamedTuple):
    """The group's subscription of the first topic from ``t`` on; None: no member has one."""

    t: float
    expression: str | None


@dataclass(slots=True)
class RunTimeline:
    """One run seen from outside. ``ended``: each queue's committed offset at the end."""

    scenario: Scenario
    source: str
    names: list[str]
    end: float
    beats: list[Mark] = field(default_factory=list)
    told: list[Mark] = field(default_factory=list)
    pulls: list[Mark] = field(default_factory=list)
    consumed: list[Mark] = field(default_factory=list)
    sent: list[Mark] = field(default_factory=list)
    broken: list[Mark] = field(default_factory=list)
    slots: list[SlotValue] = field(default_factory=list)
    ended: dict[str, object] = field(default_factory=dict)

    @property
    def asked(self) -> dict[str, str]:
        """What each consumer subscribes of the topic shown."""
        group, topic = _first(self.scenario)
        starts = [step for step in self.scenario.steps if isinstance(step, Start) and step.group == group]
        return {step.who: step.subscribe[topic].expr for step in starts if topic in step.subscribe}

    def slot_at(self, t: float) -> str | None:
        """The expression that was in the slot at ``t``."""
        return next((slot.expression for slot in reversed(self.slots) if slot.t <= t), None)

    def bodies(self, who: str) -> list[str]:
        """What a client consumed, sorted."""
        return sorted(mark.text for mark in self.consumed if mark.who == who)

    def count(self, marks: list[Mark]) -> Counter[str]:
        """How many of the marks each client has."""
        return Counter(mark.who for mark in marks)


@lru_cache
def scenarios_of(name: str) -> dict[str, Scenario]:
    """The scenarios of a recorded set by id. Raises BadInput for another set."""
    return {one.id: one for one in read_scenarios(set_folder(name) / "scenarios.jsonl")}


def set_folder(name: str) -> Path:
    """Where a recorded set of the real 4.8.0 lies. Raises BadInput for a set that is not among ``SETS``."""
    if name not in SETS:
        raise BadInput(f"no recorded set {name!r}; there are {', '.join(SETS)}")
    return folder("data") / "golden" / VERSION / name


def set_of(scenario_id: str) -> str:
    """The set that has a scenario. Raises BadInput when none has."""
    for name in SETS:
        if scenario_id in scenarios_of(name):
            return name
    raise BadInput(f"no recorded scenario {scenario_id!r}; base has {', '.join(list(scenarios_of('base'))[:4])}, ...")


@lru_cache
def events_of(name: str) -> dict[str, list[Event]]:
    """The events of a recorded set by scenario id."""
    return recorded_events(set_folder(name))


@lru_cache
def _frames(name: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The lines of a set's frames, and the client id of each connection."""
    with gzip.open(set_folder(name) / "frames.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return lines, {line["conn"]: line["client"] for line in lines if "client" in line}


def commands(scenario_id: str) -> Iterator[tuple[float, str, str, RemotingCommand]]:
    """Frames of a scenario's clients: ms since the recorder began, client, direction (c2s or s2c), command."""
    lines, clients = _frames(set_of(scenario_id))
    ending = f"_{scenario_id}"
    mine = {
        conn: name.partition("@")[2].removesuffix(ending) for conn, name in clients.items() if name.endswith(ending)
    }
    for line in lines:
        if "frame" in line and line["conn"] in mine:
            yield line["t"], mine[line["conn"]], line["dir"], RemotingCommand.decode(bytes.fromhex(line["frame"])[4:])


@lru_cache
def _recorder_began(name: str) -> float:
    """Epoch ms of the recorder's time 0: the producer notes a send at the earliest when its answer has passed."""
    bounds = []
    for scenario_id, events in events_of(name).items():
        sent = [events[0]["epochMs"] + event["t"] for event in events if event["ev"] == "sent"]
        if not sent:
            continue
        asked: set[int] = set()
        answered = []
        for t, who, _, command in commands(scenario_id):
            if who == "P" and command.code == RequestCode.SEND_MESSAGE_V2 and not command.is_response:
                asked.add(command.opaque)
            elif command.is_response and command.opaque in asked and who == "P":
                answered.append(t)
        if len(answered) == len(sent):
            bounds += [noted - t for noted, t in zip(sent, answered, strict=True)]
        if len(bounds) > 100:
            break
    return float(min(bounds))


def _blank(scenario: Scenario, source: str, events: list[Event]) -> tuple[RunTimeline, float]:
    """A strip with what the events tell, and the ms from the scenario's begin to the first start."""
    starts = [step for step in scenario.steps if isinstance(step, Start)]
    group, topic = _first(scenario)
    zero: float = next(event["t"] for event in events if event["ev"] == "starting")
    end = scenario.steps[-1].at - starts[0].at
    strip = RunTimeline(scenario, source, sorted({step.who for step in starts}), end)
    for event in events:
        t = event["t"] - zero
        match event["ev"]:
            case "sent":
                strip.sent.append(Mark(t, "P", event["body"]))
            case "consume" if t <= end + 1_000:
                strip.consumed.append(Mark(t, event["who"], event["body"]))
            case "control":
                verb, _, who = event["line"].partition(" @")
                strip.broken.append(Mark(t, who, verb))
            case "offset" if event["group"] == group:
                strip.ended[f"{event['topic']}/{event['queue']}"] = event["committed"]
            case "broker" if event["group"] == group and t <= end:
                told = event["view"].get("subs", {}).get(topic)
                _flip(strip, t, told)
    return strip, zero


def _first(scenario: Scenario) -> tuple[str, str]:
    """The group and the topic that a strip shows: those of the first start."""
    start = next(step for step in scenario.steps if isinstance(step, Start))
    return start.group, next(iter(start.subscribe))


def _flip(strip: RunTimeline, t: float, told: object) -> None:
    """Note the subscription that was told as TYPE:EXPRESSION@VERSION, unless it is the one before."""
    expression = None if told is None else str(told).partition(":")[2].rpartition("@")[0]
    if not strip.slots or strip.slots[-1].expression != expression:
        strip.slots.append(SlotValue(t, expression))


def recorded_timeline(scenario_id: str) -> RunTimeline:
    """The strip of a recorded scenario. Raises BadInput when there is none of that id."""
    name = set_of(scenario_id)
    events = events_of(name)[scenario_id]
    strip, zero = _blank(scenarios_of(name)[scenario_id], "real broker and real clients, 4.8.0", events)
    shift = _recorder_began(name) - events[0]["epochMs"] - zero
    strip.slots = []  # the observer asked every 50 ms: the wire is finer
    group, topic = (f"{name}_{scenario_id}" for name in _first(strip.scenario))
    pulling: dict[tuple[str, int], object] = {}
    seen = TapSummary()
    for recorded, who, direction, command in commands(scenario_id):
        t = recorded + shift
        if who == "P" or t > strip.end:
            continue
        known = len(seen.changes)
        seen.see(t, strip.names.index(who), direction, command)
        for change in seen.changes[known:]:
            if (change["group"], change["topic"]) == (group, topic):
                _flip(strip, t, change["new"])
        if strip.slots and group not in seen.groups:
            _flip(strip, t, None)
        if direction == "c2s" and command.code == RequestCode.HEART_BEAT:
            strip.beats.append(Mark(t, who))
        elif direction == "c2s" and command.code in PULLS:
            pulling[who, command.opaque] = (command.all_ext_fields() or {}).get("queueId")
        elif direction == "s2c" and command.is_response and (who, command.opaque) in pulling:
            queue = pulling.pop((who, command.opaque))
            strip.pulls.append(Mark(t, who, f"queue {queue}: {_answer(command.code)}"))
        elif direction == "s2c" and command.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            strip.told.append(Mark(t, who))
    return strip


def simulated_timeline(run: Run) -> RunTimeline:
    """The strip of a simulated run."""
    strip, zero = _blank(run.scenario, "our broker and clients in virtual time", run.events)
    for fact in run.facts.of("heartbeat", "notify", "pull"):
        t, who = fact.t - zero, fact.get("client")
        if fact.source != BROKER or t > strip.end or who not in strip.names:
            continue
        if fact.kind == "heartbeat":
            strip.beats.append(Mark(t, who))
        elif fact.kind == "notify":
            strip.told.append(Mark(t, who))
        elif not fact["held"]:
            strip.pulls.append(Mark(t, who, f"queue {fact['queue']}: {_answer(fact['code'])}"))
    return strip


def _answer(code: int) -> str:
    return ResponseCode(code).name.lower() if code in ResponseCode.__members__.values() else f"code {code}"
