"""Which broker has which queues, as a name server holds it (`RouteInfoManager`).

Tables are handed out in java.util.HashMap order.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from rmqlab.message.java import hash_map_order, hash_set_order, in_hash_map_order
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.namesrv import MASTER_ID, BrokerData, ClusterInfo, QueueData, TopicList, TopicRouteData
from rmqlab.protocol.topic_config import (
    PERM_WRITE,
    UNIT_FLAG,
    UNIT_SUB_FLAG,
    BrokerRegistration,
    DataVersion,
    TopicConfig,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BROKER_CHANNEL_EXPIRED_TIME = 120_000  # ms without a registration
# Table lengths of the HashMaps of 4.8.0: they decide the order of what is listed.
_TOPICS, _BROKERS, _CLUSTERS = 1024, 128, 32


@dataclass(slots=True)
class BrokerLiveInfo:
    """The last sign of life of a broker (epoch ms), with the connection it came over.

    `is_whole`: nothing has touched the queues of its topics since they were registered.
    """

    last_update_timestamp: int
    data_version: DataVersion
    channel: Channel
    ha_server_addr: str | None
    is_whole: bool = False


class RouteInfoManager:
    """Topics, brokers and clusters as the brokers registered them."""

    def __init__(self) -> None:
        self.topic_queue_table: dict[str, list[QueueData]] = {}
        self.broker_addr_table: dict[str, BrokerData] = {}
        self.cluster_addr_table: dict[str, list[str]] = {}
        self.broker_live_table: dict[str, BrokerLiveInfo] = {}
        self.filter_server_table: dict[str, list[str]] = {}

    def register_broker(
        self, registration: BrokerRegistration, channel: Channel, now: int
    ) -> tuple[str | None, str | None]:
        """Take in a broker's registration; return (HA address of its master, address of its master) for a slave.

        The topics of a master are looked at only when it is new or its data version (time and counter) is another one
        than before. Topics it no longer has stay. `now` is epoch ms. Where the registration says which topic alone is
        new since the one before, only that one is looked at: what a new topic costs does not grow with their number.
        """
        broker_addr, broker_name, broker_id = registration[1:4]
        data_version, filter_server_list = registration.data_version, registration.filter_server_list
        names = self.cluster_addr_table.setdefault(registration.cluster_name, [])
        if broker_name not in names:
            names.append(broker_name)
        broker = self.broker_addr_table.setdefault(broker_name, BrokerData(registration.cluster_name, broker_name))
        addrs = broker.broker_addrs
        for other_id in [key for key, addr in addrs.items() if addr == broker_addr and key != broker_id]:
            del addrs[other_id]  # the same address has one id: a slave became master, say
        is_first, was_addr = broker_id not in addrs, addrs.get(broker_id)
        addrs[broker_id] = broker_addr
        before = self.broker_live_table.get(broker_addr)
        is_changed = before is None or before.data_version != data_version
        if broker_id == MASTER_ID and (is_first or is_changed):
            topics, created = registration.topic_config_table, registration.created
            if created is not None and before is not None and before.is_whole and was_addr == broker_addr:
                name, since = created
                if since == before.data_version:
                    topics = {name: topics[name]}
            for config in topics.values():
                self._update_queue_data(broker_name, config)
        version = DataVersion(data_version.timestamp, data_version.counter)
        self.broker_live_table[broker_addr] = info = BrokerLiveInfo(now, version, channel, registration.ha_server_addr)
        if broker_id == MASTER_ID:
            was_whole = before is not None and before.is_whole and was_addr == broker_addr
            info.is_whole = is_first or is_changed or was_whole
        if filter_server_list:
            self.filter_server_table[broker_addr] = filter_server_list
        elif filter_server_list is not None:
            self.filter_server_table.pop(broker_addr, None)
        master_addr = addrs.get(MASTER_ID)
        if broker_id == MASTER_ID or master_addr is None or master_addr not in self.broker_live_table:
            return None, None
        return self.broker_live_table[master_addr].ha_server_addr, master_addr

    def _update_queue_data(self, broker_name: str, config: TopicConfig) -> None:
        new = QueueData(
            broker_name, config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag
        )
        queues = self.topic_queue_table.setdefault(config.topic_name, [])
        if new not in queues:
            queues[:] = [data for data in queues if data.broker_name != broker_name]
            queues.append(new)

    def unregister_broker(self, cluster_name: str, broker_addr: str, broker_name: str, broker_id: int) -> None:
        """Forget one address of a broker; with its last one its topics go too."""
        self.broker_live_table.pop(broker_addr, None)
        self.filter_server_table.pop(broker_addr, None)
        broker = self.broker_addr_table.get(broker_name)
        if broker is None:
            return
        broker.broker_addrs.pop(broker_id, None)
        if not broker.broker_addrs:
            self._remove_broker_name(broker_name, [cluster_name])

    def _remove_broker_name(self, broker_name: str, clusters: Iterable[str]) -> None:
        del self.broker_addr_table[broker_name]
        self._touched()
        for cluster in clusters:
            names = self.cluster_addr_table.get(cluster, [])
            if broker_name in names:
                names.remove(broker_name)
                if not names:
                    del self.cluster_addr_table[cluster]
                break
        for topic, queues in list(self.topic_queue_table.items()):
            queues[:] = [data for data in queues if data.broker_name != broker_name]
            if not queues:
                del self.topic_queue_table[topic]

    def scan_not_active_broker(self, now: int) -> None:
        """Forget brokers whose last sign of life is more than 120 s old at `now` (epoch ms)."""
        for addr in hash_map_order(self.broker_live_table, 256):
            info = self.broker_live_table[addr]
            if info.last_update_timestamp + BROKER_CHANNEL_EXPIRED_TIME < now:
                info.channel.close()
                self.broker_live_table.pop(addr, None)
                self.on_channel_destroy(addr, info.channel)

    def on_channel_destroy(self, remote_addr: str, channel: Channel | None) -> None:
        """Forget the broker that registered over this connection; without one, the broker at `remote_addr`."""
        addresses = [addr for addr, info in self.broker_live_table.items() if info.channel is channel]
        broker_addr = addresses[0] if addresses and channel is not None else remote_addr
        self.broker_live_table.pop(broker_addr, None)
        self.filter_server_table.pop(broker_addr, None)
        for name in hash_map_order(self.broker_addr_table, _BROKERS):
            addrs = self.broker_addr_table[name].broker_addrs
            ids = [broker_id for broker_id, addr in addrs.items() if addr == broker_addr]
            if ids:
                del addrs[ids[0]]
                if not addrs:
                    self._remove_broker_name(name, hash_map_order(self.cluster_addr_table, _CLUSTERS))
                return

    def delete_topic(self, topic: str) -> None:
        """Forget a topic; brokers that still have it bring it back when their data version changes."""
        self.topic_queue_table.pop(topic, None)
        self._touched()

    def _touched(self) -> None:
        """Have every broker's topics looked at again when its data version changes."""
        for info in self.broker_live_table.values():
            info.is_whole = False

    def wipe_write_perm_of_broker(self, broker_name: str) -> int:
        """Take the right to be written from all topics of a broker; return how many topics that were."""
        queues = [data for row in self.topic_queue_table.values() for data in row if data.broker_name == broker_name]
        for data in queues:
            data.perm &= ~PERM_WRITE
        self._touched()
        return len(queues)

    def pickup_topic_route_data(self, topic: str) -> TopicRouteData | None:
        """A topic's route: queues in the order the brokers came, brokers in HashSet order; None without one."""
        queues = self.topic_queue_table.get(topic)
        if queues is None:
            return None
        names = hash_map_order(map(attrgetter("broker_name"), queues))
        brokers = list(filter(None, map(self.broker_addr_table.get, names)))
        if not brokers:
            return None
        servers = {}
        if self.filter_server_table:
            addrs = hash_map_order(addr for broker in brokers for addr in broker.broker_addrs.values())
            servers = {addr: self.filter_server_table[addr] for addr in addrs if addr in self.filter_server_table}
        return TopicRouteData(queue_datas=queues, broker_datas=brokers, filter_server_table=servers)

    def get_all_cluster_info(self) -> ClusterInfo:
        """Brokers by name and names by cluster."""
        brokers, clusters = self.broker_addr_table, self.cluster_addr_table
        return ClusterInfo(
            in_hash_map_order(brokers, _BROKERS),
            {cluster: hash_map_order(clusters[cluster]) for cluster in hash_map_order(clusters, _CLUSTERS)},
        )

    def get_all_topic_list(self) -> TopicList:
        """The names of all topics."""
        return TopicList(hash_map_order(hash_map_order(self.topic_queue_table, _TOPICS)))

    def get_topics_by_cluster(self, cluster: str) -> TopicList:
        """The topics of a cluster's brokers; none for a cluster that is not known."""
        names = self.cluster_addr_table.get(cluster, [])
        return self._topics_with(lambda queues: any(data.broker_name in names for data in queues))

    def get_system_topic_list(self) -> TopicList:
        """The names of clusters and brokers, which are topics too, and the address of the first broker."""
        clusters, brokers = self.cluster_addr_table, self.broker_addr_table
        topics: list[str] = []
        for cluster in hash_map_order(clusters, _CLUSTERS):
            topics += [cluster, *hash_map_order(clusters[cluster])]
        addrs = (brokers[name].broker_addrs for name in hash_map_order(brokers, _BROKERS))
        first = next(filter(None, addrs), None)
        return TopicList(hash_map_order(topics), None if first is None else first[hash_set_order(first, int)[0]])

    def get_unit_topics(self) -> TopicList:
        """The topics whose first queues are of a unit."""
        return self._topics_with(lambda queues: bool(queues and queues[0].topic_syn_flag & UNIT_FLAG))

    def get_has_unit_sub_topic_list(self) -> TopicList:
        """The topics that a unit subscribes to."""
        return self._topics_with(lambda queues: bool(queues and queues[0].topic_syn_flag & UNIT_SUB_FLAG))

    def get_has_unit_sub_un_unit_topic_list(self) -> TopicList:
        """The topics that a unit subscribes to and that are of none."""
        both = UNIT_FLAG | UNIT_SUB_FLAG
        return self._topics_with(lambda queues: bool(queues) and queues[0].topic_syn_flag & both == UNIT_SUB_FLAG)

    def _topics_with(self, is_one: Callable[[list[QueueData]], bool]) -> TopicList:
        topics = hash_map_order(self.topic_queue_table, _TOPICS)
        return TopicList(hash_map_order([topic for topic in topics if is_one(self.topic_queue_table[topic])]))
