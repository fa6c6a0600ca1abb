"""The bloom filter of the first layer, which only knows positions, and the array of bits handed in (F-76..F-81).

As `BloomFilter`, `BloomFilterData`; positions come from MurmurHash3 in its 128 bit form for 64 bit machines, by Austin
Appleby, in the public domain (4.8.0 takes Guava's `Hashing.murmur3_128()`). The hash is written out here, because it
runs where no compiled package is (in a browser), and is asked once for a group and topic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Self

from rmqlab.errors import BadInput
from rmqlab.message.java import INT_MAX, to_utf8
from rmqlab.rules import DEFAULT_RULES, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

ERROR_RATE_END = 100
BITS_PER_BYTE = 8
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F
_BLOCK: Final = 16


class BitsError(ValueError):
    """A length or a position the array cannot take."""

    java_name: ClassVar[str] = "IllegalArgumentException"


class BitsArray:
    """Bits, bit p in byte p // 8 under mask 1 << (p % 8)."""

    __slots__ = ("bit_length", "data")

    def __init__(self, data: bytearray, bit_length: int) -> None:
        """Wrap `data` itself, without a copy and without checks: use `of_length` or `from_bytes`."""
        self.data = data
        self.bit_length = bit_length

    @classmethod
    def of_length(cls, bit_length: int) -> Self:
        """Make an array of zeros, in whole bytes."""
        return cls(bytearray((bit_length + BITS_PER_BYTE - 1) // BITS_PER_BYTE), bit_length)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> Self:
        """Copy `data`, every bit of it.

        Raises:
            BitsError: when it is empty.
        """
        if not data:
            raise BitsError("Bytes is empty!")
        return cls(bytearray(data), len(data) * BITS_PER_BYTE)

    def get_bit(self, position: int) -> bool:
        """Read one bit.

        Raises:
            BitsError: a place outside the bits.
        """
        return bool(self.data[self._byte_of(position)] & (1 << (position % BITS_PER_BYTE)))

    def set_bit(self, position: int, value: bool) -> None:
        """Write one bit.

        Raises:
            BitsError: a place outside the bits.
        """
        index = self._byte_of(position)
        mask = 1 << (position % BITS_PER_BYTE)
        if value:
            self.data[index] |= mask
        else:
            self.data[index] &= ~mask & 0xFF

    def __str__(self) -> str:
        """Print as 4.8.0: highest byte first, a line break after every eighth byte, counted from the lowest."""
        printed: list[str] = []
        for i in range(len(self.data) - 1, -1, -1):
            printed.append(f"{self.data[i]:08b}")
            if i % BITS_PER_BYTE == 0:
                printed.append("\n")
        return "".join(printed)

    def _check_bit(self, position: int) -> None:
        if position > self.bit_length:
            raise BitsError(f"BitPos is greater than {self.bit_length}")
        if position < 0:
            raise BitsError("BitPos is less than 0")

    def _byte_of(self, position: int) -> int:
        self._check_bit(position)  # lets one too many pass, as 4.8.0's does: then there is no such byte
        return position // BITS_PER_BYTE


class BloomFilterError(BadInput):
    """Parameters out of range, or positions and bits that belong to another filter."""

    java_name: ClassVar[str] = "IllegalArgumentException"


@dataclass(slots=True)
class BloomFilterData:
    """The positions one group holds on one topic: `bit_pos` (k positions) out of `bit_num` (m) bits."""

    bit_pos: list[int] | None = None
    bit_num: int = 0

    def __str__(self) -> str:
        """Print as 4.8.0."""
        positions = "null" if self.bit_pos is None else f"[{', '.join(map(str, self.bit_pos))}]"
        return f"BloomFilterData{{bitPos={positions}, bitNum={self.bit_num}}}"


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """k hash functions over m bits, computed from an error rate `f` (percent) and `n` expected keys."""

    f: int
    n: int
    k: int
    m: int
    rules: Rules = field(default=DEFAULT_RULES, compare=False, repr=False)

    @classmethod
    def create_by_fn(cls, f: int, n: int, rules: Rules = DEFAULT_RULES) -> BloomFilter:
        """Compute k and m.

        k = ceil(log2(1/f)), m = n * log2(1/f) * log2(e) rounded up to a multiple of 8, in Java's int and double.

        Raises:
            BloomFilterError: unless 1 <= f < 100 and n >= 1.
        """
        if not 1 <= f < ERROR_RATE_END:
            raise BloomFilterError("f must be greater or equal than 1 and less than 100")
        if n < 1:
            raise BloomFilterError("n must be greater than 0")
        rate = f / 100.0
        k = math.ceil(_log(0.5, rate))
        m = min(math.ceil(n * _log(2, 1 / rate) * _log(2, math.e)), INT_MAX)
        m = min(BITS_PER_BYTE * math.ceil(m / BITS_PER_BYTE), INT_MAX)
        return cls(f, n, k, m, rules)

    def calc_bit_positions(self, key: str) -> list[int]:
        """The k positions of `key`, from the low 64 bits of its hash; two positions may be equal.

        A lone surrogate is hashed as `?`, as Java writes it in UTF-8.
        """
        return self.rules.bit_positions(murmur3_128(to_utf8(key))[0], self.k, self.m)

    def generate(self, key: str) -> BloomFilterData:
        """Make the data a consumer group keeps; 4.8.0's key is `group#topic` (row F-81)."""
        return BloomFilterData(self.calc_bit_positions(key), self.m)

    def is_valid(self, data: BloomFilterData | None) -> bool:
        """Whether `data` can have come from a filter of this k and m."""
        return data is not None and data.bit_num == self.m and data.bit_pos is not None and len(data.bit_pos) == self.k

    def hash_to(self, key: str | BloomFilterData | Sequence[int] | None, bits: BitsArray) -> None:
        """Set the bits of `key`.

        Raises:
            BloomFilterError: foreign data or bits of another length.
        """
        positions = self._positions(key)
        self._check(bits)
        for position in positions:
            bits.set_bit(position, value=True)

    def is_hit(self, key: str | BloomFilterData | Sequence[int] | None, bits: BitsArray) -> bool:
        """Whether all bits of `key` are set: false is certain, true is not.

        Raises:
            BloomFilterError: foreign data, or bits of another length.
        """
        positions = self._positions(key)
        self._check(bits)
        return self.rules.is_hit(positions, bits.get_bit)

    def __str__(self) -> str:
        """Print as 4.8.0."""
        return f"f: {self.f}, n: {self.n}, k: {self.k}, m: {self.m}"

    def _positions(self, key: str | BloomFilterData | Sequence[int] | None) -> Sequence[int]:
        if isinstance(key, str):
            return self.calc_bit_positions(key)
        if key is None or isinstance(key, BloomFilterData):
            if key is None or not self.is_valid(key) or key.bit_pos is None:
                shown = "null" if key is None else key
                raise BloomFilterError(f"Bloom filter data may not belong to this filter! {shown}, {self}")
            return key.bit_pos
        return key

    def _check(self, bits: BitsArray) -> None:
        if bits.bit_length != self.m:
            raise BloomFilterError(f"Length({bits.bit_length}) of bits in BitsArray is not equal to {self.m}!")


def _log(base: float, value: float) -> float:
    return math.log(value) / math.log(base)


def murmur3_128(data: bytes, seed: int = 0) -> tuple[int, int]:
    """The low and the high 64 bits of the hash, both without a sign.

    >>> [f"{half:016x}" for half in murmur3_128(b"CID_A#topic")]
    ['971bb640d3f21eb8', '9cf93218dbc6d9d1']
    """
    h1 = h2 = seed
    whole = len(data) - len(data) % _BLOCK
    for start in range(0, whole, _BLOCK):
        k1, k2 = (int.from_bytes(data[at : at + 8], "little") for at in (start, start + 8))
        h1 = _rotate(h1 ^ _mixed_k1(k1), 27)
        h1 = ((h1 + h2) * 5 + 0x52DCE729) & _MASK
        h2 = _rotate(h2 ^ _mixed_k2(k2), 31)
        h2 = ((h2 + h1) * 5 + 0x38495AB5) & _MASK
    tail = data[whole:]
    h1 ^= _mixed_k1(int.from_bytes(tail[:8], "little"))
    h2 ^= _mixed_k2(int.from_bytes(tail[8:], "little"))
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = _finished(h1), _finished(h2)
    h1 = (h1 + h2) & _MASK
    return h1, (h2 + h1) & _MASK


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _mixed_k1(k1: int) -> int:
    return _rotate(k1 * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_k2(k2: int) -> int:
    return _rotate(k2 * _C2 & _MASK, 33) * _C1 & _MASK


def _finished(value: int) -> int:
    """Every bit of the value has its part in every bit of the result."""
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
