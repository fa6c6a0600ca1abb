"""Quiescence: nothing more can change what was delivered, committed or lost.

A scenario whose last step asks (`alloc`, `offsets`) ends with that question, as the recorded ones do. Any other
runs on until it stands still, by this rule. Clients beat, rebalance and pull for ever, so "nothing happens" never
comes; it stands still when all of these hold:

1. No fault is still to come, and the broker is up.
2. No message waits in a delay level, and none is in the commit log without an entry in its queue.
3. Nothing under way writes at the broker: no send, no message sent back, no commit.
4. Each queue that has messages, for each group with a running member that subscribes its topic: every owner's pull is
   held at the queue's end, the owner has no message left to consume, and the broker has the offset that it would
   commit. A queue without an owner stands still when the group does: its members at the broker are the running
   consumers, and each holds what its strategy gives it.
5. Of a group that pops: every queue was popped to its end, each popper has said what became of its messages and waits
   in line, and no check point is left that could make a message visible again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.lite_pull_consumer import NO_OFFSET_SET, DefaultLitePullConsumer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.language import _, ngettext
from rmqlab.message.java import utf16_key
from rmqlab.message.topics import MessageQueue, is_retry_topic
from rmqlab.protocol.codes import WRITES, RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import MessageModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.broker.broker import Broker
    from rmqlab.sim.cluster import Cluster
    from rmqlab.sim.consumers import Consumer

WRITES_OR_COMMITS = WRITES | {RequestCode.UPDATE_CONSUMER_OFFSET}


class Quiescence:
    """Looks at the `consumers` of a scenario, by name, and at the broker of the `cluster` that all talk to."""

    def __init__(self, cluster: Cluster, consumers: dict[str, Consumer]) -> None:
        self._cluster = cluster
        self._consumers = consumers

    @property
    def _broker(self) -> Broker:
        return self._cluster.broker

    # Groups.

    def shared(self) -> bool:
        """Whether two members of a group that divides its queues hold the same one."""
        owned = [
            (consumer.step.group, queue)
            for consumer in self._consumers.values()
            if consumer.step.mode == "clustering" and consumer.pushes
            for queue in consumer.client.queues
        ]
        return len(set(owned)) < len(owned)

    def members(self, group: str) -> list[str]:
        """Client ids of a group at the broker, by its name on the wire."""
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        return [] if info is None else list(info.client_ids)

    def stands(self, group: str) -> bool:
        """Whether a group's members at the broker are the running ones, and each holds its share."""
        mine = [consumer for consumer in self._consumers.values() if consumer.client.group_name == group]
        running = {consumer.client.instance.client_id for consumer in mine}
        return set(self.members(group)) == running and all(map(self.owns_its_share, mine))

    def owns_its_share(self, consumer: Consumer) -> bool:
        """Whether a consumer holds the queues that its strategy gives it for the broker's present members."""
        if consumer.step.pops:
            return True  # nobody's share is another's
        client = consumer.owner
        process_queues = client.rebalance_impl.process_queue_table
        if isinstance(client, DefaultMQPushConsumer):
            now = client.instance.runtime.now()
            if client.paused or any(
                process_queue.dropped or process_queue.is_pull_expired(now) for process_queue in process_queues.values()
            ):
                return False
        if any(queue.topic not in client.subscription_inner for queue in process_queues):
            return False
        members = sorted(self.members(client.group_name), key=utf16_key)
        for topic in client.subscription_inner:
            queues = client.topic_subscribe_info_table.get(topic)
            if queues is None:
                continue
            mine = queues
            if client.message_model is MessageModel.CLUSTERING:
                me = client.instance.client_id
                mine = client.allocate_strategy.allocate(client.group_name, me, sorted(queues), members) or []
            if {queue for queue in process_queues if queue.topic == topic} != set(mine):
                return False
        return True

    # The whole.

    def under_way(self, *, faults: int = 0) -> str | None:
        """The first thing that can still change what was delivered, committed or lost; None: it stands still.

        `faults`: how many are still to come.
        """
        return next(self._under_way(faults), None)

    def _under_way(self, faults: int) -> Iterator[str]:
        broker = self._broker
        if faults:
            yield ngettext("{count} fault still to come", "{count} faults still to come", faults)
        if not self._cluster.broker_server.up:
            yield _("the broker is down")
        if not self._consumers:
            return
        if broker.schedule_message_service.holds_back():
            yield _("a message waits in a delay level")
        if broker.message_store.dispatch_behind_bytes():
            yield _("a message is in the commit log and not yet in its queue")
        for consumer in self._consumers.values():
            yield from self._consumer(consumer)
        if any(command.code in WRITES_OR_COMMITS and not command.is_response for command in self._frames()):
            yield _("a send or a commit is under way")

    def _frames(self) -> Iterator[RemotingCommand]:
        """The frames under way."""
        world = self._cluster.world
        for *_ignored, arguments in world.scheduler.live():
            yield from (argument for argument in arguments if isinstance(argument, RemotingCommand))
        if world.lanes is not None:
            for lane in world.lanes.lanes.values():
                for frame in lane:
                    yield from (argument for argument in frame.arguments if isinstance(argument, RemotingCommand))

    def _consumer(self, consumer: Consumer) -> Iterator[str]:
        if consumer.step.pops:
            yield from self._popper(consumer)
            return
        client, broker, name = consumer.owner, self._broker, consumer.step.who
        if isinstance(client, DefaultLitePullConsumer) and client.to_hand_out():
            yield _("{who} has messages that nobody has polled", who=name)
        assigned = {queue.topic for queue in client.queues} - client.subscription_inner.keys()
        for topic in [*client.subscription_inner, *sorted(assigned)]:
            config = broker.topic_config_manager.topic_config_table.get(topic)
            for number in range(0 if config is None else config.read_queue_nums):
                end = broker.message_store.get_max_offset_in_queue(topic, number)
                if not end:
                    continue
                queue = MessageQueue(topic, broker.config.broker_name, number)
                if queue in client.queues:
                    yield from self._owned(consumer, queue, end)
                elif topic in assigned or self._has_owner(consumer, queue):
                    continue
                elif not self._will_have_none(consumer, queue):
                    yield _(
                        "{topic} queue {number} has no owner in {group_name} yet",
                        topic=topic,
                        number=number,
                        group_name=client.group_name,
                    )

    def _popper(self, consumer: Consumer) -> Iterator[str]:
        """One that pops: it has said what became of its messages, each queue was popped to its end, and it waits."""
        from rmqlab.broker.pop.pop_services import pop_of

        client, broker, name = consumer.popper, self._broker, consumer.step.who
        pop, group = pop_of(broker), client.group_name
        if client.at_hand():
            yield _("{who} has popped messages and not acknowledged them", who=name)
        if pop.holds_back():
            yield _("a popped message may become visible again")
        mine = list(consumer.node.connections.values())
        for topic in client.subscription_inner:
            if is_retry_topic(topic):
                continue
            for number in range(self._read_queues(topic)):
                committed = broker.consumer_offset_manager.query_offset(group, topic, number)
                offset = broker.rules.pop_offset(committed, pop.buffer.latest_offset(topic, group, number))
                if offset < broker.message_store.get_max_offset_in_queue(topic, number):
                    yield _("{topic} queue {number} has messages that no pop has passed", topic=topic, number=number)
            if not any(
                waiter.channel is connection for waiter in pop.line.waiting(topic, group) for connection in mine
            ):
                yield _("{who}'s pop does not wait in line", who=name)

    def _read_queues(self, topic: str) -> int:
        config = self._broker.topic_config_manager.topic_config_table.get(topic)
        return 0 if config is None else config.read_queue_nums

    def _has_owner(self, consumer: Consumer, queue: MessageQueue) -> bool:
        """Whether another running member of the group holds the queue; in a broadcasting group that is of no use."""
        client = consumer.owner
        return client.message_model is MessageModel.CLUSTERING and any(
            queue in other.client.queues
            for other in self._consumers.values()
            if other.client.group_name == client.group_name
        )

    def _will_have_none(self, consumer: Consumer, queue: MessageQueue) -> bool:
        known = consumer.owner.topic_subscribe_info_table.get(queue.topic)
        return known is not None and queue in known and self.stands(consumer.client.group_name)

    def _owned(self, consumer: Consumer, queue: MessageQueue, end: int) -> Iterator[str]:
        client, client_name, name = (
            consumer.owner,
            consumer.step.who,
            _("{topic} queue {queue_id}", topic=queue.topic, queue_id=queue.queue_id),
        )
        assigned = client.assigned.get(queue) if isinstance(client, DefaultLitePullConsumer) else None
        process_queue = client.process_queue_table[queue] if assigned is None else assigned.process_queue
        if process_queue.msg_count or process_queue.messages:
            yield _("{who} consumes messages of {name}", who=client_name, name=name)
        if not self._pull_is_held(consumer, queue, end):
            yield _("{who}'s pull is not held at the end of {name}", who=client_name, name=name)
        if client.message_model is not MessageModel.CLUSTERING:
            return
        offset = client.offset_store.offset_table.get(queue)
        if isinstance(client, DefaultLitePullConsumer):
            handed_out = client.assigned[queue].consume_offset if queue in client.assigned else NO_OFFSET_SET
            noted = handed_out in {NO_OFFSET_SET, offset}
        else:
            noted = offset == end
        committed = self._broker.consumer_offset_manager.query_offset(client.group_name, queue.topic, queue.queue_id)
        if not noted or offset not in {None, committed}:
            yield _("{who} has not committed how far it is in {name}", who=client_name, name=name)
        if committed < end and not self.stands(client.group_name):
            yield ngettext(
                "{name} may change hands in {group_name}, and {end} message is not committed",
                "{name} may change hands in {group_name}, and {end} messages are not committed",
                end - committed,
                name=name,
                group_name=client.group_name,
                end=end - committed,
            )

    def _pull_is_held(self, consumer: Consumer, queue: MessageQueue, end: int) -> bool:
        mine = list(consumer.node.connections.values())
        return any(
            pull.pull_from >= end and any(pull.channel is connection for connection in mine)
            for pull in self._broker.pull_request_hold_service.held(queue.topic, queue.queue_id)
        )
