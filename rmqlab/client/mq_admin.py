"""MQAdmin: what clients ask about topics and queues beside their daily work (4.8.0 `MQAdminImpl`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_config import MASTER_ID
from rmqlab.client.client_error import CALL_ERRORS, MQClientError
from rmqlab.client.validators import check_not_system_topic, check_topic
from rmqlab.protocol.admin_headers import CreateTopicRequestHeader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.message.message import MessageQueue

TIMEOUT = 6_000
PERM_READ_WRITE = 6


class MQAdmin:
    """Questions to the master of a queue's broker; every failure raises `MQClientError`."""

    def __init__(self, instance: MQClientInstance) -> None:
        """Uses the routes of the instance."""
        self._instance = instance

    async def create_topic(self, key: str, new_topic: str, queue_num: int) -> None:
        """Create a topic on every broker that has the topic `key`, with five tries each."""
        check_topic(new_topic)
        check_not_system_topic(new_topic)
        header = CreateTopicRequestHeader(
            new_topic, key, queue_num, queue_num, PERM_READ_WRITE, "SINGLE_TAG", topic_sys_flag=0
        )
        api = self._instance.api
        try:
            route = await api.get_topic_route_info(key, TIMEOUT)
        except CALL_ERRORS as error:
            raise MQClientError("create new topic failed") from error
        created, failure = False, None
        for broker in sorted(route.broker_datas):
            addr = broker.broker_addrs.get(MASTER_ID)
            for _ in range(0 if addr is None else 5):
                try:
                    await api.create_topic(str(addr), header, TIMEOUT)
                    created = True
                    break
                except CALL_ERRORS as error:
                    failure = error
        if not created and (failure is not None or not route.broker_datas):
            raise MQClientError("create new topic failed") from failure

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset the next message of a queue will get."""
        return await self._ask(queue, lambda addr: self._instance.api.get_max_offset(addr, queue, TIMEOUT))

    async def min_offset(self, queue: MessageQueue) -> int:
        """The lowest offset a queue still has."""
        return await self._ask(queue, lambda addr: self._instance.api.get_min_offset(addr, queue, TIMEOUT))

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at `timestamp` (epoch ms) or later."""
        return await self._ask(queue, lambda addr: self._instance.api.search_offset(addr, queue, timestamp, TIMEOUT))

    async def _ask(self, queue: MessageQueue, ask: Callable[[str], Awaitable[int]]) -> int:
        instance = self._instance
        addr = instance.find_broker_address_in_publish(queue.broker_name)
        if addr is None:
            await instance.update_topic_route_info_from_name_server(queue.topic)
            addr = instance.find_broker_address_in_publish(queue.broker_name)
        if addr is None:
            raise MQClientError(f"The broker[{queue.broker_name}] not exist")
        try:
            return await ask(addr)
        except CALL_ERRORS as error:
            raise MQClientError(f"Invoke Broker[{addr}] exception") from error
