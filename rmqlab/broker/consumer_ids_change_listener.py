"""What follows when a consumer group changes (4.8.0 `DefaultConsumerIdsChangeListener`, rows F-34..F-38)."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from rmqlab.events import Notify
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import NotifyConsumerIdsChangedRequestHeader

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel


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


class UnknownEvent(RuntimeError):
    """An event that is none of the three (Java throws RuntimeException)."""


class ConsumerIdsChangeListener:
    """Notifies members to rebalance, and keeps the SQL92 filter data in step with registrations."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, event: ConsumerGroupEvent | None, group: str, *args: Any) -> None:
        """Act on an event; raises UnknownEvent. Without an event, or without the list it needs, nothing happens."""
        if event is None:
            return
        if event is _CHANGE:
            if not args:
                return
            channels: list[Channel] | None = args[0]
            if channels is not None and self._broker.config.notify_consumer_ids_changed_enable:
                for channel in channels:
                    self.notify_consumer_ids_changed(channel, group)
        elif event is _UNREGISTER:
            self._broker.consumer_filter_manager.un_register(group)
        elif event is _REGISTER:
            if not args:
                return
            self._broker.consumer_filter_manager.register(group, args[0])
        else:
            raise UnknownEvent(f"Unknown event {event}")

    def notify_consumer_ids_changed(self, channel: Channel, group: str) -> None:
        """Tell one member, one-way, that it should rebalance (code 40; 4.8.0 `Broker2Client`)."""
        request = RemotingCommand.request(
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
        )
        if self._broker.observe is not None:
            self._broker.observe(Notify(group, channel.remote_address))
        self._broker.broker2client.send_oneway(channel, request)
