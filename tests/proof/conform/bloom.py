"""Vectors of the bloom filter and its bit array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.filter.bloom import (
    BitsError,
    BloomFilter,
    BloomFilterData,
    BloomFilterError,
)
from tests.proof.conform.bits import (
    BitsIndexError,
    JavaBitsArray,
    NegativeBitsError,
    check_false_hit,
    data_hash,
    filter_hash,
)
from tests.proof.conform.vectors import BadVector, Kind, from_hex, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.proof.conform.vectors import Vector

_ERRORS = (BitsError, BitsIndexError, NegativeBitsError, BloomFilterError)
_MADE = ("ok", "error", "message", "k", "m")


def _filter(vector: Vector) -> BloomFilter:
    return BloomFilter.create_by_fn(take(vector, "f", int), take(vector, "n", int))


def _answered(made: BloomFilter, answer: dict[str, object]) -> dict[str, object]:
    return {"ok": True, "error": None, "message": None, "k": made.k, "m": made.m, **answer}


def _refused(error: Exception, names: tuple[str, ...]) -> dict[str, object]:
    java_name = getattr(error, "java_name", None)
    return {**dict.fromkeys(names), "ok": False, "error": java_name, "message": str(error)}


def _or_refused(names: tuple[str, ...], run: Callable[[Vector], dict[str, object]]) -> Callable[[Vector], Any]:
    def guarded(vector: Vector) -> dict[str, object]:
        try:
            return run(vector)
        except _ERRORS as error:
            return _refused(error, (*_MADE, *names))

    return guarded


def _create(vector: Vector) -> dict[str, object]:
    made = _filter(vector)
    return _answered(made, {"hashCode": filter_hash(made), "toString": str(made)})


def _positions(vector: Vector) -> dict[str, object]:
    made, key = _filter(vector), take(vector, "key", str)
    data = made.generate(key)
    return _answered(
        made,
        {
            "positions": made.calc_bit_positions(key),
            "bitNum": data.bit_num,
            "data_valid": made.is_valid(data),
            "data_hashCode": data_hash(data),
        },
    )


def _hash(vector: Vector) -> dict[str, object]:
    made = _filter(vector)
    bits = JavaBitsArray.of_length(made.m)
    before = []
    for key in take(vector, "keys", list):
        before.append(check_false_hit(made.calc_bit_positions(key), bits))
        made.hash_to(key, bits)
    hits = {query: made.is_hit(query, bits) for query in take(vector, "queries", list)}
    return _answered(made, {"check_false_hit": before, "bits_hex": bits.data.hex(), "hits": hits})


def _valid(vector: Vector) -> dict[str, object]:
    made, given = _filter(vector), take(vector, "data", dict | None)
    data = None
    if given is not None:
        data = BloomFilterData(take(given, "bitPos", list | None, "data"), take(given, "bitNum", int, "data"))
    length = take(vector, "bitsLength", int | None)
    bits = JavaBitsArray.of_length(made.m if length is None else length)
    answer: dict[str, object] = dict.fromkeys(("hashTo_error", "hashTo_message", "isHit", "isHit_error"))
    answer["valid"] = made.is_valid(data)
    try:
        made.hash_to(data, bits)
    except _ERRORS as error:
        answer |= {"hashTo_error": error.java_name, "hashTo_message": str(error)}
    try:
        answer["isHit"] = made.is_hit(data, bits)
    except _ERRORS as error:
        answer["isHit_error"] = error.java_name
    return _answered(made, answer | {"bits_hex": bits.data.hex()})


def _bits_given(vector: Vector) -> JavaBitsArray:
    kind, length = take(vector, "create", str), take(vector, "length", int | None)
    data = from_hex(take(vector, "bytes_hex", str | None) or "", "bytes_hex")
    if kind == "bytes":
        return JavaBitsArray.from_bytes(data)
    if length is None:
        raise BadVector("length", "must be a number unless the array is made of bytes alone")
    if kind == "length":
        return JavaBitsArray.of_length(length)
    if kind == "both":
        return JavaBitsArray.from_bytes(data, length)
    raise BadVector("create", f"must be length, bytes or both, not {kind!r}")


_BIT_OPERATIONS: dict[str, Callable[..., object]] = {
    "toString": str,
    "getBit": JavaBitsArray.get_bit,
    "setBit": JavaBitsArray.set_bit,
    "getByte": JavaBitsArray.get_byte,
    "setByte": JavaBitsArray.set_byte,
    "xorBit": JavaBitsArray.xor_bit,
    "orBit": JavaBitsArray.or_bit,
    "andBit": JavaBitsArray.and_bit,
    "not": JavaBitsArray.not_bit,
}
_ARRAY_OPERATIONS: dict[str, Callable[[JavaBitsArray, JavaBitsArray], None]] = {
    "xor": JavaBitsArray.xor,
    "or": JavaBitsArray.or_,
    "and": JavaBitsArray.and_,
}


def _operate(bits: JavaBitsArray, name: str, arguments: list[Any], where: str) -> object:
    if name == "clone":
        bits.clone()
        return None
    if name in _BIT_OPERATIONS:
        return _BIT_OPERATIONS[name](bits, *arguments)
    if name in _ARRAY_OPERATIONS and len(arguments) == 1:
        _ARRAY_OPERATIONS[name](bits, JavaBitsArray.from_bytes(from_hex(str(arguments[0]), where)))
        return None
    raise BadVector(where, f"is no operation of a bit array: {name!r} with {len(arguments)} arguments")


def _bits(vector: Vector) -> dict[str, object]:
    try:
        bits = _bits_given(vector)
    except _ERRORS as error:
        return {**_refused(error, ("bitLength", "byteLength")), "results": []}
    results = []
    for index, operation in enumerate(take(vector, "ops", list)):
        outcome: dict[str, object] = {"value": None, "error": None}
        try:
            name, *arguments = operation
            outcome["value"] = _operate(bits, name, arguments, f"ops[{index}]")
        except _ERRORS as error:
            outcome["error"] = error.java_name
        except (TypeError, ValueError) as error:
            raise BadVector(f"ops[{index}]", f"must be [operation, arguments]: {error}") from error
        results.append({**outcome, "hex": bits.data.hex()})
    made = {"ok": True, "error": None, "message": None, "bitLength": bits.bit_length, "byteLength": bits.byte_length}
    return {**made, "results": results}


def _kind(given: dict[str, Any], names: tuple[str, ...], run: Callable[[Vector], dict[str, object]]) -> Kind:
    return Kind(given={"f": int, "n": int, **given}, expected=(*_MADE, *names), run=_or_refused(names, run))


KINDS = {
    "create": _kind({}, ("hashCode", "toString"), _create),
    "positions": _kind({"key": str}, ("positions", "bitNum", "data_valid", "data_hashCode"), _positions),
    "hash": _kind({"keys": list, "queries": list}, ("check_false_hit", "bits_hex", "hits"), _hash),
    "valid": _kind(
        {"data": dict | None, "bitsLength": int | None},
        ("valid", "hashTo_error", "hashTo_message", "bits_hex", "isHit", "isHit_error"),
        _valid,
    ),
    "bits": Kind(
        given={"create": str, "length": int | None, "bytes_hex": str | None, "ops": list},
        expected=("ok", "error", "message", "bitLength", "byteLength", "results"),
        run=_bits,
    ),
}
