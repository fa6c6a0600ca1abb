"""A producer ends its transaction (4.8.0 `EndTransactionProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor_error import NULL_POINTER, ProcessorError, require
from rmqlab.message.java import NumberFormatError, parse_int
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_PREPARED,
    in_hash_map_order,
    properties_to_string,
)
from rmqlab.message.sysflag import (
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_ROLLBACK_TYPE,
    reset_transaction_value,
)
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import EndTransactionRequestHeader
from rmqlab.store.broker_role import BrokerRole
from rmqlab.store.put_message_result import PutMessageStatus

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.channel import Channel

NOT_SET = "not set any response code"
_LIMITS = (
    "The message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 128k, msg properties length limit 32k."
)
_STORED = {
    PutMessageStatus.PUT_OK,
    PutMessageStatus.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE,
}
_REFUSED = {
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: (ResponseCode.SYSTEM_ERROR, "Create mapped file failed."),
    PutMessageStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, _LIMITS),
    PutMessageStatus.PROPERTIES_SIZE_EXCEEDED: (ResponseCode.MESSAGE_ILLEGAL, _LIMITS),
    PutMessageStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now."),
    PutMessageStatus.OS_PAGECACHE_BUSY: (
        ResponseCode.SYSTEM_ERROR,
        "OS page cache busy, please try another machine",
    ),
    PutMessageStatus.UNKNOWN_ERROR: (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}


class EndTransactionProcessor:
    """Answers END_TRANSACTION (37): commit brings the half message to its topic, rollback only marks it as done."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """End a transaction; None (no answer) when the producer does not know yet."""
        header = command.decode_header(EndTransactionRequestHeader)
        if self._broker.message_store.config.broker_role is BrokerRole.SLAVE:
            return RemotingCommand.response(ResponseCode.SLAVE_NOT_AVAILABLE, NOT_SET)
        if header.commit_or_rollback not in {TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE}:
            return None
        require(header, ("commit_log_offset", "tran_state_table_offset"))
        service = self._broker.transactional_message_service
        half = service.half_message(header.commit_log_offset)
        if half is None:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        wrong = _check_prepare_message(half, header)
        if wrong is not None:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, wrong)
        if header.commit_or_rollback == TRANSACTION_ROLLBACK_TYPE:
            service.delete_prepare_message(half, now)
            # Java leaves the remark of an answer that nobody filled in.
            return RemotingCommand.response(ResponseCode.SUCCESS, NOT_SET)
        status = self._broker.message_store.put_message(_final_message(half, header), now).status
        if status not in _STORED:
            return RemotingCommand.response(*_REFUSED[status])
        service.delete_prepare_message(half, now)
        return RemotingCommand.response(ResponseCode.SUCCESS)


def _check_prepare_message(half: MessageExt, header: EndTransactionRequestHeader) -> str | None:
    group = half.properties.get(PROPERTY_PRODUCER_GROUP)
    if group is None:
        raise ProcessorError(NULL_POINTER)
    if group != header.producer_group:
        return "The producer group wrong"
    if half.queue_offset != header.tran_state_table_offset:
        return "The transaction state table offset wrong"
    if half.commit_log_offset != header.commit_log_offset:
        return "The commit log offset wrong"
    return None


def _final_message(half: MessageExt, header: EndTransactionRequestHeader) -> MessageExtBrokerInner:
    """Return the committed message.

    Java takes three properties away after the text of the properties was made, so the stored text keeps them.
    """
    properties = in_hash_map_order(half.properties)
    text = properties_to_string(properties)
    try:
        queue_id = parse_int(properties.get(PROPERTY_REAL_QUEUE_ID))
    except NumberFormatError as error:
        raise ProcessorError(f"java.lang.NumberFormatException: {error}") from None
    topic = properties.get(PROPERTY_REAL_TOPIC)
    if topic is None:
        raise ProcessorError(NULL_POINTER)
    for name in (PROPERTY_REAL_TOPIC, PROPERTY_REAL_QUEUE_ID, PROPERTY_TRANSACTION_PREPARED):
        properties.pop(name, None)
    return MessageExtBrokerInner(
        topic=topic,
        body=half.body,
        flag=half.flag,
        properties=properties,
        transaction_id=half.unique_id,
        queue_id=queue_id,
        queue_offset=header.tran_state_table_offset,
        sys_flag=reset_transaction_value(half.sys_flag, header.commit_or_rollback),
        born_timestamp=half.born_timestamp,
        born_host=half.born_host,
        store_timestamp=half.store_timestamp,
        store_host=half.store_host,
        reconsume_times=half.reconsume_times,
        prepared_transaction_offset=header.commit_log_offset,
        properties_string=text,
    )
