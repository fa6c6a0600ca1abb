"""What a broker may ask of a client (4.8.0 `ClientRemotingProcessor`): 39, 40, 220."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.client.transaction_producer import TransactionMQProducer
from rmqlab.message.properties import PROPERTY_PRODUCER_GROUP
from rmqlab.message.record import decode_record
from rmqlab.protocol.admin_headers import ResetOffsetRequestHeader
from rmqlab.protocol.bodies import ResetOffsetBody
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.producer_headers import CheckTransactionStateRequestHeader

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.protocol.command import RemotingCommand


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

    def _reset_offset(self, request: RemotingCommand) -> None:
        header = request.decode_header(ResetOffsetRequestHeader)
        offsets = ResetOffsetBody.decode(request.body).offset_table if request.body else {}
        consumer = self._instance.consumer_table.get(header.group)
        if isinstance(consumer, DefaultMQPushConsumer):
            self._instance.runtime.spawn(consumer.reset_offset(header.topic, offsets), "ResetOffset")
