"""MQClientManager: the client instances of one process, one for each client id (4.8.0, same name; row H-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_config import ServiceState
from rmqlab.client.mq_client_instance import MQClientInstance

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig
    from rmqlab.events import Observer
    from rmqlab.message.ids import UniqueIdMaker
    from rmqlab.runtime.runtime import Runtime


class MQClientManager:
    """Hands out instances. A runtime is one node with its own connections: each client id needs one of its own."""

    def __init__(self, runtime: Runtime, unique_ids: UniqueIdMaker, observe: Observer | None = None) -> None:
        """`unique_ids` makes the ids of all messages of this process; `observe` is told what its clients do."""
        self._runtime = runtime
        self._unique_ids = unique_ids
        self._observe = observe
        self._instances: dict[str, MQClientInstance] = {}

    def get_or_create(self, config: ClientConfig, *, instance_name_to_pid: bool = True) -> MQClientInstance:
        """The instance of the client id that `config` spells; a broadcasting consumer keeps the name "DEFAULT"."""
        if instance_name_to_pid:
            config.change_instance_name_to_pid()
        client_id = config.build_mq_client_id()
        instance = self._instances.get(client_id)
        if instance is None or instance.state is ServiceState.SHUTDOWN_ALREADY:
            instance = MQClientInstance(self._runtime, config, client_id, self._unique_ids, self._observe)
            self._instances[client_id] = instance
        return instance
