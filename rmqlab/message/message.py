"""A message as a producer makes it, as a broker stores it and as a consumer gets it (`Message`, `MessageExt`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, NamedTuple, Self

from rmqlab.errors import BadInput
from rmqlab.message.java import boolean_text, in_hash_map_order, parse_boolean, parse_int, text_of, trim
from rmqlab.message.properties import (
    KEY_SEPARATOR,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    PROPERTY_WAIT_STORE_MSG_OK,
    SYSTEM_PROPERTIES,
    properties_to_string,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_V4_BYTES = 4
_V6_BYTES = 16
_LONGEST_ADDRESS = 64
_V4_MAPPED = bytes(10) + b"\xff\xff"


class UserPropertyError(BadInput, ValueError):
    """A user property whose name is reserved, or whose name or value is blank."""

    java_name = "RuntimeException"


class HostError(BadInput, ValueError):
    """Text or bytes that are no address."""


class Host(NamedTuple):
    """An IP address (IPv4, or IPv6 as Java prints it) and a port, as `InetSocketAddress`."""

    ip: str
    port: int

    def __str__(self) -> str:
        """The text "/ip:port"; an IPv6 address stands in brackets, as OpenJDK 14 and later print it."""
        return f"/[{self.ip}]:{self.port}" if ":" in self.ip else f"/{self.ip}:{self.port}"

    @property
    def text(self) -> str:
        """The text "ip:port", the form of channel addresses in RocketMQ."""
        return f"{self.ip}:{self.port}"

    @property
    def is_v6(self) -> bool:
        """Whether the address takes 16 bytes. An IPv4 address mapped into IPv6 is an IPv4 one, as in Java."""
        return len(_address(self.ip)) != _V4_BYTES

    @property
    def address(self) -> bytes:
        """The 4 or 16 bytes of the address.

        Raises:
            HostError: if `ip` is no literal address.
        """
        return _address(self.ip)

    @classmethod
    def of_address(cls, address: bytes, port: int) -> Self:
        """Make a host of the 4 or 16 bytes of an address.

        Raises:
            HostError: another length or port.
        """
        return cls(_ip(address), _checked_port(port))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "ip:port", "ip|port", "[v6]:port" or "v6:port".

        Raises:
            HostError: anything else.
        """
        return cls(*(_short_host_parts if len(text) <= _LONGEST_ADDRESS else _host_parts)(text))


def _host_parts(text: str) -> tuple[str, int]:
    ip, _, port = text.rpartition("|" if "|" in text else ":")
    if not (port.isascii() and port.isdecimal()):
        raise HostError(f"address {text!r}: the port is missing; right would be 127.0.0.1:10911")
    ip = ip.removeprefix("/").strip("[]")
    return _ip(_address(ip.partition("%")[0] if ":" in ip else ip)), _checked_port(int(port))


_short_host_parts = lru_cache(maxsize=4096)(_host_parts)


def _checked_port(port: int) -> int:
    if not 0 <= port <= 0xFFFF:
        raise HostError(f"port out of range:{port}")
    return port


@lru_cache(maxsize=4096)
def _address(ip: str) -> bytes:
    try:
        packed = IPv6Address(ip.partition("%")[0]).packed if ":" in ip else IPv4Address(ip).packed
    except ValueError as error:
        raise HostError(f"{ip!r} is no IP address: {error}") from error
    return packed[12:] if packed[:12] == _V4_MAPPED else packed


@lru_cache(maxsize=4096)
def _ip(address: bytes) -> str:
    if len(address) not in {_V4_BYTES, _V6_BYTES}:
        raise HostError(f"an address has 4 or 16 bytes, not {len(address)}")
    if len(address) == _V4_BYTES or address[:12] == _V4_MAPPED:
        return ".".join(map(str, address[-4:]))
    return ":".join(f"{address[i] << 8 | address[i + 1]:x}" for i in range(0, _V6_BYTES, 2))


NO_HOST = Host("0.0.0.0", 0)  # noqa: S104 - nothing is bound to it; it stands for "not known yet"


def check_user_property(name: str, value: str) -> None:
    """Refuse a property that user code may not set, by `UserPropertyError` (`Message.putUserProperty`)."""
    if name in SYSTEM_PROPERTIES:
        raise UserPropertyError(f"The Property<{name}> is used by system, input another please")
    if not (name and trim(name) and value and trim(value)):
        raise UserPropertyError("The name or value of property can not be null or blank string!")


