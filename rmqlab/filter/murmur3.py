"""MurmurHash3 in its 128 bit form for 64 bit machines: the hash of the bloom filter's keys.

Written out here, because it runs where no compiled package is (in a browser), and is asked once for a group and topic.
The hash is Austin Appleby's, in the public domain; 4.8.0 takes Guava's `Hashing.murmur3_128()`.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F
_BLOCK: Final = 16


def murmur3_128(data: bytes, seed: int = 0) -> tuple[int, int]:
    """Return the low and the high 64 bits of the hash, both without a sign.

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
