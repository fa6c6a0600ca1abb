"""The requests a client makes, what sends, pulls and routes bring, and the error each refusal becomes.

Source: `MQClientAPIImpl`, `SendResult`, `SendStatus`, `PullResultExt`, `PullStatus`, `TopicPublishInfo`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.client.client_error import MQBrokerError, MQClientError
from rmqlab.client.runtime import RemotingConnectError
from rmqlab.message.message import Message, MessageExt
from rmqlab.message.properties import PROPERTY_MESSAGE_TYPE, PROPERTY_MSG_REGION, PROPERTY_TRACE_SWITCH
from rmqlab.message.topics import MessageQueue, queues_of
from rmqlab.protocol import consumer_headers as consumer
from rmqlab.protocol import producer_headers as producer
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import Body, RemotingCommand
from rmqlab.protocol.namesrv import MASTER_ID, GetRouteInfoRequestHeader, TopicRouteData
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE

if TYPE_CHECKING:
    from rmqlab.client.runtime import Runtime
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.wire import Wire

ADMIN_TIMEOUT = 6_000
RESPONSE_SCAN_PERIOD = 1_000
SCAN_GRACE = 1_000
DEFAULT_REGION = "DefaultRegion"
INT_MAX = 0x7FFFFFFF


class SendStatus(Enum):
    """How a send went; all but SEND_OK mean that the message is stored, but not as safely as asked."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


@dataclass(slots=True)
class SendResult:
    """`msg_id` is the UNIQ_KEY the client made, `offset_msg_id` the broker's id (of a batch several, with commas)."""

    send_status: SendStatus
    msg_id: str | None
    offset_msg_id: str | None
    message_queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    region_id: str = DEFAULT_REGION
    trace_on: bool = True


class PullStatus(Enum):
    """How a pull went, as the client sees it."""

    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


@dataclass(slots=True, eq=False)
class PullResult:
    """Offsets are queue offsets; `message_binary` is the answer's body until `msg_found_list` is made of it."""

    pull_status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    suggest_which_broker_id: int
    message_binary: bytes | None
    msg_found_list: list[MessageExt] = field(default_factory=list)


class TopicPublishInfo:
    """The queues of a topic in the order of sending, and where the round robin stands.

    `message_queue_list` is empty until a route is known. The first queue is random: a choice point (row S-20).
    """

    __slots__ = ("_index", "have_topic_router_info", "message_queue_list")

    def __init__(self, queues: list[MessageQueue] | None = None) -> None:
        """Without `queues` nothing is known yet."""
        self.message_queue_list = queues or []
        self.have_topic_router_info = queues is not None
        self._index: int | None = None

    def ok(self) -> bool:
        """There is a queue to send to."""
        return bool(self.message_queue_list)

    def select_one_message_queue(self, runtime: Runtime, last_broker_name: str | None = None) -> MessageQueue:
        """The next queue in turn; after a failed send preferably one of another broker than `last_broker_name`."""
        queues, index = self.message_queue_list, self._index
        for _ in range(1 + (last_broker_name is not None) * len(queues)):
            index = runtime.choose("first_queue", len(queues)) if index is None else (index + 1) & INT_MAX
            queue = queues[index % len(queues)]
            if queue.broker_name != last_broker_name:
                break
        self._index = index
        return queue


def publish_info_of(topic: str, route: TopicRouteData) -> TopicPublishInfo:
    """The queues to send to: those of `orderTopicConf` if set, else the writable ones that have a master."""
    if route.order_topic_conf:
        return TopicPublishInfo(_ordered_queues(topic, route.order_topic_conf))
    queues: list[MessageQueue] = []
    masters = {broker.broker_name for broker in route.broker_datas if MASTER_ID in broker.broker_addrs}
    for data in sorted(route.queue_datas):
        if data.perm & PERM_WRITE and data.broker_name in masters:
            queues += queues_of(topic, data.broker_name, data.write_queue_nums)
    return TopicPublishInfo(queues)


def _ordered_queues(topic: str, conf: str) -> list[MessageQueue]:
    brokers = (broker.partition(":") for broker in filter(None, conf.split(";")))
    return [queue for name, _, count in brokers for queue in queues_of(topic, name, int(count))]


