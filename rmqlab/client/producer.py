"""DefaultMQProducer: sends, chooses queues, tries again (`DefaultMQProducerImpl`; rows S-18..S-22)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rmqlab.client.client_config import ProducerConfig, ServiceState
from rmqlab.client.client_error import (
    CALL_ERRORS,
    ClientErrorCode,
    MQBrokerError,
    MQClientError,
    RemotingTooMuchRequestError,
    check_message,
    check_not_system_topic,
    check_producer_group,
    check_topic,
)
from rmqlab.client.mq_client_api import ADMIN_TIMEOUT, TopicPublishInfo
from rmqlab.client.runtime import RemotingConnectError, RemotingError, RemotingTimeoutError
from rmqlab.client.topic_routes import DEFAULT_TOPIC_QUEUE_NUMS
from rmqlab.message.java import in_hash_map_order, parse_boolean, parse_int
from rmqlab.message.properties import (
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_TRANSACTION_PREPARED,
    text_with_properties,
)
from rmqlab.message.sysflag import COMPRESSED_FLAG, TRANSACTION_PREPARED_TYPE, compress
from rmqlab.message.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, is_retry_topic
from rmqlab.protocol.admin_headers import CreateTopicRequestHeader
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.namesrv import MASTER_ID
from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE

_Sent = TypeVar("_Sent")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rmqlab.client.mq_client_api import SendResult
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.message.message import Message
    from rmqlab.message.topics import MessageQueue

    Attempt = Callable[[MessageQueue, TopicPublishInfo, int], Awaitable[_Sent]]

ADMIN_TRIES = 5
_TRY_AGAIN = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
    }
)


class DefaultMQProducer:
    """A producer of one group. `topic_publish_info_table` holds what is known of each topic sent to."""

    def __init__(self, group: str, instance: MQClientInstance, config: ProducerConfig | None = None) -> None:
        """A producer that has not started, on the instance of its client id."""
        self.group = group
        self.config = config or ProducerConfig()
        self.instance = instance
        self.state = ServiceState.CREATE_JUST
        self.topic_publish_info_table: dict[str, TopicPublishInfo] = {}

    def __repr__(self) -> str:
        """Its group, and the topics that it knows queues of."""
        topics = [name for name, info in self.topic_publish_info_table.items() if info.message_queue_list]
        return f"<DefaultMQProducer of group {self.group}: knows {', '.join(topics) or 'no topic'}>"

    @property
    def _suggest_todo(self) -> str:
        return self.instance.rules.wire.suggest_todo

    # ---- life

    async def start(self, *, start_factory: bool = True) -> None:
        """Register and send a first heartbeat.

        Raises:
            MQClientError: a group this client id has already too.
        """
        if self.state is not ServiceState.CREATE_JUST:
            raise MQClientError(
                f"The producer service state not OK, maybe started once, {self.state}{self._suggest_todo}"
            )
        self.state = ServiceState.START_FAILED
        check_producer_group(self.group)
        if not self.instance.register_producer(self.group, self):
            self.state = ServiceState.CREATE_JUST
            reason = f"has been created before, specify another name please.{self._suggest_todo}"
            raise MQClientError(f"The producer group[{self.group}] {reason}")
        self.topic_publish_info_table[AUTO_CREATE_TOPIC_KEY_TOPIC] = TopicPublishInfo()
        if start_factory:
            await self.instance.start()
        self.state = ServiceState.RUNNING
        await self.instance.send_heartbeat_to_all_broker_with_lock()

    async def shutdown(self, *, shutdown_factory: bool = True) -> None:
        """Unregister at the brokers; with `shutdown_factory` the instance stops when no other client uses it."""
        if self.state is not ServiceState.RUNNING:
            return
        await self.instance.unregister_producer(self.group)
        if shutdown_factory:
            await self.instance.shutdown()
        self.state = ServiceState.SHUTDOWN_ALREADY

    def make_sure_state_ok(self) -> None:
        """Raise `MQClientError` unless the producer runs."""
        if self.state is not ServiceState.RUNNING:
            raise MQClientError(f"The producer service state not OK, {self.state}{self._suggest_todo}")

    async def create_topic(self, key: str, new_topic: str, queue_num: int) -> None:
        """Create a topic on every broker that has the topic `key`, with five tries each.

        Raises:
            MQClientError: the client is not ready for it, or no broker takes it.
        """
        self.make_sure_state_ok()
        check_topic(new_topic)
        check_not_system_topic(new_topic)
        api = self.instance.api
        header = CreateTopicRequestHeader(
            new_topic, key, queue_num, queue_num, PERM_READ | PERM_WRITE, "SINGLE_TAG", topic_sys_flag=0
        )
        try:
            route = await api.get_topic_route_info(key, ADMIN_TIMEOUT)
        except CALL_ERRORS as error:
            raise MQClientError("create new topic failed") from error
        created = False
        failure: Exception | None = None
        for broker in sorted(route.broker_datas):
            addr = broker.broker_addrs.get(MASTER_ID)
            for _ in range(0 if addr is None else ADMIN_TRIES):
                try:
                    await api.call(str(addr), RequestCode.UPDATE_AND_CREATE_TOPIC, header, ADMIN_TIMEOUT)
                    created = True
                    break
                except MQBrokerError as refused:
                    failure = MQClientError(refused.error_message, refused.response_code, self.instance.rules.wire)
                except CALL_ERRORS as error:
                    failure = error
        if not created and (failure is not None or not route.broker_datas):
            raise MQClientError("create new topic failed") from failure

    # ---- sending

    async def send(
        self, message: Message, queue: MessageQueue | None = None, *, timeout_ms: int | None = None
    ) -> SendResult:
        """Send and wait for the answer: to the next queue in turn, with two more tries, or once to `queue`.

        Raises:
            MQClientError: the client is not ready for it, or no broker takes it.
            MQBrokerError: the broker refuses.
            RemotingError: no answer comes.
        """
        timeout = self.config.send_msg_timeout if timeout_ms is None else timeout_ms
        self.make_sure_state_ok()
        check_message(message, self.config.max_message_size)
        if queue is not None:
            if queue.topic != message.topic:
                raise MQClientError("message's topic not equal mq's topic")
            return await self._send_kernel(message, queue, None, timeout)
        attempt, times = partial(self._send_kernel, message), 1 + self.config.retry_times_when_send_failed
        return await self.send_default(message, timeout, self.instance.runtime.now(), attempt, times)

    async def send_default(
        self, message: Message, timeout_ms: int, begin: int, attempt: Attempt[_Sent], times_total: int
    ) -> _Sent:
        """Have `attempt` send to the next queue in turn, up to `times_total` times; raises what the last one raised."""
        runtime = self.instance.runtime
        info = self.topic_publish_info_table.get(message.topic)
        if info is None or not info.ok():
            info = await self.find_topic_publish_info(message.topic)
            if not info.ok():
                raise self._no_route(message.topic)
        brokers_sent: list[str] = []
        failure: Exception | None = None
        for _ in range(times_total):
            queue = info.select_one_message_queue(runtime, brokers_sent[-1] if brokers_sent else None)
            cost = runtime.now() - begin
            if timeout_ms < cost:
                raise RemotingTooMuchRequestError("sendDefaultImpl call timeout")
            brokers_sent.append(queue.broker_name)
            try:
                return await attempt(queue, info, timeout_ms - cost)
            except MQBrokerError as error:
                if error.response_code not in _TRY_AGAIN:
                    raise
                failure = error
            except (MQClientError, RemotingError) as error:
                failure = error
        cost_ms = runtime.now() - begin
        raise _still_failed(message.topic, brokers_sent, times_total, cost_ms, self._suggest_todo, failure) from failure

    def _no_route(self, topic: str) -> MQClientError:
        if not self.instance.api.name_servers:
            text = f"No name server address, please set it.{self._suggest_todo}"
            return _with_code(text, ClientErrorCode.NO_NAME_SERVER_EXCEPTION)
        text = f"No route info of this topic: {topic}{self._suggest_todo}"
        return _with_code(text, ClientErrorCode.NOT_FOUND_TOPIC_EXCEPTION)

    async def find_topic_publish_info(self, topic: str) -> TopicPublishInfo:
        """What is known of a topic's queues, asking a name server for what is not."""
        table, instance = self.topic_publish_info_table, self.instance
        info = table.get(topic)
        if info is None or not info.ok():
            table.setdefault(topic, TopicPublishInfo())
            await instance.update_topic_route_info_from_name_server(topic)
            info = table[topic]
        if not (info.have_topic_router_info or info.ok()):
            await instance.update_topic_route_info_from_name_server(topic, auto_create=True)
        return table[topic]

    async def _send_kernel(
        self, message: Message, queue: MessageQueue, _info: TopicPublishInfo | None, timeout_ms: int
    ) -> SendResult:
        begin = self.instance.runtime.now()
        addr, body, header = await self.prepare(message, queue)
        if timeout_ms < header.born_timestamp - begin:
            raise RemotingTooMuchRequestError("sendKernelImpl call timeout")
        return await self.instance.api.send_message(addr, queue.broker_name, message, body, header, timeout_ms)

    async def prepare(self, message: Message, queue: MessageQueue) -> tuple[str, bytes, SendMessageRequestHeaderV2]:
        """What a send to `queue` needs: the broker's address, the body as it travels, the header.

        Raises:
            MQClientError: a broker that no route names.
        """
        instance, config = self.instance, self.config
        addr = instance.find_broker_address_in_publish(queue.broker_name)
        if addr is None:
            await self.find_topic_publish_info(queue.topic)
            addr = instance.require_broker_address_in_publish(queue.broker_name)
        now = instance.runtime.now()
        instance.unique_ids.set_unique_id(message, now)
        body, sys_flag = message.body or b"", 0
        prepared = message.properties.get(PROPERTY_TRANSACTION_PREPARED)
        if prepared is not None and parse_boolean(prepared):
            sys_flag |= TRANSACTION_PREPARED_TYPE
        if len(body) >= config.compress_msg_body_over_howmuch:
            sys_flag |= COMPRESSED_FLAG
            body = compress(body)
        header = SendMessageRequestHeaderV2(
            self.group,
            message.topic,
            AUTO_CREATE_TOPIC_KEY_TOPIC,
            DEFAULT_TOPIC_QUEUE_NUMS,
            queue.queue_id,
            sys_flag,
            now,
            message.flag,
            text_with_properties(in_hash_map_order(message.properties)),
            0,
        )
        if is_retry_topic(message.topic):
            _take_retry_counts(message, header)
        return addr, body, header


