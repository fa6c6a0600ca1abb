"""What a broker registers with a name server (4.8.0 `RegisterBrokerBody`, `TopicConfigSerializeWrapper`)."""

from __future__ import annotations

import zlib

import msgspec

from rmqlab.message.java import from_utf8, to_utf8
from rmqlab.protocol import fastjson
from rmqlab.protocol.data_version import DataVersion
from rmqlab.protocol.frame_error import FrameError
from rmqlab.protocol.serializable import RemotingSerializable, from_json
from rmqlab.protocol.topic_config import TopicConfig

MAX_INFLATED_BYTES = 64 * 1024 * 1024
"""Ours: what a compressed registration may grow to. 4.8.0 knows no bound."""


class TopicConfigSerializeWrapper(RemotingSerializable):
    """All topics of a broker and the version of the table; also the answer to GET_ALL_TOPIC_CONFIG 21."""

    topic_config_table: dict[str, TopicConfig] = msgspec.field(default_factory=dict)
    data_version: DataVersion = msgspec.field(default_factory=DataVersion)


class RegisterBrokerBody(RemotingSerializable):
    """Topics and filter servers, sent as JSON, or compressed with each topic as five words."""

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper = msgspec.field(
        default_factory=TopicConfigSerializeWrapper,
    )
    filter_server_list: list[str] = msgspec.field(default_factory=list)

    def encode_compressed(self) -> bytes:
        """Return the zlib form: data version, number of topics, topics, filter servers, each after its length."""
        wrapper = self.topic_config_serialize_wrapper
        topics = wrapper.topic_config_table
        parts = [_sized(wrapper.data_version.encode()), len(topics).to_bytes(4, "big")]
        parts += (_sized(to_utf8(config.to_text())) for config in topics.values())
        parts.append(_sized(fastjson.write(self.filter_server_list)))
        return zlib.compress(b"".join(parts), 9)

    @classmethod
    def decode_compressed(cls, data: bytes) -> RegisterBrokerBody:
        """Read the zlib form; raises FrameError when it ends early or is no zlib stream."""
        try:
            inflater = zlib.decompressobj()
            reader = _Reader(inflater.decompress(data, MAX_INFLATED_BYTES))
        except zlib.error as error:
            raise FrameError("ZipException", str(error)) from error
        if inflater.unconsumed_tail:
            raise FrameError("IOException", f"a registration of more than {MAX_INFLATED_BYTES} bytes, compressed")
        body = cls()
        wrapper = body.topic_config_serialize_wrapper
        wrapper.data_version = DataVersion.decode(reader.sized())
        for _ in range(reader.number()):
            config = TopicConfig.of_text(from_utf8(reader.sized()))
            wrapper.topic_config_table[config.topic_name] = config
        body.filter_server_list = from_json(list[str], fastjson.read(reader.sized()))
        return body


class _Reader:
    """Takes numbers and sized pieces from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def number(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def sized(self) -> bytes:
        return self._take(self.number())

    def _take(self, length: int) -> bytes:
        if length < 0:
            raise FrameError("NegativeArraySizeException", f"a length of {length} in a compressed registration")
        if length > len(self._data):
            raise FrameError("IOException", "End of compressed data has reached")
        piece, self._data = self._data[:length], self._data[length:]
        return piece


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
