"""The operations of 4.8.0's `BitsArray` that no filter needs, and the hash codes of filters: vectors hold both."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from rmqlab.filter.bloom import BITS_PER_BYTE, BitsArray, BitsError
from rmqlab.message.java import to_int32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.filter.bloom import BloomFilter, BloomFilterData


class BitsIndexError(IndexError):
    """A position that passes 4.8.0's check (it allows one too many) and then misses the bytes."""

    java_name: ClassVar[str] = "ArrayIndexOutOfBoundsException"


class NegativeBitsError(ValueError):
    """A length so negative that the byte array would have a negative size."""

    java_name: ClassVar[str] = "NegativeArraySizeException"


class JavaBitsArray(BitsArray):
    """A bit array with every operation that Java's has, and of any length.

    `bit_length` may exceed the bytes (`from_bytes` with a length) or be no multiple of 8 (`of_length`).
    """

    __slots__ = ()

    @classmethod
    def of_length(cls, bit_length: int) -> Self:
        """Make an array of zeros. Raises `NegativeBitsError` for -8 and below; -7..0 give an array of no bytes."""
        size = int(bit_length / BITS_PER_BYTE) + (1 if bit_length > 0 and bit_length % BITS_PER_BYTE else 0)
        if size < 0:
            raise NegativeBitsError(str(size))
        return cls(bytearray(size), bit_length)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | None, bit_length: int | None = None) -> Self:
        """Copy `data`. Without `bit_length` every bit of it counts. Raises `BitsError` (empty, or length too small)."""
        bits = super().from_bytes(data or b"")
        if bit_length is not None:
            if bit_length < 1:
                raise BitsError("Bit is less than 1.")
            if bit_length < bits.bit_length:
                raise BitsError(f"BitLength is less than bytes.length() * {BITS_PER_BYTE}")
            bits.bit_length = bit_length
        return bits

    def __str__(self) -> str:
        """Print as 4.8.0: a partial byte one bit too long."""
        printed: list[str] = []
        last = len(self.data) - 1
        for i in range(last, -1, -1):
            partial = self.bit_length % BITS_PER_BYTE if i == last and self.bit_length > 0 else 0
            top = partial or BITS_PER_BYTE - 1
            printed.append(format(self.data[i] & ((2 << top) - 1), f"0{top + 1}b"))
            if i % BITS_PER_BYTE == 0:
                printed.append("\n")
        return "".join(printed)

    def _byte_of(self, position: int) -> int:
        index = super()._byte_of(position)
        if index >= len(self.data):
            raise BitsIndexError(f"Index {index} out of bounds for length {len(self.data)}")
        return index

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
