"""Half messages: stored aside until their producer commits them or rolls them back.

Source: `TransactionalMessageServiceImpl`, `TransactionalMessageBridge`, `EndTransactionProcessor`. Who asks
producers about half messages that were not ended is the `TransactionalMessageCheckService`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import (
    NOT_SET,
    ProcessorError,
    require_fields,
    require_not_null,
    success,
    system_error,
    with_header,
)
from rmqlab.message.ids import MessageIdError, decode_message_id
from rmqlab.message.java import NumberFormatError, in_hash_map_order, parse_int
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED,
    properties_to_string,
)
from rmqlab.message.record import decode_record
from rmqlab.message.sysflag import (
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_NOT_TYPE,
    TRANSACTION_ROLLBACK_TYPE,
    reset_transaction_value,
)
from rmqlab.message.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import EndTransactionRequestHeader
from rmqlab.store.config import BrokerRole
from rmqlab.store.dispatch_request import PutMessageStatus
from rmqlab_tools.live.extra.admin_headers import ResumeCheckHalfMessageRequestHeader

if TYPE_CHECKING:
    from rmqlab.broker.processor import Handler
    from rmqlab.message.message import Host, MessageExt
    from rmqlab.store.dispatch_request import PutMessageResult
    from rmqlab.store.message_store import MessageStore

REMOVE_TAG = "d"
_NOT_PUT_BACK = f"Exception was thrown when putting message back to {TRANS_HALF_TOPIC}."
_LIMITS = (
    "The message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 128k, msg properties length limit 32k."
)
_STORED = {PutMessageStatus.PUT_OK, PutMessageStatus.SLAVE_NOT_AVAILABLE}
_REFUSED = {
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: (ResponseCode.SYSTEM_ERROR, "Create mapped file failed."),
    PutMessageStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, _LIMITS),
    PutMessageStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now."),
}


class TransactionalMessageService:
    """The half topic holds prepared messages; an entry "d" in the op topic says that one is dealt with."""

    def __init__(self, store: MessageStore, store_host: Host) -> None:
        self._store = store
        self._store_host = store_host
        self.handlers: dict[int, Handler] = {
            RequestCode.END_TRANSACTION: with_header(EndTransactionRequestHeader, self._end_transaction),
            RequestCode.RESUME_CHECK_HALF_MESSAGE: with_header(ResumeCheckHalfMessageRequestHeader, self._resume_check),
        }

    def prepare_message(self, message: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store a message aside, in queue 0 of the half topic; its own topic and queue become properties."""
        message.properties[PROPERTY_REAL_TOPIC] = message.topic
        message.properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
        message.properties = in_hash_map_order(message.properties, self._store.rules.wire.property_capacity)
        message.sys_flag = reset_transaction_value(message.sys_flag, TRANSACTION_NOT_TYPE)
        message.topic = TRANS_HALF_TOPIC
        message.queue_id = 0
        message.properties_string = properties_to_string(message.properties)
        return self._store.async_put_message(message, now)

    def _end_transaction(self, header: EndTransactionRequestHeader, now: int) -> RemotingCommand | None:
        """Commit brings the half message to its topic, rollback only marks it as done.

        None (no answer) when the producer does not know yet.
        """
        if self._store.config.broker_role is BrokerRole.SLAVE:
            return RemotingCommand.response(ResponseCode.SLAVE_NOT_AVAILABLE, NOT_SET)
        require_fields(header, ("commit_or_rollback",))
        if header.commit_or_rollback not in {TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE}:
            return None
        require_fields(header, ("commit_log_offset", "tran_state_table_offset"))
        half = self._store.look_message_by_offset(header.commit_log_offset)
        if half is None:
            return system_error("Find prepared transaction message failed")
        wrong = _check_prepare_message(half, header)
        if wrong is not None:
            return system_error(wrong)
        if header.commit_or_rollback == TRANSACTION_ROLLBACK_TYPE:
            self.delete_prepare_message(half, now)
            return success(remark=NOT_SET)
        status = self._store.put_message(
            _final_message(half, header, self._store.rules.wire.property_capacity), now
        ).status
        if status not in _STORED:
            return RemotingCommand.response(*_REFUSED[status])
        self.delete_prepare_message(half, now)
        return success()

    def _resume_check(self, header: ResumeCheckHalfMessageRequestHeader, now: int) -> RemotingCommand:
        """Put a half message that was given up back into the half topic, as one not asked about yet."""
        try:
            offset = decode_message_id(require_not_null(header.msg_id)).offset
        except (MessageIdError, ProcessorError):
            return system_error(_NOT_PUT_BACK)
        record = self._store.commit_log.select_one_message_by_offset(offset)
        message = None if record is None else decode_record(record)
        if message is None:
            return system_error(_NOT_PUT_BACK)
        message.properties[PROPERTY_TRANSACTION_CHECK_TIMES] = "0"
        half = MessageExtBrokerInner.again(message, TRANS_HALF_TOPIC, 0, self._store.rules.wire.property_capacity)
        half.wait_store_msg_ok = False
        status = self._store.put_message(half, now).status
        if status is PutMessageStatus.PUT_OK:
            return success()
        return system_error(f"Put message back to {TRANS_HALF_TOPIC} failed.")

    def delete_prepare_message(self, message: MessageExt, now: int) -> None:
        """Note in the op topic that a half message is dealt with: its queue offset as text, tag "d"."""
        note = Message.of(TRANS_OP_HALF_TOPIC, str(message.queue_offset).encode(), tags=REMOVE_TAG)
        # Java gives the note an id of its own and WAIT=false after the text of its properties was made.
        self._store.put_message(MessageExtBrokerInner.of_broker(note, message.queue_id, self._store_host, now), now)


def _check_prepare_message(half: MessageExt, header: EndTransactionRequestHeader) -> str | None:
    if require_not_null(half.properties.get(PROPERTY_PRODUCER_GROUP)) != header.producer_group:
        return "The producer group wrong"
    if half.queue_offset != header.tran_state_table_offset:
        return "The transaction state table offset wrong"
    if half.commit_log_offset != header.commit_log_offset:
        return "The commit log offset wrong"
    return None


def _final_message(half: MessageExt, header: EndTransactionRequestHeader, capacity: int) -> MessageExtBrokerInner:
    """The committed message.

    Java takes three properties away after the text of the properties was made, so the stored text keeps them.
    """
    try:
        queue_id = parse_int(half.properties.get(PROPERTY_REAL_QUEUE_ID))
    except NumberFormatError as error:
        raise ProcessorError(f"java.lang.NumberFormatException: {error}") from None
    final = MessageExtBrokerInner.again(
        half, require_not_null(half.properties.get(PROPERTY_REAL_TOPIC)), queue_id, capacity
    )
    for name in (PROPERTY_REAL_TOPIC, PROPERTY_REAL_QUEUE_ID, PROPERTY_TRANSACTION_PREPARED):
        final.properties.pop(name, None)
    final.sys_flag = reset_transaction_value(half.sys_flag, header.commit_or_rollback)
    final.prepared_transaction_offset = header.commit_log_offset
    return final


def renewed(message: MessageExt, capacity: int) -> MessageExtBrokerInner:
    """A half message as it is stored again, without its flag and how often it was consumed.

    WAIT is set to false after the text of its properties was made.
    """
    inner = MessageExtBrokerInner.again(message, message.topic, message.queue_id, capacity)
    inner.flag = inner.reconsume_times = 0
    inner.wait_store_msg_ok = False
    inner.properties = in_hash_map_order(inner.properties, capacity)
    return inner
