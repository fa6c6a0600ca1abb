"""The stateless bloom filter of the first layer: it only knows positions, the bits are handed in (rows F-76..F-81).

The hash is murmur3_128 of a library; splitting it into positions is ours (4.8.0 `BloomFilter`, `BloomFilterData`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import mmh3

from rmqlab.errors import BadInput
from rmqlab.filter.bits import BITS_PER_BYTE, BitsArray
from rmqlab.message.java import INT_MAX, to_int32, to_utf8
from rmqlab.rules import RULES, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

_ERROR_RATE_END = 100


class BloomFilterError(BadInput):
    """Parameters out of range, or positions and bits that belong to another filter."""

    java_name: ClassVar[str] = "IllegalArgumentException"


@dataclass(slots=True)
class BloomFilterData:
    """The positions one group holds on one topic: `bit_pos` (k positions) out of `bit_num` (m) bits."""

    bit_pos: list[int] | None
    bit_num: int

    def java_hash(self) -> int:
        """Give 4.8.0's `hashCode`."""
        result = 0 if self.bit_pos is None else 1
        for position in self.bit_pos or ():
            result = 31 * result + position
        return to_int32(31 * result + self.bit_num)

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
    rules: Rules = field(default=RULES["4.8.0"], compare=False, repr=False)

    @classmethod
    def create_by_fn(cls, f: int, n: int, rules: Rules = RULES["4.8.0"]) -> BloomFilter:
        """Compute k and m. Raises `BloomFilterError` unless 1 <= f < 100 and n >= 1.

        k = ceil(log2(1/f)), m = n * log2(1/f) * log2(e) rounded up to a multiple of 8, in Java's int and double.
        """
        if not 1 <= f < _ERROR_RATE_END:
            raise BloomFilterError("f must be greater or equal than 1 and less than 100")
        if n < 1:
            raise BloomFilterError("n must be greater than 0")
        rate = f / 100.0
        k = math.ceil(_log(0.5, rate))
        m = min(math.ceil(n * _log(2, 1 / rate) * _log(2, math.e)), INT_MAX)
        m = min(BITS_PER_BYTE * math.ceil(m / BITS_PER_BYTE), INT_MAX)
        return cls(f, n, k, m, rules)

    def calc_bit_positions(self, key: str) -> list[int]:
        """Give the k positions of `key`, from the low 64 bits of its hash; two positions may be equal.

        A lone surrogate is hashed as `?`, as Java writes it in UTF-8.
        """
        return self.rules.bit_positions(mmh3.hash64(to_utf8(key))[0], self.k, self.m)

    def generate(self, key: str) -> BloomFilterData:
        """Make the data a consumer group keeps; 4.8.0's key is `group#topic` (row F-81)."""
        return BloomFilterData(self.calc_bit_positions(key), self.m)

    def is_valid(self, data: BloomFilterData | None) -> bool:
        """Tell whether `data` can have come from a filter of this k and m."""
        return data is not None and data.bit_num == self.m and data.bit_pos is not None and len(data.bit_pos) == self.k

    def hash_to(self, key: str | BloomFilterData | Sequence[int] | None, bits: BitsArray) -> None:
        """Set the bits of `key`. Raises `BloomFilterError` for foreign data or bits of another length."""
        positions = self._positions(key)
        self._check(bits)
        for position in positions:
            bits.set_bit(position, value=True)

    def is_hit(self, key: str | BloomFilterData | Sequence[int] | None, bits: BitsArray) -> bool:
        """Tell whether all bits of `key` are set: false is certain, true is not. Raises `BloomFilterError`."""
        positions = self._positions(key)
        self._check(bits)
        return self.rules.is_hit(positions, bits.get_bit)

    def check_false_hit(self, positions: Sequence[int], bits: BitsArray) -> bool:
        """Tell whether all `positions` are taken already, before the key is added."""
        return all(bits.get_bit(position) for position in positions)

    def java_hash(self) -> int:
        """Give 4.8.0's `hashCode`."""
        return to_int32(((self.f * 31 + self.n) * 31 + self.k) * 31 + self.m)

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
