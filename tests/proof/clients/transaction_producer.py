"""TransactionMQProducer: half messages, the local transaction, the broker's question how it went (same name)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS, MQClientError, check_message
from rmqlab.client.mq_client_api import SendResult, SendStatus
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.message.ids import decode_message_id
from rmqlab.message.message import Message, MessageExt
from rmqlab.message.properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_PREPARED,
)
from rmqlab.message.record import decode_record
from rmqlab.message.sysflag import TRANSACTION_COMMIT_TYPE, TRANSACTION_NOT_TYPE, TRANSACTION_ROLLBACK_TYPE
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import CheckTransactionStateRequestHeader, EndTransactionRequestHeader

if TYPE_CHECKING:
    from rmqlab.client.client_config import ProducerConfig
    from rmqlab.client.mq_client_instance import MQClientInstance


class LocalTransactionState(Enum):
    """How the local transaction went; the value is the flag that travels."""

    COMMIT_MESSAGE = TRANSACTION_COMMIT_TYPE
    ROLLBACK_MESSAGE = TRANSACTION_ROLLBACK_TYPE
    UNKNOW = TRANSACTION_NOT_TYPE


@dataclass(slots=True)
class TransactionListener:
    """`execute` runs the local transaction of a half message, `check` tells later how it went; None means UNKNOW."""

    execute: Callable[[Message, object], LocalTransactionState | None]
    check: Callable[[MessageExt], LocalTransactionState | None]


class TransactionMQProducer(DefaultMQProducer):
    """A producer whose messages become visible when its local transaction commits."""

    def __init__(
        self,
        group: str,
        instance: MQClientInstance,
        listener: TransactionListener,
        config: ProducerConfig | None = None,
    ) -> None:
        """A producer that has not started."""
        super().__init__(group, instance, config)
        self._listener = listener
        instance.processors[RequestCode.CHECK_TRANSACTION_STATE] = partial(_check_transaction_state, instance)

    async def send_message_in_transaction(
        self, message: Message, arg: object = None
    ) -> tuple[SendResult, LocalTransactionState]:
        """Send a half message, run the local transaction and tell the broker; a delay level is ignored.

        Raises `MQClientError` when the half message cannot be sent.
        """
        message.properties.pop(PROPERTY_DELAY_TIME_LEVEL, None)
        check_message(message, self.config.max_message_size)
        message.properties[PROPERTY_TRANSACTION_PREPARED] = "true"
        message.properties[PROPERTY_PRODUCER_GROUP] = self.group
        try:
            result = await self.send(message)
        except CALL_ERRORS as error:
            raise MQClientError("send message Exception") from error
        state, remark = LocalTransactionState.ROLLBACK_MESSAGE, None
        if result.send_status is SendStatus.SEND_OK:
            if result.transaction_id is not None:
                message.put_user_property("__transactionId__", result.transaction_id)
            message.transaction_id = message.unique_id
            try:
                state = self._listener.execute(message, arg) or LocalTransactionState.UNKNOW
            except Exception as error:  # noqa: BLE001 - whatever it raises, the broker will ask again
                state = LocalTransactionState.UNKNOW
                remark = f"executeLocalTransactionBranch exception: {error!r}"
        await self._end_transaction(result, state, remark)
        return result, state

    async def _end_transaction(self, result: SendResult, state: LocalTransactionState, remark: str | None) -> None:
        addr = self.instance.find_broker_address_in_publish(result.message_queue.broker_name)
        header = EndTransactionRequestHeader(
            producer_group=self.group,
            tran_state_table_offset=result.queue_offset,
            commit_log_offset=decode_message_id(str(result.offset_msg_id or result.msg_id)).offset,
            commit_or_rollback=state.value,
            msg_id=str(result.msg_id),
            transaction_id=result.transaction_id,
        )
        await self._tell(addr, header, remark)

    async def check_transaction_state(
        self, addr: str, message: MessageExt, request: CheckTransactionStateRequestHeader
    ) -> None:
        """Answer the broker at `addr` that asks how the local transaction of `message` went."""
        remark = None
        try:
            state = self._listener.check(message) or LocalTransactionState.UNKNOW
        except Exception as error:  # noqa: BLE001 - as above
            state, remark = LocalTransactionState.UNKNOW, f"checkLocalTransactionState Exception: {error!r}"
        header = EndTransactionRequestHeader(
            producer_group=self.group,
            tran_state_table_offset=request.tran_state_table_offset,
            commit_log_offset=request.commit_log_offset,
            commit_or_rollback=state.value,
            from_transaction_check=True,
            msg_id=str(message.client_msg_id),
            transaction_id=request.transaction_id,
        )
        await self._tell(addr, header, remark)

    async def _tell(self, addr: str | None, header: EndTransactionRequestHeader, remark: str | None) -> None:
        if addr is None:
            return
        request = RemotingCommand.request(RequestCode.END_TRANSACTION, header)
        request.remark = remark
        try:
            await self.instance.runtime.invoke_oneway(addr, request)
        except CALL_ERRORS:
            return  # lost: the broker will ask


def _check_transaction_state(instance: MQClientInstance, addr: str, request: RemotingCommand) -> None:
    """The broker's question (39): the producer of the message's group answers, in a thread of its own."""
    header = request.decode_header(CheckTransactionStateRequestHeader)
    message = decode_record(request.body or b"")
    if message is None:
        return
    message.transaction_id = message.unique_id or None
    producer = instance.producer_table.get(message.properties.get(PROPERTY_PRODUCER_GROUP, ""))
    if isinstance(producer, TransactionMQProducer):
        instance.runtime.spawn(producer.check_transaction_state(addr, message, header), "CheckTransactionState")
