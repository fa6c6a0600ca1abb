"""What the admin tool asks of a client, by way of the broker (`AdminBrokerProcessor`, `Broker2Client`).

The client has to answer first, so the broker's answer comes later, over the channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import CALL_TIMEOUT_MS, system_error
from rmqlab.protocol.admin_headers import GetConsumerRunningInfoRequestHeader
from rmqlab.protocol.codes import V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel

_TIMEOUT = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"


class AdminClients:
    """Passes a question for GET_CONSUMER_RUNNING_INFO on to a consumer; its answer is the answer."""

    def __init__(self, broker: Broker) -> None:
        self._consumers = broker.consumer_manager
        self._broker2client = broker.broker2client
        self.handlers: dict[int, Handler] = {RequestCode.GET_CONSUMER_RUNNING_INFO: self._consumer_running_info}

    def _consumer_running_info(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand | None:
        header = command.decode_header(GetConsumerRunningInfoRequestHeader)
        group, client_id = header.consumer_group, header.client_id
        info = self._consumers.find_channel(group, client_id)
        if info is None:
            return system_error(f"The Consumer <{group}> <{client_id}> not online")
        if info.version < V3_1_8_SNAPSHOT:
            return system_error(
                f"The Consumer <{client_id}> Version <{version_desc(info.version)}> too low to finish, please "
                "upgrade it to V3_1_8_SNAPSHOT"
            )
        request = RemotingCommand.request(command.code, None, command.body)
        request.ext_fields = dict(command.all_ext_fields() or {})
        address = info.channel.remote_address

        def on_answer(answer: RemotingCommand | None) -> None:
            if answer is None:
                waited = f"{_TIMEOUT}, wait response on the channel <{address}> timeout, {CALL_TIMEOUT_MS}(ms)"
                answer = RemotingCommand.response(
                    ResponseCode.CONSUME_MSG_TIMEOUT, f"consumer <{group}> <{client_id}> Timeout: {waited}"
                )
            channel.send(answer.reply_to(command))

        self._broker2client.call_client(info.channel, request, on_answer)
        return None
