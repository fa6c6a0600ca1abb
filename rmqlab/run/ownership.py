"""Who owned which queue when, as every member believed it: one owner, two at once, or none.

A member's word counts: from the end of the rebalance in which it took a queue until the one in which it gave it up, or
until it stopped or died. A broker has no table of owners that could be asked.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.events import Notify, Rebalance
from rmqlab.language import _, joined
from rmqlab.run.recorded_events import Control, Starting, Stopping
from rmqlab.run.run_view import RunView
from rmqlab.scenario.fault_steps import FAULTS, Kill

if TYPE_CHECKING:
    from rmqlab.run.run import Run

NOBODY = _("nobody")
MEMBER_ENDS = frozenset({_("leaves"), Kill.befalls, Kill.silently})


class OwnersRecord(NamedTuple):
    """A time in which a queue had these owners (so many `members`); times are ms since the run began."""

    group: str
    topic: str
    queue: int
    owners: str
    members: int
    since: float
    until: float


class Span(NamedTuple):
    """`who` held `queue` from `since` to `until`."""

    queue: int
    who: str
    since: float
    until: float


class MemberEvent(NamedTuple):
    """Something happened to a member: it joins, leaves, is killed, falls silent, pauses (for `ms`), is cut off."""

    t: float
    who: str
    what: str
    ms: float = 0


class Ownership:
    """Reads one group and topic of a run (the first ones by default). Times are ms since the run began."""

    def __init__(self, run: Run, group: str | None = None, topic: str | None = None) -> None:
        """Read the run.

        Raises:
            BadInput: no member of that group subscribes that topic.
        """
        self.view = RunView(run, group, topic)
        self.zero, self.end = self.view.zero, self.view.zero + self.view.end
        self.queues = self.view.queues
        self.events = self._events()
        self.members = list(dict.fromkeys(event.who for event in self.events if event.what == "joins"))
        self.spans = self._spans()
        self.told = [fact.t for fact in self.view.facts(Notify)]

    def stretches(self) -> list[OwnersRecord]:
        """For each queue its owners over time, from its first owner on."""
        return [stretch for queue in range(self.queues) for stretch in self._stretches(queue)]

    @property
    def moves(self) -> int:
        """How often a queue got an owner that it did not have last."""
        spans = sorted(self.spans, key=lambda span: (span.queue, span.since))
        return sum(
            earlier.queue == following.queue and earlier.who != following.who for earlier, following in pairwise(spans)
        )

    def _events(self) -> list[MemberEvent]:
        run, events = self.view.run, []
        silent: dict[str, list[bool]] = defaultdict(list)  # of each kill of a member, in their order
        for step in run.scenario.steps:
            if isinstance(step, Kill):
                silent[step.who].append(step.silent)
        for fact in run.recorded(Starting, Stopping, Control):
            if fact.t > self.end or (fact.t == self.end and isinstance(fact.event, Stopping)):
                break
            match fact.event:
                case Starting(who=client):
                    events.append(MemberEvent(fact.t, client, _("joins")))
                case Stopping(who=client):
                    events.append(MemberEvent(fact.t, client, _("leaves")))
                case Control(parts=(what, client, number)):
                    words = FAULTS[what].befalls or what if what in FAULTS else what
                    if what == "kill" and silent[client].pop(0):
                        words = Kill.silently
                    events.append(MemberEvent(fact.t, client, words, float(number) if what == "pause" else 0))
        subscriptions, is_member = self.view.asked, self.view.is_member
        return [event for event in events if event.who in subscriptions and is_member(event.who, event.t)]

    def _spans(self) -> list[Span]:
        since_of: dict[tuple[str, int], float] = {}
        spans: list[Span] = []

        def give_up(client: str, t: float, keep: frozenset[int] = frozenset()) -> None:
            for owner, queue in [entry for entry in since_of if entry[0] == client and entry[1] not in keep]:
                spans.append(Span(queue, client, since_of.pop((owner, queue)), t))

        ends = [(event.t, 0, event.who, None) for event in self.events if event.what in MEMBER_ENDS]
        words = [(fact.t, 1, fact.source, frozenset(fact.event.queues)) for fact in self.view.facts(Rebalance)]
        for t, _ignored, name, queues in sorted([*ends, *words], key=lambda row: row[:2]):
            if queues is None:
                give_up(name, t)
                continue
            give_up(name, t, queues)
            for queue in queues:
                since_of.setdefault((name, queue), t)
        for owner_left in {key[0] for key in since_of}:
            give_up(owner_left, self.end)
        return sorted(spans, key=lambda span: (span.queue, span.since, span.who))

    def _stretches(self, queue: int) -> list[OwnersRecord]:
        spans = [span for span in self.spans if span.queue == queue]
        first = min((span.since for span in spans), default=self.end)
        edges = sorted({first, self.end, *(span.since for span in spans), *(span.until for span in spans)})
        stretches: list[OwnersRecord] = []
        for since, until in pairwise(edges):
            names = sorted(span.who for span in spans if span.since <= since and span.until >= until)
            owners = joined(" and ", names) or NOBODY
            if stretches and stretches[-1].owners == owners:
                stretches[-1] = stretches[-1]._replace(until=until)
            else:
                stretches.append(
                    OwnersRecord(self.view.group, self.view.topic, queue, owners, len(names), since, until)
                )
        return stretches
