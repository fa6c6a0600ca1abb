"""MQClientManager: the client instances of one process, one for each client id (row H-12), and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.client.client_config import ServiceState
from rmqlab.client.mq_client_instance import MQClientInstance
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.events import Observer
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.topics import CLIENT_INNER_PRODUCER_GROUP
from rmqlab.protocol.admin_headers import ResetOffsetRequestHeader
from rmqlab.protocol.bodies import ResetOffsetBody
from rmqlab.protocol.codes import RequestCode
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.runtime.runtime import Runtime

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig
    from rmqlab.protocol.command import RemotingCommand


@dataclass(slots=True, eq=False)
class MQClientManager:
    """Hands out instances. A runtime is one node with its own connections: each client id needs one of its own.

    `unique_ids` makes the ids of all messages of this process; `observe` is told what its clients do.
    """

    runtime: Runtime
    unique_ids: UniqueIdMaker
    observe: Observer | None = None
    rules: Rules = DEFAULT_RULES
    instances: dict[str, MQClientInstance] = field(default_factory=dict, init=False)

    def get_or_create(self, config: ClientConfig, *, instance_name_to_pid: bool = True) -> MQClientInstance:
        """The instance of the client id that `config` spells; a broadcasting consumer keeps the name "DEFAULT"."""
        if instance_name_to_pid:
            config.change_instance_name_to_pid()
        client_id = config.build_mq_client_id()
        instance = self.instances.get(client_id)
        if instance is None or instance.state is ServiceState.SHUTDOWN_ALREADY:
            instance = MQClientInstance(self.runtime, config, client_id, self.unique_ids, self.observe, self.rules)
            instance.default_producer = DefaultMQProducer(CLIENT_INNER_PRODUCER_GROUP, instance)
            ClientRemotingProcessor(instance)
            self.instances[client_id] = instance
        return instance


class ClientRemotingProcessor:
    """What a broker asks of every client: 40 and 220. Extras register for what else there is."""

    def __init__(self, instance: MQClientInstance) -> None:
        """One for each instance."""
        self._instance = instance
        instance.processors[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] = self.notify_consumer_ids_changed
        instance.processors[RequestCode.RESET_CONSUMER_CLIENT_OFFSET] = self.reset_offset

    def notify_consumer_ids_changed(self, addr: str, request: RemotingCommand) -> None:
        """All consumers of the instance rebalance: nobody looks which group it was (row S-84)."""
        self._instance.rebalance_service.wakeup()

    def reset_offset(self, addr: str, request: RemotingCommand) -> None:
        """A push consumer goes on at the offsets that the broker says."""
        header = request.decode_header(ResetOffsetRequestHeader)
        offsets = ResetOffsetBody.decode(request.body).offset_table if request.body else {}
        consumer = self._instance.consumer_table.get(header.group)
        if isinstance(consumer, DefaultMQPushConsumer):
            self._instance.runtime.spawn(consumer.reset_offset(header.topic, offsets), "ResetOffset")
