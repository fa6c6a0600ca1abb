"""MQAdmin: what clients ask about topics and queues beside their daily work (`MQAdminImpl`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS, MQBrokerError, MQClientError, check_not_system_topic, check_topic
from rmqlab.protocol.admin_headers import CreateTopicRequestHeader
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import (
    GetMaxOffsetRequestHeader,
    SearchOffsetRequestHeader,
)
from rmqlab.protocol.header import WithOffset
from rmqlab.protocol.route import MASTER_ID
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE

if TYPE_CHECKING:
    from rmqlab.client.topic_routes import TopicRoutes
    from rmqlab.message.message import MessageQueue
    from rmqlab.protocol.header import CommandHeader

TIMEOUT = 6_000
TRIES = 5


class MQAdmin:
    """Questions to the master of a queue's broker; every failure raises `MQClientError`."""

    def __init__(self, routes: TopicRoutes) -> None:
        """Asks the brokers that `routes` name."""
        self._routes = routes
        self._api = routes.api

    async def create_topic(self, key: str, new_topic: str, queue_num: int) -> None:
        """Create a topic on every broker that has the topic `key`, with five tries each."""
        check_topic(new_topic)
        check_not_system_topic(new_topic)
        header = CreateTopicRequestHeader(
            new_topic, key, queue_num, queue_num, PERM_READ | PERM_WRITE, "SINGLE_TAG", topic_sys_flag=0
        )
        try:
            route = await self._api.get_topic_route_info(key, TIMEOUT)
        except CALL_ERRORS as error:
            raise MQClientError("create new topic failed") from error
        created = False
        failure: Exception | None = None
        for broker in sorted(route.broker_datas):
            addr = broker.broker_addrs.get(MASTER_ID)
            for _ in range(0 if addr is None else TRIES):
                try:
                    await self._api.call(str(addr), RequestCode.UPDATE_AND_CREATE_TOPIC, header, TIMEOUT)
                    created = True
                    break
                except MQBrokerError as refused:
                    failure = MQClientError(refused.error_message, refused.response_code)
                except CALL_ERRORS as error:
                    failure = error
        if not created and (failure is not None or not route.broker_datas):
            raise MQClientError("create new topic failed") from failure

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset the next message of a queue will get."""
        return await self._ask(
            queue, RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequestHeader(queue.topic, queue.queue_id)
        )

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at `timestamp` (epoch ms) or later."""
        header = SearchOffsetRequestHeader(queue.topic, queue.queue_id, timestamp)
        return await self._ask(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def _ask(self, queue: MessageQueue, code: int, header: CommandHeader) -> int:
        addr = await self._routes.find_broker(queue, self._routes.find_broker_address_in_publish)
        try:
            return (await self._api.call(addr, code, header, TIMEOUT)).decode_header(WithOffset).offset
        except CALL_ERRORS as error:
            raise MQClientError(f"Invoke Broker[{addr}] exception") from error
