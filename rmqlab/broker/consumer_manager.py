"""All consumer groups that have a member online, and what follows when one changes.

Source: `ConsumerManager` (rows H-33..H-36, H-42..H-45), `DefaultConsumerIdsChangeListener` (rows F-34..F-38).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
from rmqlab.broker.processor import require_not_null
from rmqlab.events import Expired, Notify, Register, SubscriptionChanged, Unregister
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import NotifyConsumerIdsChangedRequestHeader

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
    from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
    from rmqlab.broker.consumer_group_info import SubscriptionChange
    from rmqlab.broker.processor import Broker2Client, BrokerHooks
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.heartbeat import ConsumerData
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules


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
        """Tell one member, one-way, that it should rebalance (code 40; `Broker2Client`)."""
        request = RemotingCommand.request(
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
        )
        self._hooks.tell(Notify(group, channel.remote_address))
        self._broker2client.send_oneway(channel, request)


class ConsumerManager:
    """Registers members, forgets them, and informs the listener about both."""

    def __init__(self, listener: ConsumerIdsChangeListener, rules: Rules, hooks: BrokerHooks) -> None:
        self.listener = listener
        self._hooks = hooks
        self.consumer_table: dict[str, ConsumerGroupInfo] = {}
        self._rules = rules

    def get_consumer_group_info(self, group: str) -> ConsumerGroupInfo | None:
        """A group that is online, or None.

        Raises:
            ProcessorError: a group that is null.
        """
        return self.consumer_table.get(require_not_null(group))

    def find_channel(self, group: str, client_id: str) -> ClientChannelInfo | None:
        """The connection of one member, or None."""
        info = self.consumer_table.get(require_not_null(group))
        return None if info is None else info.find_channel(client_id)

    def find_subscription_data(self, group: str, topic: str) -> SubscriptionData | None:
        """The subscription in force for a group and topic, or None."""
        info = self.consumer_table.get(group)
        return None if info is None else info.subscription_table.get(topic)

    def client_id(self, channel: Channel, group: str) -> str:
        """Who a group's member on this connection is; its address when the group does not know it."""
        info = self.consumer_table.get(group)
        member = None if info is None else info.channel_info_table.get(channel)
        return channel.remote_address if member is None or member.client_id is None else member.client_id

    def register_consumer(
        self,
        data: ConsumerData,
        client_channel_info: ClientChannelInfo,
        now: int,
        *,
        is_notify_consumer_ids_changed_enable: bool = True,
        with_subscriptions: bool = True,
    ) -> bool:
        """Take in one group of a heartbeat; return True when a member or a topic is new or a topic is gone.

        Only then CHANGE is fired, and only if the group's configuration lets it; REGISTER is fired by every beat. One
        that left its subscriptions out (not `with_subscriptions`) changes none (5.3.3 `registerConsumerWithoutSub`).
        """
        group, subscriptions = data.group_name, data.subscription_data_set
        way = data.consume_type, data.message_model, data.consume_from_where
        info = self.consumer_table.get(group)
        if info is None:
            info = self.consumer_table[group] = ConsumerGroupInfo(group, *way, now, self._rules)
        joined = info.update_channel(client_channel_info, *way, now)
        if joined:
            self._hooks.tell(Register(group, client_channel_info.client_id))
        before = info.subscription_table
        if with_subscriptions:
            info.update_subscription(subscriptions, now, self._subscription_change(group, client_channel_info))
        notified = self._rules.is_notified(before, info.subscription_table, joined)
        if notified and is_notify_consumer_ids_changed_enable and self._tells(info):
            self.listener.handle(_CHANGE, group, list(info.channel_info_table))
        if with_subscriptions:
            self.listener.handle(_REGISTER, group, subscriptions=subscriptions)
        return notified

    def unregister_consumer(
        self, group: str, client_channel_info: ClientChannelInfo, *, is_notify_consumer_ids_changed_enable: bool = True
    ) -> None:
        """Forget a member that says goodbye.

        CHANGE is fired even when nothing was removed, and for an emptied group as well, whose list is empty; later
        versions fire none for a broadcasting group.
        """
        info = self.consumer_table.get(group)
        if info is None:
            return
        removed = info.do_channel_close_event(client_channel_info.channel)
        if removed is not None:
            self._hooks.tell(Unregister(group, removed.client_id))
        if not info.channel_info_table:
            self._drop(group)
        if is_notify_consumer_ids_changed_enable and self._tells(info):
            self.listener.handle(_CHANGE, group, list(info.channel_info_table))

    def do_channel_close_event(self, channel: Channel) -> None:
        """Forget every member on a closed connection; CHANGE asks the broker's flag only, not the group's."""
        for group, info in list(self.consumer_table.items()):
            removed = info.do_channel_close_event(channel)
            if removed is None:
                continue
            self._hooks.tell(Unregister(group, removed.client_id))
            if not info.channel_info_table:
                self._drop(group)
            if self._tells(info):
                self.listener.handle(_CHANGE, group, list(info.channel_info_table))

    def _tells(self, info: ConsumerGroupInfo) -> bool:
        return self._rules.notifies_broadcasting or not info.is_broadcasting

    def scan_not_active_channel(self, now: int) -> None:
        """Close and forget connections silent for more than 120 s.

        No event is fired, not even for a group that ends: its members elsewhere learn nothing, and its SQL92 filter
        data stays alive (row H-43).
        """
        rules = self._rules
        for group, info in list(self.consumer_table.items()):
            table = info.channel_info_table
            for channel, client in list(table.items()):
                if rules.is_expired(now, client.last_update_timestamp, rules.channel_expired_ms):
                    channel.close()
                    info.do_channel_close_event(channel)
                    self._hooks.tell(Expired(group, client.client_id))
            if not table:
                self.consumer_table.pop(group, None)

    def _drop(self, group: str) -> None:
        if self.consumer_table.pop(group, None) is not None:
            self.listener.handle(_UNREGISTER, group)

    def _subscription_change(self, group: str, info: ClientChannelInfo) -> SubscriptionChange | None:
        observe = self._hooks.observe
        if observe is None:
            return None

        def report(topic: str | None, old: SubscriptionData | None, new: SubscriptionData | None) -> None:
            observe(SubscriptionChanged(group, topic, info.client_id, old, new))

        return report
