"""Figures of a run by name, as the manifest of experiments asks for them: counts, bodies, offsets, who owned what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.lab.fates import Fate

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.lab.facts import Fact
    from rmqlab.lab.run import Run

SUBSCRIPTION_NOT_EXIST = 24
RETRY = "%RETRY%"


def figure_of(run: Run, name: str) -> object:
    """A figure of a run; a name with WHO or BODY in ``NAMES`` ends with one.

    Raises:
        KeyError: there is no such figure (see ``is_known``).
    """
    if name in _FIXED:
        return _FIXED[name](run)
    if name in set(Fate):
        return sum(fate.fate == name for fate in run.fates)
    start = next(start for start in _OF if name.startswith(start))
    return _OF[start](run, name.removeprefix(start))


def is_known(name: str) -> bool:
    """Whether there is a figure of this name."""
    return name in _FIXED or name in set(Fate) or any(name.startswith(start) and name != start for start in _OF)


def _consumed(run: Run) -> list[dict[str, Any]]:
    return [event for event in run.events if event["ev"] == "consume"]


def _offsets(run: Run) -> list[dict[str, Any]]:
    return [event for event in run.events if event["ev"] == "offset"]


def _subscription(run: Run) -> object:
    """What the broker had for the group when the last two members were there: a text, or several for several topics."""
    views = [event["view"] for event in run.events if event["ev"] == "broker" and "subs" in event["view"]]
    both = [view for view in views if len(view["clients"]) > 1]
    own = [text for topic, text in (both or views)[-1]["subs"].items() if not topic.startswith(RETRY)]
    return own[0].partition(":")[2].rpartition("@")[0] if len(own) == 1 else sorted(own)


def _topic_changes(run: Run) -> int:
    """How often a topic came into the group's table or went out of it."""
    return sum((fact["old"] is None) != (fact["new"] is None) for fact in run.facts.of("subscription"))


def _by(run: Run, who: str, kind: str) -> list[Fact]:
    return [fact for fact in run.facts.of(kind) if fact.source == who]


def _owned(run: Run, who: str) -> list[int]:
    """Queues of the last ``alloc``."""
    last = [event["queues"] for event in run.events if event["ev"] == "alloc" and event["who"] == who][-1:]
    return [queue for queues in last for topic, ids in queues.items() if not topic.startswith(RETRY) for queue in ids]


def _places(run: Run, who: str) -> list[str]:
    return sorted(f"{one['body']} q{one['queue']}/{one['offset']}" for one in _consumed(run) if one["who"] == who)


def _fate(run: Run, body: str) -> list[str]:
    """Fate and culprit, in each group (or member, when broadcasting)."""
    return [f"{fate.fate}, {fate.culprit}" for fate in run.fates if fate.body == body]


NAMES = ("lost", "consumed", "lag", "committed", "retries", "subscription", "topic changes", "pulls refused with 24")
_FIXED: dict[str, Callable[[Run], object]] = dict(
    zip(
        NAMES,
        (
            lambda run: sum(fate.lost for fate in run.fates),
            lambda run: len(_consumed(run)),
            lambda run: sum(event["max"] - event["committed"] for event in _offsets(run)),
            lambda run: [event["committed"] for event in _offsets(run)],
            lambda run: sum(event["reconsume"] > 0 for event in _consumed(run)),
            _subscription,
            _topic_changes,
            lambda run: sum(fact["code"] == SUBSCRIPTION_NOT_EXIST for fact in run.facts.of("pull")),
        ),
        strict=True,
    )
)
_OF: dict[str, Callable[[Run, str], object]] = {
    "consumed by ": lambda run, who: sum(event["who"] == who for event in _consumed(run)),
    "bodies of ": lambda run, who: sorted({event["body"] for event in _consumed(run) if event["who"] == who}),
    "places of ": _places,
    "queues of ": _owned,
    "restamps by ": lambda run, who: len(_by(run, who, "restamp")),
    "fate of ": _fate,
}
STARTS = tuple(_OF)
