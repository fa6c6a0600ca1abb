"""The checksum of a body, for compiled loops: `message.record.body_crc`, by carry-less products where there are any.

A message is a polynomial over bits, its checksum the remainder of a division. 128 bits of it are moved on by a product
with the remainder of x to the distance: so 64 bytes are taken at once, where tables take 8, one after the other
(V. Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from rmqlab_tools.spark.files.wide_bytes import byte_at, compiled, int64, own_int_at, pointer, uint64, word_at

_POLYNOMIAL: Final = 0x104C11DB7
_LANE: Final = 16
"""Bytes of one product."""
_LANES: Final = 4
_INSTRUCTION: Final = "+pclmul"


def _crc_tables() -> np.ndarray[Any, np.dtype[np.uint32]]:
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        tables[0, byte] = value
    for number in range(1, 8):
        tables[number] = tables[0][tables[number - 1] & 0xFF] ^ (tables[number - 1] >> np.uint32(8))
    return tables


CRC_TABLES: Final = _crc_tables()


def _shift(bits: int) -> int:
    """What a lane's half is multiplied with to move it on by so many bits; the lowest bit is the highest power."""
    value = 1
    for _ in range(bits):
        value <<= 1
        value ^= _POLYNOMIAL if value >> 32 else 0
    return int(f"{value:032b}"[::-1], 2) << 1


def _shifts(size: int) -> tuple[int, int]:
    """The factors of the two halves of a lane, the earlier one first, for a move of so many bytes."""
    return _shift(8 * size + 32), _shift(8 * size - 32)


def has_products(context: Any) -> bool:
    """Whether what numba compiles for has the instruction."""
    return _INSTRUCTION in context.codegen().magic_tuple()[2].split(",")


_INT: Final = ir.IntType(64)
_LANE_TYPE: Final = ir.VectorType(_INT, 2)


def _lane(low: int, high: int) -> Any:
    return ir.Constant(_LANE_TYPE, [low, high])


