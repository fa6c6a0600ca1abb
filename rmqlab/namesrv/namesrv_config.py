"""Settings of a name server, as its admin interface shows and changes them (4.8.0 `NamesrvConfig`, `Configuration`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.message.java import hash_map_order

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
        """Take over settings; names that are no setting are passed over (4.8.0 `Configuration.update`)."""
        self.properties.update({name: value for name, value in properties.items() if name in self.properties})

    def to_text(self) -> str:
        """Return `name=value` lines in the order of java.util.Properties."""
        return "".join(f"{name}={self.properties[name]}\n" for name in hash_map_order(self.properties))
