"""PULL_MESSAGE (11): messages, where to go on, or a long wait (`PullMessageProcessor`, rows S-58..S-75)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
from rmqlab.broker.processor import BrokerHooks, ProcessorError, RequestRefused, Timers, require_fields
from rmqlab.broker.pull_check import PullDependencies, check_permissions, subscription_in_force
from rmqlab.broker.pull_request_hold_service import PullRequest, PullRequestHoldService
from rmqlab.events import Filtered, Pull
from rmqlab.filter.message_filter import ExpressionForRetryMessageFilter, ExpressionMessageFilter
from rmqlab.message.java import Long
from rmqlab.message.message import Host, Message, MessageExtBrokerInner
from rmqlab.message.properties import PROPERTY_DELAY_TIME_LEVEL, PROPERTY_KEYS, PROPERTY_TAGS
from rmqlab.message.topics import OFFSET_MOVED_EVENT, MessageQueue
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    FLAG_COMMIT_OFFSET,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
)
from rmqlab.protocol.header import RemotingCommandException
from rmqlab.protocol.namesrv import MASTER_ID
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab.store.config import BrokerRole
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from rmqlab.broker.processor import Handler
    from rmqlab.events import Stage
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.protocol.topic_config import SubscriptionGroupConfig
    from rmqlab.store.queue_reader import GetMessageResult


class OffsetMovedEvent(RemotingSerializable):
    """A group asked for `offset_request` of a queue and was sent to `offset_new` (4.8.0, same name)."""

    consumer_group: str
    message_queue: MessageQueue
    offset_request: Long
    offset_new: Long


def offset_moved_message(event: OffsetMovedEvent, host: Host, now: int) -> MessageExtBrokerInner:
    """The event for the system topic OFFSET_MOVED_EVENT, tagged and keyed with the group."""
    group = event.consumer_group
    # Java sets delay level 0, which leaves a property behind.
    properties = {PROPERTY_TAGS: group, PROPERTY_DELAY_TIME_LEVEL: "0", PROPERTY_KEYS: group}
    message = Message(OFFSET_MOVED_EVENT, event.encode(), properties=properties)
    return MessageExtBrokerInner.of_broker(message, 0, host, now)


_CODES = dict(ResponseCode.__members__)
GROUP_SYS_FLAG = 0
"""Of every group here: it tells of units, which are no subject of ours (`SubscriptionGroupConfig.groupSysFlag`)."""
_REQUIRED = (
    "consumer_group", "topic", "queue_id", "queue_offset", "max_msg_nums", "sys_flag", "commit_offset",
    "suspend_timeout_millis", "sub_version",
)  # fmt: skip


@dataclass(slots=True, eq=False)
class PullMessageProcessor:
    """Answers PULL_MESSAGE (11): refuses, returns messages, says where to go on, or holds the request.

    `on_offset_moved` writes the event of a consumer that is sent elsewhere; a replay writes it once only.
    """

    parts: PullDependencies
    store: MessageStore
    offsets: ConsumerOffsetManager
    hold_service: PullRequestHoldService
    timers: Timers
    hooks: BrokerHooks
    on_offset_moved: Callable[[OffsetMovedEvent, int], object] = field(init=False)

    def __post_init__(self) -> None:
        self.on_offset_moved = self.put_offset_moved

    def put_offset_moved(self, event: OffsetMovedEvent, now: int) -> None:
        """Store the event that a consumer was sent elsewhere, in versions that do."""
        if self.parts.rules.stores_offset_moved_event:
            self.store.put_message(offset_moved_message(event, self.parts.config.store_host, now), now)

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {
            RequestCode.PULL_MESSAGE: self.process,
            # a 4.8.0 broker leaves it without an answer; newer lite pull consumers would get nothing
            RequestCode.LITE_PULL_MESSAGE: self.process,
        }

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a pull; None when it is held.

        Raises:
            ProcessorError: a pull without a required field.
        """
        return self._process(channel, command, now, broker_allow_suspend=True)

    def execute_request_when_wakeup(self, channel: Channel, request: RemotingCommand) -> None:
        """Execute a held pull for good: not held again, no offset committed; the answer goes to the channel."""
        try:
            response = self._process(channel, request, self.timers.now, broker_allow_suspend=False)
        except (RemotingCommandException, ProcessorError):
            return  # Java logs it and the client times out
        if response is not None:
            channel.send(response.reply_to(request, self.parts.rules.wire))

    def _process(
        self, channel: Channel, command: RemotingCommand, now: int, *, broker_allow_suspend: bool
    ) -> RemotingCommand | None:
        header = command.decode_header(PullMessageRequestHeader)
        require_fields(header, _REQUIRED)
        try:
            group_config = check_permissions(self.parts, channel, header)
            subscription, filter_data = subscription_in_force(self.parts, header, group_config, now)
        except RequestRefused as refused:
            self._observe(channel, header, refused.code)
            return RemotingCommand.response(refused.code, refused.remark, PullMessageResponseHeader())

        group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
        kind = ExpressionForRetryMessageFilter if self.parts.config.filter_support_retry else ExpressionMessageFilter
        message_filter = kind(subscription, filter_data, self.parts.filters, self.parts.rules)
        report = self._report_filtered(channel, header, subscription)
        result = self.store.get_message(
            group, topic, queue_id, header.queue_offset, header.max_msg_nums, message_filter, report
        )
        response: RemotingCommand | None
        if result is None:
            response = RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, "store getMessage return null", PullMessageResponseHeader()
            )
            self._observe(channel, header, ResponseCode.SYSTEM_ERROR)
        else:
            suggested = self._suggest_broker_id(result, group_config)
            answer = PullMessageResponseHeader(
                suggested, result.next_begin_offset, result.min_offset, result.max_offset
            )
            if self.parts.rules.wire.tells_sys_flags:
                topic_config = self.parts.topics.select_topic_config(topic)
                answer.topic_sys_flag = 0 if topic_config is None else topic_config.topic_sys_flag
                answer.group_sys_flag = GROUP_SYS_FLAG
            status = result.status.name
            code = _CODES[self.parts.rules.code_of_status(status, header.queue_offset)]
            is_held = (
                code is ResponseCode.PULL_NOT_FOUND and broker_allow_suspend and bool(header.sys_flag & FLAG_SUSPEND)
            )
            self._observe(channel, header, code, result, is_held=is_held)
            if code is ResponseCode.PULL_OFFSET_MOVED:
                code = self._offset_moved(header, result, answer, group_config, now)
            if is_held:
                response = None
                self._hold(channel, command, header, subscription, message_filter, now)
            else:
                body = b"".join(result.messages) if code is ResponseCode.SUCCESS else None
                if body is not None and self.hooks.on_get is not None:
                    self.hooks.on_get(group, topic, queue_id, len(result.messages), len(body), now)
                response = RemotingCommand.response(code, status, answer, body)
        is_master = self.store.config.broker_role is not BrokerRole.SLAVE
        if broker_allow_suspend and header.sys_flag & FLAG_COMMIT_OFFSET and is_master:
            self.offsets.commit_offset(channel.remote_address, group, topic, queue_id, header.commit_offset)
        return response

    def _suggest_broker_id(self, result: GetMessageResult, group_config: SubscriptionGroupConfig) -> int:
        """Row S-72: what Java decides before it looks at `slaveReadEnable` is always overwritten by that look."""
        if not self.parts.config.slave_read_enable:
            return MASTER_ID
        return (
            group_config.which_broker_when_consume_slowly
            if result.suggest_pulling_from_slave
            else group_config.broker_id
        )

    def _offset_moved(
        self,
        header: PullMessageRequestHeader,
        result: GetMessageResult,
        answer: PullMessageResponseHeader,
        group_config: SubscriptionGroupConfig,
        now: int,
    ) -> ResponseCode:
        """Row S-74: a master writes an event; a slave that does not check offsets asks to come again."""
        store_config = self.store.config
        if store_config.broker_role is BrokerRole.SLAVE and not store_config.offset_check_in_slave:
            answer.suggest_which_broker_id = group_config.broker_id
            return ResponseCode.PULL_RETRY_IMMEDIATELY
        queue = MessageQueue(header.topic, self.parts.config.broker_name, header.queue_id)
        event = OffsetMovedEvent(header.consumer_group, queue, header.queue_offset, result.next_begin_offset)
        self.on_offset_moved(event, now)
        return ResponseCode.PULL_OFFSET_MOVED

    def _hold(
        self,
        channel: Channel,
        command: RemotingCommand,
        header: PullMessageRequestHeader,
        subscription: SubscriptionData,
        message_filter: ExpressionMessageFilter,
        now: int,
    ) -> None:
        """Row S-73: wait for a message as long as the client asked, or `shortPollingTimeMills`."""
        timeout = header.suspend_timeout_millis
        if not self.parts.config.long_polling_enable:
            timeout = self.parts.config.short_polling_time_mills
        pull = PullRequest(command, channel, timeout, now, header.queue_offset, subscription, message_filter)
        self.hold_service.suspend_pull_request(header.topic, header.queue_id, pull)

    def _observe(
        self,
        channel: Channel,
        header: PullMessageRequestHeader,
        code: ResponseCode,
        result: GetMessageResult | None = None,
        *,
        is_held: bool = False,
    ) -> None:
        observe = self.hooks.observe_pull
        if observe is None:
            return
        client, group = self.parts.consumers.client_id(channel, header.consumer_group), header.consumer_group
        status, following, count = (None, None, 0) if result is None else (
            result.status.name, result.next_begin_offset, len(result.messages),
        )  # fmt: skip
        at = header.queue_id, header.queue_offset
        observe(Pull(client, group, header.topic, *at, int(code), status, following, count, is_held))

    def _report_filtered(
        self, channel: Channel, header: PullMessageRequestHeader, subscription: SubscriptionData
    ) -> Callable[[int, str], None] | None:
        """What the store calls for every entry that the filter rejects, None when there is no listener."""
        observe = self.hooks.observe_pull
        if observe is None:
            return None

        def report(queue_offset: int, layer: str) -> None:
            client = self.parts.consumers.client_id(channel, header.consumer_group)
            stage: Stage = "sql"
            if layer == "consume_queue":
                stage = "tags_code" if subscription.is_tag else "bitmap"
            observe(
                Filtered(
                    client, header.consumer_group, header.topic, header.queue_id, queue_offset, stage,
                    subscription.sub_string, subscription.sub_version,
                )
            )  # fmt: skip

        return report
