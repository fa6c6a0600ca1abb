"""What a proxy does for one gRPC client: it pops with the client's expression, and acks what that does not name.

Source: `ReceiveMessageActivity`, `PopMessageResultFilterImpl`, `ConsumerProcessor` (popMessage, ackMessage,
changeInvisibleTime), `ReceiptHandleProcessor`, `ProxyConfig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.client.client_error import CALL_ERRORS, MQClientError
from rmqlab.client.pop.pop_api import POLL_GRACE, PopStatus, ack_message, change_invisible_time, handle_of, pop_message
from rmqlab.client.runtime import PROXY_THREAD
from rmqlab.events import AckedByProxy
from rmqlab.message.properties import PROPERTY_POP_CK
from rmqlab.protocol.pop_headers import ANY_QUEUE, MAX_MSG_NUMS, ConsumeInitMode, PopMessageRequestHeader
from rmqlab.protocol.subscription_data import EmptyExpressionError, SubscriptionSplitError, build_subscription

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.subscription_data import SubscriptionData

MIN_LONG_POLLING: Final = 5_000
MAX_LONG_POLLING: Final = 20_000
MIN_INVISIBLE_TIME: Final = 10_000
"""The least invisibility (ms) that a receive may ask for (`minInvisibleTimeMillsForRecv`)."""
DEFAULT_INVISIBLE_TIME: Final = 60_000
"""For how long (ms) the proxy pops when it renews by itself (`defaultInvisibleTimeMills`)."""
RENEW_SCHEDULE_PERIOD: Final = 5_000
RENEW_AHEAD_TIME: Final = 10_000
ILLEGAL_INVISIBLE_TIME: Final = 40_011
ILLEGAL_FILTER_EXPRESSION: Final = 40_010


class ProxyError(MQClientError):
    """The proxy refuses a call; `code` is that of `apache.rocketmq.v2.Code`."""

    java_name = "BadRequestException"

    def __str__(self) -> str:
        """Code and text, as the client's exception has them."""
        return f"[response-code={self.response_code}] {self.error_message}"


class Proxy:
    """Serves one client of `group` over the connections of `instance`; a message that is renewed stays invisible."""

    def __init__(self, instance: MQClientInstance, group: str) -> None:
        """It holds no message yet."""
        self._instance = instance
        self._group = group
        self._renewed: dict[int, MessageExt] = {}
        self._renews = False

    async def receive(
        self,
        topic: str,
        subscription: tuple[str, str],
        batch_size: int,
        long_polling_ms: int,
        invisible_ms: int | None,
    ) -> list[MessageExt]:
        """Pop from all queues of a topic; `subscription` is expression type and expression, of the client alone.

        Without `invisible_ms` the proxy decides, and renews until the client says what became of the message.

        Raises:
            ProxyError: an invisibility that is too short, an expression that cannot be read.
            MQClientError: the topic has no route, or too many wait at the broker.
            MQBrokerError: the broker refuses.
            RemotingError: the broker does not answer.
        """
        if invisible_ms is not None and invisible_ms < MIN_INVISIBLE_TIME:
            raise ProxyError(f"the invisibleTime is too small. min is {MIN_INVISIBLE_TIME}", ILLEGAL_INVISIBLE_TIME)
        instance, rules = self._instance, self._instance.rules
        expression_type, expression = subscription
        try:
            data = build_subscription(topic, expression, expression_type, instance.runtime.now())
        except (SubscriptionSplitError, EmptyExpressionError) as error:
            raise ProxyError(str(error), ILLEGAL_FILTER_EXPRESSION) from error
        broker_name, addr = await self._broker_of(topic)
        poll_ms = min(max(long_polling_ms, MIN_LONG_POLLING), MAX_LONG_POLLING)
        header = PopMessageRequestHeader(
            consumer_group=self._group,
            topic=topic,
            queue_id=ANY_QUEUE,
            max_msg_nums=min(batch_size, MAX_MSG_NUMS),
            invisible_time=DEFAULT_INVISIBLE_TIME if invisible_ms is None else invisible_ms,
            poll_time=poll_ms,
            init_mode=ConsumeInitMode.MAX,
            exp_type=data.expression_type,
            exp=data.sub_string,
        )
        await instance.runtime.late(PROXY_THREAD)
        result = await pop_message(instance.api, addr, broker_name, header, poll_ms + POLL_GRACE)
        if result.pop_status is PopStatus.POLLING_FULL:
            raise MQClientError("polling full")
        kept: list[MessageExt] = []
        for message in result.msg_found_list:
            if rules.client_keeps(data, message.tags):
                kept.append(message)
            else:
                self._ack_itself(message, data)
        if invisible_ms is None:
            self._renew(kept)
        return kept

    def _ack_itself(self, message: MessageExt, data: SubscriptionData) -> None:
        instance = self._instance
        instance.observe(
            AckedByProxy(
                instance.client_id, self._group, message.topic, message.queue_id, message.queue_offset, message.tags,
                data.sub_string,
            )
        )  # fmt: skip
        instance.runtime.spawn(self.ack(message), "proxy's ack")

    async def ack(self, message: MessageExt) -> bool:
        """The client is done with a message; False: its time was over."""
        self._renewed.pop(message.commit_log_offset, None)
        handle = handle_of(message)
        try:
            addr = self._instance.require_broker_address_in_publish(handle.broker_name)
            return await ack_message(self._instance.api, addr, self._group, message.topic, handle)
        except CALL_ERRORS:
            return False

    async def change_invisible_time(self, message: MessageExt, invisible_ms: int) -> bool:
        """Let a message be invisible for so long from now; False: its time was over."""
        self._renewed.pop(message.commit_log_offset, None)
        return await self._change(message, invisible_ms)

    async def _change(self, message: MessageExt, invisible_ms: int) -> bool:
        handle = handle_of(message)
        try:
            addr = self._instance.require_broker_address_in_publish(handle.broker_name)
            api = self._instance.api
            new = await change_invisible_time(api, addr, self._group, message.topic, handle, invisible_ms)
        except CALL_ERRORS:
            return False
        if new is not None:
            message.properties[PROPERTY_POP_CK] = new.encode()
        return new is not None

    async def _broker_of(self, topic: str) -> tuple[str, str]:
        """Name and address of a broker that has the topic."""
        instance = self._instance
        if topic not in instance.topic_route_table:
            await instance.update_topic_route_info_from_name_server(topic)
        route = instance.topic_route_table.get(topic)
        if route is None or not route.broker_datas:
            raise MQClientError("no readable queue")
        brokers = route.broker_datas
        broker = brokers[instance.runtime.choose("broker_of_topic", len(brokers))]
        return broker.broker_name, instance.require_broker_address_in_publish(broker.broker_name)

    # ---- renewal

    def _renew(self, messages: list[MessageExt]) -> None:
        """Hold the messages of a client until it says what became of them."""
        self._renewed.update((message.commit_log_offset, message) for message in messages)
        if self._renewed and not self._renews:
            self._renews = True
            self._instance.runtime.spawn(self._renew_for_ever(), "RenewalScheduledThread")

    async def _renew_for_ever(self) -> None:
        runtime = self._instance.runtime
        while self._renewed:
            await runtime.sleep(RENEW_SCHEDULE_PERIOD)
            for message in list(self._renewed.values()):
                left_ms = handle_of(message).visible_at - runtime.now()
                if left_ms < RENEW_AHEAD_TIME and not await self._change(message, DEFAULT_INVISIBLE_TIME):
                    self._renewed.pop(message.commit_log_offset, None)
        self._renews = False
