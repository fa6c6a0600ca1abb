"""An array of bits over bytes, with the checks and the slips of 4.8.0 `BitsArray` (row F-79)."""

from __future__ import annotations

from typing import ClassVar

BITS_PER_BYTE = 8


class BitsError(ValueError):
    """A length or a position the array cannot take."""

    java_name: ClassVar[str] = "IllegalArgumentException"


class BitsIndexError(IndexError):
    """A position that passes 4.8.0's check (it allows one too many) and then misses the bytes."""

    java_name: ClassVar[str] = "ArrayIndexOutOfBoundsException"


class NegativeBitsError(ValueError):
    """A length so negative that the byte array would have a negative size."""

    java_name: ClassVar[str] = "NegativeArraySizeException"


class BitsArray:
    """Bits, bit p in byte p // 8 under mask 1 << (p % 8).

    `bit_length` may exceed the bytes (`from_bytes` with a length) or be no multiple of 8 (`of_length`).
    """

    __slots__ = ("bit_length", "data")

    def __init__(self, data: bytearray, bit_length: int) -> None:
        """Wrap `data` itself, without a copy and without checks: use `of_length` or `from_bytes`."""
        self.data = data
        self.bit_length = bit_length

    @classmethod
    def of_length(cls, bit_length: int) -> BitsArray:
        """Make an array of zeros. Raises `NegativeBitsError` for -8 and below; -7..0 give an array of no bytes."""
        size = int(bit_length / BITS_PER_BYTE) + (1 if bit_length > 0 and bit_length % BITS_PER_BYTE else 0)
        if size < 0:
            raise NegativeBitsError(str(size))
        return cls(bytearray(size), bit_length)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview | None, bit_length: int | None = None) -> BitsArray:
        """Copy `data`. Without `bit_length` every bit of it counts. Raises `BitsError` (empty, or length too small)."""
        if data is None or len(data) < 1:
            raise BitsError("Bytes is empty!")
        if bit_length is None:
            return cls(bytearray(data), len(data) * BITS_PER_BYTE)
        if bit_length < 1:
            raise BitsError("Bit is less than 1.")
        if bit_length < len(data) * BITS_PER_BYTE:
            raise BitsError(f"BitLength is less than bytes.length() * {BITS_PER_BYTE}")
        return cls(bytearray(data), bit_length)

    @property
    def byte_length(self) -> int:
        """Number of bytes held."""
        return len(self.data)

    def get_bit(self, position: int) -> bool:
        """Read one bit. Raises `BitsError` or `BitsIndexError`."""
        return bool(self.data[self._byte_of(position)] & (1 << (position % BITS_PER_BYTE)))

    def set_bit(self, position: int, value: bool) -> None:
        """Write one bit. Raises `BitsError` or `BitsIndexError`."""
        index = self._byte_of(position)
        mask = 1 << (position % BITS_PER_BYTE)
        if value:
            self.data[index] |= mask
        else:
            self.data[index] &= ~mask & 0xFF

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

    def clone(self) -> BitsArray:
        """Copy. Raises `BitsError` for an empty array and, as 4.8.0, for a length that is no multiple of 8."""
        return BitsArray.from_bytes(self.data, self.bit_length)

    def __str__(self) -> str:
        """Print as 4.8.0: highest byte first, a line break after every eighth byte, a partial byte one bit too long."""
        printed: list[str] = []
        last = len(self.data) - 1
        for i in range(last, -1, -1):
            partial = self.bit_length % BITS_PER_BYTE if i == last and self.bit_length > 0 else 0
            top = partial or BITS_PER_BYTE - 1
            printed.append(format(self.data[i] & ((2 << top) - 1), f"0{top + 1}b"))
            if i % BITS_PER_BYTE == 0:
                printed.append("\n")
        return "".join(printed)

    def _check_bit(self, position: int) -> None:
        if position > self.bit_length:
            raise BitsError(f"BitPos is greater than {self.bit_length}")
        if position < 0:
            raise BitsError("BitPos is less than 0")

    def _byte_of(self, position: int) -> int:
        self._check_bit(position)
        index = position // BITS_PER_BYTE
        if index >= len(self.data):
            raise BitsIndexError(f"Index {index} out of bounds for length {len(self.data)}")
        return index

    def _check_byte(self, position: int) -> None:
        if position > len(self.data):
            raise BitsError(f"BytePos is greater than {len(self.data)}")
        if position < 0:
            raise BitsError("BytePos is less than 0")
        if position == len(self.data):
            raise BitsIndexError(f"Index {position} out of bounds for length {len(self.data)}")
