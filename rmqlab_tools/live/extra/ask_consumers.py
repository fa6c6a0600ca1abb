"""Questions that the broker passes on to consumers (`AdminBrokerProcessor.callConsumer`, `Broker2Client`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.broker.processor import (
    CALL_TIMEOUT_MS,
    NOT_SET,
    NULL_POINTER,
    Broker2Client,
    ProcessorError,
    require_not_null,
    success,
    system_error,
)
from rmqlab.message.ids import MessageIdError, decode_message_id
from rmqlab.message.java import in_hash_map_order, is_blank, text_of
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import GetConsumerStatusBody
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.codes import V3_0_7_SNAPSHOT, V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.extra.admin_headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
)

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.broker.processor import Handler

STATUS_TIMEOUT_MS = 5_000
_TIMEOUT = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"


class AskConsumers:
    """One method a request; `handlers` says which. What consumers answer comes later and is the answer."""

    def __init__(self, broker: Broker) -> None:
        self._config = broker.config
        self._store = broker.message_store
        self._consumers = broker.consumer_manager
        self._broker2client = broker.broker2client
        self.handlers: dict[int, Handler] = {
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._consume_message_directly,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self._consumer_status,
        }

    def _running_info(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """Ask one consumer what it holds and how it does."""
        header = command.decode_header(GetConsumerRunningInfoRequestHeader)
        return self._call_consumer(channel, command, header.consumer_group, header.client_id)

    def _consume_message_directly(
        self, channel: Channel, command: RemotingCommand, _now: int
    ) -> RemotingCommand | None:
        """Hand one consumer a message of the log, whatever its group has consumed; its listener's word comes back."""
        header = command.decode_header(ConsumeMessageDirectlyResultRequestHeader)
        if command.all_ext_fields() is None or header.msg_id is None:
            raise ProcessorError(NULL_POINTER)
        try:
            offset = decode_message_id(header.msg_id).offset
        except MessageIdError as error:
            raise ProcessorError(f"java.lang.{error.java_error}: {error}") from error
        record = self._store.commit_log.select_one_message_by_offset(offset)
        if record is None:
            raise ProcessorError(NULL_POINTER)
        more = {"brokerName": self._config.broker_name}
        return self._call_consumer(channel, command, header.consumer_group, header.client_id, more, record)

    def _call_consumer(
        self,
        channel: Channel,
        command: RemotingCommand,
        group: str,
        client_id: str | None,
        more: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> RemotingCommand | None:
        info = None if client_id is None else self._consumers.find_channel(group, client_id)
        if info is None:
            return system_error(f"The Consumer <{require_not_null(group)}> <{text_of(client_id)}> not online")
        if info.version < V3_1_8_SNAPSHOT:
            return system_error(
                f"The Consumer <{client_id}> Version <{version_desc(info.version)}> too low to finish, please "
                "upgrade it to V3_1_8_SNAPSHOT"
            )
        request = RemotingCommand.request(command.code, None, command.body if body is None else body)
        request.ext_fields = {**(command.all_ext_fields() or {}), **(more or {})}
        address = info.channel.remote_address

        def on_answer(answer: RemotingCommand | None) -> None:
            if answer is None:
                waited = f"{_TIMEOUT}, wait response on the channel <{address}> timeout, {CALL_TIMEOUT_MS}(ms)"
                answer = RemotingCommand.response(
                    ResponseCode.CONSUME_MSG_TIMEOUT, f"consumer <{group}> <{client_id}> Timeout: {waited}"
                )
            channel.send(answer.reply_to(command, self._broker2client.wire))

        self._broker2client.call_client(info.channel, request, on_answer)
        return None

    def _consumer_status(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """Ask a group's consumers, or the one named, how far they are in their queues of a topic."""
        header = command.decode_header(GetConsumerStatusRequestHeader)
        info = self._consumers.get_consumer_group_info(header.group)
        if info is None:
            raise ProcessorError(NULL_POINTER)
        members = list(info.channel_info_table.values())
        if not members:
            return system_error(f"No Any Consumer online in the consumer group: [{header.group}]")
        return StatusRound(self._broker2client, channel, command, header, members).ask_next()


@dataclass(slots=True, eq=False)
class StatusRound:
    """Asks consumers one after the other, as Java does; one that does not answer within 5 s, or badly, is left out."""

    broker2client: Broker2Client
    channel: Channel
    command: RemotingCommand
    header: GetConsumerStatusRequestHeader
    members: list[ClientChannelInfo]
    table: dict[str, dict[MessageQueue, int]] = field(default_factory=dict)

    def ask_next(self) -> RemotingCommand | None:
        """Ask the next one; return the answer to who asked when none is left, None until then."""
        wanted = self.header.client_addr
        while self.members:
            member = self.members.pop(0)
            if member.version < V3_0_7_SNAPSHOT:
                return system_error(f"the client does not support this feature. version={version_desc(member.version)}")
            if is_blank(wanted) or wanted == member.client_id:
                if not is_blank(wanted):
                    self.members.clear()
                header = GetConsumerStatusRequestHeader(self.header.topic, self.header.group)
                request = RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
                on_answer = partial(self._take, str(member.client_id))
                self.broker2client.call_client(member.channel, request, on_answer, STATUS_TIMEOUT_MS)
                return None
        return success(GetConsumerStatusBody(consumer_table=in_hash_map_order(self.table)).encode(), remark=NOT_SET)

    def _take(self, client_id: str, answer: RemotingCommand | None) -> None:
        if answer is not None and answer.code == ResponseCode.SUCCESS and answer.body is not None:
            self.table[client_id] = GetConsumerStatusBody.decode(answer.body).message_queue_table
        done = self.ask_next()
        if done is not None:
            self.channel.send(done.reply_to(self.command, self.broker2client.wire))
