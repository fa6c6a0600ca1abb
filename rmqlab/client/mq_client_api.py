"""The requests a client makes, and the error each refusal becomes (`MQClientAPIImpl`, `MQAdminImpl`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS, MQBrokerError, MQClientError, check_not_system_topic, check_topic
from rmqlab.client.results import DEFAULT_REGION, PullResult, PullStatus, SendResult, SendStatus
from rmqlab.message.properties import PROPERTY_MESSAGE_TYPE, PROPERTY_MSG_REGION, PROPERTY_TRACE_SWITCH
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol import consumer_headers as consumer
from rmqlab.protocol import producer_headers as producer
from rmqlab.protocol.admin_headers import CreateTopicRequestHeader
from rmqlab.protocol.bodies import (
    CheckClientRequestBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import Body, RemotingCommand
from rmqlab.protocol.header import WithOffset
from rmqlab.protocol.namesrv import MASTER_ID, GetRouteInfoRequestHeader, TopicRouteData
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE
from rmqlab.runtime.runtime import RemotingConnectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.client.topic_routes import TopicRoutes
    from rmqlab.message.message import Message, MessageExt
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.runtime.runtime import Runtime

ADMIN_TIMEOUT = 6_000
ADMIN_TRIES = 5
SCAN_PERIOD = 1_000
SCAN_GRACE = 1_000
_PULL_STATUS: dict[int, PullStatus] = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}
_SEND_STATUS: dict[int, SendStatus] = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
}


class MQClientAPI:
    """Requests by name. Addresses are "ip:port", timeouts ms.

    A refusal raises `MQBrokerError` unless said otherwise; no answer raises `RemotingError`.
    """

    def __init__(self, runtime: Runtime) -> None:
        """`name_servers` are the addresses of name servers, set by the instance."""
        self._runtime = runtime
        self._chosen: str | None = None
        self.started_at = 0
        self.name_servers: list[str] = []

    async def call(
        self, addr: str, code: int, header: CommandHeader | None, timeout_ms: int, body: Body = None
    ) -> RemotingCommand:
        """Send a request and return its answer, a refusal raised."""
        response = await self._runtime.invoke(addr, RemotingCommand.request(code, header, body), timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise MQBrokerError(response.code, response.remark, addr)
        return response

    async def oneway(
        self, addr: str, code: int, header: CommandHeader | None, body: Body = None, remark: str | None = None
    ) -> None:
        """Send a request that gets no answer."""
        request = RemotingCommand.request(code, header, body)
        request.remark = remark
        await self._runtime.invoke_oneway(addr, request)

    def until_noticed(self, timeout_ms: int) -> int:
        """When the sender of an asynchronous request learns that `timeout_ms` passed: 1 to 2 s later.

        `scanResponseTable` looks every second, counted from the start, and grants a second more.
        """
        since_start = self._runtime.now() - self.started_at
        return timeout_ms + SCAN_GRACE + -(since_start + timeout_ms + SCAN_GRACE) % SCAN_PERIOD

    async def get_topic_route_info(self, topic: str, timeout_ms: int) -> TopicRouteData:
        """The route of a topic, not to be changed; no route raises `MQClientError` with code TOPIC_NOT_EXIST.

        Asks the name server in use; when it cannot be reached, the next one from a random start (a choice point).
        """
        request = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
        servers = self.name_servers
        if self._chosen not in servers and servers:
            self._chosen = servers[self._runtime.choose("name_server", len(servers)) if len(servers) > 1 else 0]
        failure = None
        for _ in servers:
            try:
                response = await self._runtime.invoke(str(self._chosen), request, timeout_ms)
            except RemotingConnectError as error:
                failure = error
                self._chosen = servers[(servers.index(str(self._chosen)) + 1) % len(servers)]
                continue
            if response.code == ResponseCode.SUCCESS and response.body is not None:
                return _route_of(response.body)
            raise MQClientError(response.remark, response.code)
        raise failure or RemotingConnectError("null")

    # ---- membership

    async def check_client_in_broker(
        self, addr: str, group: str, client_id: str, subscription: SubscriptionData, timeout_ms: int
    ) -> None:
        """Ask the broker to compile a subscription; a refusal raises `MQClientError` with the broker's code (F-98)."""
        body = CheckClientRequestBody(client_id=client_id, group=group, subscription_data=subscription).encode()
        try:
            await self.call(addr, RequestCode.CHECK_CLIENT_CONFIG, None, timeout_ms, body)
        except MQBrokerError as refused:
            raise MQClientError(refused.error_message, refused.response_code) from refused

    # ---- offsets

    async def query_consumer_offset(self, addr: str, group: str, queue: MessageQueue, timeout_ms: int) -> int:
        """The committed offset; `MQBrokerError` with QUERY_NOT_FOUND when there is none."""
        header = consumer.QueryConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id)
        response = await self.call(addr, RequestCode.QUERY_CONSUMER_OFFSET, header, timeout_ms)
        return response.decode_header(WithOffset).offset

    # ---- messages

    async def pull_message(self, addr: str, header: consumer.PullMessageRequestHeader, timeout_ms: int) -> PullResult:
        """Pull and wait; every code but the four of `PullStatus` raises `MQBrokerError` (row S-71)."""
        request = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
        response = await self._runtime.invoke(addr, request, timeout_ms)
        status = _PULL_STATUS.get(response.code)
        if status is None:
            raise MQBrokerError(response.code, response.remark, addr)
        answer = response.decode_header(consumer.PullMessageResponseHeader)
        if answer.next_begin_offset is None:
            raise MQClientError(f"the answer from {addr} carries no offsets")  # Java runs into a null here
        return PullResult(
            status,
            answer.next_begin_offset,
            answer.min_offset,
            answer.max_offset,
            answer.suggest_which_broker_id,
            response.body,
        )

    async def consumer_send_message_back(
        self, addr: str, message: MessageExt, group: str, delay_level: int, max_reconsume_times: int, timeout_ms: int
    ) -> None:
        """Hand a message back for a later try."""
        header = consumer.ConsumerSendMsgBackRequestHeader(
            offset=message.commit_log_offset,
            group=group,
            delay_level=delay_level,
            origin_msg_id=message.client_msg_id,
            origin_topic=message.topic,
            max_reconsume_times=max_reconsume_times,
        )
        await self.call(addr, RequestCode.CONSUMER_SEND_MSG_BACK, header, timeout_ms)

    async def send_message(
        self,
        addr: str,
        broker_name: str,
        message: Message,
        body: bytes,
        header: producer.SendMessageRequestHeaderV2,
        timeout_ms: int,
    ) -> SendResult:
        """Send a message or a batch with its `body` as it travels, and wait for the answer."""
        request = RemotingCommand.request(_send_code(header), header, body)
        response = await self._runtime.invoke(addr, request, timeout_ms)
        status = _SEND_STATUS.get(response.code)
        if status is None:
            raise MQBrokerError(response.code, response.remark, addr)
        answer = response.decode_header(producer.SendMessageResponseHeader)
        fields = response.all_ext_fields() or {}
        return SendResult(
            status,
            message.unique_id,
            answer.msg_id,
            MessageQueue(message.topic, broker_name, answer.queue_id),
            answer.queue_offset,
            answer.transaction_id,
            fields.get(PROPERTY_MSG_REGION) or DEFAULT_REGION,
            fields.get(PROPERTY_TRACE_SWITCH) != "false",
        )

    # ---- orderly locks

    async def lock_batch_mq(
        self, addr: str, group: str, client_id: str, queues: Sequence[MessageQueue], timeout_ms: int
    ) -> set[MessageQueue]:
        """Ask for the locks of queues; returns those that this client holds now."""
        body = LockBatchRequestBody(consumer_group=group, client_id=client_id, mq_set=list(queues)).encode()
        response = await self.call(addr, RequestCode.LOCK_BATCH_MQ, None, timeout_ms, body)
        return set(LockBatchResponseBody.decode(response.body or b"{}").lock_ok_mq_set)

    async def unlock_batch_mq(
        self, addr: str, group: str, client_id: str, queues: Sequence[MessageQueue], timeout_ms: int, *, oneway: bool
    ) -> None:
        """Give locks of queues back."""
        body = UnlockBatchRequestBody(consumer_group=group, client_id=client_id, mq_set=list(queues)).encode()
        if oneway:
            await self.oneway(addr, RequestCode.UNLOCK_BATCH_MQ, None, body)
        else:
            await self.call(addr, RequestCode.UNLOCK_BATCH_MQ, None, timeout_ms, body)


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
            route = await self._api.get_topic_route_info(key, ADMIN_TIMEOUT)
        except CALL_ERRORS as error:
            raise MQClientError("create new topic failed") from error
        created = False
        failure: Exception | None = None
        for broker in sorted(route.broker_datas):
            addr = broker.broker_addrs.get(MASTER_ID)
            for _ in range(0 if addr is None else ADMIN_TRIES):
                try:
                    await self._api.call(str(addr), RequestCode.UPDATE_AND_CREATE_TOPIC, header, ADMIN_TIMEOUT)
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
            queue, RequestCode.GET_MAX_OFFSET, consumer.GetMaxOffsetRequestHeader(queue.topic, queue.queue_id)
        )

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at `timestamp` (epoch ms) or later."""
        header = consumer.SearchOffsetRequestHeader(queue.topic, queue.queue_id, timestamp)
        return await self._ask(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def _ask(self, queue: MessageQueue, code: int, header: CommandHeader) -> int:
        addr = await self._routes.find_broker(queue, self._routes.find_broker_address_in_publish)
        try:
            return (await self._api.call(addr, code, header, ADMIN_TIMEOUT)).decode_header(WithOffset).offset
        except CALL_ERRORS as error:
            raise MQClientError(f"Invoke Broker[{addr}] exception") from error


# Asked for again and again, and it hardly ever changes.
_route_of = lru_cache(maxsize=256)(TopicRouteData.decode)
_REPLY = f"{PROPERTY_MESSAGE_TYPE}\x01reply\x02"


def _send_code(header: producer.SendMessageRequestHeaderV2) -> RequestCode:
    if _REPLY in (header.properties or ""):
        return RequestCode.SEND_REPLY_MESSAGE_V2
    return RequestCode.SEND_BATCH_MESSAGE if header.batch else RequestCode.SEND_MESSAGE_V2
