"""Who owned which queue when, as every member believed it: spans, double ownership, gaps, and what they cost.

A member's word counts: from the end of the rebalance in which it took a queue until the one in which it gave it up, or
until it stopped or died. A broker has no table of owners that could be asked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.lab.fault_steps import Kill

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

CONTROLS = {"kill": "is killed", "cut": "is cut off", "pause": "pauses", "freeze": "is frozen"}
ENDS = frozenset({"leaves", "is killed", "falls silent"})


class Span(NamedTuple):
    """``who`` held ``queue`` from ``since`` to ``until`` (ms since the first step)."""

    queue: int
    who: str
    since: float
    until: float


class Stretch(NamedTuple):
    """``queue`` had these owners, none or several, from ``since`` to ``until``."""

    queue: int
    owners: tuple[str, ...]
    since: float
    until: float

    @property
    def ms(self) -> float:
        """How long."""
        return self.until - self.since


@dataclass(frozen=True, slots=True)
class OwnershipEvent:
    """What happened to a member at ``t`` (ms since the first step), in the words of ``group_life.HAPPENINGS``."""

    t: float
    who: str
    what: str


class Ownership:
    """Reads one group and topic of a run. Times are ms since its first step; ``end`` is when the watching ended."""

    def __init__(self, run: Run, group: str, topic: str) -> None:
        """Reads everything at once."""
        self.run = run
        self.zero = next(float(event["t"]) for event in run.events if event["ev"] == "starting")
        self.end = next(float(event["t"]) for event in reversed(run.events) if event["ev"] == "offset") - self.zero
        self.queues = run.queues[topic]
        self.events = self._events()
        self.members = list(dict.fromkeys(event.who for event in self.events if event.what == "joins"))
        self.spans = self._spans(group, topic)
        self.stretches = [stretch for queue in range(self.queues) for stretch in self._stretches(queue)]
        self.told = [
            fact.t - self.zero for fact in run.facts.of("notify")
            if fact["group"] == group and 0 <= fact.t - self.zero < self.end
        ]  # fmt: skip

    @property
    def doubles(self) -> list[Stretch]:
        """When a queue had more than one owner."""
        return [stretch for stretch in self.stretches if len(stretch.owners) > 1]

    @property
    def gaps(self) -> list[Stretch]:
        """When a queue had no owner, from the first take on."""
        return [stretch for stretch in self.stretches if not stretch.owners]

    @property
    def moves(self) -> int:
        """How often a queue got an owner that it did not have last."""
        count = 0
        for queue in range(self.queues):
            spans = sorted((span for span in self.spans if span.queue == queue), key=lambda span: span.since)
            count += sum(one.who != other.who for one, other in pairwise(spans))
        return count

    @property
    def duplicates(self) -> list[str]:
        """Bodies that were consumed more than once, in the order of their second time."""
        seen: Counter[str] = Counter()
        twice = []
        for event in self._consumed():
            seen[event] += 1
            if seen[event] == 2:
                twice.append(event)
        return twice

    def first_seen(self, body: str) -> float:
        """When a listener first got a body (ms since the first step)."""
        times = (event["t"] for event in self.run.events if event["ev"] == "consume" and event["body"] == body)
        return float(next(times)) - self.zero

    @property
    def sent(self) -> int:
        """How many messages were sent."""
        return sum(event["ev"] == "sent" for event in self.run.events)

    @property
    def consumed(self) -> int:
        """How many different messages were consumed until the end."""
        return len(set(self._consumed()))

    def owners_at(self, t: float) -> dict[int, tuple[str, ...]]:
        """Who holds each queue at ``t``."""
        return {
            queue: tuple(
                sorted(span.who for span in self.spans if span.queue == queue and span.since <= t < span.until)
            )
            for queue in range(self.queues)
        }

    def paused(self, who: str) -> list[tuple[float, float]]:
        """When a member stood still."""
        found = []
        for event in self.run.events:
            line = event.get("line", "")
            if event["ev"] == "control" and line.startswith(f"pause @{who} "):
                since = event["t"] - self.zero
                found.append((since, min(since + float(line.rpartition(" ")[2]), self.end)))
        return found

    def _consumed(self) -> list[str]:
        last = self.zero + self.end
        return [event["body"] for event in self.run.events if event["ev"] == "consume" and event["t"] <= last]

    def _events(self) -> list[OwnershipEvent]:
        silent = {step.who for step in self.run.scenario.steps if isinstance(step, Kill) and step.silent}
        found = []
        for event in self.run.events:
            t = event["t"] - self.zero
            if t > self.end or (t == self.end and event["ev"] == "stopping"):
                break
            if event["ev"] == "starting":
                found.append(OwnershipEvent(t, event["who"], "joins"))
            elif event["ev"] == "stopping":
                found.append(OwnershipEvent(t, event["who"], "leaves"))
            elif event["ev"] == "control":
                what, _, rest = event["line"].partition(" @")
                who = rest.partition(" ")[0]
                words = "falls silent" if what == "kill" and who in silent else CONTROLS.get(what, what)
                found.append(OwnershipEvent(t, who, words))
        return found

    def _spans(self, group: str, topic: str) -> list[Span]:
        held: dict[tuple[str, int], float] = {}
        spans: list[Span] = []

        def give_up(who: str, t: float, keep: frozenset[int] = frozenset()) -> None:
            for owner, queue in [one for one in held if one[0] == who and one[1] not in keep]:
                spans.append(Span(queue, who, held.pop((owner, queue)), t))

        ends = [(event.t, 0, event.who, None) for event in self.events if event.what in ENDS]
        words = [
            (fact.t - self.zero, 1, fact.source, frozenset(fact["queues"]))
            for fact in self.run.facts.of("rebalance")
            if fact["topic"] == topic and fact["group"] == group and fact.t - self.zero < self.end
        ]
        for t, _, who, queues in sorted([*ends, *words], key=lambda one: one[:2]):
            if queues is None:
                give_up(who, t)
                continue
            give_up(who, t, queues)
            for queue in queues:
                held.setdefault((who, queue), t)
        for who in {who for who, _ in held}:
            give_up(who, self.end)
        return sorted(spans, key=lambda span: (span.queue, span.since, span.who))

    def _stretches(self, queue: int) -> list[Stretch]:
        spans = [span for span in self.spans if span.queue == queue]
        first = min((span.since for span in self.spans), default=self.end)
        edges = sorted({first, self.end, *(span.since for span in spans), *(span.until for span in spans)})
        found: list[Stretch] = []
        for since, until in pairwise(edges):
            owners = tuple(sorted(span.who for span in spans if span.since <= since and span.until >= until))
            if found and found[-1].owners == owners:
                found[-1] = found[-1]._replace(until=until)
            else:
                found.append(Stretch(queue, owners, since, until))
        return found
