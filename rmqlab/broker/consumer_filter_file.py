"""The file `config/consumerFilter.json`, byte for byte as 4.8.0 writes it (row F-46)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from rmqlab.filter.bloom import BloomFilterData
from rmqlab.filter.consumer_filter_data import ConsumerFilterData
from rmqlab.message.java import hash_map_order
from rmqlab.protocol import fastjson
from rmqlab.protocol.serializable import RemotingSerializable, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

FilterDataByTopic = dict[str | None, dict[str, ConsumerFilterData]]
# Table lengths of the two ConcurrentHashMaps, which decide the order in the file.
TOPICS_CAPACITY: Final = 512
_GROUPS_CAPACITY: Final = 16


class _Bloom(RemotingSerializable):
    bit_num: int = 0
    bit_pos: list[int] | None = None


class _Data(RemotingSerializable):
    bloom_filter_data: _Bloom | None = None
    born_time: int = 0
    client_version: int = 0
    consumer_group: str | None = None
    dead: bool = False  # written for people; nothing reads it
    dead_time: int = 0
    expression: str | None = None
    expression_type: str | None = None
    topic: str | None = None


class _Topic(RemotingSerializable):
    group_filter_data: dict[str, _Data | None] = msgspec.field(default_factory=dict)
    topic: str | None = None


class _File(RemotingSerializable):
    filter_data_by_topic: dict[str, _Topic | None] | None = None


def encode_filter_data(data: FilterDataByTopic, capacity: int = TOPICS_CAPACITY) -> str:
    """Write all filter data. `capacity` is the length of the topics' table: another one after a file was loaded."""
    topics = {str(topic): groups for topic, groups in data.items()}
    stored = _File(
        {
            topic: _Topic(
                {group: _stored(topics[topic][group]) for group in _order(topics[topic], _GROUPS_CAPACITY)}, topic
            )
            for topic in _order(topics, capacity)
        }
    )
    return fastjson.pretty(to_json(stored))


def filter_data_text(data: ConsumerFilterData | None) -> str:
    """Write one group's filter data as the admin tool is shown it."""
    return "null" if data is None else fastjson.pretty(to_json(_stored(data)))


def decode_filter_data(text: str) -> FilterDataByTopic | None:
    """Read a file; compiled expressions are not in it. None when it holds no table at all.

    Raises `FrameError` for what fastjson could not read.
    """
    stored = _File.decode(text.encode("utf-8", "surrogatepass"))
    if stored.filter_data_by_topic is None:
        return None
    return {
        topic: {group: _loaded(data) for group, data in groups.group_filter_data.items() if data is not None}
        for topic, groups in stored.filter_data_by_topic.items()
        if groups is not None
    }


def _order(names: Mapping[str, object], capacity: int) -> list[str]:
    return list(map(str, hash_map_order(names, capacity)))


def _stored(data: ConsumerFilterData) -> _Data:
    bloom = data.bloom_filter_data
    return _Data(
        bloom_filter_data=None if bloom is None else _Bloom(bloom.bit_num, bloom.bit_pos),
        born_time=data.born_time,
        client_version=data.client_version,
        consumer_group=data.consumer_group,
        dead=data.is_dead(),
        dead_time=data.dead_time,
        expression=data.expression,
        expression_type=data.expression_type,
        topic=data.topic,
    )


def _loaded(stored: _Data) -> ConsumerFilterData:
    bloom = stored.bloom_filter_data
    return ConsumerFilterData(
        consumer_group=stored.consumer_group,
        topic=stored.topic,
        expression=stored.expression,
        expression_type=stored.expression_type,
        born_time=stored.born_time,
        dead_time=stored.dead_time,
        bloom_filter_data=None if bloom is None else BloomFilterData(bloom.bit_pos, bloom.bit_num),
        client_version=stored.client_version,
    )
