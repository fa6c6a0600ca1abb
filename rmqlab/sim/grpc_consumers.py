"""The consumers of a scenario of a proxy, and the application around a SimpleConsumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.grpc.grpc_consumer import PushConsumer, SimpleConsumer
from rmqlab.run.recorded_events import ReceiveFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.message.message import MessageExt
    from rmqlab.scenario.scenario import Start
    from rmqlab.sim.consumers import Consumer
    from rmqlab.sim.run_recorder import RunRecorder

RECEIVE_AGAIN_MS = 1_000
"""How long the recorded applications waited after a receive that failed."""


def grpc_client_of(
    step: Start, group: str, instance: MQClientInstance, recorder: RunRecorder
) -> PushConsumer | SimpleConsumer:
    """The client of a step of kind grpc or simple; what it gets goes to `recorder`."""
    if step.asks_as == "simple":
        return SimpleConsumer(group, instance, step.await_ * 1_000)
    return PushConsumer(group, instance, _taken(step, recorder))


def _taken(step: Start, recorder: RunRecorder) -> Callable[[MessageExt], bool]:
    """A listener that refuses each message so many times as the step says; whether it took it."""
    seen: dict[bytes | None, int] = {}

    def consume(message: MessageExt) -> bool:
        seen[message.body] = seen.get(message.body, 0) + 1
        taken = seen[message.body] > step.later_times
        recorder.consumes(step, message, success=taken)
        return taken

    return consume


async def receive_for_ever(consumer: Consumer, recorder: RunRecorder) -> None:
    """What the application around a SimpleConsumer does: it receives, and acks each message before the next."""
    client, step = consumer.client, consumer.step
    taken = _taken(step, recorder)
    while isinstance(client, SimpleConsumer):
        try:
            messages = await client.receive(step.batch, step.invisible * 1_000)
        except CALL_ERRORS as error:
            name = getattr(error, "java_name", type(error).__name__.replace("Error", "Exception"))
            recorder.event(ReceiveFailed(step.who, name, str(error)))
            await consumer.node.sleep(RECEIVE_AGAIN_MS)
            continue
        for message in messages:
            if taken(message):
                await client.ack(message)
            elif step.change is not None:
                await client.change_invisible_duration(message, step.change * 1_000)
            else:
                client.leave()
