"""What a name server is asked and answers: headers, and where a topic's queues are.

Source: `org.apache.rocketmq.common.protocol.header`, `TopicRouteData`, `QueueData`, `BrokerData`, `ClusterInfo`; the
numbers are request codes.
"""

from __future__ import annotations

import msgspec

from rmqlab.message.java import Long, utf16_key
from rmqlab.protocol.header import NULL, CommandHeader, WithTopic
from rmqlab.protocol.serializable import RemotingSerializable

MASTER_ID = 0


class RegisterBrokerRequestHeader(CommandHeader):
    """REGISTER_BROKER 103; `body_crc32` of the body as sent, compressed or not."""

    broker_name: str = NULL
    broker_addr: str = NULL
    cluster_name: str = NULL
    ha_server_addr: str = NULL
    broker_id: Long = NULL
    compressed: bool = False
    body_crc32: int = 0


class RegisterBrokerResponseHeader(CommandHeader):
    """Answer to 103."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnRegisterBrokerRequestHeader(CommandHeader):
    """UNREGISTER_BROKER 104."""

    broker_name: str = NULL
    broker_addr: str = NULL
    cluster_name: str = NULL
    broker_id: Long = NULL


class GetRouteInfoRequestHeader(WithTopic):
    """GET_ROUTEINFO_BY_TOPIC 105."""


class GetRouteInfoWithFlagRequestHeader(GetRouteInfoRequestHeader):
    """105 as 5.x has it; with `accept_standard_json_only` names that are numbers stand in quotes."""

    accept_standard_json_only: bool | None = None


class PutKVConfigRequestHeader(CommandHeader):
    """PUT_KV_CONFIG 100."""

    namespace: str = NULL
    key: str = NULL
    value: str = NULL


class GetKVConfigRequestHeader(CommandHeader):
    """GET_KV_CONFIG 101."""

    namespace: str = NULL
    key: str = NULL


class GetKVConfigResponseHeader(CommandHeader):
    """Answer to 101."""

    value: str | None = None


class GetKVListByNamespaceRequestHeader(CommandHeader):
    """GET_KVLIST_BY_NAMESPACE 219."""

    namespace: str = NULL


class GetTopicsByClusterRequestHeader(CommandHeader):
    """GET_TOPICS_BY_CLUSTER 224."""

    cluster: str = NULL


class QueryDataVersionRequestHeader(CommandHeader):
    """QUERY_DATA_VERSION 322; the body is the broker's `DataVersion`."""

    broker_name: str = NULL
    broker_addr: str = NULL
    cluster_name: str = NULL
    broker_id: Long = NULL


class QueryDataVersionResponseHeader(CommandHeader):
    """Answer to 322: whether the broker's topics are others than those held."""

    changed: bool = NULL


class DeleteKVConfigRequestHeader(CommandHeader):
    """DELETE_KV_CONFIG 102."""

    namespace: str = NULL
    key: str = NULL


class DeleteTopicInNamesrvRequestHeader(WithTopic):
    """DELETE_TOPIC_IN_NAMESRV 216."""


class WipeWritePermOfBrokerRequestHeader(CommandHeader):
    """WIPE_WRITE_PERM_OF_BROKER 205."""

    broker_name: str = NULL


class WipeWritePermOfBrokerResponseHeader(CommandHeader):
    """Answer to 205."""

    wipe_topic_count: int = NULL


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
    broker_addrs: dict[Long, str] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Whether name and addresses agree; 4.8.0 leaves the cluster out."""
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
