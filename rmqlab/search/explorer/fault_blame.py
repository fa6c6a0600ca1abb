"""What the faults of a run did, in words: when each happened, when the broker noticed, and who moved because of it.

A fault at a fixed moment is no choice, so nothing in the schedule speaks of it; yet it is to blame for what follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.lab.facts import BROKER
from rmqlab.lab.scenario import Start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.facts import Fact
    from rmqlab.lab.run import Event, Run

_AT_ONE = re.compile(r"(?P<what>\w+) @(?P<who>\S+)(?: (?P<number>[+-]?\d+))?")
_WORDS = {
    "cut": "the connection of {who} was cut",
    "freeze": "the link of {who} froze",
    "kill": "{who} was killed",
    "pause": "{who} stood still for {number} ms",
    "slow": "the links of {who} took {number} ms more",
    "clock": "the clock of {who} was moved by {number} ms",
    "loseHeartbeat": "heartbeats of {who} got lost ({number})",
}
_NOTICED = frozenset({"cut", "freeze", "kill", "pause", "slow", "loseHeartbeat"})
_CLOSE_MS = 1_000  # a goodbye or the end of a connection; a scan needs longer


def faults(run: Run) -> Iterator[str]:
    """One line a fault that happened, in order of time (ms since the run began, as in ``stamps``)."""
    controls = [event for event in run.events if event["ev"] == "control"]
    for number, event in enumerate(controls):
        match = _AT_ONE.fullmatch(event["line"])
        if match is not None and match["what"] in _WORDS:
            yield "; ".join(_one(run, event, match["what"], match["who"], match["number"]))
        elif event["line"] == "broker down":
            yield "; ".join(_restart(run, event, controls[number + 1 :]))
        elif match is None and event["line"] != "broker up":
            yield f"{event['line']} at {event['t']} ms"
    for event in run.events:
        if event["ev"] == "error" and controls and event["t"] >= controls[0]["t"]:
            yield f"{event['do']} at {event['t']} ms failed: {event['error']}"


def _one(run: Run, event: Event, what: str, who: str, number: str | None) -> Iterator[str]:
    began = event["t"]
    yield f"{_WORDS[what].format(who=who, number=number)} at {began} ms"
    if who not in _consumers(run) or what not in _NOTICED:
        return
    gone = _first(run, began, _until(run, who), "unregister", "expired", client=who)
    if gone is None:
        yield "the broker kept it as a member"
        return
    after = gone.t - began
    why = "its connection ended" if gone.kind == "unregister" else "its heartbeats had stopped"
    yield f"the broker struck it off {'at once' if after < _CLOSE_MS else f'{after:.0f} ms later'}, for {why}"
    yield from _taken_over(run, gone, who)
    back = _first(run, gone.t, _until(run, who), "register", client=who)
    if back is not None:
        yield f"{who} was a member again {back.t - gone.t:.0f} ms later"


def _restart(run: Run, event: Event, later: list[Event]) -> Iterator[str]:
    began, end = event["t"], _until(run, None)
    up = next((one["t"] for one in later if one["line"] == "broker up"), None)
    back = "" if up is None else f" until {up} ms"
    yield f"the broker was down from {began} ms on{back}, and then knew no members and no subscriptions"
    since = end if up is None else up
    for who in _consumers(run):
        known = _first(run, since, end, "register", client=who)
        if known is not None:
            yield f"{who} was a member again at {known.t:.0f} ms"


def _taken_over(run: Run, gone: Fact, who: str) -> Iterator[str]:
    for fact in run.facts.of("rebalance"):
        mine = fact.get("group") == gone["group"] and not fact["topic"].startswith("%RETRY%")
        if mine and fact.source != who and gone.t <= fact.t <= _until(run, None) and fact["queues"]:
            queues = ", ".join(map(str, fact["queues"]))
            yield f"{fact.source} held {fact['topic']}'s queues {queues} from {fact.t:.0f} ms on"
            return


def _consumers(run: Run) -> list[str]:
    return list(dict.fromkeys(step.who for step in run.scenario.steps if isinstance(step, Start)))


def _until(run: Run, who: str | None) -> float:
    """When the scenario was over (ms), or ``who`` was stopped by it: what follows is no fault's doing."""
    begins = next((step.at for step in run.scenario.steps if isinstance(step, Start)), 0)
    started = next((event["t"] for event in run.events if event["ev"] == "starting"), 0)
    stops = [event["t"] for event in run.events if event["ev"] == "stopping" and event["who"] == who]
    last: float = started - begins + run.scenario.steps[-1].at
    return float(min([last, *stops]))


def _first(run: Run, since: float, until: float, *kinds: str, client: str) -> Fact | None:
    groups = run.scenario.groups()
    for fact in run.facts.of(*kinds):
        mine = fact.source == BROKER and fact.get("client") == client and fact.get("group") in groups
        if mine and since <= round(fact.t) and fact.t <= until:
            return fact
    return None
