"""Headers of what brokers, clients and the admin tool ask of a name server.

Source: `org.apache.rocketmq.common.protocol.header`; the numbers are request codes.
"""

from __future__ import annotations

from rmqlab.protocol.header import NULL, CommandHeader, Long, WithTopic


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


class PutKVConfigRequestHeader(CommandHeader):
    """PUT_KV_CONFIG 100."""

    namespace: str = NULL
    key: str = NULL
    value: str = NULL


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