def _bytes_lane(data: bytes) -> Any:
    return _lane(int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little"))


class _Fold:
    """Writes the code that takes lanes of a message together."""

    def __init__(self, builder: Any, message: Any) -> None:
        self._builder, self._message = builder, message
        byte = ir.IntType(8)
        kind = ir.FunctionType(_LANE_TYPE, [_LANE_TYPE, _LANE_TYPE, byte])
        name = "llvm.x86.pclmulqdq"
        self._product = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]

    def at(self, place: Any) -> Any:
        """The lane at a place of the message."""
        where = self._builder.gep(self._message, [place])
        return self._builder.load(self._builder.bitcast(where, _LANE_TYPE.as_pointer()), align=1)

    def moved(self, lane: Any, size: int) -> Any:
        """A lane, moved on by so many bytes."""
        factors = _lane(*_shifts(size))
        low = self._builder.call(self._product, [lane, factors, ir.IntType(8)(0x00)])
        return self._builder.xor(low, self._builder.call(self._product, [lane, factors, ir.IntType(8)(0x11)]))

    def joined(self, lane: Any, place: Any, size: int = _LANE) -> Any:
        """The lane at `place`, with what a lane so many bytes before it comes to there."""
        return self._builder.xor(self.moved(lane, size), self.at(place))

    def while_at_most(self, lanes: list[Any], place: Any, last: Any, size: int) -> tuple[list[Any], Any]:
        """Take `size` bytes into the lanes, as long as the place is at most `last`."""
        builder = self._builder
        before = builder.block
        head, body, after = (builder.append_basic_block(name) for name in ("head", "body", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        phis = [builder.phi(_LANE_TYPE) for _ in lanes]
        at = builder.phi(_INT)
        for phi, value in zip([*phis, at], [*lanes, place], strict=True):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<=", at, last), body, after)
        builder.position_at_end(body)
        places = [builder.add(at, _INT(_LANE * number)) for number in range(len(lanes))]
        news = [self.joined(phi, where, size) for phi, where in zip(phis, places, strict=True)]
        for phi, value in zip([*phis, at], [*news, builder.add(at, _INT(size))], strict=True):
            phi.add_incoming(value, body)
        builder.branch(head)
        builder.position_at_end(after)
        return phis, at


# A message that begins with zeros has the same remainder: a first lane that is not full gets them in front.
_FULL: Final = bytes(_LANE) + b"\xff" * _LANE
_BEGIN: Final = bytes(_LANE) + b"\xff" * 4 + bytes(2 * _LANE - 4)


def _folded(_: Any, data: Any, at: Any, length: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if not has_products(context):
            return context.make_tuple(builder, signature.return_type, [_INT(0), _INT(0)])
        fold = _Fold(builder, pointer(context, builder, signature, given, 0, ir.IntType(8)))
        size = context.cast(builder, given[2], signature.args[2], types.int64)
        over = builder.and_(size, _INT(_LANE - 1))
        lanes = []
        for place, text in ((0, _FULL), (0, _BEGIN), (_LANE, _BEGIN)):
            constant = ir.Constant(ir.ArrayType(ir.IntType(8), len(text)), bytearray(text))
            array = cgutils.global_constant(builder, "lanes", constant)  # type: ignore[no-untyped-call]
            where = builder.gep(array, [_INT(0), builder.add(over, _INT(place))])
            lanes.append(builder.load(builder.bitcast(where, _LANE_TYPE.as_pointer()), align=1))
        full, begin, more = lanes
        lane = builder.xor(builder.and_(fold.at(builder.sub(over, _INT(_LANE))), full), begin)
        lane = builder.xor(fold.joined(lane, over), more)
        wide = builder.sub(size, _INT(_LANES * _LANE))
        start = builder.add(over, _INT(_LANE))
        before = builder.block
        many, few = (builder.append_basic_block(name) for name in ("many", "few"))
        builder.cbranch(builder.icmp_signed("<=", start, wide), many, few)
        builder.position_at_end(many)
        first = [fold.joined(lane, start)]
        first += [fold.at(builder.add(start, _INT(_LANE * number))) for number in range(1, _LANES)]
        four, place = fold.while_at_most(first, builder.add(start, _INT(_LANES * _LANE)), wide, _LANES * _LANE)
        joined = four[0]
        for lane_behind in four[1:]:
            joined = builder.xor(fold.moved(joined, _LANE), lane_behind)
        end_of_many = builder.block
        builder.branch(few)
        builder.position_at_end(few)
        lane_now, at_now = builder.phi(_LANE_TYPE), builder.phi(_INT)
        for value, where in ((lane, before), (joined, end_of_many)):
            lane_now.add_incoming(value, where)
        for value, where in ((start, before), (place, end_of_many)):
            at_now.add_incoming(value, where)
        (rest,), _place = fold.while_at_most([lane_now], at_now, builder.sub(size, _INT(_LANE)), _LANE)
        halves = [builder.extract_element(rest, ir.IntType(32)(number)) for number in (0, 1)]
        return context.make_tuple(builder, signature.return_type, halves)

    return types.UniTuple(types.uint64, 2)(data, at, length), generate  # type: ignore[no-untyped-call]


def _can_fold(_: Any) -> Any:
    def generate(context: Any, _builder: Any, _signature: Any, _given: Any) -> Any:
        return ir.IntType(1)(has_products(context))

    return types.boolean(), generate


_fold: Any = intrinsic(_folded)
"""16 bytes, as two numbers, that have the remainder of a message of 16 bytes or more; 16 bytes lie before it."""
_folds: Any = intrinsic(_can_fold)


@compiled
def table_crc_of(data: Any, at: int, length: int, value: Any, tables: Any) -> Any:
    """The remainder `value` of what came before, moved on over `length` bytes at `at`."""
    place, end = uint64(at), uint64(at + length)
    while place + uint64(8) <= end:
        value = _moved_on(word_at(data, place) ^ uint64(value), tables)
        place += uint64(8)
    while place < end:
        value = _entry(tables, 0, value ^ np.uint32(byte_at(data, place))) ^ (value >> np.uint32(8))
        place += uint64(1)
    return value


@compiled
def _entry(tables: Any, number: int, byte: Any) -> Any:
    return np.uint32(own_int_at(tables, 4 * (256 * number + int64(byte & uint64(0xFF)))))


@compiled
def _moved_on(word: Any, tables: Any) -> Any:
    value = np.uint32(0)
    for lane in range(8):
        value ^= _entry(tables, 7 - lane, word >> uint64(8 * lane))
    return value


@compiled
def body_crc_of(data: Any, at: int, length: int, tables: Any) -> Any:
    """What `message.record.body_crc` says of `length` bytes at `at`; `tables` is the address of `CRC_TABLES`.

    16 bytes in front of `at` may be looked at.
    """
    if _folds() and length >= 16:
        low, high = _fold(data, at, length)
        value = _moved_on(high ^ uint64(_moved_on(low, tables)), tables)
    else:
        value = table_crc_of(data, at, length, np.uint32(0xFFFFFFFF), tables)
    return np.int32((value ^ np.uint32(0xFFFFFFFF)) & np.uint32(0x7FFFFFFF))
