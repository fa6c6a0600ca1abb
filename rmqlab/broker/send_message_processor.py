"""Messages from producers (`SendMessageProcessor`, `AbstractSendMessageProcessor.msgCheck`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.consumer_send_msg_back import SendDependencies, dead_letter_place, max_reconsume_times
from rmqlab.broker.processor import NULL_POINTER, ProcessorError, RequestRefused, require_fields
from rmqlab.events import DeadLetter
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.java import NumberFormatError, in_hash_map_order, parse_boolean, string_hash, utf16_length
from rmqlab.message.message import Host, MessageExt, MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_CLUSTER,
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    string_to_properties,
    text_with_properties,
)
from rmqlab.message.record import RecordError
from rmqlab.message.sysflag import MULTI_TAG, MULTI_TAGS_FLAG
from rmqlab.message.topics import (
    RETRY_GROUP_TOPIC_PREFIX,
    TOPIC_MAX_LENGTH,
    is_retry_topic,
    validate_send_topic,
    validate_topic,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import (
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)
from rmqlab.protocol.topic_config import PERM_READ_WRITE, PERM_WRITE, UNIT_FLAG, UNIT_SUB_FLAG
from rmqlab.store.dispatch_request import PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.processor import Handler
    from rmqlab.broker.topic_config_manager import TopicConfigManager
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.topic_config import TopicConfig
    from rmqlab.protocol.wire import Wire
    from rmqlab.store.dispatch_request import PutMessageResult

    SendHeader = SendMessageRequestHeader | SendMessageRequestHeaderV2


# The message is stored; the code tells about disk and slave.
_CODE_OF_STORED = {
    PutMessageStatus.PUT_OK: ResponseCode.SUCCESS,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
_LIMITS = (
    "the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 128k, msg properties length limit 32k."
)
# The log, the consume queues and the index lie on one disk.
_UNAVAILABLE = (
    "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
    "[CL: {used:5.2f} CQ: {used:5.2f} INDEX: {used:5.2f}], "
    "messages are put to the slave, message store has been shut down, etc."
)
# The message is not stored.
_REFUSAL_OF_STATUS = {
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: (
        ResponseCode.SYSTEM_ERROR,
        "create mapped file failed, server is busy or broken.",
    ),
    PutMessageStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, _LIMITS),
    PutMessageStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, _UNAVAILABLE),
}


class SendMessageProcessor:
    """Answers SEND_MESSAGE (10), SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320).

    The answer leaves before pulls that wait for the message are executed. Without `prepare_message`, which stores half
    messages, transactions are refused as with `rejectTransactionMessage`.
    """

    def __init__(self, parts: SendDependencies) -> None:
        self._config, self._store, self._topics, self._groups, self._choose, self._hooks, self._rules, _ = parts
        self._is_locked = parts.is_locked
        self._wire = self._rules.wire
        self._store_host = parts.config.store_host
        # Two brokers of one machine may store at the same ms.
        self._unique_ids = UniqueIdMaker(self._store_host.ip, 0, string_hash(parts.config.broker_name))
        self.prepare_message: Callable[[MessageExtBrokerInner, int], PutMessageResult] | None = None
        self.handlers: dict[int, Handler] = {
            RequestCode.SEND_MESSAGE: self._send_message,
            RequestCode.SEND_MESSAGE_V2: self._send_message,
            RequestCode.SEND_BATCH_MESSAGE: self._send_message,
        }

    def _send_message(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Store a message or a batch.

        Raises:
            ProcessorError: when a required field is null.
        """
        header: SendHeader
        if command.code == RequestCode.SEND_MESSAGE:
            header = command.decode_header(SendMessageRequestHeader)
        else:
            header = command.decode_header(SendMessageRequestHeaderV2)
        send = self._send_batch if header.batch else self._send
        try:
            topic_config = check_message(self._config, self._topics, self._wire, channel, header)
            return send(channel, command, header, topic_config, now)
        except RequestRefused as refused:
            return self._answer(refused.code, refused.remark)
        except (NumberFormatError, RecordError) as error:
            raise ProcessorError(_java_exception(error)) from error

    def _send(
        self, channel: Channel, command: RemotingCommand, header: SendHeader, topic_config: TopicConfig, now: int
    ) -> RemotingCommand:
        queue_id = self._queue_id(header, topic_config)
        message = MessageExtBrokerInner(topic=header.topic, queue_id=queue_id)
        if is_retry_topic(header.topic):
            self._dead_letter(command, header, message, now)
        group = None if message.topic == header.topic else header.topic.removeprefix(RETRY_GROUP_TOPIC_PREFIX)
        self._fill(channel, command, header, topic_config, message)
        added = {} if group is None else dict(self._wire.dlq_properties)
        if self._wire.makes_unique_id and not message.unique_id:
            added[PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = self._unique_ids.create(now)
        if added:
            message.properties = in_hash_map_order(message.properties | added, self._wire.property_capacity)
        message.properties_string = text_with_properties(message.properties)
        prepared = message.properties.get(PROPERTY_TRANSACTION_PREPARED)
        if prepared is not None and parse_boolean(prepared):
            if self._config.reject_transaction_message or self.prepare_message is None:
                remark = f"the broker[{self._config.broker_ip1}] sending transaction message is forbidden"
                raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
            result = self.prepare_message(message, now)
        else:
            result = self._store.async_put_message(message, now)
            if group is not None and result.status is PutMessageStatus.PUT_OK:
                self._hooks.tell(DeadLetter(group, message.unique_id))
        return self._put_answer(message, result, queue_id, now)

    def _send_batch(
        self, channel: Channel, command: RemotingCommand, header: SendHeader, topic_config: TopicConfig, now: int
    ) -> RemotingCommand:
        """Store a batch; the store writes the batch's own properties after those of each message in its body."""
        queue_id = self._queue_id(header, topic_config)
        length = utf16_length(header.topic)
        if length > TOPIC_MAX_LENGTH:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, f"message topic length too long {length}")
        batch = MessageExt(topic=header.topic, queue_id=queue_id)
        self._fill(channel, command, header, topic_config, batch)
        if batch.body is None:
            raise ProcessorError(NULL_POINTER)
        return self._put_answer(batch, self._store.async_put_messages(batch, now), queue_id, now)

    def _fill(
        self,
        channel: Channel,
        command: RemotingCommand,
        header: SendHeader,
        topic_config: TopicConfig,
        message: MessageExt,
    ) -> None:
        """Copy the sender's fields; the broker adds the property CLUSTER, and what its version adds."""
        message.sys_flag = header.sys_flag
        if topic_config.topic_filter_type == MULTI_TAG:
            message.sys_flag |= MULTI_TAGS_FLAG
        message.body = command.body
        message.flag = header.flag
        properties = string_to_properties(header.properties)
        if self._wire.stored_properties:
            values = self._told_properties()
            for name in self._wire.stored_properties:
                properties[name] = values[name]
        properties[PROPERTY_CLUSTER] = self._config.broker_cluster_name
        message.properties = in_hash_map_order(properties, self._wire.property_capacity)
        message.born_timestamp = header.born_timestamp
        message.born_host = Host.parse(channel.remote_address)
        message.store_host = self._store_host
        message.reconsume_times = header.reconsume_times or 0

    def _queue_id(self, header: SendHeader, topic_config: TopicConfig) -> int:
        """The queue asked for, or one of the broker's choice.

        4.8.0 takes a random number modulo the write queues and forgets its sign here, so that a message may land in a
        queue below 0, which no consumer pulls. All 2n-1 outcomes can be chosen, those that exist first. 5.x does not.
        """
        if header.queue_id >= 0:
            return header.queue_id
        nums = topic_config.write_queue_nums
        if nums <= 0:
            raise ProcessorError("java.lang.ArithmeticException: / by zero")
        chosen = self._choose(f"queue of {header.topic}", 2 * nums - 1 if self._rules.chooses_below_0 else nums)
        return chosen if chosen < nums else nums - 1 - chosen

    def _dead_letter(
        self, command: RemotingCommand, header: SendHeader, message: MessageExtBrokerInner, now: int
    ) -> None:
        """Turn a message to a retry topic that has been retried often enough into a dead letter."""
        group = header.topic[len(RETRY_GROUP_TOPIC_PREFIX) :]
        group_config = self._groups.find_subscription_group_config(group)
        if group_config is None:
            remark = f"subscription group not exist, {group} {self._wire.suggest_todo}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        most = max_reconsume_times(command, header, group_config, self._rules)
        if self._rules.goes_to_dlq(header.reconsume_times or 0, most, self._is_locked(group, now)):
            message.topic, message.queue_id = dead_letter_place(group, self._topics, self._choose, self._rules)

    def _put_answer(self, message: MessageExt, result: PutMessageResult, queue_id: int, now: int) -> RemotingCommand:
        code = _CODE_OF_STORED.get(result.status)
        if code is None:
            refusal, remark = _REFUSAL_OF_STATUS[result.status]
            return self._answer(refusal, remark.format(used=self._store.running_flags.disk_used))
        return self._answer(code, None, self.stored(message, result, queue_id, now))

    def stored(
        self, message: MessageExt, result: PutMessageResult, queue_id: int, now: int
    ) -> SendMessageResponseHeader:
        """Count what was stored, and say where it is."""
        if self._hooks.on_put is not None:
            self._hooks.on_put(message.topic, result.msg_num, result.wrote_bytes, now)
        unique_id = message.unique_id if self._wire.tells_unique_id else None
        return SendMessageResponseHeader(result.msg_id, queue_id, result.logics_offset, unique_id)

    def _answer(
        self, code: ResponseCode, remark: str | None, header: SendMessageResponseHeader | None = None
    ) -> RemotingCommand:
        """Every answer to a send says the region and whether to trace, also a refusal."""
        response = RemotingCommand.response(code, remark, header or SendMessageResponseHeader())
        response.ext_fields = self._told_properties()
        return response

    def _told_properties(self) -> dict[str, str]:
        config = self._config
        return {
            PROPERTY_MSG_REGION: config.region_id,
            PROPERTY_TRACE_SWITCH: "true" if config.trace_on else "false",
        }


