"""What a judge and a learner's process say to each other: messages over a socket, and answers as data.

The judge's messages are pickles: they are ours. What comes back is JSON with a mark for each kind of value, so that no
code of a learner decides what is made of it: `decode` knows plain data, subscriptions, and handles of functions, labs
and rules, and nothing else.

>>> decode(encode({"a": (1, ...), "b": {2.5}}), {})
{'a': (1, Ellipsis), 'b': {2.5}}
"""

from __future__ import annotations

import json
import numbers
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from rmqlab.protocol.subscription_data import SubscriptionData

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket

LARGEST: Final = 4 << 20
"""Bytes of one message; a larger one ends the connection."""
DEEPEST: Final = 40
"""Values within values of an answer."""
_SMALL: Final = 1 << 53
_SEQUENCES: Final[dict[type, str]] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}


class BrokenAnswerError(ValueError):
    """What came is no value that an answer may have; the text says why. The connection goes on."""


class BrokenConnectionError(EOFError):
    """What came is no message of the course; the text says why. Nothing can follow."""


def send(connection: socket, data: bytes) -> None:
    """Send one message."""
    connection.sendall(len(data).to_bytes(4, "big") + data)


def receive(connection: socket) -> bytes:
    """The next message.

    Raises:
        EOFError: the other side has ended.
        BrokenConnectionError: the message is larger than ``LARGEST``.
    """
    size = int.from_bytes(_exactly(connection, 4), "big")
    if size > LARGEST:
        raise BrokenConnectionError(f"an answer has {size:,} bytes; at most {LARGEST:,} are read")
    return _exactly(connection, size)


def _exactly(connection: socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(size - len(data), 1 << 16))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def message_of(data: bytes) -> dict[str, Any]:
    """A message of a learner's process as a dict.

    Raises:
        BrokenConnectionError: it is none.
    """
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BrokenConnectionError(f"a message of its process is no JSON: {type(error).__name__}") from None
    if not isinstance(message, dict):
        raise BrokenConnectionError("a message of its process is no object")
    return message


def encode(value: Any, special: Callable[[Any], list[Any] | None] = lambda _: None, depth: int = 0) -> Any:
    """A value as JSON: texts, small whole numbers and truth values as they are, the rest as [kind, content].

    `special` makes [kind, handle] of what cannot leave the process, or None. What is unknown becomes ["unknown", name].
    """
    kind = type(value)
    if value is None or kind in {bool, str} or (kind is int and abs(value) < _SMALL):
        return value
    if depth > DEEPEST:
        return ["unknown", "a value too deep"]
    if kind in _SEQUENCES:
        return [_SEQUENCES[kind], [encode(part, special, depth + 1) for part in value]]
    if kind is dict:
        return [
            "dict",
            [[encode(key, special, depth + 1), encode(part, special, depth + 1)] for key, part in value.items()],
        ]
    if kind is SubscriptionData:
        return [
            "subscription",
            {field.name: encode(getattr(value, field.name), special, depth + 1) for field in fields(value)},
        ]
    handle = special(value)
    return handle if handle is not None else _scalar(value, special, depth)


def _scalar(value: Any, special: Callable[[Any], list[Any] | None], depth: int) -> Any:
    if value is ...:
        return ["open", None]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, str):
        return str.__str__(value)
    if type(value).__name__ in {"bool", "bool_"} and hasattr(value, "item"):  # numpy's
        return bool(value)
    if isinstance(value, numbers.Integral):
        return ["int", hex(int(value))]
    if isinstance(value, numbers.Real):
        return ["float", repr(float(value))]
    if isinstance(value, dict):
        return encode(dict(value), special, depth + 1)
    for base in (list, tuple, set, frozenset):
        if isinstance(value, base):
            return encode(base(value), special, depth + 1)
    return ["unknown", type(value).__name__[:100]]


class Unknown:
    """A value of a kind that no answer has; it equals nothing, and is named in what a check says."""

    def __init__(self, kind: str) -> None:
        """`kind` is the name of its type in the learner's process."""
        self.kind = kind

    def __repr__(self) -> str:
        """Its kind."""
        return f"<{self.kind}>"


def decode(value: Any, special: Mapping[str, Callable[[Any], Any]]) -> Any:
    """The value of what `encode` made; `special` makes something of the handles.

    Raises:
        BrokenAnswerError: it is nothing that `encode` makes.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    try:
        kind, content = value
        if kind in special:
            return special[kind](content)
        return _KINDS[kind](content, special)
    except BrokenAnswerError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise BrokenAnswerError(f"an answer of its process cannot be read: {type(error).__name__}") from None


def _number(text: Any, _: object) -> int:
    if not isinstance(text, str) or len(text) > 2_000:
        raise BrokenAnswerError("a number is too long")
    return int(text, 16)


def _subscription(content: Any, special: Mapping[str, Callable[[Any], Any]]) -> SubscriptionData:
    """A subscription whose fields are of the right types; any other makes broker and client fail in our code."""
    values = {field.name: decode(content[field.name], special) for field in fields(SubscriptionData)}
    texts = ("topic", "sub_string", "expression_type", "filter_class_source")
    if (
        not all(values[name] is None or type(values[name]) is str for name in texts)
        or type(values["class_filter_mode"]) is not bool
        or type(values["sub_version"]) is not int
        or not all(type(values[name]) is set for name in ("tags_set", "code_set"))
        or not all(type(tag) is str for tag in values["tags_set"])
        or not all(type(code) is int for code in values["code_set"])
    ):
        raise BrokenAnswerError("a subscription has a field of another kind")
    return SubscriptionData(**values)


def _parts(content: Any, special: Mapping[str, Callable[[Any], Any]]) -> list[Any]:
    return [decode(part, special) for part in content]


_KINDS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "open": lambda _content, _: ...,
    "bytes": lambda content, _: bytes.fromhex(content),
    "int": _number,
    "float": lambda content, _: float(content),
    "list": _parts,
    "tuple": lambda content, special: tuple(_parts(content, special)),
    "set": lambda content, special: set(_parts(content, special)),
    "frozenset": lambda content, special: frozenset(_parts(content, special)),
    "dict": lambda content, special: {decode(key, special): decode(part, special) for key, part in content},
    "subscription": _subscription,
    "unknown": lambda content, _: Unknown(str(content)[:100]),
}
