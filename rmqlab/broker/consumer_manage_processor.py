"""Members and committed offsets of consumer groups (`ConsumerManageProcessor`, `ConsumerOffsetManager`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.broker.processor import require, success
from rmqlab.events import Commit
from rmqlab.message.java import split
from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    GetConsumerListByGroupRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rmqlab.protocol.header import CommandHeader, WithOffset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.consumer_manager import ConsumerManager
    from rmqlab.broker.processor import BrokerHooks, Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.store.message_store import MessageStore


TOPIC_GROUP_SEPARATOR = "@"
NOT_FOUND = -1


class ConsumerOffsetManager:
    """Keeps, for each "topic@group", the next offset to consume of each queue.

    Whoever commits wins, forwards or backwards. The text key is Java's, and so is its weakness: a topic or group with
    an "@" in its name is stored, and then passed over wherever the key is split.
    """

    def __init__(self, hooks: BrokerHooks) -> None:
        self._hooks = hooks
        self.offset_table: dict[str, dict[int, int]] = {}

    def commit_offset(self, client_host: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store an offset; `client_host` ("ip:port") says who committed it."""
        self.offset_table.setdefault(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {})[queue_id] = offset
        if self._hooks.observe is not None:
            self._hooks.observe(Commit(client_host, group, topic, queue_id, offset))

    def query_offset(self, group: str, topic: str, queue_id: int) -> int:
        """Return the committed offset, -1 when there is none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {}).get(queue_id, NOT_FOUND)

    def query_offsets(self, group: str, topic: str) -> dict[int, int] | None:
        """Return the committed offsets of all queues, None when there are none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}")

    def which_topic_by_consumer(self, group: str) -> list[str]:
        """Return the topics of which a group has committed offsets."""
        return [topic for topic, other in self.topics_and_groups() if other == group]

    def topics_and_groups(self) -> Iterable[tuple[str, str]]:
        """Yield topic and group of every entry whose key can be split."""
        for key in self.offset_table:
            parts = split(key, TOPIC_GROUP_SEPARATOR)
            if len(parts) == 2:
                yield parts[0], parts[1]


class ConsumerManageProcessor:
    """Answers GET_CONSUMER_LIST_BY_GROUP (38), QUERY_CONSUMER_OFFSET (14) and UPDATE_CONSUMER_OFFSET (15)."""

    def __init__(self, consumers: ConsumerManager, offsets: ConsumerOffsetManager, store: MessageStore) -> None:
        self._consumers = consumers
        self._offsets = offsets
        self._store = store
        self.handlers: dict[int, Handler] = {
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self._get_consumer_list_by_group,
            RequestCode.UPDATE_CONSUMER_OFFSET: self._update_consumer_offset,
            RequestCode.QUERY_CONSUMER_OFFSET: self._query_consumer_offset,
        }

    def _get_consumer_list_by_group(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Return the client ids of all members, whatever topics they subscribe to (row S-93)."""
        group = command.decode_header(GetConsumerListByGroupRequestHeader).consumer_group
        header = CommandHeader()
        info = self._consumers.get_consumer_group_info(group)
        client_ids = () if info is None else info.client_ids
        if not client_ids:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {group}", header=header
            )
        return success(_list_of(client_ids), header)

    def _update_consumer_offset(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Commit one offset."""
        header = command.decode_header(UpdateConsumerOffsetRequestHeader)
        require(header, ("queue_id", "commit_offset"))
        self._offsets.commit_offset(
            channel.remote_address, header.consumer_group, header.topic, header.queue_id, header.commit_offset
        )
        return success(header=CommandHeader())

    def _query_consumer_offset(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Return the committed offset; without one, 0 if the queue is still whole and in memory (row S-96).

        Only a longer history gives QUERY_NOT_FOUND, and with it the client's own idea of where to start.
        """
        request = command.decode_header(QueryConsumerOffsetRequestHeader)
        require(request, ("queue_id",))
        topic, queue_id = request.topic, request.queue_id
        offset = self._offsets.query_offset(request.consumer_group, topic, queue_id)
        if offset < 0:
            store = self._store
            if store.get_min_offset_in_queue(topic, queue_id) > 0 or store.check_in_disk_by_consume_offset(
                topic, queue_id, 0
            ):
                return RemotingCommand.response(
                    ResponseCode.QUERY_NOT_FOUND,
                    "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
                    header=WithOffset(),
                )
            offset = 0
        return success(header=WithOffset(offset=offset))


@lru_cache(maxsize=256)
def _list_of(client_ids: tuple[str, ...]) -> bytes:
    """Members ask for the list again and again, and it hardly ever changes."""
    return GetConsumerListByGroupResponseBody(consumer_id_list=list(client_ids)).encode()
