"""A large group of full clients on one broker, without the recorder that keeps a scenario's facts.

Each member is the push consumer that scenarios run: routes, heartbeats, rebalances, long polls, commits, all in virtual
time over the virtual network. Only the records are left out: of a thousand members they would fill the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.errors import BadInput
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab.sim.cluster import Cluster, ClusterConfig
from tests.proof.virtual_clock import run_until_ms

if TYPE_CHECKING:
    from rmqlab.client.listener import ConsumeConcurrentlyContext
    from rmqlab.message.message import MessageExt
    from rmqlab.sim.virtual import VirtualNode

GROUP, TOPIC = "G", "T"
START_GAP_US = 1_000  # a thousand members start within a second
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class GroupCount:
    """How a group stands. ``steps``: what happened in virtual time; ``online``: members in the broker's table.

    ``owned``: queues with exactly one owner, of ``queues``; ``failed``: members that could not start.
    """

    members: int
    minutes: float
    steps: int
    online: int
    queues: int
    owned: int
    failed: int


class LargeGroup:
    """``members`` push consumers of one group and topic; they start one after the other, a millisecond apart."""

    def __init__(self, members: int, queues: int | None = None, config: ClusterConfig | None = None) -> None:
        """A queue for each member unless ``queues`` says otherwise.

        Raises:
            BadInput: a number below 1.
        """
        self.queues = members if queues is None else queues
        for name, value in (("members", members), ("queues", self.queues)):
            if value < 1:
                raise BadInput(f"{name} is {value}; it must be 1 or more")
        self.cluster = cluster = Cluster(config or ClusterConfig())
        self.failed = 0
        broker = cluster.broker
        broker.topic_config_manager.update_topic_config(TopicConfig(TOPIC, self.queues, self.queues))
        broker.register_broker_all(check_order_config=False, oneway=True)
        self.members: list[DefaultMQPushConsumer] = []
        for number in range(members):
            node = cluster.world.node(f"C{number}", ip=f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}")
            node.spawn(self._member(node, number), "start")

    def run(self, minutes: float) -> GroupCount:
        """Let time pass up to ``minutes`` after the beginning, and count."""
        run_until_ms(self.cluster.world, minutes * MINUTE_MS)
        return self.count()

    def count(self) -> GroupCount:
        """How things stand now."""
        world = self.cluster.world
        info = self.cluster.broker.consumer_manager.get_consumer_group_info(GROUP)
        owners: dict[int, int] = {}
        for member in self.members:
            for queue in member.rebalance_impl.process_queue_table:
                if queue.topic == TOPIC:
                    owners[queue.queue_id] = owners.get(queue.queue_id, 0) + 1
        return GroupCount(
            members=len(self.members),
            minutes=world.now_ms() / MINUTE_MS,
            steps=world.scheduler.steps,
            online=0 if info is None else len(info.channel_info_table),
            queues=self.queues,
            owned=sum(count == 1 for count in owners.values()),
            failed=self.failed,
        )

    async def _member(self, node: VirtualNode, number: int) -> None:
        await node.sleep_us(number * START_GAP_US)
        config = PushConsumerConfig(namesrv_addr=self.cluster.config.namesrv_address, client_ip=node.ip)
        config.instance_name = str(number)
        unique_ids = UniqueIdMaker(node.ip, number, 0)
        instance = MQClientManager(node, unique_ids).get_or_create(config)
        member = DefaultMQPushConsumer(GROUP, instance, _consume, config)
        self.members.append(member)
        try:
            await member.subscribe(TOPIC, "*")
            await member.start()
        except CALL_ERRORS:
            self.failed += 1


def _consume(_messages: list[MessageExt], _context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
    """Take everything at once."""
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS
