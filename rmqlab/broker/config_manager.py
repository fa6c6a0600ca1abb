"""What a broker keeps beside its messages, as the text of 4.8.0's files in `config/` (`ConfigManager`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from rmqlab.protocol import fastjson
from rmqlab.protocol.serializable import to_json

if TYPE_CHECKING:
    from rmqlab.filter.message_filter import ConsumerFilterData
    from rmqlab.protocol.serializable import RemotingSerializable


class ConfigManager(ABC):
    """A table of the broker that has a file of `config/`, called `file_name`."""

    file_name: ClassVar[str]

    @abstractmethod
    def body(self) -> RemotingSerializable:
        """The table of this moment: it may change afterwards."""

    @abstractmethod
    def decode(self, text: str) -> None:
        """Take in a file's text.

        Raises:
            FrameError: one that fastjson could not read.
        """

    def encode(self) -> str:
        """The file's text."""
        return file_text(self.body())


def file_text(body: RemotingSerializable | ConsumerFilterData) -> str:
    """A body as the text of its file (`RemotingSerializable.toJson(prettyFormat=true)`)."""
    return fastjson.pretty(to_json(body))
