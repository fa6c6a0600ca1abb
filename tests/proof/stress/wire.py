"""Frames that real clients and brokers sent, changed by chance, for every decoder that a frame goes through.

The stream's decoder, the command in both serialisations, its header and its body as the structures that the frame held
before it was changed (now and then as others), and both written again: brokers, `tap` and `replay` do that.
"""

from __future__ import annotations

import gzip
import json
import struct
from collections import Counter
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

import rmqlab.protocol
from rmqlab.checkout import checkout_path
from rmqlab.message.java import camel_case
from rmqlab.protocol import fastjson
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.header import CommandHeader, FrameError, RemotingCommandException
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab_tools.live.frames import BadFrame, FrameDecoder
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame
from tests.proof.stress.frame_fuzz import mutated
from tests.proof.stress.mutations import changed

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

T = TypeVar("T")
REFUSALS: Final = (FrameError, RemotingCommandException, BadFrame)
SETS: Final = ("base", "bitmap", "admin")
_OF_A_KIND: Final = 8
_OTHER: Final = 0.02
_IN_PARTS: Final = 0.1
_BY_VALUES: Final = 0.4
_HEAD: Final = 8
"""Bytes before the header."""


class Wire(NamedTuple):
    """A frame, its length first, the structures that its header and its body are, and where it is cut on its way."""

    frame: bytes
    header: type[CommandHeader]
    body: type[RemotingSerializable]
    cut: int = 0


@cache
def examples() -> list[Wire]:
    """Recorded frames of both directions, at most eight of a code and direction and kind of serialisation."""
    kinds: Counter[tuple[object, ...]] = Counter()
    wires = []
    headers, bodies = _kinds(CommandHeader), _kinds(RemotingSerializable)
    for name in SETS:
        with gzip.open(checkout_path("data") / "golden" / "broker-4.8.0" / name / "frames.jsonl.gz", "rt") as lines:
            for line in map(json.loads, lines):
                frame = bytes.fromhex(line.get("frame", ""))
                if not frame:
                    continue
                command = decode_frame(frame[4:])
                kind = (
                    command.code,
                    line["dir"],
                    command.serialize_type,
                    bool(command.content),
                    command.ext_fields is None,
                )
                kinds[kind] += 1
                if kinds[kind] <= _OF_A_KIND:
                    fields, body = set(command.ext_fields or ()), _keys(command.body)
                    wires.append(Wire(frame, _like(fields, headers), _like(body, bodies)))
    return wires + _written(list(headers), list(bodies))


def _written(headers: list[type[CommandHeader]], bodies: list[type[RemotingSerializable]]) -> list[Wire]:
    """A frame for each header and each body of the package, whether one was recorded or not, in both serialisations."""
    wires = []
    for number in range(max(len(headers), len(bodies))):
        header, body = headers[number % len(headers)], bodies[number % len(bodies)]
        fields = {wire: _sample(hint) for wire, hint in zip(_wire_names(header), _hints(header), strict=True)}
        content = fastjson.write(
            {wire: _sample(hint) for wire, hint in zip(_wire_names(body), _hints(body), strict=True)}
        )
        command = RemotingCommand.request(number, body=content)
        command.ext_fields = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()
        }
        command.serialize_type = SerializeType(number % 2)
        wires.append(Wire(encode_frame(command), header, body))
    return wires


def _wire_names(kind: type) -> tuple[str, ...]:
    return kind.__struct_encode_fields__ if issubclass(kind, msgspec.Struct) else kind._fields  # type: ignore[attr-defined]


def _hints(kind: type) -> list[Any]:
    return list(get_type_hints(kind).values())


def _sample(hint: Any) -> Any:
    """A value of a type, as JSON has it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {list, set}:
        return [_sample(arguments[0])]
    if origin is dict:
        name = _sample(arguments[0])
        return {tuple(name.items()) if isinstance(name, dict) else name: _sample(arguments[1])}
    if arguments:
        return _sample(arguments[0])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint)).name
    if isinstance(hint, type) and (issubclass(hint, msgspec.Struct | tuple) or is_dataclass(hint)):
        hints = get_type_hints(hint)
        names = _wire_names(hint) if issubclass(hint, msgspec.Struct) else map(camel_case, hints)
        return {name: _sample(part) for name, part in zip(names, hints.values(), strict=False)}
    return {str: "T@G", int: 3, float: 0.5, bool: True}.get(hint)


def _kinds(base: type[T]) -> dict[type[T], set[str]]:
    """Every structure of the package with the names of its fields on the wire."""
    for path in sorted(Path(rmqlab.protocol.__path__[0]).glob("*.py")):
        import_module(f"rmqlab.protocol.{path.stem}")
    kinds, todo = {}, [base]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind is not base:
            kinds[kind] = set(kind.__struct_encode_fields__)  # type: ignore[attr-defined]
    return dict(sorted(kinds.items(), key=lambda pair: pair[0].__qualname__))


def _keys(body: bytes | None) -> set[str]:
    try:
        value = fastjson.read(body or b"{}")
    except FrameError:
        return set()
    return {key for key in dict(value) if isinstance(key, str)} if isinstance(value, dict | fastjson.Pairs) else set()


def _like(names: set[str], known: dict[type[T], set[str]]) -> type[T]:
    """The structure whose fields are most like these names."""
    return max(known, key=lambda kind: len(names & known[kind]) - 0.1 * len(names ^ known[kind]))


def changed_frame(example: Wire, choose: random.Random, others: Sequence[Wire]) -> Wire:
    """Return a frame with bytes changed, or values of its JSON; now and then it is read as another, or in two parts."""
    if choose.random() < _BY_VALUES:
        frame = _with_values_changed(example.frame, choose)
    else:
        frame = mutated(example.frame, choose, [choose.choice(others).frame])
    header, body = example.header, example.body
    if choose.random() < _OTHER:
        header, body = choose.choice(others).header, choose.choice(others).body
    return Wire(frame, header, body, choose.randrange(len(frame) + 1) if choose.random() < _IN_PARTS else 0)


def _with_values_changed(frame: bytes, choose: random.Random) -> bytes:
    """Change header or body as JSON; the lengths fit."""
    begin = _HEAD + int.from_bytes(frame[5:_HEAD])
    header, body = frame[_HEAD:begin], frame[begin:]
    if body[:1] == b"{" and choose.random() < 0.6:
        body = changed(body, choose, [header])
    else:
        header = changed(header, choose, [body])
    return struct.pack(">II", 4 + len(header) + len(body), frame[4] << 24 | len(header) & 0xFFFFFF) + header + body


def read_wire(wire: Wire) -> int:
    """Read what came; return how many structures were read. Raises one of ``REFUSALS`` if there was none."""
    decoder = FrameDecoder()
    read = 0
    refusal: Exception | None = None
    for part in (wire.frame[: wire.cut], wire.frame[wire.cut :]):
        decoder.feed(part)
        while (payload := decoder.next()) is not None:
            command = decode_frame(payload)
            encode_frame(command)
            read += 1
            for decode in (_header, _body):
                try:
                    decode(command, wire)
                    read += 1
                except REFUSALS as error:
                    refusal = error
    decoder.close()
    if refusal is not None:
        raise refusal
    return read


def _header(command: RemotingCommand, wire: Wire) -> object:
    return command.decode_header(wire.header).to_ext_fields()


def _body(command: RemotingCommand, wire: Wire) -> object:
    return command.decode_body(wire.body).encode() if command.body else b""