def subscribe_info_of(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """The queues to read: the readable ones of every broker, masters or not."""
    return [
        queue
        for data in route.queue_datas
        if data.perm & PERM_READ
        for queue in queues_of(topic, data.broker_name, data.read_queue_nums)
    ]


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

    def __init__(self, runtime: Runtime, wire: Wire) -> None:
        """`name_servers` are addresses, set by the instance; `wire` is that of the client's version."""
        self._runtime = runtime
        self.wire = wire
        self._chosen: str | None = None
        self.started_at = 0
        self.name_servers: list[str] = []

    def request(self, code: int, header: CommandHeader | None, body: Body = None) -> RemotingCommand:
        """A request of this client's version."""
        request = RemotingCommand.request(code, header, body)
        request.version = self.wire.version_number
        return request

    async def call(
        self, addr: str, code: int, header: CommandHeader | None, timeout_ms: int, body: Body = None
    ) -> RemotingCommand:
        """Send a request and return its answer, a refusal raised."""
        response = await self._runtime.invoke(addr, self.request(code, header, body), timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise MQBrokerError(response.code, response.remark, addr, self.wire)
        return response

    async def answer(self, addr: str, code: int, header: CommandHeader | None, timeout_ms: int) -> RemotingCommand:
        """Send a request and return its answer, also one that is a refusal."""
        return await self._runtime.invoke(addr, self.request(code, header), timeout_ms)

    def until_noticed(self, timeout_ms: int) -> int:
        """When the sender of an asynchronous request learns that `timeout_ms` passed: 1 to 2 s later.

        `scanResponseTable` looks every second, counted from the start, and grants a second more.
        """
        since_start = self._runtime.now() - self.started_at
        return timeout_ms + SCAN_GRACE + -(since_start + timeout_ms + SCAN_GRACE) % RESPONSE_SCAN_PERIOD

    async def get_topic_route_info(self, topic: str, timeout_ms: int) -> TopicRouteData:
        """The route of a topic, not to be changed.

        Asks the name server in use; when it cannot be reached, the next one from a random start (a choice point).

        Raises:
            MQClientError: there is no route (code TOPIC_NOT_EXIST).
        """
        request = self.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
        servers = self.name_servers
        if self._chosen not in servers and servers:
            self._chosen = servers[self._runtime.choose("name_server", len(servers))]
        failure = None
        for _ in servers:
            try:
                response = await self._runtime.invoke(str(self._chosen), request, timeout_ms)
            except RemotingConnectError as error:
                failure = error
                self._chosen = servers[(servers.index(str(self._chosen)) + 1) % len(servers)]
                continue
            body = response.body
            if response.code == ResponseCode.SUCCESS and body is not None:
                return _route_of(body)
            raise MQClientError(response.remark, response.code, self.wire)
        raise failure or RemotingConnectError("null")

    async def pull_message(self, addr: str, header: consumer.PullMessageRequestHeader, timeout_ms: int) -> PullResult:
        """Pull and wait.

        Raises:
            MQBrokerError: every code but the four of `PullStatus` (row S-71).
        """
        lite = header.sys_flag & consumer.FLAG_LITE_PULL_MESSAGE
        request = self.request(self.wire.lite_pull if lite else RequestCode.PULL_MESSAGE, header)
        response = await self._runtime.invoke(addr, request, timeout_ms)
        status = _PULL_STATUS.get(response.code)
        if status is None:
            raise MQBrokerError(response.code, response.remark, addr, self.wire)
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
        request = self.request(_send_code(header), header, body)
        response = await self._runtime.invoke(addr, request, timeout_ms)
        status = _SEND_STATUS.get(response.code)
        if status is None:
            raise MQBrokerError(response.code, response.remark, addr, self.wire)
        answer = response.decode_header(producer.SendMessageResponseHeader)
        fields = response.ext_fields or {}
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


# Asked for again and again, and it hardly ever changes.
_route_of = lru_cache(maxsize=256)(TopicRouteData.decode)
_REPLY = f"{PROPERTY_MESSAGE_TYPE}\x01reply\x02"


def _send_code(header: producer.SendMessageRequestHeaderV2) -> RequestCode:
    if _REPLY in (header.properties or ""):
        return RequestCode.SEND_REPLY_MESSAGE_V2
    return RequestCode.SEND_BATCH_MESSAGE if header.batch else RequestCode.SEND_MESSAGE_V2
