"""POP_MESSAGE (200050): messages by the popper's own expression, or a place in the line of waiters.

What the expression drops is passed for all: the group's offset moves past it. Each queue that gave messages gets a
check point in the revive log. Source: `PopMessageProcessor`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rmqlab.broker.pop.pop_buffer_merge_service import PopBufferMergeService
from rmqlab.broker.pop.pop_check_point import ACK_TIME_INTERVAL_MS, PopCheckPoint, revive_message
from rmqlab.broker.pop.pop_dependencies import PopChoices, PopDependencies
from rmqlab.broker.pop.pop_long_polling_service import PollingResult, PopLongPollingService
from rmqlab.broker.pop.timer_message_store import TimerMessageStore
from rmqlab.broker.processor import ProcessorError, RequestRefused, require_fields
from rmqlab.broker.pull_check import illegal_queue, topic_not_exist
from rmqlab.errors import BadInput
from rmqlab.events import Popped, SkippedByPop
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.message.java import in_hash_map_order
from rmqlab.message.properties import PROPERTY_POP_CK
from rmqlab.message.record import decode_record, encode_record
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.extra_info import ReceiptHandle, build_msg_offset_info, build_start_offset_info, mark_of
from rmqlab.protocol.header import RemotingCommandException
from rmqlab.protocol.pop_headers import (
    MAX_MSG_NUMS,
    ConsumeInitMode,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
    PopResponseCode,
)
from rmqlab.protocol.subscription_data import SubscriptionData, build_subscription
from rmqlab.protocol.topic_config import PERM_READ
from rmqlab.rules_of_pop import RETRY
from rmqlab.store.queue_reader import GetMessageResult, GetMessageStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.broker.pop.pop_long_polling_service import PopRequest
    from rmqlab.broker.processor import Handler
    from rmqlab.events import Stage

_REQUIRED = "consumer_group", "topic", "queue_id", "max_msg_nums", "invisible_time", "poll_time", "init_mode"
_GONE = {GetMessageStatus.OFFSET_TOO_SMALL, GetMessageStatus.OFFSET_OVERFLOW_BADLY, GetMessageStatus.OFFSET_FOUND_NULL}
_PASSED = {
    GetMessageStatus.NO_MATCHED_MESSAGE,
    GetMessageStatus.OFFSET_FOUND_NULL,
    GetMessageStatus.MESSAGE_WAS_REMOVING,
    GetMessageStatus.NO_MATCHED_LOGIC_QUEUE,
}
_CODES = {PollingResult.POLLING_FULL: PopResponseCode.POLLING_FULL}


@dataclass(slots=True)
class PopUnderWay:
    """A pop under way: who asks for what, and what it has got so far (records, and where from).

    `places` are those that it has not looked at yet, None: it has not begun; `looked` is what it holds the lock of.
    """

    channel: Channel
    header: PopMessageRequestHeader
    message_filter: ExpressionMessageFilter | None
    subscription: SubscriptionData | None
    pop_time: int
    revive_qid: int
    records: list[bytes] = field(default_factory=list)
    starts: list[tuple[str, int, int]] = field(default_factory=list)
    popped: list[tuple[str, int, list[int]]] = field(default_factory=list)
    rest_num: int = 0
    places: deque[tuple[str, int]] | None = None
    looked: Looked | None = None


class Looked(NamedTuple):
    """What a look at a queue found: from which offset on, and the store's result."""

    topic: str
    queue_id: int
    start: int
    result: GetMessageResult


