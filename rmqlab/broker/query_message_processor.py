"""Messages looked up by key or by id (4.8.0 `QueryMessageProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor_error import require
from rmqlab.protocol.admin_headers import (
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel

UNIQUE_MSG_QUERY_FLAG = "_UNIQUE_KEY_QUERY"


class QueryMessageProcessor:
    """Answers QUERY_MESSAGE (12) and VIEW_MESSAGE_BY_ID (33) with records of the commit log."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a query; raises ProcessorError when a required field is null."""
        if command.code == RequestCode.QUERY_MESSAGE:
            return self._query_message(command)
        return self._view_message_by_id(command)

    def _query_message(self, command: RemotingCommand) -> RemotingCommand:
        header = command.decode_header(QueryMessageRequestHeader)
        store = self._broker.message_store
        require(header, ("topic", "key", "max_num", "begin_timestamp", "end_timestamp"))
        is_unique_key = (command.ext_fields or {}).get(UNIQUE_MSG_QUERY_FLAG) == "true"
        max_num = store.config.default_query_max_num if is_unique_key else header.max_num
        result = store.query_message(header.topic, header.key, max_num, header.begin_timestamp, header.end_timestamp)
        answer = QueryMessageResponseHeader(result.index_last_update_timestamp, result.index_last_update_phyoffset)
        if result.messages:
            return RemotingCommand.response(ResponseCode.SUCCESS, None, answer, b"".join(result.messages))
        return RemotingCommand.response(
            ResponseCode.QUERY_NOT_FOUND, "can not find message, maybe time range not correct", answer
        )

    def _view_message_by_id(self, command: RemotingCommand) -> RemotingCommand:
        header = command.decode_header(ViewMessageRequestHeader)
        require(header, ("offset",))
        record = self._broker.message_store.select_one_message_by_offset(header.offset)
        if record is None:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {header.offset}"
            )
        return RemotingCommand.response(ResponseCode.SUCCESS, None, None, record)
