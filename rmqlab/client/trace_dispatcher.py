"""Our clients write the message trace that 4.8.0's do (`AsyncTraceDispatcher` and its two hooks)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.client.send_result import SendStatus
from rmqlab.client.trace_data import FIELD, Pub, SubAfter, SubBefore, encode
from rmqlab.message.java import parse_boolean
from rmqlab.message.message import Message, MessageExt
from rmqlab.message.properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_PREPARED,
    in_hash_map_order,
)
from rmqlab.message.topics import TRACE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.client.send_result import SendResult

BATCH, QUEUE, GATHER_MS, TIMEOUT_MS = 100, 1_024, 5, 5_000
MAX_MESSAGE_SIZE = 118_000  # of the trace producer; a buffer that reaches it is sent
GROUP_PREFIX = "_INNER_TRACE_PRODUCER"
INSTANCE_NAME = "PID_CLIENT_INNER_TRACE_PRODUCER"
NORMAL, HALF, DELAYED = 0, 1, 3
START_DELIVER_TIME = "__STARTDELIVERTIME"


class _Context(NamedTuple):
    """What one send or one call of a listener leaves: entries as text, the keys to find them by, where they belong."""

    place: str
    data: str
    keys: list[str]


@dataclass(slots=True)
class Consuming:
    """Messages a listener has been given, and when."""

    messages: list[MessageExt]
    request_id: str
    began: int
    region: str | None


class TraceDispatcher:
    """Gathers what happened and sends it to the trace topic, in batches, beside everything else.

    When more than 1,024 wait, what comes is `discarded`. Errors of sending are nobody's concern, as in 4.8.0.
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

    def sent(self, group: str, message: Message, body: bytes, addr: str, result: SendResult, began: int) -> None:
        """A broker took a message, `body` as it travelled; nothing is noted when it wants no trace."""
        if not result.trace_on or message.topic.startswith(self._topic):
            return
        entry = Pub(
            began,
            result.region_id,
            group,
            message.topic,
            result.msg_id,
            message.tags,
            message.keys,
            addr,
            len(body),
            self._runtime.now() - began,
            _type_of(message),
            result.offset_msg_id,
            result.send_status is SendStatus.SEND_OK,
            self._client_id,
        )
        place = message.topic + FIELD + result.region_id
        self._append(_Context(place, encode(entry), _keys(result.msg_id, message.keys)))

    def consuming(self, group: str, messages: Sequence[MessageExt]) -> Consuming | None:
        """A listener is about to be called; None when no message of it is traced."""
        traced = [one for one in messages if one.properties.get(PROPERTY_TRACE_SWITCH) != "false"]
        if not traced:
            return None
        now = self._runtime.now()
        region = traced[-1].properties.get(PROPERTY_MSG_REGION)
        context = Consuming(traced, self.producer.instance.unique_ids.create(now), now, region)
        entries = [
            SubBefore(
                now, region, group, context.request_id, one.unique_id, one.reconsume_times, one.keys, self._client_id
            )
            for one in traced
        ]
        self._append(self._of_messages(context, "".join(map(encode, entries))))
        return context

    def consumed(self, group: str, context: Consuming, messages: int, code: int, *, success: bool) -> None:
        """The listener of `messages` messages has returned, or raised."""
        now = self._runtime.now()
        cost = (now - context.began) // messages
        entries = [
            SubAfter(context.request_id, one.unique_id, cost, success, one.keys, code, now, group)
            for one in context.messages
        ]
        self._append(self._of_messages(context, "".join(map(encode, entries))))

    def _of_messages(self, context: Consuming, data: str) -> _Context:
        place = context.messages[0].topic + (f"{FIELD}{context.region}" if context.region else "")
        return _Context(place, data, [key for one in context.messages for key in _keys(one.unique_id, one.keys)])

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
        self.producer.send_async(message, self, timeout_ms=TIMEOUT_MS)

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
