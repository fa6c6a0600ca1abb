"""Messages looked up by key or by id, and entries of queues (`QueryMessageProcessor`, `AdminBrokerProcessor`)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from rmqlab.broker.consumer_filter_manager import filter_data_text
from rmqlab.broker.processor import NOT_SET, require_fields, success, system_error, with_header
from rmqlab.filter.bloom import BitsArray
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.protocol import fastjson
from rmqlab.protocol.bodies import ConsumeQueueData, QueryConsumeQueueResponseBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.store.config import CQ_STORE_UNIT_SIZE
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import is_ext_addr
from rmqlab_tools.live.extra.admin_headers import (
    QueryConsumeQueueRequestHeader,
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)
from rmqlab_tools.live.store.index_service import query_message

if TYPE_CHECKING:
    from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
    from rmqlab.broker.consumer_manager import ConsumerManager
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.store.consume_queue import ConsumeQueue
    from rmqlab.store.message_store import MessageStore

UNIQUE_MSG_QUERY_FLAG = "_UNIQUE_KEY_QUERY"


class QueryMessageProcessor:
    """One method a request; `handlers` says which. Messages go out as records of the commit log."""

    def __init__(self, store: MessageStore, consumers: ConsumerManager, filters: ConsumerFilterManager) -> None:
        self._store = store
        self._consumers = consumers
        self._filters = filters
        self.handlers: dict[int, Handler] = {
            RequestCode.QUERY_MESSAGE: self._query_message,
            RequestCode.VIEW_MESSAGE_BY_ID: with_header(ViewMessageRequestHeader, self._view_message_by_id),
            RequestCode.QUERY_CONSUME_QUEUE: with_header(QueryConsumeQueueRequestHeader, self._query_consume_queue),
        }

    def _query_message(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        header = command.decode_header(QueryMessageRequestHeader)
        require_fields(header, ("topic", "key", "max_num", "begin_timestamp", "end_timestamp"))
        is_unique_key = (command.ext_fields or {}).get(UNIQUE_MSG_QUERY_FLAG) == "true"
        max_num = self._store.config.default_query_max_num if is_unique_key else header.max_num
        result = query_message(
            self._store, header.topic, header.key, max_num, header.begin_timestamp, header.end_timestamp
        )
        answer = QueryMessageResponseHeader(result.index_last_update_timestamp, result.index_last_update_phyoffset)
        if result.messages:
            return success(b"".join(result.messages), answer)
        return RemotingCommand.response(
            ResponseCode.QUERY_NOT_FOUND, "can not find message, maybe time range not correct", answer
        )

    def _view_message_by_id(self, header: ViewMessageRequestHeader, _now: int) -> RemotingCommand:
        require_fields(header, ("offset",))
        record = self._store.commit_log.select_one_message_by_offset(header.offset)
        if record is None:
            return system_error(f"can not find message by the offset, {header.offset}")
        return success(record)

    def _query_consume_queue(self, header: QueryConsumeQueueRequestHeader, _now: int) -> RemotingCommand:
        """Entries of a queue, with what a group's filter makes of those in the extension."""
        require_fields(header, ("topic",))
        topic, group = header.topic or "", header.consumer_group
        queue = self._store.get_consume_queue(topic, header.queue_id)
        if queue is None:
            return system_error(f"{header.queue_id}@{topic} is not exist!")
        body = QueryConsumeQueueResponseBody(
            max_queue_index=queue.max_offset_in_queue, min_queue_index=queue.min_offset_in_queue
        )
        message_filter = None
        if group is not None:
            subscription = self._consumers.find_subscription_data(group, topic)
            body.subscription_data = subscription
            if subscription is None:
                body.filter_data = f"{group}@{topic} is not online!"
            else:
                data = self._filters.get(topic, group)
                body.filter_data = filter_data_text(data)
                message_filter = ExpressionMessageFilter(subscription, data, self._filters)
        entries = queue.get_index_buffer(header.index)
        if entries is None:
            return success(remark=f"Index {header.index} of {header.queue_id}@{topic} is not exist!")
        wanted = entries[: max(header.count, 0) * CQ_STORE_UNIT_SIZE]
        body.queue_data = [_entry(queue, entry, message_filter) for entry in ENTRY.iter_unpack(wanted)]
        return success(body.encode(), remark=NOT_SET)


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
    fields: dict[str, object] = {"msgStoreTime": unit.msg_store_time, "size": unit.size, "tagsCode": unit.tags_code}
    if unit.filter_bit_map is not None:
        fields = {"filterBitMap": base64.b64encode(unit.filter_bit_map).decode(), **fields}
        data.bit_map = str(BitsArray.from_bytes(unit.filter_bit_map))
    data.extend_data_json = fastjson.write(fields).decode()
    if message_filter is not None:
        data.eval = message_filter.is_matched_by_consume_queue(unit.tags_code, unit)
    return data
