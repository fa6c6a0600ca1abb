"""Message trace: what was sent and consumed, as text in the trace topic (`TraceDataEncoder`, `AsyncTraceDispatcher`).

Entries end with U+0002, their fields are parted by U+0001.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rmqlab.client.listener import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from rmqlab.client.mq_client_api import SendResult, SendStatus
from rmqlab.message.java import in_hash_map_order, parse_boolean
from rmqlab.message.message import Message, MessageExt
from rmqlab.message.properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_PREPARED,
)
from rmqlab.message.topics import TRACE_TOPIC
from tests.proof.clients.async_send import send_async

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import Enum

    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2

BATCH, QUEUE, GATHER_MS, TIMEOUT_MS = 100, 1_024, 5, 5_000
MAX_MESSAGE_SIZE = 118_000  # of the trace producer; a buffer that reaches it is sent
GROUP_PREFIX = "_INNER_TRACE_PRODUCER"
INSTANCE_NAME = "PID_CLIENT_INNER_TRACE_PRODUCER"
NORMAL, HALF, DELAYED = 0, 1, 3
START_DELIVER_TIME = "__STARTDELIVERTIME"
SUCCESSES = (ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeOrderlyStatus.SUCCESS)
CONSUME_TIMEOUT = 15 * 60 * 1_000
LATER = (ConsumeConcurrentlyStatus.RECONSUME_LATER, ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT)
FIELD, ENTRY = "\x01", "\x02"


class TraceError(ValueError):
    """A trace that cannot be read."""


@dataclass(slots=True)
class Pub:
    """A message was sent. Times in epoch ms, `cost` in ms; `message_type` 0 normal, 1 half, 2 commit, 3 delayed."""

    kind: ClassVar[str] = "Pub"
    timestamp: int
    region: str | None
    group: str
    topic: str
    msg_id: str | None
    tags: str | None
    keys: str | None
    store_host: str
    body_length: int
    cost: int
    message_type: int
    offset_msg_id: str | None
    success: bool
    client_host: str


@dataclass(slots=True)
class SubBefore:
    """A listener is about to get a message; `request_id` is the same for all messages of one call."""

    kind: ClassVar[str] = "SubBefore"
    timestamp: int
    region: str | None
    group: str
    request_id: str
    msg_id: str | None
    retry_times: int
    keys: str | None
    client_host: str


@dataclass(slots=True)
class SubAfter:
    """It has had it; `context_code` 0 success, 1 too slow, 2 it raised, 3 it returned nothing, 4 it wants it later."""

    kind: ClassVar[str] = "SubAfter"
    request_id: str
    msg_id: str | None
    cost: int
    success: bool
    keys: str | None
    context_code: int
    timestamp: int
    group: str


Trace = Pub | SubBefore | SubAfter
KINDS: dict[str, type[Trace]] = {kind.kind: kind for kind in (Pub, SubBefore, SubAfter)}


def encode(entry: Trace) -> str:
    """One entry, its end mark included; what is not there is written as null, as Java does."""
    values = (_text(getattr(entry, field.name)) for field in fields(entry))
    return FIELD.join((entry.kind, *values)) + ENTRY


def _text(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def decode(text: str) -> list[Trace]:
    """The entries of a text as 4.8.0 writes it; raises TraceError for another one."""
    return [_entry(row) for row in text.split(ENTRY) if row]


def _entry(row: str) -> Trace:
    name, *values = row.split(FIELD)
    kind = KINDS.get(name)
    if kind is None:
        raise TraceError(f"no trace of kind {name!r}; there are {', '.join(KINDS)}")
    wanted = fields(kind)
    if len(values) != len(wanted):
        raise TraceError(f"{name} has {len(wanted)} fields, not {len(values)}")
    read: list[Any] = [_value(str(field.type), value) for field, value in zip(wanted, values, strict=True)]
    return kind(*read)


def _value(kind: str, text: str) -> str | int | bool | None:
    if kind == "int":
        try:
            return int(text)
        except ValueError as error:
            raise TraceError(f"{text!r} stands where a number is wanted") from error
    if kind == "bool":
        return text == "true"
    return None if text == "null" and "None" in kind else text


class _Context(NamedTuple):
    """What one send or one call of a listener leaves: entries as text, the keys to find them by, where they belong."""

    place: str
    data: str
    keys: list[str]


class SentMessage(NamedTuple):
    """A message that a broker took: `body` as it travelled, the broker's address, when (epoch ms) it left."""

    message: Message
    body: bytes
    addr: str
    result: SendResult
    began: int


