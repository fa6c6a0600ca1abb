"""Whether what is under way tells nobody anything new, so that its order makes no difference (``open_orders``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.quiescence import WRITES, Quiescence
from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader, UpdateConsumerOffsetRequestHeader
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.runtime.lanes import GOODBYE
from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.channel import Channel
    from rmqlab.lab.cluster import Cluster
    from rmqlab.lab.consumers import Consumer
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.lanes import Lanes, Parcel


class CommutingMoves:
    """Looks at the ``consumers`` of a scenario, by name, and at the broker of the ``cluster`` that all talk to."""

    def __init__(self, cluster: Cluster, consumers: dict[str, Consumer]) -> None:
        self._cluster = cluster
        self._consumers = consumers
        self._quiescence = Quiescence(cluster, consumers)
        self.shared = self._quiescence.shared

    @property
    def _broker(self) -> Broker:
        return self._cluster.broker

    def has_old_pulls(self, lanes: Lanes) -> bool:
        """Whether a pull is under way or held from before its consumer subscribed anew.

        The client checks tags once more with the subscription that the pull was made under, so what such a pull brings
        has another fate than what the next one brings.
        """
        for consumer in self._consumers.values():
            asked = consumer.member.asked
            if len(asked) == len(consumer.step.subscribe):
                continue
            mine = {connection.number for connection in consumer.node.connections.values()}
            for (number, _, _), (code, sent_us) in lanes.pending.items():
                if code == RequestCode.PULL_MESSAGE and number in mine and sent_us <= asked[-1][0] * US_PER_MS:
                    return True
        return False

    def holds(self, moves: Iterable[Parcel]) -> bool:
        """Whether heartbeats and member lists among ``moves`` tell nobody anything new.

        The broker's members are the running consumers; each holds the queues that its strategy gives it for these
        members; every heartbeat leaves the broker's tables as they are; every member list is the present one.
        """
        return self._members_are_running() and all(
            consumer.pushes and self._quiescence.owns_its_share(consumer) for consumer in self._consumers.values()
        ) and all(
            self._tells_nothing(parcel) for parcel in moves
        )  # fmt: skip

    def idle(self, move: Parcel, moves: Sequence[Parcel]) -> bool:
        """Whether a move at the broker changes nothing, now or later, whatever else of ``moves`` comes first."""
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

    def _commits_the_end(self, move: Parcel, moves: Sequence[Parcel]) -> bool:
        """A commit of what is committed, at the end of a queue without new messages, and nobody commits else."""
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
                told = other.arguments[0].decode_header(UpdateConsumerOffsetRequestHeader)
                if (told.topic, told.queue_id) == (topic, queue) and told.commit_offset != offset:
                    return False
            if not other.node and other.code == RequestCode.PULL_MESSAGE:
                pull = other.arguments[0].decode_header(PullMessageRequestHeader)
                if (pull.topic, pull.queue_id) == (topic, queue) and pull.commit_offset not in {0, offset}:
                    return False
        return True

    def _members_are_running(self) -> bool:
        running: dict[str, set[str]] = {}
        for consumer in self._consumers.values():
            client = consumer.client
            running.setdefault(client.group_name, set()).add(client.instance.client_id)
        return self._broker.consumer_manager.consumer_table.keys() == running.keys() and all(
            set(self._quiescence.members(group)) == ids for group, ids in running.items()
        )

    def _tells_nothing(self, parcel: Parcel) -> bool:
        if parcel.code == RequestCode.HEART_BEAT:
            return bool(parcel.node) or self._known(parcel.arguments[0])
        if parcel.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP and parcel.node:
            return self._lists_the_members(parcel.arguments[0])
        return True

    def _known(self, beat: RemotingCommand) -> bool:
        """Whether the broker's tables would be the same after this heartbeat."""
        data = beat.decode_body(HeartbeatData)
        for told in data.consumer_data_set:
            info = self._broker.consumer_manager.get_consumer_group_info(told.group_name)
            if info is None or info.find_channel(data.client_id) is None:
                return False
            table = info.subscription_table
            if {one.topic for one in told.subscription_data_set} != set(table):
                return False
            if any(one.sub_version > table[one.topic].sub_version for one in told.subscription_data_set):
                return False
        return True

    def _lists_the_members(self, answer: RemotingCommand) -> bool:
        listed = set(GetConsumerListByGroupResponseBody.decode(answer.body or b"{}").consumer_id_list)
        groups = {consumer.client.group_name for consumer in self._consumers.values()}
        return any(set(self._quiescence.members(group)) == listed for group in groups)
