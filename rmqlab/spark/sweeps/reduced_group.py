"""A group that starts, in the small: who owns which queue, whose subscription the broker keeps, what gets through.

Millions of runs need a model without frames, records and processors. This one keeps, of 4.8.0, what decides who gets
which message: heartbeats and their stamps, notification, the rounds of rebalance with one question to the broker for
each queue taken, the filter that a held pull carries, and the check that asks held pulls again every 5 s. It knows no
offsets, so it misses the few messages that a new owner reads a second time because the last one's commit came late.
``rmqlab.spark.sweeps.whole_group`` runs the same parameters through the whole core; tests count the difference.

Every run is a function of its parameters, the seed and its own number alone (the random numbers are a counter mixed
with both), so results do not depend on how runs are spread over tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from rmqlab.spark.sweeps.counter_rng import drawn, run_key, seed_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rmqlab.spark.sweeps.tag_group import GroupStart

# Of the columns of a result, in order; counts of messages but for the last two.
COLUMNS = ("sent", "delivered", "dropped_by_broker_tag", "dropped_by_client", "waiting", "winner", "requests")

_START, _BEAT, _WAKE, _RETRY_LISTED, _LISTED, _DROPS, _TAKEN, _ROUND_OVER, _PULL, _MESSAGE, _CHECK = range(11)
_FIRST_ROUTE_TIMER_US = 10_000
_PHASE = 999_999  # the random number of the phase of the broker's check
_FIRST_TAG = 1_000_000  # the random numbers of the messages' tags begin here
_CHECK_US = 5_000_000  # 4.8.0 PullRequestHoldService.run: held pulls with news are asked again this often
_NO_STAMP = -(2**62)
_EVENTS = 1_024  # more are never under way: a member has at most one round, two beats and a pull
# The numbers of a run, in one array: what is counted, and where the heap and the random numbers are.
_DELIVERED, _BY_BROKER, _BY_CLIENT, _REQUESTS, _PENDING, _DRAWN, _SLOT, _STAMP, _CHECKING = range(9)


def group_runs(start: GroupStart, seed: int, first_run: int, runs: int) -> NDArray[np.int64]:
    """Runs ``first_run`` to ``first_run + runs - 1`` of a seed.

    Returns:
        Shape (runs, 7), the columns of ``COLUMNS``: ``winner`` is the member (0-based, by starting order) whose
        subscription the broker keeps at the end, ``requests`` counts heartbeats and questions for the members' list.
    """
    out: NDArray[np.int64] = np.zeros((runs, len(COLUMNS)), dtype=np.int64)
    _runs(
        out, seed_of(seed), first_run, start.members, start.queues, start.shared,
        int(start.gap_ms * 1_000), start.delay_us, float(start.jitter), start.messages, int(start.every_ms * 1_000),
        int(start.first_ms * 1_000), int(start.check_phase_ms * 1_000),
    )  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def _share(queues: Any, count: Any, place: Any) -> Any:
    """4.8.0 ``AllocateMessageQueueAveragely``: first queue and number of queues of the member at ``place``."""
    rest = queues % count
    size = 1 if queues <= count else queues // count + (1 if rest > 0 and place < rest else 0)
    first = place * size if rest > 0 and place < rest else place * size + rest
    return first, min(size, max(0, queues - first))


@njit(cache=True, nogil=True)
def _hops(run: Any, key: Any, count: Any, delay: Any, jitter: Any) -> Any:
    """Microseconds that ``count`` frames take, one after the other."""
    total = np.int64(0)
    for _ in range(count):
        total += delay
        if jitter > 0:
            total += np.int64(delay * jitter * drawn(key, run[_DRAWN]))
            run[_DRAWN] += 1
    return total


@njit(cache=True, nogil=True)
def _later(run: Any, events: Any, when: Any, kind: Any, who: Any, carried: Any) -> None:
    size = run[_PENDING]
    events[size, 0], events[size, 1], events[size, 2], events[size, 3] = when, kind, who, carried
    run[_PENDING] = size + 1


@njit(cache=True, nogil=True)
def _earliest(run: Any, events: Any) -> Any:
    """Takes the earliest event out; of two at one instant the one that was entered first."""
    at, size = 0, run[_PENDING]
    for i in range(1, size):
        if events[i, 0] < events[at, 0]:
            at = i
    now, kind, who, carried = events[at, 0], events[at, 1], events[at, 2], events[at, 3]
    for i in range(at, size - 1):
        events[i, 0], events[i, 1], events[i, 2], events[i, 3] = (
            events[i + 1, 0], events[i + 1, 1], events[i + 1, 2], events[i + 1, 3],
        )  # fmt: skip
    run[_PENDING] = size - 1
    return now, kind, who, carried


@njit(cache=True, nogil=True)
def _answer(run: Any, waiting: Any, pullers: Any, members: Any, queue: Any) -> None:
    """A pull of ``queue`` is answered: the slot's filter at the broker, then that of each who pulls it."""
    for tag in range(waiting.shape[1]):
        count = waiting[queue, tag]
        if count == 0:
            continue
        waiting[queue, tag] = 0
        if tag < members and tag != run[_SLOT]:
            run[_BY_BROKER] += count
        elif tag >= members or (pullers[queue] >> tag) & 1:
            run[_DELIVERED] += count
        else:
            run[_BY_CLIENT] += count