def _take_retry_counts(message: Message, header: SendMessageRequestHeaderV2) -> None:
    """The two counts travel in the header; the text of the properties was made before they are taken out."""
    reconsume = message.properties.pop(PROPERTY_RECONSUME_TIME, None)
    if reconsume is not None:
        header.reconsume_times = parse_int(reconsume)
    maximum = message.properties.pop(PROPERTY_MAX_RECONSUME_TIMES, None)
    if maximum is not None:
        header.max_reconsume_times = parse_int(maximum)


def _still_failed(
    topic: str, brokers_sent: list[str], times_total: int, cost_ms: int, suggest_todo: str, failure: Exception | None
) -> MQClientError:
    sent = ", ".join(brokers_sent + ["null"] * (times_total - len(brokers_sent)))
    text = (
        f"Send [{len(brokers_sent)}] times, still failed, cost [{cost_ms}]ms, "
        f"Topic: {topic}, BrokersSent: [{sent}]{suggest_todo}"
    )
    return _with_code(text, _code_of(failure))


def _with_code(text: str, code: int) -> MQClientError:
    error = MQClientError(text)
    error.response_code = int(code)
    return error


def _code_of(failure: Exception | None) -> int:
    if isinstance(failure, MQBrokerError):
        return failure.response_code
    if isinstance(failure, RemotingConnectError):
        return ClientErrorCode.CONNECT_BROKER_EXCEPTION
    if isinstance(failure, RemotingTimeoutError):
        return ClientErrorCode.ACCESS_BROKER_TIMEOUT
    return ClientErrorCode.BROKER_NOT_EXIST_EXCEPTION if isinstance(failure, MQClientError) else -1
