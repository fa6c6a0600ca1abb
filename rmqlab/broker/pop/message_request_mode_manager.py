"""Whether a group pulls a topic's messages or pops them: set by an administrator, or the broker's default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rmqlab.broker.config_manager import ConfigManager
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.assignment import MessageRequestMode, SetMessageRequestModeRequestBody
from rmqlab.protocol.serializable import RemotingSerializable

if TYPE_CHECKING:
    from rmqlab.broker.pop.pop_config import PopConfig


class MessageRequestModes(RemotingSerializable):
    """messageRequestMode.json: modes by topic and group."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = msgspec.field(
        default_factory=dict
    )


class MessageRequestModeManager(ConfigManager):
    """Modes by topic and group (`MessageRequestModeManager`)."""

    file_name = "messageRequestMode.json"

    def __init__(self, config: PopConfig) -> None:
        self._config = config
        self._table: dict[str, dict[str, SetMessageRequestModeRequestBody]] = {}

    def body(self) -> MessageRequestModes:
        """Every mode that was set."""
        return MessageRequestModes(self._table)

    def decode(self, text: str) -> None:
        """Take in the modes of a file; others are forgotten."""
        self._table = MessageRequestModes.decode(text.encode()).message_request_mode_map

    def set_mode(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Remember a mode of a topic and a group."""
        self._table.setdefault(mode.topic, {})[mode.consumer_group] = mode

    def mode_of(self, topic: str, group: str) -> SetMessageRequestModeRequestBody:
        """How a group fetches a topic's messages; a retry topic's are pulled."""
        mode = self._table.get(topic, {}).get(group)
        if mode is not None:
            return mode
        usual = self._config.default_message_request_mode
        if is_retry_topic(topic):
            usual = MessageRequestMode.PULL
        share = self._config.default_pop_share_queue_num if usual is MessageRequestMode.POP else 0
        return SetMessageRequestModeRequestBody(topic, group, usual, share)
