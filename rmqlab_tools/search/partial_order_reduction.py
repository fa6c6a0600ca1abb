"""Which orders of frames are a choice and which are not: what explorations leave out, and why nothing is lost by it.

Clients, broker and name server share nothing but frames. Two moves at different processes commute, unless both are
clients that read their clocks for a stamp: the higher stamp wins the group's slot. Two moves at the broker commute
unless one writes what the other reads or writes: a queue's messages, a committed offset, the members of a group or its
subscriptions. How the scenario goes on is a move of its own (`STEP`), so a frame never starts or stops anybody.

A move that commutes with all that others may do before it can be made at once, and no outcome is lost. So it is done in
four cases:

1. Questions to the name server: its tables change by timers only, unless a topic is being deleted there.
2. What reaches a client, when it is the only thing on its way there and makes it stamp nothing: answers but those in
   `MAY_STAMP`, and in a clustering group the notification (40), after which the client asks for the members first.
3. A calm burst. Nothing is under way or awaited but pulls, sends, commits and name server questions, and no queue has
   two owners in its group. None of these writes members or subscriptions, and only such writes, timers and steps (which
   wait for the end of the burst) cause anything else. So slot and owners stay what they are until the burst is over:
   each message meets the same filter and the same owner in every order, and each offset is written by one client in its
   own order. The client's second check must not differ either: no pull is older than its consumer's last change of
   subscription (`_has_old_pulls`). Heartbeats and member lists may be among them if they tell no side
   anything new (`_tell_nothing_new`): the beats leave the tables as they are, and the lists make no member take or
   drop a queue. What is left of the burst goes on oldest first.
4. What changes nothing at the broker (`_changes_nothing`): the commit of an offset that is committed already, at
   the end of a queue to which nothing is sent, and the end of a connection that no group knows any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.codes import PULLS, SENDS, WRITES, RequestCode
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader, UpdateConsumerOffsetRequestHeader
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.scenario.fault_steps import FAULT
from rmqlab.scenario.scenario import Start
from rmqlab.sim.frame_queues import GOODBYE
from rmqlab.sim.quiescence import Quiescence
from rmqlab.sim.scheduler import US_PER_MS
from rmqlab.sim.virtual_server import REPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.sim.frame_queues import PendingFrame
    from rmqlab.sim.simulate import Simulation

WAKE = "wake"
SERVER_WORK = frozenset({WAKE, REPUT})  # what the broker does by itself
MAY_STAMP = frozenset({
    RequestCode.GET_CONSUMER_LIST_BY_GROUP, RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.GET_MAX_OFFSET, RequestCode.LOCK_BATCH_MQ, RequestCode.QUERY_ASSIGNMENT,
})  # fmt: skip
# Without a member list to ask for, the next topic of a broadcasting consumer is stamped right away.
MAY_STAMP_BROADCASTING = MAY_STAMP | {RequestCode.HEART_BEAT, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED}
CALM = SENDS | {
    *PULLS, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
}  # fmt: skip
CALM_CODES_WITH_HEARTBEATS = CALM | {RequestCode.HEART_BEAT, RequestCode.GET_CONSUMER_LIST_BY_GROUP}


class PartialOrderReduction:
    """Decides for the lanes of a simulation which move is free: its `reduction`.

    It looks at the consumers of the scenario, and at the broker that all talk to.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Look after a simulation with open orders.

        Raises:
            ValueError: no orders are open.
        """
        lanes = simulation.world.lanes
        if lanes is None:
            raise ValueError("the simulation has no lanes: its orders are not open")
        self._cluster = simulation.cluster
        self._consumers = simulation.consumers
        self._lanes = lanes
        self._quiescence = Quiescence(self._cluster, self._consumers)
        # some group does not divide its queues
        broadcasting = any(isinstance(step, Start) and step.broadcasts for step in simulation.scenario.steps)
        self._may_stamp = MAY_STAMP_BROADCASTING if broadcasting else MAY_STAMP

    @property
    def _broker(self) -> Broker:
        return self._cluster.broker

    def independent_move(self, heads: Sequence[PendingFrame]) -> int | None:
        """Index of the head that moves at once, None when the order is open, as it always is while a fault waits."""
        if any(frame.lane[1] == FAULT for frame in heads):
            return None
        deletes = any(frame.code == RequestCode.DELETE_TOPIC_IN_NAMESRV for frame in heads)
        for index, frame in enumerate(heads):
            if not frame.node:
                if frame.server == self._cluster.config.namesrv_address and not deletes:
                    return index
            elif frame.code not in self._may_stamp and sum(other.node == frame.node for other in heads) == 1:
                return index
        lanes = self._lanes.lanes.items()
        moves = [frame for (_, kind), lane in lanes if kind not in SERVER_WORK for frame in lane]
        awaited = self._lanes.awaited()
        if not WRITES.intersection(awaited):
            for index, frame in enumerate(heads):
                if self._changes_nothing(frame, moves):
                    return index
        return 0 if self._calm(moves, awaited) else None

    def _calm(self, moves: Sequence[PendingFrame], awaited: set[int]) -> bool:
        if not CALM_CODES_WITH_HEARTBEATS.issuperset(awaited) or self._has_old_pulls():
            return False
        if not all(frame.code in CALM_CODES_WITH_HEARTBEATS for frame in moves) or self._quiescence.shared():
            return False
        quiet = CALM.issuperset(awaited) and all(frame.code in CALM for frame in moves)
        return quiet or self._tell_nothing_new(moves)

    def _has_old_pulls(self) -> bool:
        """Whether a pull is under way or held from before its consumer subscribed anew.

        The client checks tags once more with the subscription that the pull was made under, so what such a pull brings
        has another fate than what the next one brings.
        """
        for consumer in self._consumers.values():
            subscribed = consumer.member.asked
            if len(subscribed) == len(consumer.step.subscribe) + len(consumer.step.assign or ()) or not subscribed:
                continue
            mine = {connection.number for connection in consumer.node.connections.values()}
            for (number, _, _), (code, sent_us) in self._lanes.pending.items():
                if code in PULLS and number in mine and sent_us <= subscribed[-1][0] * US_PER_MS:
                    return True
        return False

    def _tell_nothing_new(self, moves: Iterable[PendingFrame]) -> bool:
        """Whether heartbeats and member lists among `moves` change nothing that a client or the broker knows.

        The broker's members are the running consumers; each holds the queues that its strategy gives it for these
        members; every heartbeat leaves the broker's tables as they are; every member list is the present one.
        """
        groups = {consumer.client.group_name for consumer in self._consumers.values()}
        return (
            self._broker.consumer_manager.consumer_table.keys() == groups
            and all(consumer.pushes for consumer in self._consumers.values())
            and all(map(self._quiescence.stands, groups))
            and all(map(self._tells_nothing, moves))
        )

    def _changes_nothing(self, move: PendingFrame, moves: Sequence[PendingFrame]) -> bool:
        """Whether a move at the broker changes nothing, now or later, whatever else of `moves` comes first."""
        if move.code == GOODBYE:
            return self._unknown(move.arguments[0])
        if move.code == RequestCode.UPDATE_CONSUMER_OFFSET and not move.node:
            return self._commits_the_end(move, moves)
        return False

    def _unknown(self, connection: Channel) -> bool:
        """A connection that no group has: its client has said goodbye and registers no more."""
        broker = self._broker
        consumers = [info.channel_info_table for info in broker.consumer_manager.consumer_table.values()]
        return not any(
            connection in table for table in [*consumers, *broker.producer_manager.group_channel_table.values()]
        )

    def _commits_the_end(self, move: PendingFrame, moves: Sequence[PendingFrame]) -> bool:
        """A commit of what is committed, at the end of a queue without new messages, and no member commits else."""
        header = move.arguments[0].decode_header(UpdateConsumerOffsetRequestHeader)
        group, topic, queue, offset = header.consumer_group, header.topic, header.queue_id, header.commit_offset
        broker = self._broker
        if broker.consumer_offset_manager.query_offset(group, topic, queue) != offset:
            return False
        if broker.message_store.dispatch_behind_bytes():
            return False
        if broker.message_store.get_max_offset_in_queue(topic, queue) != offset:
            return False
        for other in moves:
            if other.code in WRITES:
                return False
            if not other.node and other.code == RequestCode.UPDATE_CONSUMER_OFFSET:
                commit = other.arguments[0].decode_header(UpdateConsumerOffsetRequestHeader)
                if (commit.topic, commit.queue_id) == (topic, queue) and commit.commit_offset != offset:
                    return False
            if not other.node and other.code in PULLS:
                pull = other.arguments[0].decode_header(PullMessageRequestHeader)
                if (pull.topic, pull.queue_id) == (topic, queue) and pull.commit_offset not in {0, offset}:
                    return False
        return True

    def _tells_nothing(self, frame: PendingFrame) -> bool:
        if frame.code == RequestCode.HEART_BEAT:
            return bool(frame.node) or self._known(frame.arguments[0])
        if frame.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP and frame.node:
            return self._lists_the_members(frame.arguments[0])
        return True

    def _known(self, beat: RemotingCommand) -> bool:
        """Whether the broker's tables would be the same after this heartbeat."""
        data = beat.decode_body(HeartbeatData)
        for consumer in data.consumer_data_set:
            info = self._broker.consumer_manager.get_consumer_group_info(consumer.group_name)
            if info is None or info.find_channel(data.client_id) is None:
                return False
            table = info.subscription_table
            if {wish.topic for wish in consumer.subscription_data_set} != set(table):
                return False
            if any(wish.sub_version > table[wish.topic].sub_version for wish in consumer.subscription_data_set):
                return False
        return True

    def _lists_the_members(self, answer: RemotingCommand) -> bool:
        listed = set(GetConsumerListByGroupResponseBody.decode(answer.body or b"{}").consumer_id_list)
        groups = {consumer.client.group_name for consumer in self._consumers.values()}
        return any(set(self._quiescence.members(group)) == listed for group in groups)
