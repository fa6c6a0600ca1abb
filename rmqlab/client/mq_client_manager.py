"""MQClientManager: the client instances of one process, one for each client id (row H-12)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.client.client_config import ServiceState
from rmqlab.client.mq_client_instance import MQClientInstance
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.runtime import Runtime
from rmqlab.events import Observer, unobserved
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.topics import CLIENT_INNER_PRODUCER_GROUP
from rmqlab.rules import DEFAULT_RULES, Rules

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig


@dataclass(slots=True, eq=False)
class MQClientManager:
    """Hands out instances. A runtime is one node with its own connections: each client id needs one of its own.

    `unique_ids` makes the ids of all messages of this process; `observe` gets what its clients do.
    """

    runtime: Runtime
    unique_ids: UniqueIdMaker
    observe: Observer = unobserved
    rules: Rules = DEFAULT_RULES
    instances: dict[str, MQClientInstance] = field(default_factory=dict, init=False)

    def get_or_create(self, config: ClientConfig) -> MQClientInstance:
        """The instance of the client id that `config` spells."""
        client_id = config.build_mq_client_id()
        instance = self.instances.get(client_id)
        if instance is None or instance.state is ServiceState.SHUTDOWN_ALREADY:
            instance = MQClientInstance(self.runtime, config, client_id, self.unique_ids, self.observe, self.rules)
            instance.default_producer = DefaultMQProducer(CLIENT_INNER_PRODUCER_GROUP, instance)
            self.instances[client_id] = instance
        return instance
