"""A look as JSON and back, so that one taken of a real cluster can be kept, and judged again anywhere.

Fields have their names in Python; those with their default are left out. A queue as a key is "topic/broker/number".
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections import Counter
from collections.abc import Mapping
from enum import Enum, IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write, json_value, read_text
from rmqlab.language import _
from rmqlab.message.topics import MessageQueue
from rmqlab_tools.doctor.snapshot import ClusterSnapshot

if TYPE_CHECKING:
    from pathlib import Path

_MISSING = object()
_WRONG = (ValueError, KeyError, TypeError, AttributeError)


def look_to_json(look: ClusterSnapshot) -> dict[str, Any]:
    """The look as dicts, lists, texts and numbers.

    >>> look_to_json(Look("127.0.0.1:9876", at=5, took_ms=1))
    {'namesrv': '127.0.0.1:9876', 'at': 5, 'took_ms': 1}
    """
    written: dict[str, Any] = _written(look)
    return written


def look_from_json(value: Mapping[str, Any]) -> ClusterSnapshot:
    """The look that `look_to_json` wrote.

    >>> look_from_json({"namesrv": "127.0.0.1:9876", "at": 5}).took_ms
    0

    Raises:
        ValueError: what is none.
        KeyError: what is none.
        TypeError: what is none.
        AttributeError: what is none.
    """
    look: ClusterSnapshot = _read(ClusterSnapshot, value)
    for group in look.groups.values():
        for client, member in group.members.items():
            if client != member.client_id:
                raise ValueError(f"the member {client!r} has the client_id {member.client_id!r}")
    return look


def save_look(look: ClusterSnapshot, path: Path) -> None:
    """Write a look to a file, whole or not at all."""
    with atomic_write(path) as part:
        part.write_text(json.dumps(look_to_json(look), indent=1) + "\n", encoding="ascii")


def read_look(path: Path) -> ClusterSnapshot:
    """The look that a file holds.

    Raises:
        BadInput: a file that cannot be read, or that holds none.
    """
    text = read_text(path, _("a look that `rmqlab doctor --save` wrote"))
    try:
        return look_from_json(json_value(text))
    except _WRONG as error:
        raise BadInput(
            _(
                "{path}: no look is in it ({error}); give a file that `rmqlab doctor --save` wrote",
                path=path,
                error=error,
            )
        ) from error


def _written(value: Any) -> Any:
    if isinstance(value, IntEnum):  # the code of a question without an answer is a number
        return int(value)
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, MessageQueue):
        return f"{value.topic}/{value.broker_name}/{value.queue_id}"
    if isinstance(value, Mapping):
        return {str(_written(key)): _written(item) for key, item in sorted(value.items())}
    if isinstance(value, set | frozenset):
        return sorted(map(_written, value))
    if isinstance(value, list):
        return [_written(item) for item in value]
    return {
        name: _written(field)
        for name, (_, default) in _fields(value.__class__).items()
        if (field := getattr(value, name)) != default
    }


def _read(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        (hint,) = (argument for argument in arguments if argument is not types.NoneType)
        return None if value is None else _read(hint, value)
    if hint in {str, int, float, bool}:
        return msgspec.convert(value, hint)
    if hint is MessageQueue:
        topic, broker, number = value.split("/")
        return MessageQueue(topic, broker, int(number))
    if origin is Counter:
        return Counter(msgspec.convert(value, dict[int, int], strict=False))
    if origin in {dict, Mapping}:
        key_hint, item_hint = arguments
        return {_key(key_hint, key): _read(item_hint, item) for key, item in value.items()}
    if origin in {list, set, frozenset}:
        return origin(_read(arguments[0], item) for item in msgspec.convert(value, list))
    if issubclass(hint, Enum):
        return hint[value]
    fields = _fields(hint)
    return hint(**{name: _field(name, fields[name][0], field) for name, field in value.items()})


def _field(name: str, hint: Any, value: Any) -> Any:
    """Read a field; an error names it."""
    try:
        return _read(hint, value)
    except _WRONG as error:
        raise TypeError(f"{name}: {error}") from error


def _key(hint: Any, key: str) -> Any:
    return int(key) if hint is int else _read(hint, key)


@cache
def _fields(cls: Any) -> dict[str, tuple[Any, Any]]:
    """The fields of a dataclass, named tuple or structure: type and default."""
    hints = typing.get_type_hints(cls)
    defaults: dict[str, Any] = {}
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            made = field.default_factory
            defaults[field.name] = field.default if made is dataclasses.MISSING else made()
    elif issubclass(cls, msgspec.Struct):
        for spec in msgspec.structs.fields(cls):
            defaults[spec.name] = spec.default if spec.default_factory is msgspec.NODEFAULT else spec.default_factory()
    else:
        defaults = dict.fromkeys(cls._fields, _MISSING)
    return {name: (hints[name], default) for name, default in defaults.items()}
