"""Bodies that travel as JSON, written and read as fastjson does it for `RemotingSerializable`."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any, Self, TypeVar, cast

import msgspec

from rmqlab.message.java import Long, camel_case, hash_map_order, hash_set_order
from rmqlab.protocol import fastjson
from rmqlab.protocol.header import FrameError

T = TypeVar("T")
Read = Callable[[Any], Any]
_Plan = tuple[tuple[str, str, Read], ...]


class RemotingSerializable(msgspec.Struct, rename="camel"):
    """The base of JSON bodies: fields in Python's spelling, `camelCase` on the wire.

    Nulls are left out when written. Unknown names are passed over when read; a field that is absent or null keeps
    its default. Sets of texts and numbers are written in java.util.HashSet order.
    """

    def encode(self) -> bytes:
        """The body's bytes."""
        return fastjson.write(to_json(self))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read a body.

        Raises:
            FrameError: when it is no JSON object of this kind.
        """
        body = _reader(cls)(fastjson.read(data))
        if not isinstance(body, cls):
            raise FrameError("NullPointerException", f"the body of {cls.__name__} is empty")
        return body


BodyT = TypeVar("BodyT", bound=RemotingSerializable)


def from_json(hint: type[T], value: object) -> T:
    """Read parsed JSON as a structure, list, dict or plain type.

    Raises:
        FrameError: what cannot be read.
    """
    return cast("T", _reader(hint)(value))


def to_json(value: Any) -> object:
    """`value` made of dicts by wire name (sorted), lists, texts and numbers; nulls are left out of dicts."""
    cls = value.__class__
    if cls in _PLAIN:
        return value
    if isinstance(value, dict):
        return {_key(key): to_json(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, set):
        return _set_order(value)
    if isinstance(value, Enum):
        return value.name
    return {
        wire_name: to_json(field)
        for attribute, wire_name, _ in _plan(cls)
        if (field := getattr(value, attribute)) is not None
    }


def _key(key: Any) -> Any:
    return tuple(to_json(key).items()) if isinstance(key, tuple) else key  # type: ignore[attr-defined]


def _set_order(items: set[Any]) -> list[Any]:
    """Texts and numbers in HashSet order, colliding ones in their own order: in Java the first one in leads."""
    ordered = sorted(items, key=_nulls_first)
    if all(isinstance(item, str) for item in ordered):
        return hash_map_order(ordered)
    if all(isinstance(item, int) for item in ordered):
        return hash_set_order(ordered, int)
    return [to_json(item) for item in ordered]


def _nulls_first(item: Any) -> Any:
    """What to sort by: a client's set may hold null, and a queue of it may lack its topic or its broker's name."""
    parts = [(part is not None, part) for part in item] if isinstance(item, tuple) else item
    return item is not None, parts


_PLAIN = frozenset({str, int, bool, float, type(None)})
_ABSENT: dict[object, object] = {int: 0, Long: 0, bool: False, float: 0.0}
"""What Java has in a field that nobody set, by its type; null in all others."""
_PLANS: dict[type, _Plan] = {}
_READERS: dict[Any, Read] = {}


def _plan(cls: type) -> _Plan:
    """The fields of a structure or dataclass: attribute, wire name, reader; sorted as fastjson writes them."""
    plan = _PLANS.get(cls)
    if plan is None:
        hints = typing.get_type_hints(cls, include_extras=True)
        if dataclasses.is_dataclass(cls):
            names = [field.name for field in dataclasses.fields(cls) if field.metadata.get("serialize", True)]
            pairs = [(name, camel_case(name)) for name in names]
        elif issubclass(cls, tuple):
            pairs = [(name, camel_case(name)) for name in hints]
        else:
            pairs = [
                (field.name, field.encode_name) for field in msgspec.structs.fields(cast("type[msgspec.Struct]", cls))
            ]
        pairs.sort(key=lambda pair: pair[1])
        plan = _PLANS[cls] = tuple((attribute, wire, _reader(hints[attribute])) for attribute, wire in pairs)
    return plan


def _reader(hint: Any) -> Read:
    read = _READERS.get(hint)
    if read is None:
        read = _READERS[hint] = _make_reader(hint)
    return read


def _make_reader(hint: Any) -> Read:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return _reader(next(argument for argument in arguments if argument is not types.NoneType))
    if origin in {list, set}:
        return _collection_reader(origin, _reader(arguments[0]))
    if origin is dict:
        return _dict_reader(_reader(arguments[0]), _reader(arguments[1]), takes_null=arguments[1] in {str, Any})
    if hint is Any:
        return lambda value: value
    if hint in fastjson.CASTS:
        return fastjson.CASTS[hint]
    if issubclass(hint, Enum):
        return _enum_reader(hint)
    return _structure_reader(hint)


def _enum_reader(cls: type[Enum]) -> Read:
    members = {name.lower(): member for name, member in cls.__members__.items()}
    return lambda value: members.get((fastjson.to_text(value) or "").lower())


def _collection_reader(make: type[list[Any] | set[Any]], read_item: Read) -> Read:
    def read(value: Any) -> list[Any] | set[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise FrameError("JSONException", f"a list is wanted, not {value!r}")
        return make(map(read_item, value))

    return read


def _dict_reader(read_key: Read, read_item: Read, *, takes_null: bool) -> Read:
    """Read a map; those of structures and numbers are concurrent ones in Java, which throw for a null."""

    def read(value: Any) -> dict[Any, Any] | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise FrameError("JSONException", f"a map is wanted, not {value!r}")
        table = {read_key(key): read_item(item) for key, item in value.items()}
        if not takes_null and None in table.values():
            raise FrameError("NullPointerException", "a map has null for a value")
        return table

    return read


def _without_default(cls: type) -> tuple[str, ...]:
    """The fields that a structure must be made with."""
    if issubclass(cls, msgspec.Struct):
        return tuple(field.name for field in msgspec.structs.fields(cls) if field.required)
    if dataclasses.is_dataclass(cls):
        return tuple(
            field.name
            for field in dataclasses.fields(cls)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
    return tuple(typing.get_type_hints(cls, include_extras=True))


def _structure_reader(cls: type) -> Read:
    hints = typing.get_type_hints(cls, include_extras=True)
    absent = {name: _ABSENT.get(hints[name]) for name in _without_default(cls)}

    def read(value: Any) -> Any:
        if value is None or value == []:  # fastjson takes an empty list for no object
            return None
        if not isinstance(value, dict | tuple):
            raise FrameError("JSONException", f"the fields of {cls.__name__} are wanted, not {value!r}")
        fields = dict(value)
        values = dict(absent)
        for attribute, wire_name, read_field in _plan(cls):
            value = read_field(fields.get(wire_name))
            if value is not None:
                values[attribute] = value
        return cls(**values)

    return read
