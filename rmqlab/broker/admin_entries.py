"""Single entries of queues, for the admin tool (4.8.0 `AdminBrokerProcessor`)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from rmqlab.broker.consumer_filter_file import filter_data_text
from rmqlab.broker.processor_error import require
from rmqlab.filter.bits import BitsArray
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.message.ids import MessageIdError, decode_message_id
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import in_hash_map_order, properties_to_string
from rmqlab.message.topics import TRANS_HALF_TOPIC
from rmqlab.protocol import fastjson
from rmqlab.protocol.admin_bodies import ConsumeQueueData, QueryConsumeQueueResponseBody
from rmqlab.protocol.admin_headers import QueryConsumeQueueRequestHeader, ResumeCheckHalfMessageRequestHeader
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.rules import tags_code
from rmqlab.store.config import CQ_STORE_UNIT_SIZE
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import is_ext_addr
from rmqlab.store.put_message_result import PutMessageStatus

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.channel import Channel
    from rmqlab.store.consume_queue import ConsumeQueue
    from rmqlab.store.consume_queue_ext import CqExtUnit

_NOT_SET = "not set any response code"
_PROPERTY_TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"


class AdminEntries:
    """One method a request."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def query_consume_queue(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 321: entries of a queue, with what a group's filter makes of those in the extension."""
        header = command.decode_header(QueryConsumeQueueRequestHeader)
        require(header, ("topic",))
        topic, group = header.topic or "", header.consumer_group
        queue = self._broker.message_store.get_consume_queue(topic, header.queue_id)
        if queue is None:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, f"{header.queue_id}@{topic} is not exist!")
        body = QueryConsumeQueueResponseBody(
            max_queue_index=queue.max_offset_in_queue, min_queue_index=queue.min_offset_in_queue
        )
        message_filter = None
        if group is not None:
            subscription = self._broker.consumer_manager.find_subscription_data(group, topic)
            body.subscription_data = subscription
            if subscription is None:
                body.filter_data = f"{group}@{topic} is not online!"
            else:
                manager = self._broker.consumer_filter_manager
                data = manager.get(topic, group)
                body.filter_data = filter_data_text(data)
                message_filter = ExpressionMessageFilter(subscription, data, manager)
        entries = queue.get_index_buffer(header.index)
        if entries is None:
            remark = f"Index {header.index} of {header.queue_id}@{topic} is not exist!"
            return RemotingCommand.response(ResponseCode.SUCCESS, remark)
        wanted = entries[: max(header.count, 0) * CQ_STORE_UNIT_SIZE]
        body.queue_data = [_entry(queue, entry, message_filter) for entry in ENTRY.iter_unpack(wanted)]
        return RemotingCommand.response(ResponseCode.SUCCESS, _NOT_SET, body=body.encode())

    def resume_check_half_message(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 323: put a half message that was checked too often back where it is checked again."""
        header = command.decode_header(ResumeCheckHalfMessageRequestHeader)
        try:
            offset = decode_message_id(header.msg_id or "").offset
        except MessageIdError:
            offset = -1
        message = self._broker.message_store.look_message_by_offset(offset) if offset >= 0 else None
        if message is None:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR,
                "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC.",
            )
        result = self._broker.message_store.put_message(_half_again(message), now)
        if result.status is PutMessageStatus.PUT_OK:
            return RemotingCommand.response(ResponseCode.SUCCESS)
        return RemotingCommand.response(
            ResponseCode.SYSTEM_ERROR, "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."
        )


def _entry(
    queue: ConsumeQueue, entry: tuple[int, int, int], message_filter: ExpressionMessageFilter | None
) -> ConsumeQueueData:
    offset, size, tags_code = entry
    data = ConsumeQueueData(physic_offset=offset, physic_size=size, tags_code=tags_code)
    if queue.consume_queue_ext is None or not is_ext_addr(tags_code):
        return data
    unit = queue.get_ext(tags_code)
    if unit is None:
        data.msg = f"Cq extend not exist!addr: {tags_code}"
        return data
    data.extend_data_json = _unit_text(unit)
    if unit.filter_bit_map is not None:
        data.bit_map = str(BitsArray.from_bytes(unit.filter_bit_map))
    if message_filter is not None:
        data.eval = message_filter.is_matched_by_consume_queue(unit.tags_code, unit)
    return data


def _unit_text(unit: CqExtUnit) -> str:
    fields: dict[str, object] = {"msgStoreTime": unit.msg_store_time, "size": unit.size, "tagsCode": unit.tags_code}
    if unit.filter_bit_map is not None:
        fields = {"filterBitMap": base64.b64encode(unit.filter_bit_map).decode(), **fields}
    return fastjson.write(fields).decode()


def _half_again(message: MessageExt) -> MessageExtBrokerInner:
    """Return the message for the half topic, its checks counted from 0."""
    properties = in_hash_map_order(dict(message.properties) | {_PROPERTY_TRANSACTION_CHECK_TIMES: "0"})
    inner = MessageExtBrokerInner(
        topic=TRANS_HALF_TOPIC,
        body=message.body,
        flag=message.flag,
        properties=properties,
        queue_id=0,
        sys_flag=message.sys_flag,
        born_timestamp=message.born_timestamp,
        born_host=message.born_host,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times,
        msg_id=message.msg_id,
        properties_string=properties_to_string(properties),
        tags_code=tags_code(message.tags),
    )
    inner.wait_store_msg_ok = False
    return inner
