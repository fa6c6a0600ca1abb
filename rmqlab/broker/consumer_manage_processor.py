"""Members and offsets of consumer groups (4.8.0 `ConsumerManageProcessor`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.broker.processor_error import require
from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    GetConsumerListByGroupRequestHeader,
    GetConsumerListByGroupResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
    UpdateConsumerOffsetResponseHeader,
)

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel

# Looking up a member of an enumeration takes its time, and half of all requests come here.
_GET_CONSUMER_LIST_BY_GROUP = RequestCode.GET_CONSUMER_LIST_BY_GROUP
_UPDATE_CONSUMER_OFFSET = RequestCode.UPDATE_CONSUMER_OFFSET
_SUCCESS = ResponseCode.SUCCESS


class ConsumerManageProcessor:
    """Answers GET_CONSUMER_LIST_BY_GROUP (38), QUERY_CONSUMER_OFFSET (14) and UPDATE_CONSUMER_OFFSET (15)."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer one of the three; None for any other code, as Java."""
        if command.code == _GET_CONSUMER_LIST_BY_GROUP:
            return self.get_consumer_list_by_group(command)
        if command.code == _UPDATE_CONSUMER_OFFSET:
            return self.update_consumer_offset(channel, command)
        if command.code == RequestCode.QUERY_CONSUMER_OFFSET:
            return self.query_consumer_offset(command)
        return None

    def get_consumer_list_by_group(self, command: RemotingCommand) -> RemotingCommand:
        """Return the client ids of all members, whatever topics they subscribe to (row S-93)."""
        group = command.decode_header(GetConsumerListByGroupRequestHeader).consumer_group
        header = GetConsumerListByGroupResponseHeader()
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        client_ids = () if info is None else info.client_ids
        if not client_ids:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {group}", header=header
            )
        return RemotingCommand.response(_SUCCESS, header=header, body=_list_of(client_ids))

    def update_consumer_offset(self, channel: Channel, command: RemotingCommand) -> RemotingCommand:
        """Commit one offset."""
        header = command.decode_header(UpdateConsumerOffsetRequestHeader)
        require(header, ("queue_id", "commit_offset"))
        self._broker.consumer_offset_manager.commit_offset(
            channel.remote_address, header.consumer_group, header.topic, header.queue_id, header.commit_offset
        )
        return RemotingCommand.response(_SUCCESS, header=UpdateConsumerOffsetResponseHeader())

    def query_consumer_offset(self, command: RemotingCommand) -> RemotingCommand:
        """Return the committed offset; without one, 0 if the queue is still whole and in memory (row S-96).

        Only a longer history gives QUERY_NOT_FOUND, and with it the client's own idea of where to start.
        """
        request = command.decode_header(QueryConsumerOffsetRequestHeader)
        require(request, ("queue_id",))
        topic, queue_id = request.topic, request.queue_id
        broker = self._broker
        offset = broker.consumer_offset_manager.query_offset(request.consumer_group, topic, queue_id)
        if offset < 0:
            store = broker.message_store
            if store.get_min_offset_in_queue(topic, queue_id) > 0 or store.check_in_disk_by_consume_offset(
                topic, queue_id, 0
            ):
                return RemotingCommand.response(
                    ResponseCode.QUERY_NOT_FOUND,
                    "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
                    header=QueryConsumerOffsetResponseHeader(),
                )
            offset = 0
        return RemotingCommand.response(_SUCCESS, header=QueryConsumerOffsetResponseHeader(offset=offset))


@lru_cache(maxsize=256)
def _list_of(client_ids: tuple[str, ...]) -> bytes:
    """Members ask for the list again and again, and it hardly ever changes."""
    return GetConsumerListByGroupResponseBody(consumer_id_list=list(client_ids)).encode()
