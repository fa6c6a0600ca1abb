"""The hash of the bloom filter's keys is that of a library that others use."""

from __future__ import annotations

import mmh3
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.bloom import murmur3_128


@given(st.binary(max_size=100), st.integers(0, 2**32 - 1))
def test_both_halves_are_those_of_mmh3(data, seed):
    assert murmur3_128(data, seed) == mmh3.hash64(data, seed, signed=False)
