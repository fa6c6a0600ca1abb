"""Which clients may have been the first to look at a message: the owners of its queue, as the members of a group say.

An owner is computed, as every member computes it, from the client ids that the broker listed. A message is looked at
soon after it was stored; where the members changed meanwhile, the next owner begins at the last committed offset and
may look at it again. A client that fell silent stays on the broker's list until its connection expires (4.8.0
`ClientHousekeepingService`: 120 s, seen by a scan every 10 s), and what came meanwhile is left to the next owner.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rmqlab.client.allocate import AllocateMessageQueueAveragely, AllocateMessageQueueAveragelyByCircle
from rmqlab.message.topics import queues_of
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.spark.audit.subscriptions import AVG, AVG_BY_CIRCLE, NEVER, ClientSubscription, Present

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rmqlab.client.allocate import AllocateMessageQueueStrategy

    Bools = NDArray[np.bool_]
    Numbers = NDArray[np.int64]

HOLD_MS: Final = DEFAULT_RULES.longest_hold_ms
"""How long a held pull may reach back."""
EXPIRED_MS: Final = 120_000 + 10_000 + HOLD_MS
"""How long before a silent client left the list it may have stopped pulling."""
STALLED_MS: Final = 40_000
"""How long a client whose connection broke may wait for an answer that is lost: 30 s, and what it does again then."""
REBALANCE_LAG_MS: Final = 400
"""How long after a member came or went the others may still pull as before, and tell the broker of it.

