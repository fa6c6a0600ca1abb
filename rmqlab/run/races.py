"""Two members of a group, and what their starts came to: a race for the slot; and the lag of a group over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.events import Commit
from rmqlab.language import _
from rmqlab.run import records
from rmqlab.run.recorded_events import Starting
from rmqlab.run.run_view import RunView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.run import Run


class RaceRecord(NamedTuple):
    """Who started first and last, how many ms lay between as it really was, and who got messages ("A, B": both).

    `first_stamp` and `last_stamp`: ms from the broker's first heartbeat of the last starter to the last stamp of each;
    None where no stamp came within a second.
    """

    first: str
    last: str
    gap: float
    got: str
    first_stamp: float | None
    last_stamp: float | None


class LagRecord(NamedTuple):
    """The lag of a group (messages that its queues have, minus committed offsets) from `since` to `until`, in ms."""

    since: float
    until: float
    lasted: float
    lag: int


STAMPED_MS = 1_000  # within it both have stamped anew after the last one came


def race(run: Run, group: str | None = None, topic: str | None = None) -> RaceRecord:
    """The race of the two members of a group.

    Raises:
        BadInput: not two members were started.
    """
    view = RunView(run, group, topic)
    starts = [fact for fact in run.recorded(Starting) if fact.event.who in view.asked]
    if len(starts) != 2:
        raise BadInput(
            _("a race has two members; {count} were started in {group}", count=len(starts), group=view.group)
        )
    (first, first_start), (last, last_start) = ((fact.event.who, fact.t) for fact in starts)
    joined = next((beat.t for beat in view.beats if beat.who == last), None)

    def stamp(member: str) -> float | None:
        if joined is None:
            return None
        stamps = [beat.version - joined for beat in view.beats
                  if beat.who == member and beat.version > joined - 1 and beat.t < joined + STAMPED_MS]  # fmt: skip
        return round(max(stamps), 3) if stamps else None

    receivers = sorted({record.who for record in records.consumed(run) if record.topic == view.topic})
    gap = round(last_start - first_start, 3)
    return RaceRecord(first, last, gap, ", ".join(receivers), stamp(first), stamp(last))


def lags(
    run: Run, group: str | None = None, topic: str | None = None, *, shortest_ms: float = 1_000
) -> Iterator[LagRecord]:
    """How the lag of a group changed; what lasted less than `shortest_ms` is left out, as an alarm would miss it."""
    view = RunView(run, group, topic)
    changes = [(row.t, row.queue, row.offset + 1, 0) for row in records.messages(run) if row.topic == view.topic]
    changes += [(fact.t, fact.event.queue, 0, fact.event.offset) for fact in view.facts(Commit)]
    ends: dict[int, int] = {}
    offsets: dict[int, int] = {}
    stretches: list[tuple[float, int]] = []
    for t, queue, end, committed in sorted(changes):
        ends[queue], offsets[queue] = max(ends.get(queue, 0), end), max(offsets.get(queue, 0), committed)
        lag = max(0, sum(ends.values()) - sum(offsets.values()))
        if not stretches or stretches[-1][1] != lag:
            stretches.append((t, lag))
    changed_at = [t for t, _lag in stretches[1:]] + [view.end + view.zero]
    for (since, lag), until in zip(stretches, changed_at, strict=True):
        if until - since >= shortest_ms:
            yield LagRecord(since, until, round(until - since, 3), lag)