def _java_exception(error: NumberFormatError | RecordError) -> str:
    """What Java prints of the exception that a message that cannot be stored meets there."""
    if isinstance(error, NumberFormatError):
        return f"java.lang.NumberFormatException: {error}"
    if error.java_error.startswith("Buffer"):
        return f"java.nio.{error.java_error}"
    return f"java.lang.{error.java_error}: {error}"


def check_message(
    config: BrokerConfig,
    topics: TopicConfigManager,
    wire: Wire,
    channel: Channel,
    header: SendHeader,
) -> TopicConfig:
    """The topic of a message that the broker takes; one it does not know is made when that is allowed.

    A broker that may not be written to refuses ordered topics only, since clients no longer see it as writable anyway.
    A queue id counts as valid up to the larger of the topic's read and write queue numbers, and a negative one asks the
    broker to choose.

    Raises:
        Refused: when a field that is needed is null.
        ProcessorError: when a field that is needed is null.
    """
    topic = header.topic
    if not config.broker_permission & PERM_WRITE and topics.is_order_topic(topic):
        raise RequestRefused(
            ResponseCode.NO_PERMISSION, f"the broker[{config.broker_ip1}] sending message is forbidden"
        )
    remark = validate_topic(topic)
    if remark is not None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    remark = validate_send_topic(topic)
    if remark is not None:
        raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
    topic_config = topics.select_topic_config(topic)
    if topic_config is None:
        topic_config = _new_topic(topics, wire, header)
    require_fields(header, ("queue_id", "sys_flag", "born_timestamp", "flag"))
    if header.queue_id >= max(topic_config.write_queue_nums, topic_config.read_queue_nums):
        remark = f"request queueId[{header.queue_id}] is illegal, {topic_config} Producer: {channel.remote_address}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    return topic_config


def _new_topic(topics: TopicConfigManager, wire: Wire, header: SendHeader) -> TopicConfig:
    require_fields(header, ("default_topic", "default_topic_queue_nums"))
    topic, topic_sys_flag = header.topic, 0
    if header.unit_mode:
        topic_sys_flag = UNIT_SUB_FLAG if is_retry_topic(topic) else UNIT_FLAG
    topic_config = topics.create_topic_in_send_message_method(
        topic, header.default_topic, header.default_topic_queue_nums, topic_sys_flag
    )
    if topic_config is None and is_retry_topic(topic):
        topic_config = topics.create_topic_in_send_message_back_method(topic, 1, PERM_READ_WRITE, topic_sys_flag)
    if topic_config is None:
        raise RequestRefused(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!{wire.suggest_todo}"
        )
    return topic_config