@dataclass(slots=True, eq=False)
class PopMessageProcessor:
    """Answers POP_MESSAGE, or lets it wait in line.

    `pause(go_on)` is asked before each step of a pop: True, it has `go_on` called later, and others have their turn
    meanwhile. Java's threads are stopped anywhere; without `pause` a pop is done in one piece. `locked` are the queues
    (topic, group, id) of which some pop holds the lock, from its look until its check point is stored.
    """

    parts: PopDependencies
    choices: PopChoices
    buffer: PopBufferMergeService
    timer: TimerMessageStore
    revive_topic: str
    line: PopLongPollingService = field(init=False)
    pause: Callable[[Callable[[], None]], bool] | None = None
    locked: set[tuple[str, str, int]] = field(default_factory=set)

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {RequestCode.POP_MESSAGE: self.process}

    def execute_request_when_wakeup(self, pop: PopRequest) -> None:
        """Execute a pop that waited; the answer, if it does not wait again, goes to its channel."""
        try:
            response = self.process(pop.channel, pop.request, self.parts.timers.now)
        except (RemotingCommandException, ProcessorError):
            return  # Java logs it and the client times out
        if response is not None:
            pop.channel.send(response.reply_to(pop.request, self.parts.rules.wire))

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a pop; None when it waits, or its thread goes on later.

        Raises:
            ProcessorError: a pop without a required field.
        """
        pop = self.begin(channel, command, now)
        if not isinstance(pop, PopUnderWay):
            return pop
        return None if self._is_stopped(pop, command) else self._go_on(pop, command)

    def _is_stopped(self, pop: PopUnderWay, command: RemotingCommand) -> bool:
        return self.pause is not None and self.pause(partial(self._resume, pop, command))

    def _resume(self, pop: PopUnderWay, command: RemotingCommand) -> None:
        response = self._go_on(pop, command)
        if response is not None:
            pop.channel.send(response.reply_to(command, self.parts.rules.wire))

    def _go_on(self, pop: PopUnderWay, command: RemotingCommand) -> RemotingCommand | None:
        """Take the steps that are left, and answer; None when it waits, or goes on later."""
        while self._step(pop):
            if self._is_stopped(pop, command):
                return None
        return self.finish(pop, command, self.parts.timers.now)

    def _step(self, pop: PopUnderWay) -> bool:
        """Look at the next queue, or take what the last look found; False: there is nothing left to do."""
        if pop.places is None:
            pop.places = deque(self.places(pop.header))
        group = pop.header.consumer_group
        if pop.looked is not None:
            looked, pop.looked = pop.looked, None
            self.take(pop, looked)
            self.locked.discard((looked.topic, group, looked.queue_id))
        elif pop.places:
            topic, queue_id = pop.places.popleft()
            pop.looked = self.look(pop, topic, queue_id)
            if pop.looked is not None:
                self.locked.add((topic, group, queue_id))
        else:
            return False
        return True

    def begin(self, channel: Channel, command: RemotingCommand, now: int) -> PopUnderWay | RemotingCommand:
        """Check a pop: it is under way, or refused.

        Raises:
            ProcessorError: a pop without a required field.
        """
        header = command.decode_header(PopMessageRequestHeader)
        require_fields(header, _REQUIRED)
        if not header.born_time:
            command.header = header = replace(header, born_time=now)
        if header.is_timeout_too_much(now):
            remark = f"{self._at_broker} is timeout too much"
            return RemotingCommand.response(PopResponseCode.POLLING_TIMEOUT, remark, PopMessageResponseHeader())
        try:
            self._check(channel, header)
            subscription, message_filter = self._filter(header, now)
        except RequestRefused as refused:
            return RemotingCommand.response(refused.code, refused.remark, PopMessageResponseHeader())
        revive_qid = self.choices.revive_queue(self.parts.pop_config.revive_queue_num)
        return PopUnderWay(channel, header, message_filter, subscription, now, revive_qid)

    def finish(self, pop: PopUnderWay, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a pop that has looked at all its places; None when it waits."""
        header = pop.header
        code: int = ResponseCode.SUCCESS
        is_waiting = False
        if not pop.records:
            result = self.line.polling(pop.channel, command, header, pop.message_filter, now)
            is_waiting = result is PollingResult.POLLING_SUC
            code = _CODES.get(result, PopResponseCode.POLLING_TIMEOUT)
        if pop.rest_num > 0 and (pop.records or is_waiting):
            self.line.rest(header.topic, header.consumer_group, header.queue_id)
        if is_waiting:
            return None
        status = GetMessageStatus.FOUND if pop.records else GetMessageStatus.NO_MESSAGE_IN_QUEUE
        answer = PopMessageResponseHeader(
            pop.pop_time,
            header.invisible_time,
            pop.revive_qid,
            pop.rest_num,
            build_start_offset_info(pop.starts),
            build_msg_offset_info(pop.popped),
        )
        return RemotingCommand.response(code, status.name, answer, b"".join(pop.records) or None)

    @property
    def _at_broker(self) -> str:
        return f"the broker[{self.parts.config.broker_ip1}] pop message"

    def _check(self, channel: Channel, header: PopMessageRequestHeader) -> None:
        """Check broker, topic, queue and group.

        Raises:
            RequestRefused: the broker refuses the pop.
        """
        parts, topic, group = self.parts, header.topic, header.consumer_group
        at_broker, wire = self._at_broker, parts.rules.wire
        if not parts.config.broker_permission & PERM_READ:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"{at_broker} is forbidden")
        if header.max_msg_nums > MAX_MSG_NUMS:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, f"{at_broker}'s num is greater than {MAX_MSG_NUMS}")
        if not parts.pop_config.timer_wheel_enable:
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, f"{at_broker} is forbidden because timerWheelEnable is false"
            )
        topic_config = parts.topics.select_topic_config(topic)
        if topic_config is None:
            raise topic_not_exist(topic, wire)
        if not topic_config.perm & PERM_READ:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"the topic[{topic}] peeking message is forbidden")
        if header.queue_id >= topic_config.read_queue_nums:
            raise illegal_queue(ResponseCode.INVALID_PARAMETER, channel, header, topic_config)
        group_config = parts.groups.find_subscription_group_config(group)
        if group_config is None:
            remark = f"subscription group [{group}] does not exist, {wire.suggest_todo}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not group_config.consume_enable:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {group}")

    def _filter(
        self, header: PopMessageRequestHeader, now: int
    ) -> tuple[SubscriptionData | None, ExpressionMessageFilter | None]:
        """The filter of the pop's own expression, none for everything; `enablePropertyFilter` is not asked.

        Raises:
            RequestRefused: the expression is none.
        """
        if not header.exp:
            return None, None
        filters, rules = self.parts.filters, self.parts.rules
        refusal = RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")
        try:
            subscription = build_subscription(header.topic, header.exp, header.exp_type, now)
        except BadInput:
            raise refusal from None
        data = None
        if not subscription.is_tag:
            data = filters.build(header.topic, header.consumer_group, header.exp, header.exp_type, now, now)
            if data is None:
                raise refusal
        return subscription, ExpressionMessageFilter(subscription, data, filters, rules)

    def places(self, header: PopMessageRequestHeader) -> Iterator[tuple[str, int]]:
        """Topics and queues in the order a pop looks at them.

        Raises:
            RuntimeError: a rule of somebody's own leaves a queue out, or names one twice.
        """
        parts, topic = self.parts, header.topic
        topic_config = parts.topics.select_topic_config(topic)
        queues = 0 if topic_config is None else topic_config.read_queue_nums
        retry = self._retry_topic(header)
        retry_config = parts.topics.select_topic_config(retry)
        retry_queues = 0 if retry_config is None else retry_config.read_queue_nums
        retry_first = any(
            self._has_more(header, retry, queue_id) for queue_id in range(retry_queues)
        ) and self.choices.retry_first(topic, header.consumer_group, parts.pop_config.pop_from_retry_probability)
        start = 0
        known = self.pause is None  # else more may come while it looks
        if header.queue_id < 0 and not (
            known and sum(self._has_more(header, topic, number) for number in range(queues)) <= 1
        ):
            start = self.choices.start_queue(topic, queues)
        order = parts.rules.pop_order(start, queues if header.queue_id < 0 else 1, retry_first)
        for place in order:
            if place == RETRY:
                for step in range(retry_queues):
                    yield retry, (start + step) % retry_queues
            else:
                yield topic, place if header.queue_id < 0 else header.queue_id

    def _has_more(self, header: PopMessageRequestHeader, topic: str, queue_id: int) -> bool:
        """Whether a queue has messages that the group has not popped: else its turn is of no consequence."""
        return self.offset(header, topic, queue_id) < self.parts.store.get_max_offset_in_queue(topic, queue_id)

    def _retry_topic(self, header: PopMessageRequestHeader) -> str:
        config, topic, group = self.parts.pop_config, header.topic, header.consumer_group
        is_v2 = config.enable_retry_topic_v2
        if is_v2 and config.retrieve_message_from_pop_retry_topic_v1:
            is_v2 = not self.choices.retry_v1(topic, group)
        return self.parts.rules.retry_topic(group, topic, is_v2)

    def look(self, pop: PopUnderWay, topic: str, queue_id: int) -> Looked | None:
        """Look at one queue from where the group's last pop ended: what is wanted of it is still to be taken.

        None: there is nothing; what was dropped is passed by for the whole group. `popMsgFromQueue`, which holds the
        queue's lock until the check point is stored.
        """
        parts, header = self.parts, pop.header
        group, store = header.consumer_group, parts.store
        if (topic, group, queue_id) in self.locked or self.choices.is_locked(topic, group, queue_id):
            pop.rest_num += store.get_max_offset_in_queue(topic, queue_id) - self.offset(header, topic, queue_id)
            return None
        start = offset = self.offset(header, topic, queue_id, commits=True)
        room = header.max_msg_nums - len(pop.records)
        if room <= 0:
            pop.rest_num += store.get_max_offset_in_queue(topic, queue_id) - offset
            return None
        report = self._report_skipped(pop, topic, queue_id)
        result = store.get_message(group, topic, queue_id, offset, room, pop.message_filter, report)
        if result is not None and result.status in _GONE:
            offset = result.next_begin_offset
            parts.offsets.commit_offset(pop.channel.remote_address, group, topic, queue_id, offset)
            result = store.get_message(group, topic, queue_id, offset, room, pop.message_filter, report)
        if result is None:
            pop.rest_num += store.get_max_offset_in_queue(topic, queue_id) - offset
            return None
        pop.rest_num += result.max_offset - result.next_begin_offset
        if result.messages:
            return Looked(topic, queue_id, start, result)
        if result.status in _PASSED:
            self.buffer.add(topic, group, queue_id, result.next_begin_offset, is_stored=True)
        return None

    def take(self, pop: PopUnderWay, looked: Looked) -> None:
        """Store the check point of a queue's messages, and put them into the answer."""
        header, topic, queue_id, result = pop.header, looked.topic, looked.queue_id, looked.result
        messages = [decode_record(record, read_body=False) for record in result.messages]
        offsets = [message.queue_offset for message in messages if message is not None]
        self._append_check_point(pop, looked, offsets)
        pop.starts.append((mark_of(topic), queue_id, looked.start))
        pop.popped.append((mark_of(topic), queue_id, offsets))
        if is_retry_topic(topic) and not self.parts.pop_config.pop_response_return_actual_retry_topic:
            pop.records += [self._recode(pop, record, looked.start) for record in result.messages]
        else:
            pop.records += result.messages
        observe = self.parts.hooks.observe_pull
        if observe is not None:
            client = self.parts.consumers.client_id(pop.channel, header.consumer_group)
            for offset in offsets:
                observe(Popped(client, header.consumer_group, topic, queue_id, offset, header.invisible_time))
        if self.parts.hooks.on_get is not None:
            size = sum(map(len, result.messages))
            self.parts.hooks.on_get(header.consumer_group, topic, queue_id, len(offsets), size, pop.pop_time)

    def _append_check_point(self, pop: PopUnderWay, looked: Looked, offsets: list[int]) -> None:
        header, rules = pop.header, self.parts.rules
        topic, queue_id, start, result = looked
        check_point = PopCheckPoint(
            broker_name=self.parts.config.broker_name,
            cid=header.consumer_group,
            queue_offset_diff=[offset - start for offset in offsets],
            invisible_time=header.invisible_time,
            num=len(offsets),
            pop_time=pop.pop_time,
            queue_id=queue_id,
            revive_time=rules.visible_at(pop.pop_time, header.invisible_time),
            start_offset=start,
            suspend=False if rules.wire.tells_suspend else None,
            topic=topic,
        )
        deliver_ms = check_point.revive_time - ACK_TIME_INTERVAL_MS
        host, now = self.parts.config.store_host, self.parts.timers.now
        message = revive_message(check_point, self.revive_topic, pop.revive_qid, deliver_ms, host, now)
        is_stored = self.timer.put(message, now).is_ok
        self.buffer.add(topic, header.consumer_group, queue_id, result.next_begin_offset, is_stored=is_stored)

    def _recode(self, pop: PopUnderWay, record: bytes, start: int) -> bytes:
        """A message of the retry topic as a client gets it: of its first topic, with its receipt handle."""
        message = decode_record(record, decompress_body=False)
        if message is None:
            return record
        handle = ReceiptHandle(
            start, pop.pop_time, pop.header.invisible_time, pop.revive_qid, mark_of(message.topic),
            self.parts.config.broker_name, message.queue_id, message.queue_offset,
        )  # fmt: skip
        properties = {PROPERTY_POP_CK: handle.encode()} | message.properties
        message.properties = in_hash_map_order(properties, self.parts.rules.wire.property_capacity)
        message.topic, message.store_size = pop.header.topic, 0
        return encode_record(message)

    def offset(self, header: PopMessageRequestHeader, topic: str, queue_id: int, *, commits: bool = False) -> int:
        """Where a pop of a queue goes on; `commits`: a group without an offset gets one (`getPopOffset`)."""
        group, offsets = header.consumer_group, self.parts.offsets
        offset = offsets.query_offset(group, topic, queue_id)
        if offset < 0:
            offset = self._init_offset(header, topic, queue_id)
            if commits:
                offsets.commit_offset("getPopOffset", group, topic, queue_id, offset)
        return self.parts.rules.pop_offset(offset, self.buffer.latest_offset(topic, group, queue_id))

    def _init_offset(self, header: PopMessageRequestHeader, topic: str, queue_id: int) -> int:
        """Where a group without an offset begins: with the last message, if the first is not in memory any more."""
        store = self.parts.store
        low, high = store.get_min_offset_in_queue(topic, queue_id), store.get_max_offset_in_queue(topic, queue_id)
        if header.init_mode == ConsumeInitMode.MIN or is_retry_topic(topic):
            return low
        is_whole = low <= 0 < high and not store.check_in_disk_by_consume_offset(topic, queue_id, 0)
        if self.parts.pop_config.init_pop_offset_by_check_msg_in_mem and is_whole:
            return 0
        return max(high - 1, 0)

    def _report_skipped(self, pop: PopUnderWay, topic: str, queue_id: int) -> Callable[[int, str], None] | None:
        """What the store calls for every entry that the filter rejects, None when there is no listener."""
        observe, subscription, group = self.parts.hooks.observe_pull, pop.subscription, pop.header.consumer_group
        if observe is None or subscription is None:
            return None
        client = self.parts.consumers.client_id(pop.channel, group)

        def report(queue_offset: int, layer: str) -> None:
            stage: Stage = "sql"
            if layer == "consume_queue":
                stage = "tags_code" if subscription.is_tag else "bitmap"
            observe(SkippedByPop(client, group, topic, queue_id, queue_offset, stage, subscription.sub_string))

        return report
