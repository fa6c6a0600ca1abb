"""What a broker keeps beside its messages, as the text of 4.8.0's files in `config/` (`ConfigManager`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from rmqlab.message.java import hash_map_order
from rmqlab.protocol import fastjson
from rmqlab.protocol.admin_bodies import ConsumerOffsetSerializeWrapper
from rmqlab.protocol.serializable import RemotingSerializable, hash_set_order, to_json
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.broker.broker import Broker

T = TypeVar("T")

# Table lengths of the ConcurrentHashMaps, which decide the order in the files.
_TOPICS, _GROUPS, _OFFSETS = 2048, 2048, 1024


class ConfigFile(NamedTuple):
    """A file of `config/`: its name, how its text is made, and how it is taken in.

    `decode` raises `FrameError` for a text that fastjson could not read.
    """

    name: str
    encode: Callable[[], str]
    decode: Callable[[str], None]


class DelayOffsetSerializeWrapper(RemotingSerializable):
    """delayOffset.json: the next offset to deliver of each delay level."""

    offset_table: dict[int, int] = msgspec.field(default_factory=dict)


def config_files(broker: Broker) -> list[ConfigFile]:
    """Return the files of a broker, in the order in which 4.8.0 loads them."""
    files = _BrokerFiles(broker)
    filters = broker.consumer_filter_manager
    return [
        ConfigFile("topics.json", files.topics, files.take_topics),
        ConfigFile("consumerOffset.json", files.offsets, files.take_offsets),
        ConfigFile("subscriptionGroup.json", files.groups, files.take_groups),
        ConfigFile("consumerFilter.json", filters.encode, filters.decode),
        ConfigFile("delayOffset.json", files.delays, files.take_delays),
    ]


class BrokerTables:
    """One broker's tables as bodies, in the order in which 4.8.0 writes them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def topics(self) -> TopicConfigSerializeWrapper:
        """Return every topic, and the table's version."""
        manager = self._broker.topic_config_manager
        return TopicConfigSerializeWrapper(_ordered(manager.topic_config_table, _TOPICS), manager.data_version)

    def groups(self) -> SubscriptionGroupWrapper:
        """Return every consumer group, and the table's version."""
        manager = self._broker.subscription_group_manager
        return SubscriptionGroupWrapper(_ordered(manager.subscription_group_table, _GROUPS), manager.data_version)

    def offsets(self) -> ConsumerOffsetSerializeWrapper:
        """Return every committed offset."""
        table = self._broker.consumer_offset_manager.offset_table
        by_key = {key: _by_number(queues) for key, queues in _ordered(table, _OFFSETS).items()}
        return ConsumerOffsetSerializeWrapper(by_key)

    def delays(self) -> DelayOffsetSerializeWrapper:
        """Return how far each delay level has been delivered."""
        return DelayOffsetSerializeWrapper(_by_number(self._broker.schedule_message_service.offset_table))


class _BrokerFiles:
    """The texts of one broker's tables."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._tables = BrokerTables(broker)

    def topics(self) -> str:
        return pretty(to_json(self._tables.topics()))

    def take_topics(self, text: str) -> None:
        manager, loaded = self._broker.topic_config_manager, TopicConfigSerializeWrapper.decode(text.encode())
        manager.topic_config_table.update(loaded.topic_config_table)
        manager.data_version = loaded.data_version

    def groups(self) -> str:
        return pretty(to_json(self._tables.groups()))

    def take_groups(self, text: str) -> None:
        manager, loaded = self._broker.subscription_group_manager, SubscriptionGroupWrapper.decode(text.encode())
        manager.subscription_group_table.update(loaded.subscription_group_table)
        manager.data_version = loaded.data_version

    def offsets(self) -> str:
        return pretty(to_json(self._tables.offsets()))

    def take_offsets(self, text: str) -> None:
        loaded = ConsumerOffsetSerializeWrapper.decode(text.encode())
        self._broker.consumer_offset_manager.offset_table = loaded.offset_table

    def delays(self) -> str:
        return pretty(to_json(self._tables.delays()))

    def take_delays(self, text: str) -> None:
        loaded = DelayOffsetSerializeWrapper.decode(text.encode())
        self._broker.schedule_message_service.offset_table.update(loaded.offset_table)


def _ordered(table: Mapping[str, T], capacity: int) -> dict[str, T]:
    return {name: table[name] for name in map(str, hash_map_order(table, capacity))}


def _by_number(table: Mapping[int, int]) -> dict[int, int]:
    return {number: table[number] for number in hash_set_order(table, int)}


def pretty(value: object, indent: str = "") -> str:
    """Write as fastjson does with `PrettyFormat`: tabs, objects over several lines, arrays of numbers in one.

    A map with numbers for keys stands in one line up to its closing brace.
    """
    if not isinstance(value, dict) or not value:
        return fastjson.write(value).decode("utf-8")
    if all(isinstance(name, int) for name in value):
        return f"{fastjson.write(value).decode()[:-1]}\n{indent}}}"
    inner = f"{indent}\t"
    lines = (f"{inner}{fastjson.write(name).decode()}:{pretty(item, inner)}" for name, item in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