@dataclass(slots=True)
class Message:
    """What a producer sends: a topic, a body (bytes), a flag that RocketMQ does not read, and text properties."""

    topic: str = ""
    body: bytes | None = None
    flag: int = 0
    properties: dict[str, str] = field(default_factory=dict)
    transaction_id: str | None = None

    @classmethod
    def of(
        cls,
        topic: str,
        body: bytes | None,
        tags: str | None = None,
        keys: str | Iterable[str] | None = None,
        flag: int = 0,
        **user_properties: str,
    ) -> Self:
        """Make a message as Java's constructors do: WAIT is "true", empty tags and keys are not set.

        Raises:
            UserPropertyError: a user property that Java refuses.
        """
        properties: dict[str, str] = {}
        if tags:
            properties[PROPERTY_TAGS] = tags
        if keys:
            properties[PROPERTY_KEYS] = keys if isinstance(keys, str) else trim(KEY_SEPARATOR.join(keys))
        properties[PROPERTY_WAIT_STORE_MSG_OK] = "true"
        for name, value in user_properties.items():
            check_user_property(name, value)
            properties[name] = value
        return cls(topic, body, flag, properties)

    def put_user_property(self, name: str, value: str) -> None:
        """Set a property of the user.

        Raises:
            UserPropertyError: if the name is reserved or something is blank.
        """
        check_user_property(name, value)
        self.properties[name] = value

    @property
    def tags(self) -> str | None:
        """The tag of the message, or None."""
        return self.properties.get(PROPERTY_TAGS)

    @tags.setter
    def tags(self, tags: str) -> None:
        self.properties[PROPERTY_TAGS] = tags

    @property
    def keys(self) -> str | None:
        """The keys by which the message can be looked up, separated by spaces, or None."""
        return self.properties.get(PROPERTY_KEYS)

    @keys.setter
    def keys(self, keys: str) -> None:
        self.properties[PROPERTY_KEYS] = keys

    @property
    def delay_time_level(self) -> int:
        """The delay level, 0 if none is set.

        Raises:
            NumberFormatError: if it is no number.
        """
        text = self.properties.get(PROPERTY_DELAY_TIME_LEVEL)
        return 0 if text is None else parse_int(text)

    @delay_time_level.setter
    def delay_time_level(self, level: int) -> None:
        self.properties[PROPERTY_DELAY_TIME_LEVEL] = str(level)

    @property
    def wait_store_msg_ok(self) -> bool:
        """Whether the sender waits until the message is flushed and replicated."""
        text = self.properties.get(PROPERTY_WAIT_STORE_MSG_OK)
        return text is None or parse_boolean(text)

    @wait_store_msg_ok.setter
    def wait_store_msg_ok(self, wait: bool) -> None:
        self.properties[PROPERTY_WAIT_STORE_MSG_OK] = boolean_text(wait)

    @property
    def unique_id(self) -> str | None:
        """The id that the producer gave the message (property UNIQ_KEY), or None."""
        return self.properties.get(PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX)

    def __str__(self) -> str:
        """The message as Java prints it: properties in HashMap order, the body as signed bytes."""
        properties = ", ".join(f"{name}={value}" for name, value in in_hash_map_order(self.properties).items())
        body = "null" if self.body is None else str([byte - 256 if byte > 127 else byte for byte in self.body])
        return (
            f"Message{{topic='{self.topic}', flag={self.flag}, properties={{{properties}}}, body={body}, "
            f"transactionId='{text_of(self.transaction_id)}'}}"
        )


@dataclass(slots=True)
class MessageExt(Message):
    """A stored message. Times are epoch ms, sizes and commit log offsets bytes, `queue_offset` counts messages.

    `msg_id` is the field that `toString` prints: the offsetMsgId. Java's client answers `getMsgId()` with
    `client_msg_id` instead (row S-25).
    """

    broker_name: str | None = None
    queue_id: int = 0
    store_size: int = 0
    queue_offset: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: Host = NO_HOST
    store_timestamp: int = 0
    store_host: Host = NO_HOST
    msg_id: str | None = None
    commit_log_offset: int = 0
    body_crc: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0

    @property
    def offset_msg_id(self) -> str | None:
        """The id made of the store's address and the commit log offset (`MessageClientExt`)."""
        return self.msg_id

    @property
    def client_msg_id(self) -> str | None:
        """UNIQ_KEY, or the offsetMsgId if there is none (`MessageClientExt.getMsgId`)."""
        return self.msg_id if self.unique_id is None else self.unique_id

    def __str__(self) -> str:
        """The message as Java's `MessageExt.toString` prints it."""
        # dataclass(slots=True) makes a new class, which super() without arguments does not know
        inner = Message.__str__(self)
        return (
            f"MessageExt [brokerName={text_of(self.broker_name)}, queueId={self.queue_id}, "
            f"storeSize={self.store_size}, queueOffset={self.queue_offset}, sysFlag={self.sys_flag}, "
            f"bornTimestamp={self.born_timestamp}, bornHost={self.born_host}, storeTimestamp={self.store_timestamp}, "
            f"storeHost={self.store_host}, msgId={text_of(self.msg_id)}, commitLogOffset={self.commit_log_offset}, "
            f"bodyCRC={self.body_crc}, reconsumeTimes={self.reconsume_times}, "
            f"preparedTransactionOffset={self.prepared_transaction_offset}, toString()={inner}]"
        )


@dataclass(slots=True)
class MessageExtBrokerInner(MessageExt):
    """A message on its way into the store: with its property text (None: none)."""

    properties_string: str | None = None

    @classmethod
    def of_broker(cls, message: Message, queue_id: int, host: Host, now: int) -> Self:
        """A message that the broker at `host` makes itself, at `now` (epoch ms)."""
        properties = in_hash_map_order(message.properties)
        return cls(
            topic=message.topic,
            body=message.body,
            properties=properties,
            queue_id=queue_id,
            born_timestamp=now,
            born_host=host,
            store_host=host,
            properties_string=properties_to_string(properties),
        )

    @classmethod
    def again(cls, message: MessageExt, topic: str, queue_id: int, capacity: int = 16) -> Self:
        """A stored message as it is stored once more; `capacity` is the table length of Java's map.

        The text of its properties is made here: what is set afterwards does not stand in it (as in 4.8.0).
        """
        properties = in_hash_map_order(message.properties, capacity)
        return cls(
            topic=topic,
            body=message.body,
            flag=message.flag,
            properties=properties,
            queue_id=queue_id,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            born_host=message.born_host,
            store_host=message.store_host,
            reconsume_times=message.reconsume_times,
            properties_string=properties_to_string(properties),
        )
