"""Figures of a run by name, as the manifest of experiments asks for them: counts, bodies, offsets, who owned what."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from rmqlab.events import (
    Expired,
    Heartbeat,
    HeartbeatSent,
    Notify,
    OfGroup,
    Pull,
    Rebalance,
    Registration,
    Restamp,
    SubscriptionChanged,
    Unregister,
)
from rmqlab.message.topics import is_retry_topic
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import GroupViewed, OffsetAsked, Owned, Received, Starting

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.run.facts import E, Fact
    from rmqlab.run.run import Run

SUBSCRIPTION_NOT_EXIST = 24
M = TypeVar("M", bound=Heartbeat | OfGroup)
SOON_MS = 100  # a beat that follows from something comes sooner


def figure_of(run: Run, name: str) -> object:
    """A figure of a run: one of `_FIXED`, the count of a fate, or one of `_OF` with what it is about after it."""
    if name in _FIXED:
        return _FIXED[name](run)
    if name in set(Fate):
        return sum(fate.fate == name for fate in run.fates)
    start = next(start for start in _OF if name.startswith(start))
    return _OF[start](run, name.removeprefix(start))


def _subscription(run: Run) -> object:
    """What the broker had for the group when the last two members were there: a text, or several for several topics."""
    views = [fact.event.view for fact in run.recorded(GroupViewed) if "subs" in fact.event.view]
    both = [view for view in views if len(view["clients"]) > 1]
    own = [text for topic, text in (both or views)[-1]["subs"].items() if not is_retry_topic(topic)]
    return own[0].partition(":")[2].rpartition("@")[0] if len(own) == 1 else sorted(own)


def _topic_changes(run: Run) -> int:
    """How often a topic came into the group's table or went out of it."""
    return sum((fact.event.old is None) != (fact.event.new is None) for fact in run.facts.of(SubscriptionChanged))


def _by(run: Run, client: str, kind: type[E]) -> list[Fact[E]]:
    return [fact for fact in run.facts.of(kind) if fact.source == client]


def _owned(run: Run, client: str) -> list[int]:
    """Queues of the last `alloc`."""
    last = [fact.event.queues for fact in run.recorded(Owned) if fact.event.who == client][-1:]
    return [queue for queues in last for topic, ids in queues.items() if not is_retry_topic(topic) for queue in ids]


def _places(run: Run, client: str) -> list[str]:
    return sorted(
        f"{fact.event.body} q{fact.event.queue}/{fact.event.offset}"
        for fact in run.recorded(Received)
        if fact.event.who == client
    )


def _fate(run: Run, body: str) -> list[str]:
    """Fate and culprit, in each group (or member, when broadcasting)."""
    return [f"{fate.fate}, {fate.culprit}" for fate in run.fates if fate.body == body]


# Heartbeats: all in seconds, from what the clients sent and the broker did.


def _beats(run: Run, client: str) -> list[float]:
    """When a client's timer sent heartbeats, s since its start; not those after a change of its queues."""
    start = next(fact.t for fact in run.recorded(Starting) if fact.event.who == client)
    stamped = [fact.t for fact in _by(run, client, Restamp)]
    times = [
        fact.t - start
        for fact in _by(run, client, HeartbeatSent)
        if fact.t - start > SOON_MS and not any(0 <= fact.t - t < SOON_MS for t in stamped)
    ]
    return [t / 1_000 for t in times]


def _periods(run: Run, client: str) -> list[int]:
    beats = [round(t) for t in _beats(run, client)]
    return sorted({later - earlier for earlier, later in pairwise(beats)})


def _silence(run: Run, client: str) -> float:
    """From the last heartbeat that the broker heard to the moment it took the client out of its groups."""
    gone = _removed(run, client)
    heard = [fact.t for fact in _at_broker(run, client, Heartbeat) if fact.t < gone]
    return round((gone - heard[-1]) / 1_000, 3)


def _removed(run: Run, client: str) -> float:
    groups = set(run.scenario.groups())
    return next(
        fact.t for kind in (Expired, Unregister) for fact in _at_broker(run, client, kind) if fact.event.group in groups
    )


def _at_broker(run: Run, client: str, kind: type[M]) -> list[Fact[M]]:
    return [fact for fact in run.facts.of(kind) if fact.event.client == client]


def _takeover(run: Run, client: str) -> float:
    """From the removal to the first change of another member's queues."""
    gone = _removed(run, client)
    took = next(fact.t for fact in run.facts.of(Rebalance) if fact.source != client and fact.t >= gone)
    return round((took - gone) / 1_000, 3)


def _notices_after(run: Run, client: str) -> int:
    """Members notified that the group changed, from the removal until the next one has changed its queues."""
    gone = _removed(run, client)
    return sum(gone <= fact.t < gone + _takeover(run, client) * 1_000 for fact in run.facts.of(Notify))


def _notices_at(run: Run, second: str) -> list[str]:
    """Who was notified within a second of the step at that second."""
    begin = next(run.recorded(Starting)).t + int(second) * 1_000
    return sorted({fact.event.client for fact in run.facts.of(Notify) if begin <= fact.t < begin + 1_000})


def _pushes(run: Run, client: str) -> list[int]:
    """Registrations with the name server in the same ms as each of the first three heartbeats of a client."""
    times = [fact.t for fact in run.facts.of(Registration)]
    return [sum(0 <= t - beat.t < 1 for t in times) for beat in _at_broker(run, client, Heartbeat)[:3]]


_FIXED: dict[str, Callable[[Run], object]] = {
    "lost": lambda run: sum(fate.lost for fate in run.fates),
    "consumed": lambda run: len(list(run.recorded(Received))),
    "lag": lambda run: sum(
        fact.event.max - fact.event.committed
        for fact in run.recorded(OffsetAsked)
        if isinstance(fact.event.committed, int)
    ),
    "committed": lambda run: [fact.event.committed for fact in run.recorded(OffsetAsked)],
    "retries": lambda run: sum(fact.event.reconsume > 0 for fact in run.recorded(Received)),
    "subscription": _subscription,
    "topic changes": _topic_changes,
    "pulls refused with 24": lambda run: sum(fact.event.code == SUBSCRIPTION_NOT_EXIST for fact in run.facts.of(Pull)),
}
_OF: dict[str, Callable[[Run, str], object]] = {
    "consumed by ": lambda run, who: sum(fact.event.who == who for fact in run.recorded(Received)),
    "bodies of ": lambda run, who: sorted(
        {fact.event.body for fact in run.recorded(Received) if fact.event.who == who}
    ),
    "places of ": _places,
    "queues of ": _owned,
    "restamps by ": lambda run, who: len(_by(run, who, Restamp)),
    "fate of ": _fate,
    "first timer beat of ": lambda run, who: round(_beats(run, who)[0]),
    "beat periods of ": _periods,
    "silence before removal of ": _silence,
    "takeover after removal of ": _takeover,
    "notices after removal of ": _notices_after,
    "removals of ": lambda run, who: len(
        {fact.t for fact in _at_broker(run, who, Expired) if fact.event.group in run.scenario.groups()}
    ),
    "notices at ": _notices_at,
    "pushes with beats of ": _pushes,
}
