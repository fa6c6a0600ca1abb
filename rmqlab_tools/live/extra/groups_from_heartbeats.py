"""The consumer groups of another broker, as the frames between it and its clients tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
from rmqlab.broker.consumer_manager import ConsumerIdsChangeListener, ConsumerManager
from rmqlab.broker.processor import Broker2Client, BrokerHooks, Timers
from rmqlab.protocol.channel import LocalChannel
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.config import MessageStoreConfig

if TYPE_CHECKING:
    from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
    from rmqlab.events import Event
    from rmqlab.protocol.heartbeat import HeartbeatData
    from rmqlab.protocol.subscription_data import SubscriptionData


class HeardGroups:
    """A consumer manager of ours that hears what the other broker heard; connections have numbers.

    Each method returns what came of it: events `Register`, `SubscriptionChanged` and `Unregister`.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        hooks, timers = BrokerHooks(observe=self._events.append), Timers(0)
        config = BrokerConfig(notify_consumer_ids_changed_enable=False)  # the other broker has told its clients itself
        filters = ConsumerFilterManager(config, MessageStoreConfig(), timers)
        listener = ConsumerIdsChangeListener(config, filters, Broker2Client(timers), hooks)
        self._manager = ConsumerManager(listener, DEFAULT_RULES, hooks)
        self._channels: dict[int, LocalChannel] = {}

    @property
    def table(self) -> dict[str, ConsumerGroupInfo]:
        """The groups that have a member."""
        return self._manager.consumer_table

    def held(self, group: str, topic: str) -> SubscriptionData | None:
        """The subscription that the broker has for a group and topic."""
        return self._manager.find_subscription_data(group, topic)

    def is_member(self, group: str, client: str) -> bool:
        """Whether a client is in a group, by whatever connection."""
        info = self.table.get(group)
        return info is not None and info.find_channel(client) is not None

    def beat(self, conn: int, client: str, data: HeartbeatData, t: float) -> list[Event]:
        """A heartbeat came on a connection."""
        member = self._member(conn, client, t)
        for consumer in data.consumer_data_set:
            self._manager.register_consumer(consumer, member, int(t))
        return self._came_of_it()

    def leave(self, conn: int, group: str) -> list[Event]:
        """The client on a connection says goodbye to a group."""
        self._manager.unregister_consumer(group, self._member(conn, "", 0))
        return self._came_of_it()

    def close(self, conn: int) -> list[Event]:
        """A connection ended."""
        self._manager.do_channel_close_event(self._channels.pop(conn, LocalChannel("")))
        return self._came_of_it()

    def _member(self, conn: int, client: str, t: float) -> ClientChannelInfo:
        channel = self._channels.setdefault(conn, LocalChannel(f"connection {conn}"))
        return ClientChannelInfo(channel, client, None, 0, int(t))

    def _came_of_it(self) -> list[Event]:
        events = self._events[:]
        self._events.clear()
        return events
