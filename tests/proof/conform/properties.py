"""Vectors of property texts: written in a given order and in HashMap order, and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import hash_map_order, to_utf8, utf16_key
from rmqlab.message.properties import properties_to_string, string_to_properties
from tests.proof.conform.vectors import BadVector, Kind, take

if TYPE_CHECKING:
    from tests.proof.conform.vectors import Vector


def _pairs(vector: Vector) -> dict[str | None, str | None] | None:
    pairs = take(vector, "pairs", list | None)
    if pairs is None:
        return None
    for index, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str | None) for part in pair):
            raise BadVector(f"pairs[{index}]", "must be a name and a value, each a text or null")
    return dict(pairs)


def _to_string(vector: Vector) -> dict[str, object]:
    properties = _pairs(vector)
    text = properties_to_string(properties)
    order = None if properties is None else hash_map_order(properties)
    return {
        "string": text,
        "string_hashmap_order": properties_to_string({name: (properties or {})[name] for name in order or ()}),
        "hashmap_key_order": order,
        "decoded": string_to_properties(text),
        "utf8_hex": to_utf8(text).hex(),
    }


def _from_string(vector: Vector) -> dict[str, object]:
    decoded = string_to_properties(take(vector, "string", str | None))
    return {
        "decoded": decoded,
        "error": None,
        "reencoded_sorted": properties_to_string({name: decoded[name] for name in sorted(decoded, key=utf16_key)}),
    }


KINDS = {
    "to_string": Kind(
        given={"pairs": list | None},
        expected=("string", "string_hashmap_order", "hashmap_key_order", "decoded", "utf8_hex"),
        run=_to_string,
    ),
    "from_string": Kind(
        given={"string": str | None},
        expected=("decoded", "error", "reencoded_sorted"),
        run=_from_string,
    ),
}
