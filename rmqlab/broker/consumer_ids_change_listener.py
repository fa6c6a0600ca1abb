"""What follows when a consumer group changes (4.8.0 `DefaultConsumerIdsChangeListener`, rows F-34..F-38)."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from rmqlab.events import Notify
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import NotifyConsumerIdsChangedRequestHeader

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab.broker.broker2client import Broker2Client
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.broker_hooks import BrokerHooks
    from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.subscription_data import SubscriptionData


class ConsumerGroupEvent(Enum):
    """What happened to a group."""

    CHANGE = auto()
    """A member or a topic came or went; with the list of connections to tell."""
    UNREGISTER = auto()
    """The last member has gone."""
    REGISTER = auto()
    """A heartbeat came; with its subscriptions."""


# Looking up a member of an enumeration takes its time, and every heartbeat comes here.
_CHANGE, _UNREGISTER, _REGISTER = ConsumerGroupEvent


class ConsumerIdsChangeListener:
    """Notifies members to rebalance, and keeps the SQL92 filter data in step with registrations."""

    def __init__(
        self, config: BrokerConfig, filters: ConsumerFilterManager, broker2client: Broker2Client, hooks: BrokerHooks
    ) -> None:
        self._config = config
        self._filters = filters
        self._broker2client = broker2client
        self._hooks = hooks

    def handle(
        self,
        event: ConsumerGroupEvent,
        group: str,
        channels: Collection[Channel] = (),
        subscriptions: Collection[SubscriptionData] = (),
    ) -> None:
        """Act on an event: CHANGE comes with the connections to tell, REGISTER with what a heartbeat subscribed."""
        if event is _REGISTER:
            self._filters.register(group, subscriptions)
        elif event is _UNREGISTER:
            self._filters.un_register(group)
        elif event is _CHANGE and self._config.notify_consumer_ids_changed_enable:
            for channel in channels:
                self.notify_consumer_ids_changed(channel, group)

    def notify_consumer_ids_changed(self, channel: Channel, group: str) -> None:
        """Tell one member, one-way, that it should rebalance (code 40; 4.8.0 `Broker2Client`)."""
        request = RemotingCommand.request(
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
        )
        if self._hooks.observe is not None:
            self._hooks.observe(Notify(group, channel.remote_address))
        self._broker2client.send_oneway(channel, request)
