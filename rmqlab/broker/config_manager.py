"""What a broker keeps beside its messages, as the text of 4.8.0's files in `config/` (`ConfigManager`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from rmqlab.message.java import hash_map_order, hash_set_order
from rmqlab.protocol import fastjson
from rmqlab.protocol.bodies import ConsumerOffsetSerializeWrapper
from rmqlab.protocol.serializable import RemotingSerializable, to_json
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
    from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
    from rmqlab.broker.schedule_message_service import ScheduleMessageService
    from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager

T = TypeVar("T")

# Table lengths of the ConcurrentHashMaps, which decide the order in the files.
_TOPICS, _GROUPS, _OFFSETS = 2048, 2048, 1024


class ConfigFile(NamedTuple):
    """A file of `config/`: its name, what stands in it, and how its text is taken in.

    `body` is of the moment it is called: the tables may change afterwards. `decode` raises `FrameError` for a text that
    fastjson could not read.
    """

    name: str
    body: Callable[[], RemotingSerializable]
    decode: Callable[[str], None]

    def encode(self) -> str:
        """Return the file's text."""
        return file_text(self.body())


def file_text(body: RemotingSerializable) -> str:
    """Return a body as the text of its file (`RemotingSerializable.toJson(prettyFormat=true)`)."""
    return fastjson.pretty(to_json(body))


class DelayOffsetSerializeWrapper(RemotingSerializable):
    """delayOffset.json: the next offset to deliver of each delay level."""

    offset_table: dict[int, int] = msgspec.field(default_factory=dict)


class BrokerTables:
    """One broker's tables as bodies, in the order in which 4.8.0 writes them, and as files of `config/`."""

    def __init__(
        self,
        topics: TopicConfigManager,
        offsets: ConsumerOffsetManager,
        groups: SubscriptionGroupManager,
        filters: ConsumerFilterManager,
        schedule: ScheduleMessageService,
    ) -> None:
        self._topics = topics
        self._offsets = offsets
        self._groups = groups
        self._filters = filters
        self._schedule = schedule

    def files(self) -> list[ConfigFile]:
        """Return the files, in the order in which 4.8.0 loads them."""
        return [
            ConfigFile("topics.json", self.topics, self._take_topics),
            ConfigFile("consumerOffset.json", self.offsets, self._take_offsets),
            ConfigFile("subscriptionGroup.json", self.groups, self._take_groups),
            ConfigFile("consumerFilter.json", self._filters.body, self._filters.decode),
            ConfigFile("delayOffset.json", self.delays, self._take_delays),
        ]

    def topics(self) -> TopicConfigSerializeWrapper:
        """Return every topic, and the table's version."""
        manager = self._topics
        return TopicConfigSerializeWrapper(_ordered(manager.topic_config_table, _TOPICS), manager.data_version)

    def _take_topics(self, text: str) -> None:
        loaded = TopicConfigSerializeWrapper.decode(text.encode())
        self._topics.topic_config_table.update(loaded.topic_config_table)
        self._topics.data_version = loaded.data_version

    def groups(self) -> SubscriptionGroupWrapper:
        """Return every consumer group, and the table's version."""
        manager = self._groups
        return SubscriptionGroupWrapper(_ordered(manager.subscription_group_table, _GROUPS), manager.data_version)

    def _take_groups(self, text: str) -> None:
        loaded = SubscriptionGroupWrapper.decode(text.encode())
        self._groups.subscription_group_table.update(loaded.subscription_group_table)
        self._groups.data_version = loaded.data_version

    def offsets(self) -> ConsumerOffsetSerializeWrapper:
        """Return every committed offset."""
        table = _ordered(self._offsets.offset_table, _OFFSETS)
        return ConsumerOffsetSerializeWrapper({key: _by_number(queues) for key, queues in table.items()})

    def _take_offsets(self, text: str) -> None:
        self._offsets.offset_table = ConsumerOffsetSerializeWrapper.decode(text.encode()).offset_table

    def delays(self) -> DelayOffsetSerializeWrapper:
        """Return how far each delay level has been delivered."""
        return DelayOffsetSerializeWrapper(_by_number(self._schedule.offset_table))

    def _take_delays(self, text: str) -> None:
        self._schedule.offset_table.update(DelayOffsetSerializeWrapper.decode(text.encode()).offset_table)


def _ordered(table: Mapping[str, T], capacity: int) -> dict[str, T]:
    return {name: table[name] for name in map(str, hash_map_order(table, capacity))}


def _by_number(table: Mapping[int, int]) -> dict[int, int]:
    return {number: table[number] for number in hash_set_order(table, int)}
