"""The consumers of a scenario, made as the recorded ones were: push, lite pull, and of 5.x those that pop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from rmqlab.client.allocate import (
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueConsistentHash,
    AllocateMessageQueueStrategy,
)
from rmqlab.client.client_config import LitePullConsumerConfig, PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.events import PullAnswered
from rmqlab.protocol.heartbeat import ConsumeFromWhere, MessageModel
from rmqlab.run.fates import GroupMember
from rmqlab.scenario.scenario import Start
from rmqlab.sim.scheduler import VirtualEvent, VirtualTask
from rmqlab.sim.virtual import VirtualNode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.client.grpc.grpc_consumer import GrpcConsumer
    from rmqlab.client.listener import ConsumeConcurrentlyContext, ConsumeOrderlyContext
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.pop.pop_push_consumer import PopPushConsumer
    from rmqlab.client.runtime import Runtime
    from rmqlab.message.message import MessageExt
    from rmqlab.rules import Rules
    from rmqlab.run.facts import FactLog
    from rmqlab.run.fates import Owners
    from rmqlab.sim.run_recorder import RunRecorder

    Owner = DefaultMQPushConsumer | DefaultLitePullConsumer
    Client = Owner | GrpcConsumer

STRATEGIES: dict[str, Callable[[Rules], AllocateMessageQueueStrategy]] = {
    "avg": AllocateMessageQueueAveragely,
    "circle": lambda _: AllocateMessageQueueAveragelyByCircle(),
    "hash": lambda _: AllocateMessageQueueConsistentHash(),
}
LITE_POLL_MS = 300  # how the recorded lite consumers polled, in a loop


@dataclass(slots=True)
class Consumer:
    """A started consumer: the step that started it, its machine, the client, and its place in the ledger.

    `between_polls` is what the application around a lite pull consumer does next, each with the event that it is done.
    """

    step: Start
    node: VirtualNode
    client: Client
    member: GroupMember
    application: VirtualTask | None = None
    between_polls: list[tuple[Callable[[], None], VirtualEvent]] = field(default_factory=list)

    @property
    def pushes(self) -> bool:
        """Whether it is a push consumer; the recordings' observer asks only those for their queues."""
        return self.step.kind in {"push", "pop"}

    @property
    def owner(self) -> Owner:
        """The client, of a consumer that does not pop: it has queues of its own."""
        return cast("Owner", self.client)

    @property
    def popper(self) -> PopPushConsumer | GrpcConsumer:
        """The client, of a consumer that pops."""
        return cast("PopPushConsumer | GrpcConsumer", self.client)

    def owned(self, recorder: RunRecorder) -> dict[str, list[int]]:
        """The queues it has now, by topic."""
        owned: dict[str, list[int]] = {}
        for queue in self.client.queues:
            owned.setdefault(recorder.scenario_name(queue.topic), []).append(queue.queue_id)
        return {topic: sorted(owned[topic]) for topic in sorted(owned)}


LITE_PULL_THREADS = 2
"""What the recorded consumers asked for; not every version makes as many."""


def config_of(step: Start, rules: Rules) -> PushConsumerConfig | LitePullConsumerConfig:
    """The settings a step asks for."""
    if step.kind == "lite":
        strategy = AllocateMessageQueueAveragely(rules)
        return LitePullConsumerConfig(allocate_strategy=strategy, pull_thread_nums=LITE_PULL_THREADS)
    config = PushConsumerConfig(
        message_model=MessageModel.BROADCASTING if step.broadcasts else MessageModel.CLUSTERING,
        allocate_strategy=STRATEGIES[step.strategy](rules),
        orderly=step.orderly,
        post_subscription_when_pull=step.post,
        consume_thread_min=1,
    )
    if step.from_ == "first":
        config.consume_from_where = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    return config


def client_of(
    step: Start, instance: MQClientInstance, config: PushConsumerConfig | LitePullConsumerConfig, recorder: RunRecorder
) -> Client:
    """The client of a step; what it gets goes to `recorder`."""
    group = recorder.wire_name(step.group)
    if isinstance(config, LitePullConsumerConfig):
        return DefaultLitePullConsumer(group, instance, config)
    if step.asks_as in {"grpc", "simple"}:
        from rmqlab.sim.grpc_consumers import grpc_client_of

        return grpc_client_of(step, group, instance, recorder)
    listener = _listener(step, instance.runtime, recorder)
    if step.kind == "pop":
        from rmqlab.client.pop.pop_push_consumer import PopPushConsumer

        return PopPushConsumer(group, instance, listener, config)
    return DefaultMQPushConsumer(group, instance, listener, config)


def owners_of(consumers: Mapping[str, Consumer], facts: FactLog, recorder: RunRecorder) -> Owners:
    """Who has which queue, and the next offset that each would pull."""
    owners: Owners = {}
    answers = facts.of(PullAnswered)
    next_offsets = {(answer.source, answer.event.topic, answer.event.queue): answer.event.next for answer in answers}
    for name, consumer in consumers.items():
        for queue in consumer.client.queues:
            topic = recorder.scenario_name(queue.topic)
            place = consumer.step.group, topic, queue.queue_id
            owners.setdefault(place, {})[name] = next_offsets.get((name, topic, queue.queue_id), 0)
    return owners


async def poll_for_ever(consumer: Consumer, recorder: RunRecorder) -> None:
    """What the application around a lite pull consumer does; its one thread polls, and does all else in between.

    A second thread would have to wait: in 4.8.0 `poll`, `assign` and `unsubscribe` are synchronized, and a thread that
    polls in a loop keeps others out for seconds.
    """
    client = consumer.client
    if consumer.step.asks_as == "simple":
        from rmqlab.sim.grpc_consumers import receive_for_ever

        await receive_for_ever(consumer, recorder)
    if isinstance(client, DefaultLitePullConsumer):
        while True:
            while consumer.between_polls:
                job, done = consumer.between_polls.pop(0)
                job()
                done.set()
            for message in await client.poll(LITE_POLL_MS):
                recorder.consumes(consumer.step, message, success=True)


def _listener(step: Start, runtime: Runtime, recorder: RunRecorder) -> Callable[[list[MessageExt], Any], Any]:
    seen: dict[bytes | None, int] = {}
    times = recorder.timing.consume_ms

    def consume(
        messages: list[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> ConsumeConcurrentlyStatus | ConsumeOrderlyStatus:
        context.consume_ms = times[runtime.choose("consume", len(times))]
        later = False
        for message in messages:
            seen[message.body] = seen.get(message.body, 0) + 1
            again = seen[message.body] <= step.later_times
            later = later or again
            recorder.consumes(step, message, success=not again)
        if step.orderly:
            return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT if later else ConsumeOrderlyStatus.SUCCESS
        return ConsumeConcurrentlyStatus.RECONSUME_LATER if later else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    return consume
