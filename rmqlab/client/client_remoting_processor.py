"""What a broker may ask of a client (4.8.0 `ClientRemotingProcessor`): 39, 40, 220, 221, 307, 309, 326."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.client.request_reply import receive_reply
from rmqlab.client.running_info import consume_directly, running_info
from rmqlab.client.transaction_producer import TransactionMQProducer
from rmqlab.message.java import is_blank
from rmqlab.message.properties import PROPERTY_PRODUCER_GROUP
from rmqlab.message.record import decode_record
from rmqlab.protocol.admin_headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    ResetOffsetRequestHeader,
)
from rmqlab.protocol.bodies import GetConsumerStatusBody, ResetOffsetBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import CheckTransactionStateRequestHeader

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance


class ClientRemotingProcessor:
    """Takes requests from brokers; those that take time run beside."""

    def __init__(self, instance: MQClientInstance) -> None:
        """One for each instance."""
        self._instance = instance

    def process_request(self, addr: str, request: RemotingCommand) -> RemotingCommand | None:
        """Handle a request from the broker at `addr`; the answer, or None where 4.8.0 gives none."""
        code = request.code
        if code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            # 4.8.0 does not look which group it was: all consumers of the instance rebalance (row S-84)
            self._instance.rebalance_service.wakeup()
        elif code == RequestCode.CHECK_TRANSACTION_STATE:
            self._check_transaction_state(addr, request)
        elif code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET:
            self._reset_offset(request)
        elif code == RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
            return self._consumer_status(request)
        elif code == RequestCode.GET_CONSUMER_RUNNING_INFO:
            return self._running_info(request)
        elif code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            return self._consume_directly(request)
        elif code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT:
            return self._reply(request)
        return None

    def _check_transaction_state(self, addr: str, request: RemotingCommand) -> None:
        header = request.decode_header(CheckTransactionStateRequestHeader)
        message = decode_record(request.body or b"")
        if message is None:
            return
        message.transaction_id = message.unique_id or None
        producer = self._instance.producer_table.get(message.properties.get(PROPERTY_PRODUCER_GROUP, ""))
        if isinstance(producer, TransactionMQProducer):
            check = producer.check_transaction_state(addr, message, header)
            self._instance.runtime.spawn(check, "CheckTransactionState")

    def _running_info(self, request: RemotingCommand) -> RemotingCommand:
        """4.8.0 adds its threads' stacks when asked; a coroutine has no such list, so there is none."""
        header = request.decode_header(GetConsumerRunningInfoRequestHeader)
        consumer = self._instance.consumer_table.get(header.consumer_group)
        if not isinstance(consumer, DefaultMQPushConsumer):
            return _no_group(header.consumer_group)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=running_info(consumer).encode())

    def _consume_directly(self, request: RemotingCommand) -> RemotingCommand:
        header = request.decode_header(ConsumeMessageDirectlyResultRequestHeader)
        message = decode_record(request.body or b"")
        consumer = self._instance.consumer_table.get(header.consumer_group)
        if message is None or not isinstance(consumer, DefaultMQPushConsumer):
            return _no_group(header.consumer_group)
        result = consume_directly(consumer, message, header.broker_name)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=result.encode())

    def _reply(self, request: RemotingCommand) -> RemotingCommand:
        try:
            receive_reply(self._instance, request)
        except Exception:  # noqa: BLE001 - whatever it is, 4.8.0 says the same
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "process reply message fail")
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _consumer_status(self, request: RemotingCommand) -> RemotingCommand:
        header = request.decode_header(GetConsumerStatusRequestHeader)
        consumer = self._instance.consumer_table.get(header.group)
        held = consumer.offset_store.offset_table if isinstance(consumer, DefaultMQPushConsumer) else {}
        offsets = {
            queue: offset for queue, offset in held.items() if is_blank(header.topic) or queue.topic == header.topic
        }
        body = GetConsumerStatusBody(message_queue_table=offsets)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def _reset_offset(self, request: RemotingCommand) -> None:
        header = request.decode_header(ResetOffsetRequestHeader)
        offsets = ResetOffsetBody.decode(request.body).offset_table if request.body else {}
        consumer = self._instance.consumer_table.get(header.group)
        if isinstance(consumer, DefaultMQPushConsumer):
            self._instance.runtime.spawn(consumer.reset_offset(header.topic, offsets), "ResetOffset")


def _no_group(group: str) -> RemotingCommand:
    return RemotingCommand.response(
        ResponseCode.SYSTEM_ERROR, f"The Consumer Group <{group}> not exist in this consumer"
    )