The longest of the 228 changes in the recordings of 4.8.0 took 198 ms.
"""
# The others ask for more than a store and the ids tell: the broker's name, rooms, a list of each member's own.
COMPUTED: Final[dict[str, type[AllocateMessageQueueStrategy]]] = {
    AVG: AllocateMessageQueueAveragely,
    AVG_BY_CIRCLE: AllocateMessageQueueAveragelyByCircle,
}


class Window(NamedTuple):
    """When (epoch ms) each message may have been looked at: could be first, has been at last."""

    first: Numbers
    last: Numbers


class Owners:
    """The owners of the queues of one topic in one group."""

    def __init__(
        self,
        group: str,
        topic: str,
        queues: int,
        present: Sequence[Present],
        client_subscriptions: Sequence[ClientSubscription],
        *,
        broker: str = "",
        elsewhere: Mapping[str, int] = MappingProxyType({}),
        notify_consumer_ids_changed: bool = True,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        """`queues` is how many the topic has at `broker`, 0 if that is not known: then nothing is known of owners.

        `elsewhere`: how many it has at other brokers. Members share the queues of all brokers, in the order of names.

        `notify_consumer_ids_changed`: the broker notifies members when others come and go, else they notice at their
        next rebalance. `rules` are those of the clients' version.
        """
        # Where a client may not rebalance again at once, and a new queue waits, the others pull as before for longer.
        lag = REBALANCE_LAG_MS + rules.rebalance_min_period_ms + rules.first_pull_delay_ms
        self._settled_ms = lag if notify_consumer_ids_changed else rules.rebalance_period_ms + lag
        self.arrived: dict[str, int] = {}  # when (epoch ms) each client was there for the first time
        for period in present:
            for client in period.clients:
                self.arrived.setdefault(client, period.since)
        self.clients = sorted(self.arrived)
        self._since = np.array([period.since for period in present], np.int64)
        self._empty = [not period.clients for period in present]
        self._gone: list[set[int]] = [set()]
        # When (epoch ms) each ended its last subscription; the last place is that of an owner whom nobody knows.
        ends: dict[str, int] = {}
        for wish in client_subscriptions:
            ends[wish.client] = max(wish.until, ends.get(wish.client, wish.until))
        self._ends = np.array([*(ends.get(client, NEVER) for client in self.clients), NEVER], np.int64)
        place = {client: number for number, client in enumerate(self.clients)}
        self._table = np.full((len(present), queues), -1, np.int64)
        by_broker = {**elsewhere, broker: queues} if queues else {}
        all_queues = sorted(queue for name, number in by_broker.items() for queue in queues_of(topic, name, number))
        for moment, (_, clients, strategy) in enumerate(present):
            if strategy in COMPUTED and all_queues:
                for client in clients:
                    share = COMPUTED[strategy]().allocate(group, client, all_queues, list(clients))
                    mine = [queue.queue_id for queue in share or () if queue.broker_name == broker]
                    self._table[moment, mine] = place[client]
        # Members that go one after another until nobody is left are shut down; nobody takes over from them.
        ended = present[-1].since - self._settled_ms if present and not present[-1].clients else NEVER
        for before, now in pairwise(present):
            left = set(before.clients) - set(now.clients) if now.since < ended else ()
            self._gone.append({place[client] for client in left if not self._said_goodbye(place[client], now.since)})

    @cached_property
    def unsettled(self) -> Numbers:
        """When (epoch ms) members came or went, and every `HOLD_MS` / 2 from there until all pulls go on."""
        return np.unique(
            [
                since + later
                for since, gone in zip(self._since.tolist(), self._gone, strict=False)
                for later in range(0, (STALLED_MS if gone else self._settled_ms) + 1, HOLD_MS // 2)
            ]
        ).astype(np.int64)

    def next_unsettled(self, times: Numbers) -> Numbers:
        """The moment of `unsettled` after each time, `NEVER` after the last one."""
        return np.append(self.unsettled, NEVER)[np.searchsorted(self.unsettled, times, "right")]

    def _said_goodbye(self, place: int, left: int) -> bool:
        """Whether it is known that a client ended its subscription when it `left` (epoch ms), by being shut down.

        One that left much later than its end stood still: the broker did not hear its goodbye.
        """
        return bool(left - HOLD_MS <= self._ends[place] <= left)

    def begins(self, times: Numbers) -> tuple[Numbers, Bools]:
        """When a message stored at each time could be looked at, and which came before the group was known.

        No client looks while no client is there.
        """
        if not len(self._since):
            return times, np.zeros(len(times), np.bool_)
        early = times < self._since[0]
        begin = np.maximum(times, self._since[0])
        for moment, empty in enumerate(self._empty):
            if empty:
                until = int(self._since[moment + 1]) if moment + 1 < len(self._since) else NEVER
                begin = np.where((begin >= self._since[moment]) & (begin < until), until, begin)
        return begin, early

    def window(self, times: Numbers, queues: Numbers) -> Window:
        """When messages that could be looked at from `times` on may have been pulled for the first time.

        Where the owner fell silent, somebody else looks once the broker has missed it, or when the next one comes.
        """
        first_owner = self.at(times, queues)
        last = np.where(times > self._ends[first_owner], NEVER, times + HOLD_MS)
        for moment, gone in enumerate(self._gone):
            if not gone:
                continue
            since = self._since[moment]
            looked = self.begins(np.array([since]))[0][0]
            if looked < NEVER:
                before, silent = self._owner_since(moment - 1, queues), [-1, *gone]
                missed = np.isin(first_owner, silent) | np.isin(before, silent)
                missed &= (times < since) & (times >= since - EXPIRED_MS)
                last = np.where(missed, looked + HOLD_MS, last)
        return Window(times, last)

    def is_near_change(self, window: Window) -> Bools:
        """Which messages may have been looked at while members came or went."""
        near = np.zeros(len(window.first), np.bool_)
        for since in self._since[1:]:
            near |= (window.last >= since) & (window.first <= since + self._settled_ms)
        return near

    def at(self, times: Numbers, queues: Numbers) -> Numbers:
        """For each row the place in `clients` of its queue's owner, -1 where nothing names them."""
        if not self._table.size:
            return np.full(len(times), -1, np.int64)
        moments = np.maximum(np.searchsorted(self._since, times, "right") - 1, 0)
        known = queues < self._table.shape[1]
        return np.where(known, self._table[moments, np.where(known, queues, 0)], -1)

    def _owner_since(self, moment: int, queues: Numbers) -> Numbers:
        """For each row its queue's owner, as `at` does, when the members of that moment had come."""
        return self.at(np.full(len(queues), self._since[moment]), queues)

    def others(self, window: Window, queues: Numbers) -> Iterator[tuple[Bools, Numbers]]:
        """Which rows may have met another owner than the one at first, and who that was, change by change.

        That is the next one for a while before a change, and the one before until all members have heard of it.
        """
        if not self._table.size:
            return
        times, last = window
        first = self.at(times, queues)
        for moment in range(1, len(self._since)):
            since = self._since[moment]
            before = self._owner_since(moment - 1, queues)
            still = (times >= since) & (times <= since + self._settled_ms) & (before != first)
            if still.any():
                yield still, before
            soon = (times < since) & (last >= since)
            if soon.any():
                later = self._owner_since(moment, queues)
                may = soon & ((later != first) | (later != before))
                if may.any():
                    yield may, later
