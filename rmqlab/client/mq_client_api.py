"""MQClientAPI: every request a client makes, and the error each refusal becomes (4.8.0 `MQClientAPIImpl`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.client.client_error import MQBrokerError, MQClientError
from rmqlab.client.pull_result import PullResult, PullStatus
from rmqlab.client.send_result import SendResult, SendStatus
from rmqlab.message.properties import PROPERTY_MESSAGE_TYPE
from rmqlab.protocol import admin_headers as admin
from rmqlab.protocol import consumer_headers as consumer
from rmqlab.protocol import producer_headers as producer
from rmqlab.protocol.bodies import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    ResetOffsetBody,
    UnlockBatchRequestBody,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import Body, RemotingCommand
from rmqlab.protocol.namesrv_headers import GetRouteInfoRequestHeader
from rmqlab.protocol.route import TopicRouteData
from rmqlab.runtime.runtime import RemotingConnectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.message.message import Message, MessageExt, MessageQueue
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.heartbeat import HeartbeatData
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.runtime.runtime import Runtime

SCAN_PERIOD = 1_000
SCAN_GRACE = 1_000
_PULL_STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}
_SEND_STATUS = {
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

    async def invoke(self, addr: str, request: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        """Send a request and return its answer, whatever its code."""
        return await self._runtime.invoke(addr, request, timeout_ms)

    async def invoke_oneway(self, addr: str, request: RemotingCommand) -> None:
        """Send a request that gets no answer."""
        request.mark_oneway()
        await self._runtime.invoke_oneway(addr, request)

    async def _call(
        self, addr: str, code: int, header: CommandHeader | None, timeout_ms: int, body: Body = None
    ) -> RemotingCommand:
        response = await self.invoke(addr, RemotingCommand.request(code, header, body), timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise MQBrokerError(response.code, response.remark, addr)
        return response

    def until_noticed(self, timeout_ms: int) -> int:
        """When the sender of an asynchronous request learns that `timeout_ms` passed: 1 to 2 s later.

        4.8.0 `scanResponseTable` looks every second, counted from the start, and grants a second more.
        """
        since_start = self._runtime.now() - self.started_at
        return timeout_ms + SCAN_GRACE + -(since_start + timeout_ms + SCAN_GRACE) % SCAN_PERIOD

    # ---- name server

    async def invoke_name_server(self, request: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        """Ask the name server in use; when it cannot be reached, the next one from a random start (a choice point)."""
        servers = self.name_servers
        if not servers:
            raise RemotingConnectError("null")
        if self._chosen not in servers:
            self._chosen = servers[self._runtime.choose("name_server", len(servers)) if len(servers) > 1 else 0]
        for attempt in range(len(servers)):
            try:
                return await self.invoke(self._chosen, request, timeout_ms)
            except RemotingConnectError:
                self._chosen = servers[(servers.index(self._chosen) + 1) % len(servers)]
                if attempt == len(servers) - 1:
                    raise
        raise RemotingConnectError("null")

    async def get_topic_route_info(self, topic: str, timeout_ms: int) -> TopicRouteData:
        """The route of a topic, not to be changed; no route raises `MQClientError` with code TOPIC_NOT_EXIST."""
        request = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
        response = await self.invoke_name_server(request, timeout_ms)
        if response.code == ResponseCode.SUCCESS and response.body is not None:
            return _route_of(response.body)
        raise MQClientError(response.remark, response.code)

    # ---- membership

    async def send_heartbeat(self, addr: str, heartbeat: HeartbeatData, timeout_ms: int) -> int:
        """Send a heartbeat; the answer's version is the broker's (row H-24)."""
        return (await self._call(addr, RequestCode.HEART_BEAT, None, timeout_ms, heartbeat.as_sent())).version

    async def unregister_client(
        self, addr: str, client_id: str, producer_group: str | None, consumer_group: str | None, timeout_ms: int
    ) -> None:
        """Take a group of this client off the broker."""
        header = consumer.UnregisterClientRequestHeader(client_id, producer_group, consumer_group)
        await self._call(addr, RequestCode.UNREGISTER_CLIENT, header, timeout_ms)

    async def get_consumer_id_list_by_group(self, addr: str, group: str, timeout_ms: int) -> list[str]:
        """The ids of the clients of a consumer group that this broker knows."""
        header = consumer.GetConsumerListByGroupRequestHeader(group)
        response = await self._call(addr, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header, timeout_ms)
        if response.body is None:
            raise MQBrokerError(response.code, response.remark, addr)
        return list(_consumer_ids_of(response.body))

    async def check_client_in_broker(
        self, addr: str, group: str, client_id: str, subscription: SubscriptionData, timeout_ms: int
    ) -> None:
        """Ask the broker to compile a subscription; a refusal raises `MQClientError` with the broker's code (F-98)."""
        body = CheckClientRequestBody(client_id=client_id, group=group, subscription_data=subscription).encode()
        request = RemotingCommand.request(RequestCode.CHECK_CLIENT_CONFIG, None, body)
        response = await self.invoke(addr, request, timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise MQClientError(response.remark, response.code)

    async def register_message_filter_class(
        self, addr: str, header: consumer.RegisterMessageFilterClassRequestHeader, body: bytes, timeout_ms: int
    ) -> None:
        """Upload the source of a filter class to a filter server (row F-99)."""
        await self._call(addr, RequestCode.REGISTER_MESSAGE_FILTER_CLASS, header, timeout_ms, body)

    # ---- offsets

    async def query_consumer_offset(self, addr: str, group: str, queue: MessageQueue, timeout_ms: int) -> int:
        """The committed offset; `MQBrokerError` with QUERY_NOT_FOUND when there is none."""
        header = consumer.QueryConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id)
        response = await self._call(addr, RequestCode.QUERY_CONSUMER_OFFSET, header, timeout_ms)
        return response.decode_header(consumer.QueryConsumerOffsetResponseHeader).offset

    async def update_consumer_offset_oneway(self, addr: str, group: str, queue: MessageQueue, offset: int) -> None:
        """Commit an offset, without waiting for an answer."""
        header = consumer.UpdateConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id, offset)
        await self.invoke_oneway(addr, RemotingCommand.request(RequestCode.UPDATE_CONSUMER_OFFSET, header))

    async def update_consumer_offset(
        self, addr: str, group: str, queue: MessageQueue, offset: int, timeout_ms: int
    ) -> None:
        """Commit an offset and wait for the answer, as the admin tool does."""
        header = consumer.UpdateConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id, offset)
        await self._call(addr, RequestCode.UPDATE_CONSUMER_OFFSET, header, timeout_ms)

    async def invoke_broker_to_reset_offset(
        self, addr: str, topic: str, group: str, timestamp: int, timeout_ms: int
    ) -> dict[MessageQueue, int]:
        """Have the broker tell a group's members to go on at `timestamp` (epoch ms, -1: the end), forward too."""
        header = admin.ResetOffsetRequestHeader(topic, group, timestamp, is_force=True)
        response = await self._call(addr, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, timeout_ms)
        return ResetOffsetBody.decode(response.body or b"{}").offset_table

    async def get_max_offset(self, addr: str, queue: MessageQueue, timeout_ms: int) -> int:
        """The offset the next message of a queue will get."""
        header = consumer.GetMaxOffsetRequestHeader(queue.topic, queue.queue_id)
        response = await self._call(addr, RequestCode.GET_MAX_OFFSET, header, timeout_ms)
        return response.decode_header(consumer.GetMaxOffsetResponseHeader).offset

    async def get_min_offset(self, addr: str, queue: MessageQueue, timeout_ms: int) -> int:
        """The lowest offset a queue still has."""
        header = consumer.GetMinOffsetRequestHeader(queue.topic, queue.queue_id)
        response = await self._call(addr, RequestCode.GET_MIN_OFFSET, header, timeout_ms)
        return response.decode_header(consumer.GetMinOffsetResponseHeader).offset

    async def search_offset(self, addr: str, queue: MessageQueue, timestamp: int, timeout_ms: int) -> int:
        """The offset of the first message stored at `timestamp` (epoch ms) or later."""
        header = consumer.SearchOffsetRequestHeader(queue.topic, queue.queue_id, timestamp)
        response = await self._call(addr, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header, timeout_ms)
        return response.decode_header(consumer.SearchOffsetResponseHeader).offset

    # ---- messages

    async def pull_message(self, addr: str, header: consumer.PullMessageRequestHeader, timeout_ms: int) -> PullResult:
        """Pull and wait; every code but the four of `PullStatus` raises `MQBrokerError` (row S-71)."""
        response = await self.invoke(addr, RemotingCommand.request(RequestCode.PULL_MESSAGE, header), timeout_ms)
        status = _PULL_STATUS.get(response.code)  # type: ignore[call-overload]  # an IntEnum key hashes as its number
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
        await self._call(addr, RequestCode.CONSUMER_SEND_MSG_BACK, header, timeout_ms)

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
        response = await self.invoke(addr, _send_request(body, header), timeout_ms)
        status = _SEND_STATUS.get(response.code)  # type: ignore[call-overload]  # an IntEnum key hashes as its number
        if status is None:
            raise MQBrokerError(response.code, response.remark, addr)
        answer = response.decode_header(producer.SendMessageResponseHeader)
        return SendResult.of_response(status, broker_name, message, answer, response.all_ext_fields() or {})

    async def send_message_oneway(self, addr: str, body: bytes, header: producer.SendMessageRequestHeaderV2) -> None:
        """Send a message without waiting for an answer."""
        await self.invoke_oneway(addr, _send_request(body, header))

    async def end_transaction_oneway(
        self, addr: str, header: producer.EndTransactionRequestHeader, remark: str | None
    ) -> None:
        """Commit or roll back a half message."""
        request = RemotingCommand.request(RequestCode.END_TRANSACTION, header)
        request.remark = remark
        await self.invoke_oneway(addr, request)

    # ---- orderly locks

    async def lock_batch_mq(
        self, addr: str, group: str, client_id: str, queues: Sequence[MessageQueue], timeout_ms: int
    ) -> set[MessageQueue]:
        """Ask for the locks of queues; returns those that this client holds now."""
        body = LockBatchRequestBody(consumer_group=group, client_id=client_id, mq_set=list(queues)).encode()
        response = await self._call(addr, RequestCode.LOCK_BATCH_MQ, None, timeout_ms, body)
        return set(LockBatchResponseBody.decode(response.body or b"{}").lock_ok_mq_set)

    async def unlock_batch_mq(
        self, addr: str, group: str, client_id: str, queues: Sequence[MessageQueue], timeout_ms: int, *, oneway: bool
    ) -> None:
        """Give locks of queues back."""
        body = UnlockBatchRequestBody(consumer_group=group, client_id=client_id, mq_set=list(queues)).encode()
        if oneway:
            await self.invoke_oneway(addr, RemotingCommand.request(RequestCode.UNLOCK_BATCH_MQ, None, body))
        else:
            await self._call(addr, RequestCode.UNLOCK_BATCH_MQ, None, timeout_ms, body)

    # ---- administration

    async def create_topic(self, addr: str, header: admin.CreateTopicRequestHeader, timeout_ms: int) -> None:
        """Create or change a topic on one broker; a refusal raises `MQClientError`."""
        request = RemotingCommand.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
        response = await self.invoke(addr, request, timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise MQClientError(response.remark, response.code)


# Both bodies are asked for again and again and hardly ever change.
_route_of = lru_cache(maxsize=256)(TopicRouteData.decode)


@lru_cache(maxsize=256)
def _consumer_ids_of(body: bytes) -> tuple[str, ...]:
    return tuple(GetConsumerListByGroupResponseBody.decode(body).consumer_id_list)


_REPLY = f"{PROPERTY_MESSAGE_TYPE}\x01reply\x02"


def _send_request(body: bytes, header: producer.SendMessageRequestHeaderV2) -> RemotingCommand:
    code = RequestCode.SEND_BATCH_MESSAGE if header.batch else RequestCode.SEND_MESSAGE_V2
    if _REPLY in (header.properties or ""):
        code = RequestCode.SEND_REPLY_MESSAGE_V2
    return RemotingCommand.request(code, header, body)
