"""What a broker may ask of a client (4.8.0 `ClientRemotingProcessor`): 39, 40, 220, 221."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.client.transaction_producer import TransactionMQProducer
from rmqlab.message.java import is_blank
from rmqlab.message.properties import PROPERTY_PRODUCER_GROUP
from rmqlab.message.record import decode_record
from rmqlab.protocol.admin_headers import GetConsumerStatusRequestHeader, ResetOffsetRequestHeader
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
