"""A name server's own settings, shown and changed as it runs (`NamesrvConfig`, `Configuration`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import NumberFormatError, boolean_text, in_hash_map_order, parse_int

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PORT = 9876
ORDER_MESSAGE_ENABLE = "orderMessageEnable"
# In the order of the fields of the two classes; the listening port is that of `NamesrvStartup`.
_DEFAULTS: dict[str, str | bool | int] = {
    "rocketmqHome": "/opt/rocketmq",
    "kvConfigPath": "/opt/rocketmq/namesrv/kvConfig.json",
    "configStorePath": "/opt/rocketmq/namesrv/namesrv.properties",
    "productEnvName": "center",
    "clusterTest": False,
    ORDER_MESSAGE_ENABLE: False,
    "listenPort": DEFAULT_PORT,
    "serverWorkerThreads": 8,
    "serverCallbackExecutorThreads": 0,
    "serverSelectorThreads": 3,
    "serverOnewaySemaphoreValue": 256,
    "serverAsyncSemaphoreValue": 64,
    "serverChannelMaxIdleTimeSeconds": 120,
    "serverSocketSndBufSize": 65_535,
    "serverSocketRcvBufSize": 65_535,
    "serverPooledByteBufAllocatorEnable": True,
    "useEpollNativeSelector": False,
}


class NamesrvConfig:
    """What GET_NAMESRV_CONFIG shows. Of the settings only `orderMessageEnable` has an effect while a server runs.

    >>> config = NamesrvConfig(listen_port=19876)
    >>> config.update({"orderMessageEnable": "true", "listenPort": "none", "noSuchSetting": "1"})
    >>> config.is_order_message_enabled, "listenPort=19876" in config.text().splitlines()
    (True, True)
    """

    def __init__(self, listen_port: int = DEFAULT_PORT) -> None:
        self._values = {**_DEFAULTS, "listenPort": listen_port}
        self.is_order_message_enabled = self._values[ORDER_MESSAGE_ENABLE] is True
        """Whether a route names its topic's ordered queues."""

    def update(self, properties: Mapping[str, str]) -> None:
        """Take over settings; names of no setting and texts that are no number are passed over, as in 4.8.0."""
        for name in properties.keys() & self._values.keys():
            default, text = _DEFAULTS[name], properties[name]
            if isinstance(default, bool):
                self._values[name] = text.lower() == "true"
            elif isinstance(default, int):
                try:
                    self._values[name] = parse_int(text)
                except NumberFormatError:
                    continue
            else:
                self._values[name] = text
        self.is_order_message_enabled = self._values[ORDER_MESSAGE_ENABLE] is True

    def text(self) -> str:
        """`name=value` lines in the order of java.util.Properties."""
        shown = {
            name: boolean_text(value) if isinstance(value, bool) else str(value) for name, value in self._values.items()
        }
        return "".join(f"{name}={value}\n" for name, value in in_hash_map_order(shown).items())
