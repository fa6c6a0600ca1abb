"""The remoting side of a 5.x proxy in CLUSTER mode, folded into the broker that it stands before.

It knows the members itself, in a table of its own: the broker says of such a group that it is offline (206). It
notifies no member when others come and go. Into each pull that has no expression it writes the one that it holds for
the group then: a pull that is held keeps that expression, while the table goes on changing.

Source: 5.3.3 `RemotingProtocolServer`, `ClientManagerActivity`, `ConsumerManagerActivity`, `PullMessageActivity`. Left
out: the proxy's own connection to the broker (a frame more each way), several proxies and their heartbeat syncer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo, ProducerManager
from rmqlab.broker.consumer_manage_processor import ConsumerManageProcessor
from rmqlab.broker.consumer_manager import ConsumerIdsChangeListener, ConsumerManager
from rmqlab.broker.processor import success
from rmqlab.events import Heartbeat
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab.protocol.command import ONEWAY, RemotingCommand
from rmqlab.protocol.consumer_headers import (
    FLAG_SUBSCRIPTION,
    PullMessageRequestHeader,
    UnregisterClientRequestHeader,
)
from rmqlab.protocol.heartbeat import HeartbeatData

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.consumer_manager import ConsumerGroupEvent
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.subscription_data import SubscriptionData


class _SilentListener(ConsumerIdsChangeListener):
    """The listener of the proxy's table: no member hears of another, and filter data is the broker's affair."""

    def __init__(self) -> None:
        pass

    def handle(
        self,
        event: ConsumerGroupEvent,
        group: str,
        channels: Collection[Channel] = (),
        subscriptions: Collection[SubscriptionData] = (),
    ) -> None:
        """Do nothing."""


class RemotingProxy:
    """Serves the clients that `is_behind` names; all others speak to the broker itself.

    It is a server in the place of `broker`: whatever it does not answer itself, the broker does.
    """

    def __init__(self, broker: Broker, is_behind: Callable[[Channel], bool]) -> None:
        self._broker = broker
        self._is_behind = is_behind
        self.consumers = ConsumerManager(_SilentListener(), broker.rules, broker.hooks)
        self.producers = ProducerManager(broker.rules, broker.hooks)
        broker.client_housekeeping_service.managers += [self.consumers, self.producers]
        members = ConsumerManageProcessor(
            self.consumers, broker.consumer_offset_manager, broker.message_store, broker.rules
        )
        self._handlers: dict[int, Handler] = {
            RequestCode.HEART_BEAT: self._heart_beat,
            RequestCode.UNREGISTER_CLIENT: self._unregister_client,
            RequestCode.CHECK_CLIENT_CONFIG: lambda _channel, _command, _now: success(),
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: members.handlers[RequestCode.GET_CONSUMER_LIST_BY_GROUP],
        }
        self.next_timer = broker.next_timer
        self.run_timers = broker.run_timers
        self.on_channel_close = broker.on_channel_close

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a request of a client; None when the answer comes later, or never."""
        if command.is_response or not self._is_behind(channel):
            return self._broker.handle(channel, command, now)
        self._broker.now = now
        handler = self._handlers.get(command.code)
        if handler is not None:
            answer = handler(channel, command, now)
        elif command.code in PULLS:
            answer = self._with_expression(command)
        else:
            answer = None
        if answer is None:
            return self._broker.handle(channel, command, now)
        return None if command.flag & ONEWAY else answer.reply_to(command, self._broker.rules.wire)

    def _with_expression(self, command: RemotingCommand) -> RemotingCommand | None:
        """Write the expression in force into a pull that has none; a refusal, or None when the broker may have it."""
        header = command.decode_header(PullMessageRequestHeader)
        if header.sys_flag & FLAG_SUBSCRIPTION:
            return None
        group = self.consumers.get_consumer_group_info(header.consumer_group)
        if group is None:
            return RemotingCommand.response(
                ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"
            )
        subscription = group.subscription_table.get(header.topic)
        if subscription is None:
            return RemotingCommand.response(
                ResponseCode.SUBSCRIPTION_NOT_EXIST, "the consumer's subscription not exist"
            )
        command.header = replace(
            header,
            sys_flag=header.sys_flag | FLAG_SUBSCRIPTION,
            subscription=subscription.sub_string,
            expression_type=subscription.expression_type,
        )
        return None

    def _heart_beat(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Register producers, then consumers; the broker hears nothing, so no retry topic is made."""
        data = command.decode_body(HeartbeatData)
        info = ClientChannelInfo(channel, data.client_id, command.language, command.version, now)
        self._broker.hooks.tell(Heartbeat.of(data))
        for producer in data.producer_data_set:
            self.producers.register_producer(producer.group_name, info, now)
        for consumer in data.consumer_data_set:
            self.consumers.register_consumer(consumer, info, now, is_notify_consumer_ids_changed_enable=False)
        return success()

    def _unregister_client(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(UnregisterClientRequestHeader)
        info = ClientChannelInfo(channel, header.client_id, command.language, command.version, now)
        if header.producer_group is not None:
            self.producers.unregister_producer(header.producer_group, info)
        if header.consumer_group is not None:
            self.consumers.unregister_consumer(header.consumer_group, info, is_notify_consumer_ids_changed_enable=False)
        return success()
