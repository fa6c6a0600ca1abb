"""Which orders of frames are a choice and which are not: what explorations leave out, and why nothing is lost by it.

Clients, broker and name server share nothing but frames. Two moves at different processes commute, unless both are
clients that read their clocks for a stamp: the higher stamp wins the group's slot. Two moves at the broker commute
unless one writes what the other reads or writes: a queue's messages, a committed offset, the members of a group or its
subscriptions. How the scenario goes on is a move of its own (``STEP``), so a frame never starts or stops anybody.

A move that commutes with all that others may do before it can be made at once, and no outcome is lost. So it is done in
four cases:

1. Questions to the name server: its tables change by timers only.
2. What reaches a client, when it is the only thing on its way there and makes it stamp nothing: answers but those in
   ``MAY_STAMP``, and in a clustering group the notification (40), after which the client asks for the members first.
3. A calm burst. Nothing is under way or awaited but pulls, sends, commits and name server questions, and no queue has
   two owners in its group. None of these writes members or subscriptions, and only such writes, timers and steps (which
   wait for the end of the burst) cause anything else. So slot and owners stay what they are until the burst is over:
   each message meets the same filter and the same owner in every order, and each offset is written by one client in its
   own order. The client's second check must not differ either: no pull is older than its consumer's last change of
   subscription (``CommutingMoves.has_old_pulls``). Heartbeats and member lists may be among them if they tell nobody
   anything new (``CommutingMoves.holds``): the beats leave the tables as they are, and the lists make nobody take or
   drop a queue. What is left of the burst goes on oldest first.
4. What changes nothing at the broker (``CommutingMoves.idle``): the commit of an offset that is committed already, at
   the end of a queue to which nobody sends, and the end of a connection that no group knows any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.fault_steps import FAULT
from rmqlab.lab.late_reput import REPUT
from rmqlab.lab.quiescence import WRITES
from rmqlab.protocol.codes import RequestCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.commuting import CommutingMoves
    from rmqlab.runtime.lanes import Lanes, Parcel

STEP = "step"
WAKE = "wake"
SERVER_WORK = frozenset({WAKE, REPUT})  # what the broker does by itself
MAY_STAMP = frozenset({
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.GET_MAX_OFFSET,
    RequestCode.LOCK_BATCH_MQ,
})  # fmt: skip
# Without a member list to ask for, the next topic of a broadcasting consumer is stamped right away.
MAY_STAMP_BROADCASTING = MAY_STAMP | {RequestCode.HEART_BEAT, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED}
CALM = frozenset({
    RequestCode.PULL_MESSAGE,
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
})  # fmt: skip


SETTLED = CALM | {RequestCode.HEART_BEAT, RequestCode.GET_CONSUMER_LIST_BY_GROUP}


class OpenOrders:
    """Decides for ``lanes`` which move is free; ``broadcasting``: some group does not divide its queues."""

    def __init__(self, lanes: Lanes, name_server: str, commuting: CommutingMoves, *, broadcasting: bool) -> None:
        self._lanes = lanes
        self._name_server = name_server
        self._commuting = commuting
        self._may_stamp = MAY_STAMP_BROADCASTING if broadcasting else MAY_STAMP

    def free(self, heads: Sequence[Parcel]) -> int | None:
        """Index of the head that moves at once, None when the order is open, as it always is while a fault waits."""
        if any(parcel.lane[1] == FAULT for parcel in heads):
            return None
        for index, parcel in enumerate(heads):
            if not parcel.node:
                if parcel.server == self._name_server:
                    return index
            elif parcel.code not in self._may_stamp and sum(other.node == parcel.node for other in heads) == 1:
                return index
        lanes = self._lanes.lanes.items()
        moves = [parcel for (_, kind), lane in lanes if kind not in SERVER_WORK for parcel in lane]
        awaited = self._lanes.awaited()
        if not WRITES.intersection(awaited):
            for index, parcel in enumerate(heads):
                if self._commuting.idle(parcel, moves):
                    return index
        return 0 if self._calm(moves, awaited) else None

    def _calm(self, moves: Sequence[Parcel], awaited: set[int]) -> bool:
        commuting = self._commuting
        if not SETTLED.issuperset(awaited) or commuting.has_old_pulls(self._lanes):
            return False
        if not all(parcel.code in SETTLED for parcel in moves) or commuting.shared():
            return False
        quiet = CALM.issuperset(awaited) and all(parcel.code in CALM for parcel in moves)
        return quiet or commuting.holds(moves)
