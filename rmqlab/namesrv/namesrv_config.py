"""Settings of a name server, and texts by namespace and key.

Source: `NamesrvConfig`, `Configuration`, `KVConfigManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.message.java import hash_map_order
from rmqlab.protocol.admin_bodies import KVTable

if TYPE_CHECKING:
    from collections.abc import Mapping


# 4.8.0 NamesrvConfig and NettyServerConfig, the listening port as NamesrvStartup sets it
_DEFAULTS: Final = {
    "rocketmqHome": "/opt/rocketmq",
    "kvConfigPath": "/opt/rocketmq/namesrv/kvConfig.json",
    "configStorePath": "/opt/rocketmq/namesrv/namesrv.properties",
    "productEnvName": "center",
    "clusterTest": "false",
    "orderMessageEnable": "false",
    "listenPort": "9876",
    "serverWorkerThreads": "8",
    "serverCallbackExecutorThreads": "0",
    "serverSelectorThreads": "3",
    "serverOnewaySemaphoreValue": "256",
    "serverAsyncSemaphoreValue": "64",
    "serverChannelMaxIdleTimeSeconds": "120",
    "serverSocketSndBufSize": "65535",
    "serverSocketRcvBufSize": "65535",
    "serverPooledByteBufAllocatorEnable": "true",
    "useEpollNativeSelector": "false",
}


class NamesrvConfig:
    """Names and texts of all settings; only `orderMessageEnable` changes what this name server answers."""

    def __init__(self, **settings: str) -> None:
        self.properties = _DEFAULTS | settings

    @property
    def order_message_enable(self) -> bool:
        """Whether routes tell how many queues of an ordered topic each broker has."""
        return self.properties["orderMessageEnable"].lower() == "true"

    def update(self, properties: Mapping[str, str]) -> None:
        """Take over settings; names that are no setting are passed over (`Configuration.update`)."""
        self.properties.update({name: value for name, value in properties.items() if name in self.properties})

    def to_text(self) -> str:
        """Return `name=value` lines in the order of java.util.Properties."""
        return "".join(f"{name}={self.properties[name]}\n" for name in hash_map_order(self.properties))


NAMESPACE_ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
"""The namespace whose keys are ordered topics and whose values read "broker:queues;broker:queues"."""


class KVConfigManager:
    """Namespaces, once made, stay even when their last key goes."""

    def __init__(self) -> None:
        self.config_table: dict[str, dict[str, str]] = {}

    def put_kv_config(self, namespace: str, key: str, value: str) -> None:
        """Set a value."""
        self.config_table.setdefault(namespace, {})[key] = value

    def delete_kv_config(self, namespace: str, key: str) -> None:
        """Forget a value; nothing happens when there is none."""
        self.config_table.get(namespace, {}).pop(key, None)

    def get_kv_config(self, namespace: str, key: str) -> str | None:
        """Return a value."""
        return self.config_table.get(namespace, {}).get(key)

    def get_kv_list_by_namespace(self, namespace: str) -> KVTable | None:
        """Return all keys and values of a namespace; None when nobody ever put one there."""
        table = self.config_table.get(namespace)
        return None if table is None else KVTable(table={key: table[key] for key in hash_map_order(table)})
