"""Push consumers on real connections: each with an instance, a runtime and a client id of its own."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.client_error import MQClientError
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.live.extra.running_info import answer_running_info
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.system import own_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.listener import MessageListenerConcurrently, MessageListenerOrderly
    from rmqlab.client.mq_client_instance import MQClientInstance

_numbers = count()


class SocketConsumers:
    """Makes consumers of one name server ("ip:port;ip:port"), started; `shutdown` ends them all.

    Client ids are this machine's address, the process id and a running number. `rules` are the clients'.
    """

    def __init__(self, namesrv_addr: str, rules: Rules = DEFAULT_RULES) -> None:
        self.namesrv_addr = namesrv_addr
        self._rules = rules
        host, _, port = namesrv_addr.split(";", maxsplit=1)[0].rpartition(":")
        self._ip = own_address(host.strip("[]"), int(port))
        self._unique_ids = UniqueIdMaker(self._ip, os.getpid(), id(self) & 0xFFFFFFFF)
        self._runtimes: list[SocketRuntime] = []
        self._consumers: list[DefaultMQPushConsumer] = []

    async def shutdown(self) -> None:
        """Shut all clients down and close their connections."""
        consumers, self._consumers = self._consumers, []
        for consumer in consumers:
            await consumer.shutdown()
        runtimes, self._runtimes = self._runtimes, []
        for runtime in runtimes:
            await runtime.aclose()

    def runtime(self) -> SocketRuntime:
        """A new node of this machine."""
        return SocketRuntime()

    def instance(self, config: ClientConfig) -> MQClientInstance:
        """A new instance, not started, with connections of its own."""
        config.namesrv_addr = self.namesrv_addr
        config.client_ip = self._ip
        config.pid = os.getpid()
        if config.instance_name == "DEFAULT":
            config.instance_name = f"{os.getpid()}#{next(_numbers)}"
        runtime = self.runtime()
        self._runtimes.append(runtime)
        instance = MQClientManager(runtime, self._unique_ids, rules=self._rules).get_or_create(config)
        answer_running_info(instance)
        return instance

    async def push_consumer(
        self,
        group: str,
        subscriptions: Mapping[str, tuple[str, str]],
        listener: MessageListenerConcurrently | MessageListenerOrderly,
        config: PushConsumerConfig | None = None,
    ) -> DefaultMQPushConsumer:
        """Start a push consumer; `subscriptions` has type and expression by topic."""
        config = config or PushConsumerConfig()
        consumer = DefaultMQPushConsumer(group, self.instance(config), listener, config)
        try:
            for topic, (kind, text) in subscriptions.items():
                await consumer.subscribe(topic, text, kind)
            self._consumers.append(consumer)
            await consumer.start()
        except MQClientError as error:
            raise error.with_link_of(self._rules.wire) from error.__cause__
        return consumer