class TraceDispatcher:
    """Gathers what happened and sends it to the trace topic, in batches, beside everything else.

    When more than 1,024 wait, what comes is `discarded`. Errors of sending are nobody's concern.
    """

    def __init__(self, producer: DefaultMQProducer, client_id: str, topic: str = TRACE_TOPIC) -> None:
        """`producer` sends the trace, and is started; `client_id` is that of the client traced."""
        self.producer = producer
        self.discarded = 0
        self._client_id = client_id
        self._topic = topic
        self._runtime = producer.instance.runtime
        self._waiting: deque[_Context] = deque()
        self._running = False
        self._sending = 0

    # ---- what is told

    def trace_producer(self, producer: DefaultMQProducer) -> None:
        """Note which of its single messages a broker took."""
        api, now = producer.instance.api, self._runtime.now
        send = api.send_message

        async def send_message(
            addr: str,
            broker_name: str,
            message: Message,
            body: bytes,
            header: SendMessageRequestHeaderV2,
            timeout_ms: int,
        ) -> SendResult:
            began = now()
            result = await send(addr, broker_name, message, body, header, timeout_ms)
            if header.producer_group == producer.group and not header.batch:
                self._sent(producer.group, SentMessage(message, body, addr, result, began))
            return result

        api.send_message = send_message  # type: ignore[method-assign]

    def trace_consumer(self, consumer: DefaultMQPushConsumer) -> None:
        """Note what the listener of a consumer that has not started gets, and how it ends."""
        listener: Any = consumer.listener

        def listen(messages: list[MessageExt], context: Any) -> Any:
            consumed = self._consuming(consumer, messages) or (lambda *_, **__: None)
            try:
                status = listener(messages, context)
            except Exception:
                consumed(None, raised=True)
                raise
            consumed(status, raised=False)
            return status

        consumer.listener = listen

    def _sent(self, group: str, sent: SentMessage) -> None:
        """A broker took a message; nothing is noted when it wants no trace."""
        message, result = sent.message, sent.result
        if not result.trace_on or message.topic.startswith(self._topic):
            return
        entry = Pub(
            sent.began,
            result.region_id,
            group,
            message.topic,
            result.msg_id,
            message.tags,
            message.keys,
            sent.addr,
            len(sent.body),
            self._runtime.now() - sent.began,
            _type_of(message),
            result.offset_msg_id,
            result.send_status is SendStatus.SEND_OK,
            self._client_id,
        )
        place = message.topic + FIELD + result.region_id
        self._append(_Context(place, encode(entry), _keys(result.msg_id, message.keys)))

    def _consuming(self, consumer: DefaultMQPushConsumer, messages: list[MessageExt]) -> Callable[..., None] | None:
        """A listener is about to be called; gives what is called after it, None when no message is traced."""
        traced = [message for message in messages if message.properties.get(PROPERTY_TRACE_SWITCH) != "false"]
        if not traced:
            return None
        began, group = self._runtime.now(), consumer.group_name
        region = traced[-1].properties.get(PROPERTY_MSG_REGION)
        place = traced[0].topic + (f"{FIELD}{region}" if region else "")
        keys = [key for message in traced for key in _keys(message.unique_id, message.keys)]
        request_id = self.producer.instance.unique_ids.create(began)
        before = [
            SubBefore(
                began,
                region,
                group,
                request_id,
                traced_message.unique_id,
                traced_message.reconsume_times,
                traced_message.keys,
                self._client_id,
            )
            for traced_message in traced
        ]
        self._append(_Context(place, "".join(map(encode, before)), keys))

        def consumed(status: Enum | None, *, raised: bool) -> None:
            now = self._runtime.now()
            cost, slow = (now - began) // len(messages), now - began >= CONSUME_TIMEOUT
            code, success = return_code(status, raised=raised, slow=slow), status in SUCCESSES
            after = [
                SubAfter(request_id, traced_message.unique_id, cost, success, traced_message.keys, code, now, group)
                for traced_message in traced
            ]
            self._append(_Context(place, "".join(map(encode, after)), keys))

        return consumed

    # ---- how it travels

    def _append(self, context: _Context) -> None:
        if len(self._waiting) >= QUEUE:
            self.discarded += 1
            return
        self._waiting.append(context)
        if not self._running:
            self._running = True
            self._runtime.spawn(self._work(), "MQ-AsyncTraceDispatcher-Thread")

    async def _work(self) -> None:
        try:
            while self._waiting:
                known = -1
                while known < len(self._waiting) < BATCH:  # until nothing more has come for a moment
                    known = len(self._waiting)
                    await self._runtime.sleep(GATHER_MS)
                self.flush()
        finally:
            self._running = False

    def flush(self) -> None:
        """Send what waits, one message for each topic and region of a batch."""
        while self._waiting:
            places: dict[str, list[_Context]] = {}
            for _ in range(min(BATCH, len(self._waiting))):
                context = self._waiting.popleft()
                places.setdefault(context.place, []).append(context)
            for contexts in places.values():
                self._send_all(contexts)

    def _send_all(self, contexts: list[_Context]) -> None:
        data, keys = "", dict[str, str]()
        for context in contexts:
            data += context.data
            keys.update(dict.fromkeys(context.keys, ""))
            if len(data) >= MAX_MESSAGE_SIZE:
                self._send(data, keys)
                data, keys = "", {}
        if data:
            self._send(data, keys)

    def _send(self, data: str, keys: dict[str, str]) -> None:
        message = Message.of(self._topic, data.encode("utf-8"), None, " ".join(in_hash_map_order(keys)))
        self._sending += 1
        send_async(self.producer, message, self, timeout_ms=TIMEOUT_MS)

    def on_success(self, result: SendResult) -> None:
        """A batch is stored."""
        self._sending -= 1

    def on_exception(self, error: Exception) -> None:
        """A batch is lost."""
        self._sending -= 1

    async def shutdown(self) -> None:
        """Send what waits, give it half a second, and shut the producer down."""
        self.flush()
        for _ in range(100):
            if self._sending == 0:
                break
            await self._runtime.sleep(GATHER_MS)
        await self.producer.shutdown()


def _keys(msg_id: str | None, keys: str | None) -> list[str]:
    return [key for key in (msg_id, keys) if key]


def _type_of(message: Message) -> int:
    properties = message.properties
    if parse_boolean(properties.get(PROPERTY_TRANSACTION_PREPARED)):
        return HALF
    return DELAYED if {START_DELIVER_TIME, PROPERTY_DELAY_TIME_LEVEL} & properties.keys() else NORMAL


def return_code(status: Enum | None, *, raised: bool, slow: bool) -> int:
    """How a listener returned (`ConsumeReturnType`): nothing goes before slow, slow before what it said."""
    if status is None:
        return 2 if raised else 3
    if slow:
        return 1
    return 4 if status in LATER else 0