@njit(cache=True, nogil=True)
def _place(registered: Any, members: Any, who: Any) -> Any:
    """How many registered members come before ``who`` in the order of client ids, and how many there are."""
    before, count = 0, 0
    for other in range(members):
        if (registered >> other) & 1:
            count += 1
            before += other < who
    return before, count


@njit(cache=True, nogil=True)
def _runs(
    out: Any, seed: Any, first_run: Any, members: Any, queues: Any, shared: Any, gap: Any, delay: Any, jitter: Any,
    messages: Any, every: Any, first: Any, phase: Any,
) -> None:  # fmt: skip
    run, events = np.zeros(9, np.int64), np.zeros((_EVENTS, 4), np.int64)
    owns = np.zeros(members, np.int64)
    busy, again, has_retry = np.zeros(members, np.int8), np.zeros(members, np.int8), np.zeros(members, np.int8)
    pullers = np.zeros(queues, np.int64)  # by queue, a bit a member
    held_filter = np.zeros(queues, np.int64)
    waiting = np.zeros((queues, members + shared), np.int64)
    for number in range(out.shape[0]):
        key = run_key(seed, first_run + number)
        run[:], owns[:], busy[:], again[:], has_retry[:] = 0, 0, 0, 0, 0
        pullers[:], held_filter[:], waiting[:, :] = 0, -1, 0
        run[_SLOT], run[_STAMP] = -1, _NO_STAMP
        registered, sent = np.int64(0), 0
        check_phase = phase if phase >= 0 else np.int64(drawn(key, _PHASE) * _CHECK_US)
        run[_DRAWN] = members  # the first numbers of a run were once those of clocks: kept rows must come out again
        _later(run, events, 0, _START, 0, 0)
        if messages > 0:
            _later(run, events, first, _MESSAGE, 0, 0)
        while run[_PENDING] > 0:
            now, kind, who, carried = _earliest(run, events)
            if kind == _START:
                # two routes are asked of the name server before the first beat leaves, and a third where the timer
                # that asks for routes 10 ms after the start comes in between
                hops = 5 if 4 * delay < _FIRST_ROUTE_TIMER_US else 7
                arrives = now + _hops(run, key, hops, delay, jitter)
                _later(run, events, arrives, _BEAT, who, now // 1_000)
                # started one after the other, as by one program that waits for each
                if who + 1 < members:
                    _later(run, events, max((who + 1) * gap, arrives + delay), _START, who + 1, 0)
            elif kind == _BEAT:
                run[_REQUESTS] += 1
                if carried > run[_STAMP]:
                    run[_SLOT], run[_STAMP] = who, carried
                if (registered >> who) & 1 == 0:
                    registered |= np.int64(1) << who
                    # the answer wakes the newcomer, and a notification everybody, the newcomer a second time
                    _later(run, events, now + _hops(run, key, 1, delay, jitter), _WAKE, who, 0)
                    for other in range(members):
                        if (registered >> other) & 1:
                            _later(run, events, now + _hops(run, key, 1, delay, jitter) + other + 1, _WAKE, other, 0)
            elif kind == _WAKE:
                if busy[who]:
                    again[who] = 1
                else:
                    busy[who] = 1
                    _later(run, events, now + _hops(run, key, 1, delay, jitter), _LISTED, who, 0)
            elif kind == _LISTED:
                run[_REQUESTS] += 1
                before, count = _place(registered, members, who)
                low, size = _share(queues, count, before)
                mine = ((np.int64(1) << size) - 1) << low if size > 0 else np.int64(0)
                _later(run, events, now + _hops(run, key, 1, delay, jitter), _DROPS, who, mine)
            elif kind == _DROPS:
                gained = 0
                for queue in range(queues):
                    has, gets = (owns[who] >> queue) & 1, (carried >> queue) & 1
                    if has and not gets:
                        pullers[queue] &= ~(np.int64(1) << who)
                    elif gets and not has:
                        gained += 1
                if carried != owns[who]:
                    # one question for each queue gained, one after the other: they delay the stamp (row S-84)
                    _later(run, events, now + _hops(run, key, 2 * gained, delay, jitter), _TAKEN, who, carried)
                else:
                    _later(run, events, now + _hops(run, key, 1, delay, jitter), _RETRY_LISTED, who, 0)
            elif kind == _TAKEN:
                hop = now + _hops(run, key, 1, delay, jitter)
                # on one connection the beat that carries the new stamp arrives just before the first pulls
                _later(run, events, hop, _BEAT, who, now // 1_000)
                _later(run, events, hop, _PULL, who, carried & ~owns[who])
                owns[who] = carried
                _later(run, events, hop + _hops(run, key, 2, delay, jitter), _RETRY_LISTED, who, 0)
            elif kind == _RETRY_LISTED:
                run[_REQUESTS] += 1
                lowest = _place(registered, members, who)[0] == 0
                hops = 1
                if lowest != (has_retry[who] == 1):
                    has_retry[who] = 1 if lowest else 0
                    run[_REQUESTS] += 1
                    # the offset of a queue gained, both ways, and a heartbeat, both ways
                    hops = 5 if lowest else 3
                _later(run, events, now + _hops(run, key, hops, delay, jitter), _ROUND_OVER, who, 0)
            elif kind == _ROUND_OVER:
                busy[who] = 0
                if again[who]:
                    again[who] = 0
                    _later(run, events, now, _WAKE, who, 0)
            elif kind == _PULL:
                for queue in range(queues):
                    if (carried >> queue) & (owns[who] >> queue) & 1:
                        pullers[queue] |= np.int64(1) << who
                        _answer(run, waiting, pullers, members, queue)
                        held_filter[queue] = run[_SLOT]
            elif kind == _CHECK:
                run[_CHECKING] = 0
                for queue in range(queues):
                    if pullers[queue]:
                        _answer(run, waiting, pullers, members, queue)
                        held_filter[queue] = run[_SLOT]
            else:
                queue = sent % queues
                tag = np.int64(drawn(key, _FIRST_TAG + sent) * (members + shared))
                waiting[queue, tag] += 1
                # a held pull is woken by what the filter it came with lets through, else by the next check
                if pullers[queue] and (tag >= members or tag == held_filter[queue]):
                    _answer(run, waiting, pullers, members, queue)
                    held_filter[queue] = run[_SLOT]
                elif pullers[queue] and not run[_CHECKING]:
                    run[_CHECKING] = 1
                    ago = (now - check_phase) % _CHECK_US
                    _later(run, events, now - ago + _CHECK_US, _CHECK, 0, 0)
                sent += 1
                if sent < messages:
                    _later(run, events, first + sent * every, _MESSAGE, 0, 0)
        left = np.int64(0)
        for queue in range(queues):
            if pullers[queue]:  # held pulls end, and are asked again with the subscription that stayed
                _answer(run, waiting, pullers, members, queue)
            left += waiting[queue].sum()
        out[number, 0], out[number, 1], out[number, 2] = sent, run[_DELIVERED], run[_BY_BROKER]
        out[number, 3], out[number, 4], out[number, 5] = run[_BY_CLIENT], left, run[_SLOT]
        out[number, 6] = run[_REQUESTS]


def message_tags(start: GroupStart, seed: int, run: int) -> list[int]:
    """The tags drawn for the messages of one run: 0 to members - 1 are the members' own, from there on shared ones."""
    return [int(tag) for tag in _tags(seed_of(seed), run, start.messages, start.members + start.shared)]


@njit(cache=True)
def _tags(seed: Any, number: Any, messages: Any, tags: Any) -> Any:
    key = run_key(seed, number)
    return [np.int64(drawn(key, _FIRST_TAG + sent) * tags) for sent in range(messages)]
