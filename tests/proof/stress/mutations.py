"""Examples changed by chance: values of JSON, bytes of anything, the fields of records of one size.

A seeded generator decides every byte, so an input is named by its reader, its seed and its number.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_JSON_PARTS: Final = (
    b"[", b"]", b"{", b"}", b'"', b":", b",", b"null", b"true", b"-1", b"1e999", b"NaN", b"9" * 400, b"\\u0000",
    b"\\ud800", b"[" * 3_000, b"\xff", b"\x00", b'"\x1b[2J"', b"'", b"-- ", b"\n", b"\r\n", b"%s", b"../", b"&a *a",
)  # fmt: skip
_ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 2**31, 2**63, 10**400, 1.5, 1e308, float("nan"), float("inf"), "", "x", "\x00", "\ud800",
    "\x1b[2J", "9" * 5_000, [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, [1, "x"], "a = 1", "*", "%RETRY%x",
    "../x",
)  # fmt: skip
_ODD_WORDS: Final = (
    b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0", b"\0\0\0\1", b"\0\0\0\x10",
    b"\xda\xa3\x20\xa7",
)  # fmt: skip
_VALUES_CHANGED: Final = 0.5
_DEEPER: Final = 0.85
_RENAMED: Final = 0.2


def changed(example: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    """Return an example with values changed if it is JSON, or bytes changed, cut, doubled, put in."""
    if choose.random() < _VALUES_CHANGED:
        try:
            value = json.loads(example)
        except ValueError:
            pass
        else:
            return json.dumps(with_odd_values(value, choose)).encode()
    return with_odd_bytes(example, choose, others)


def with_odd_values(value: Any, choose: random.Random) -> Any:
    """Return a JSON value with one to three of its parts replaced, taken out or named otherwise."""
    for _ in range(choose.choice((1, 1, 2, 3))):
        value = _with_odd_value(value, choose)
    return value


def _with_odd_value(value: Any, choose: random.Random) -> Any:
    if isinstance(value, dict) and value and choose.random() < _DEEPER:
        name = choose.choice(list(value))
        part = value[name]
        if choose.random() < _RENAMED:
            value = {other: item for other, item in value.items() if other != name}
            return value if choose.random() < 0.5 else value | {choose.choice(("", "a", name.upper(), "\x1b")): part}
        return value | {name: _with_odd_value(part, choose)}
    if isinstance(value, list) and value and choose.random() < _DEEPER:
        at = choose.randrange(len(value))
        return [*value[:at], _with_odd_value(value[at], choose), *value[at + 1 :]]
    return choose.choice(_ODD_VALUES)


def with_odd_bytes(example: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    """Return an example with bytes changed, taken out, put in, doubled, cut off, or taken from another example."""
    data = bytearray(example)
    for _ in range(choose.choice((1, 1, 2, 4, 8))):
        at = choose.randrange(len(data) + 1)
        match choose.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << choose.randrange(8)
            case 1:
                del data[at : at + choose.randrange(1, 30)]
            case 2:
                data[at:at] = choose.choice(_JSON_PARTS)
            case 3:
                del data[at:]
            case 4:
                end = min(at + choose.randrange(1, 200), len(data))
                data[at:at] = data[at:end]
            case 5:
                other = choose.choice(others)
                begin = choose.randrange(len(other) + 1)
                data[at : at + choose.randrange(40)] = other[begin : begin + choose.randrange(200)]
            case 6:
                data[at:at] = choose.randbytes(choose.randrange(1, 9))
            case _:
                data[at : at + 4] = choose.choice(_ODD_WORDS)
    return bytes(data)


def with_odd_fields(data: bytes, choose: random.Random, size: int, begin: int = 0) -> bytes:
    """Return records of `size` bytes from `begin` on with some fields changed, records swapped, or one doubled.

    Most of what is changed is near what is written: the rest of such a file is zeros.
    """
    records = bytearray(data)
    written = len(data.rstrip(b"\0"))
    count = max(1, min((written - begin) // size + 2, (len(data) - begin) // size))
    for _ in range(choose.choice((1, 1, 2, 5))):
        at = begin + choose.randrange(count) * size
        match choose.randrange(4):
            case 0:  # a small number moves to a neighbour: what leads somewhere leads elsewhere
                place = at + choose.randrange(0, size, 4)
                number = int.from_bytes(records[place : place + 4]) + choose.choice((-20, -1, 1, 2, 20, 4096))
                records[place : place + 4] = (number & 0xFFFFFFFF).to_bytes(4)
            case 1:
                place = at + choose.randrange(0, size, 4)
                records[place : place + 4] = choose.choice(_ODD_WORDS)
            case 2:
                other = begin + choose.randrange(count) * size
                records[at : at + size], records[other : other + size] = (
                    records[other : other + size],
                    records[at : at + size],
                )
            case _:
                records[at : at + size] = choose.randbytes(size)
    return bytes(records[: len(data)])
