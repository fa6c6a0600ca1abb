"""The operations of 4.8.0's `BitsArray` that no filter needs, and the hash codes of filters: vectors hold both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.bloom import BitsArray, BitsError, BitsIndexError
from rmqlab.message.java import to_int32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.filter.bloom import BloomFilter, BloomFilterData


class JavaBitsArray(BitsArray):
    """A bit array with every operation that Java's has."""

    __slots__ = ()

    @property
    def byte_length(self) -> int:
        """Number of bytes held."""
        return len(self.data)

    def get_byte(self, position: int) -> int:
        """Read one byte, signed as in Java. Raises `BitsError` or `BitsIndexError`."""
        self._check_byte(position)
        value = self.data[position]
        return value - 256 if value > 127 else value

    def set_byte(self, position: int, value: int) -> None:
        """Write one byte (signed or unsigned). Raises `BitsError` or `BitsIndexError`."""
        self._check_byte(position)
        self.data[position] = value & 0xFF

    def xor_bit(self, position: int, value: bool) -> None:
        """Exclusive-or one bit."""
        self.set_bit(position, self.get_bit(position) ^ value)

    def or_bit(self, position: int, value: bool) -> None:
        """Or one bit; a false value only checks the position, not the bytes."""
        self._check_bit(position)
        if value:
            self.set_bit(position, value=True)

    def and_bit(self, position: int, value: bool) -> None:
        """And one bit; a true value only checks the position, not the bytes."""
        self._check_bit(position)
        if not value:
            self.set_bit(position, value=False)

    def not_bit(self, position: int) -> None:
        """Flip one bit."""
        self.set_bit(position, not self.get_bit(position))

    def xor(self, other: BitsArray) -> None:
        """Exclusive-or with `other`, over as many bytes as both have."""
        for i in range(min(len(self.data), len(other.data))):
            self.data[i] ^= other.data[i]

    def or_(self, other: BitsArray) -> None:
        """Or with `other`, over as many bytes as both have."""
        for i in range(min(len(self.data), len(other.data))):
            self.data[i] |= other.data[i]

    def and_(self, other: BitsArray) -> None:
        """And with `other`, over as many bytes as both have; bytes beyond stay."""
        for i in range(min(len(self.data), len(other.data))):
            self.data[i] &= other.data[i]

    def clone(self) -> JavaBitsArray:
        """Copy. Raises `BitsError` for an empty array and, as 4.8.0, for a length that is no multiple of 8."""
        return JavaBitsArray.from_bytes(self.data, self.bit_length)

    def _check_byte(self, position: int) -> None:
        if position > len(self.data):
            raise BitsError(f"BytePos is greater than {len(self.data)}")
        if position < 0:
            raise BitsError("BytePos is less than 0")
        if position == len(self.data):
            raise BitsIndexError(f"Index {position} out of bounds for length {len(self.data)}")


def check_false_hit(positions: Sequence[int], bits: BitsArray) -> bool:
    """Tell whether all `positions` are taken already, before the key is added."""
    return all(bits.get_bit(position) for position in positions)


def filter_hash(made: BloomFilter) -> int:
    """Give the `hashCode` of a `BloomFilter`."""
    return to_int32(((made.f * 31 + made.n) * 31 + made.k) * 31 + made.m)


def data_hash(data: BloomFilterData) -> int:
    """Give the `hashCode` of a `BloomFilterData`."""
    result = 0 if data.bit_pos is None else 1
    for position in data.bit_pos or ():
        result = 31 * result + position
    return to_int32(31 * result + data.bit_num)
