"""What a broker keeps in `config/` beside its messages, read from a store directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rmqlab.broker.config_manager import DelayOffsetSerializeWrapper
from rmqlab.broker.consumer_filter_manager import decode_filter_data
from rmqlab.errors import BadInput
from rmqlab.message.java import split
from rmqlab.protocol.admin_bodies import ConsumerOffsetSerializeWrapper
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.consumer_filter_data import ConsumerFilterData
    from rmqlab.protocol.topic_config import SubscriptionGroupConfig, TopicConfig

T = TypeVar("T")


class ForeignStoreConfigError(BadInput):
    """A file of `config/` that cannot be read, nor its copy `.bak`."""


class StoreConfig:
    """The files of `config/` of one store directory; a file that is not there is an empty one.

    As a broker does at its start, a file that is missing, empty or broken is replaced by its `.bak` (4.8.0
    `ConfigManager.load`). The methods raise `ForeignStoreConfigError` when both are broken.
    """

    def __init__(self, root: str | Path) -> None:
        self._folder = Path(root) / "config"

    def offsets(self) -> dict[tuple[str, str], dict[int, int]]:
        """The committed offsets: (group, topic) to queue id to the next offset."""
        table = self._read("consumerOffset.json", lambda text: ConsumerOffsetSerializeWrapper.decode(text.encode()))
        found = {}
        for key, queues in (table.offset_table if table else {}).items():
            parts = split(key, "@")
            if len(parts) == 2:
                found[parts[1], parts[0]] = dict(queues)
        return found

    def groups(self) -> dict[str, SubscriptionGroupConfig]:
        """The consumer groups by name."""
        table = self._read("subscriptionGroup.json", lambda text: SubscriptionGroupWrapper.decode(text.encode()))
        return dict(table.subscription_group_table) if table else {}

    def topics(self) -> dict[str, TopicConfig]:
        """The topics by name."""
        table = self._read("topics.json", lambda text: TopicConfigSerializeWrapper.decode(text.encode()))
        return dict(table.topic_config_table) if table else {}

    def filters(self) -> list[ConsumerFilterData]:
        """The SQL92 subscriptions that the broker remembers; those of TAG are in no file."""
        table = self._read("consumerFilter.json", decode_filter_data)
        return [data for groups in (table or {}).values() for data in groups.values()]

    def delays(self) -> dict[int, int]:
        """The next offset to deliver of each delay level."""
        table = self._read("delayOffset.json", lambda text: DelayOffsetSerializeWrapper.decode(text.encode()))
        return dict(table.offset_table) if table else {}

    def _read(self, name: str, decode: Callable[[str], T | None]) -> T | None:
        problem: Exception | None = None
        for path in (self._folder / name, self._folder / f"{name}.bak"):
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
                if text:
                    return decode(text)
            except FileNotFoundError:
                continue
            except (FrameError, ValueError, OSError) as error:
                problem = error
        if problem is not None:
            raise ForeignStoreConfigError(f"{self._folder / name}: {problem}; its copy {name}.bak is no help either")
        return None
