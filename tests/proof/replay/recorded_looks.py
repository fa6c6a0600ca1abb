"""When the hold service looked after held pulls, as a recording tells it: every 5 s and what the look itself took.

Pulls that were held to the end of their time are answered at such a moment; where there are none, pulls that were told
to go on without a message. Each is a whole pause before the next one, however late its answers were seen, and not
before the time of a pull that it ended was over. Between and beyond them the period is taken as even.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from statistics import median
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rmqlab_tools.recordings.exchange import Exchange
    from tests.proof.replay.recorded_clock import RecordedClock

# How long before its estimate a look may have been.
_UNEVEN_MS = 20.0
# From a message's frame to the answers of the pulls that it woke, at most.
_WAKING_MS = 200.0


def find_looks(clock: RecordedClock, exchanges: Collection[Exchange]) -> list[float]:
    """The looks (ms of the recording) in order; `clock` knows how long pulls are held, and when the recording ends."""
    told = [one.answered_at for one in exchanges if _is_told_to_go_on(one)]
    # A busy broker's looks are not quite even: where somebody was told to go on just before one, it was then.
    return [
        min((t for t in told if look - _UNEVEN_MS <= t < look), default=look)
        for look in _looks(clock, exchanges, _stragglers(exchanges))
    ]


def _is_told_to_go_on(exchange: Exchange) -> bool:
    """Whether a pull was held, and answered without a message before its time was over."""
    return (
        exchange.suspend_ms is not None
        and exchange.expected is not None
        and exchange.expected.code == ResponseCode.PULL_RETRY_IMMEDIATELY
        and exchange.answered_at - exchange.line.t > _WAKING_MS
    )


def _stragglers(exchanges: Collection[Exchange]) -> list[float]:
    """When held pulls were told to go on although no message had come to their queue: only a look does that.

    It knows no tags code, so it wakes pulls whose filter no message passed (row S-91). A recording shorter than the
    time that pulls may be held, 15 s, shows its looks in no other way.
    """
    arrivals: dict[tuple[str, str], list[float]] = {}
    for exchange in exchanges:
        if exchange.put_at is not None and exchange.expected is not None:
            topic = exchange.fields.get("topic") or exchange.fields.get("b") or ""
            queue = (exchange.expected.ext_fields or {}).get("queueId") or ""
            arrivals.setdefault((topic, queue), []).append(exchange.line.t)
    return sorted(
        exchange.answered_at
        for exchange in exchanges
        if _is_told_to_go_on(exchange)
        and not any(
            exchange.answered_at - _WAKING_MS <= t <= exchange.answered_at
            for t in arrivals.get((exchange.queue[0], str(exchange.queue[1])), ())
        )
    )


def _looks(clock: RecordedClock, exchanges: Collection[Exchange], stragglers: list[float]) -> Iterator[float]:
    """The looks of the hold service, from those that answers show, back and forth to both ends of the recording."""
    ended = sorted((one.answered_at, clock.earliest_look(one)) for one in exchanges if clock.has_timed_out(one))
    seen = ended or [(t, t - _UNEVEN_MS) for t in stragglers]
    if not seen:
        return
    every = clock.look_every
    shown: list[float] = []
    earliest: list[float] = []
    last = -inf
    for t, least in seen:
        if t - last > every / 2:
            shown.append(t)
            earliest.append(least)
        earliest[-1] = min(max(earliest[-1], least), shown[-1])
        last = t
    steps = [
        max(1, min(round((b - a) / every), int((b - least) / every)))
        for (a, b), least in zip(pairwise(shown), earliest, strict=False)
    ]
    for index in reversed(range(len(steps))):
        # The pause before the next look was a whole one: where answers were seen late, the look was earlier.
        shown[index] = max(earliest[index], min(shown[index], shown[index + 1] - every * steps[index]))
    # Beyond what is shown the usual pause counts: a process that stood still once makes the mean too long.
    pauses = [(later - look) / count for (look, later), count in zip(pairwise(shown), steps, strict=True)]
    period = median(pauses) if pauses else every
    for step in range(int(shown[0] / period), 0, -1):
        yield shown[0] - period * step
    for (start, stop), count in zip(pairwise(shown), steps, strict=True):
        yield from (start + (stop - start) * step / count for step in range(count))
    for step in range(int(max(clock.end - shown[-1], 0) / period) + 1):
        yield shown[-1] + period * step
