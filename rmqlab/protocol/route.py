"""Where a topic's queues are (`TopicRouteData`, `QueueData`, `BrokerData`, `ClusterInfo`)."""

from __future__ import annotations

import msgspec

from rmqlab.message.java import utf16_key
from rmqlab.protocol.serializable import RemotingSerializable

MASTER_ID = 0


class QueueData(RemotingSerializable):
    """A topic's queues on one broker; `topic_syn_flag` is the topic's system flag, misspelt on the wire."""

    broker_name: str = ""
    read_queue_nums: int = 0
    write_queue_nums: int = 0
    perm: int = 0
    topic_syn_flag: int = 0

    def __lt__(self, other: QueueData) -> bool:
        """Order by broker name."""
        return utf16_key(self.broker_name) < utf16_key(other.broker_name)


class BrokerData(RemotingSerializable, eq=False):
    """A broker's addresses ("ip:port") by broker id; 0 is the master."""

    cluster: str | None = None
    broker_name: str = ""
    broker_addrs: dict[int, str] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Tell whether name and addresses agree; 4.8.0 leaves the cluster out."""
        if not isinstance(other, BrokerData):
            return NotImplemented
        return self.broker_name == other.broker_name and self.broker_addrs == other.broker_addrs

    __hash__ = None  # type: ignore[assignment]  # addresses change

    def __lt__(self, other: BrokerData) -> bool:
        """Order by broker name."""
        return utf16_key(self.broker_name) < utf16_key(other.broker_name)


class TopicRouteData(RemotingSerializable):
    """The answer to GET_ROUTEINFO_BY_TOPIC 105. `order_topic_conf` reads "broker:queues;broker:queues"."""

    order_topic_conf: str | None = None
    queue_datas: list[QueueData] = msgspec.field(default_factory=list)
    broker_datas: list[BrokerData] = msgspec.field(default_factory=list)
    filter_server_table: dict[str, list[str]] = msgspec.field(default_factory=dict)


class ClusterInfo(RemotingSerializable):
    """The answer to GET_BROKER_CLUSTER_INFO 106: brokers by name, names of brokers by cluster."""

    broker_addr_table: dict[str, BrokerData] = msgspec.field(default_factory=dict)
    cluster_addr_table: dict[str, list[str]] = msgspec.field(default_factory=dict)


class TopicList(RemotingSerializable):
    """Names of topics, of the name server (206, 224, 304, 311..313) or a broker (305)."""

    topic_list: list[str] = msgspec.field(default_factory=list)
    broker_addr: str | None = None
