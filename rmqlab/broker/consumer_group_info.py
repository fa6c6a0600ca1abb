"""One consumer group as the broker sees it: connections and the one subscription table that all members share.

Source: `ConsumerGroupInfo`, rows S-76..S-80 and H-37.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import DEFAULT_RULES, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    SubscriptionChange = Callable[[str | None, SubscriptionData | None, SubscriptionData | None], None]


@dataclass(slots=True, eq=False, repr=False)
class ConsumerGroupInfo:
    """Members and subscriptions of one group; times are epoch ms.

    The table has one subscription for each topic, whichever member sent it: that is why two members with different
    tags overwrite each other. Tables keep the order of arrival; Java's order of connections depends on random
    channel ids.
    """

    group_name: str
    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    last_update_timestamp: int
    rules: Rules = DEFAULT_RULES
    subscription_table: dict[str | None, SubscriptionData] = field(default_factory=dict)
    channel_info_table: dict[Channel, ClientChannelInfo] = field(default_factory=dict)
    _client_ids: tuple[str, ...] | None = None
    _client_list: bytes | None = None

    def __repr__(self) -> str:
        """The group, its members, and the one subscription of each topic."""
        subscriptions = ", ".join(
            f"{topic} {data.expression_type} {data.sub_string} @{data.sub_version}"
            for topic, data in self.subscription_table.items()
        )
        members = ", ".join(map(str, self.client_ids)) or "nobody"
        return f"<ConsumerGroupInfo {self.group_name}: {members}; holds {subscriptions or 'nothing'}>"

    @property
    def is_broadcasting(self) -> bool:
        """Whether each member reads every queue."""
        return self.message_model is MessageModel.BROADCASTING

    def find_channel(self, client_id: str) -> ClientChannelInfo | None:
        """The connection of a client, or None."""
        for info in self.channel_info_table.values():
            if info.client_id == client_id:
                return info
        return None

    @property
    def client_ids(self) -> tuple[str, ...]:
        """The client ids of all members; kept until one comes or goes, for each asks again and again."""
        if self._client_ids is None:
            self._client_ids = tuple(info.client_id for info in self.channel_info_table.values())
            self._client_list = None
        return self._client_ids

    @property
    def client_list(self) -> bytes:
        """The client ids as the answer to GET_CONSUMER_LIST_BY_GROUP has them; kept as long as they are."""
        client_ids = self.client_ids
        if self._client_list is None:
            self._client_list = GetConsumerListByGroupResponseBody(consumer_id_list=list(client_ids)).encode()
        return self._client_list

    def do_channel_close_event(self, channel: Channel) -> ClientChannelInfo | None:
        """Forget the member on a connection; return it, None when there was none."""
        self._client_ids = None
        return self.channel_info_table.pop(channel, None)

    def update_channel(
        self,
        info_new: ClientChannelInfo,
        consume_type: ConsumeType,
        message_model: MessageModel,
        consume_from_where: ConsumeFromWhere,
        now: int,
    ) -> bool:
        """Take in a heartbeat's connection; return True when it is a new member.

        Type, model and starting point are overwritten by every beat. A known connection under another client id is
        replaced, yet the time of the OLD entry is refreshed: the new one keeps the time it was made (row H-37).
        """
        self.consume_type = consume_type
        self.message_model = message_model
        self.consume_from_where = consume_from_where
        known = self.channel_info_table.get(info_new.channel)
        kept, joined = self.rules.update_channel(known, info_new, now)
        if kept is not known:
            self.channel_info_table[info_new.channel] = kept
            self._client_ids = None
        self.last_update_timestamp = now
        return joined

    def update_subscription(
        self, subscriptions: Iterable[SubscriptionData], now: int, on_change: SubscriptionChange | None = None
    ) -> bool:
        """Take in a heartbeat's subscriptions; return True when a topic came or went (rows S-76..S-80).

        `on_change(topic, old, new)` hears of every change of the table.
        """
        before = self.subscription_table
        self.subscription_table = table = self.rules.update_subscription(before, subscriptions)
        self.last_update_timestamp = now
        if on_change is not None:
            for topic, new in table.items():
                if new is not before.get(topic):
                    on_change(topic, before.get(topic), new)
            for topic, old in before.items():
                if topic not in table:
                    on_change(topic, old, None)
        return before.keys() != table.keys()
