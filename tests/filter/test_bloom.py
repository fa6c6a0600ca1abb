"""The bloom filter: golden positions, and what it may and may not get wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.bloom import BitsArray, BloomFilter, BloomFilterData, BloomFilterError
from tests.proof.conform.bits import check_false_hit

DEFAULT = BloomFilter.create_by_fn(20, 32)


@pytest.mark.row("F-76")
@pytest.mark.parametrize(
    ("f", "n", "k", "m"), [(20, 32, 3, 112), (20, 64, 3, 216), (1, 32, 7, 312), (10, 128, 4, 616), (99, 1, 1, 8)]
)
def test_k_comes_from_the_error_rate_and_m_from_the_number_of_keys(f, n, k, m):
    made = BloomFilter.create_by_fn(f, n)
    assert (made.k, made.m) == (k, m)
    assert str(made) == f"f: {f}, n: {n}, k: {k}, m: {m}"


@pytest.mark.row("F-76", "F-77", "F-81")
@pytest.mark.parametrize(
    ("key", "positions"),
    [
        ("CID_A#SqlFilterTest", [12, 44, 42]),
        ("CID_B#SqlFilterTest", [99, 19, 92]),
        ("group#SqlFilterTest", [24, 25, 5]),
        ("SUBSCRIBE_TEST_CONSUMER_GROUP#SUBSCRIBE_TEST", [96, 106, 53]),
    ],
)
def test_golden_positions(key, positions):
    assert DEFAULT.calc_bit_positions(key) == positions
    assert DEFAULT.generate(key) == BloomFilterData(positions, 112)


@pytest.mark.row("F-76")
@pytest.mark.parametrize(("f", "n"), [(0, 1), (100, 1), (-1, 1), (20, 0), (20, -5)])
def test_parameters_out_of_range(f, n):
    with pytest.raises(BloomFilterError, match="must be great"):
        BloomFilter.create_by_fn(f, n)


def test_a_huge_filter_stops_at_javas_largest_int():
    assert BloomFilter.create_by_fn(1, 2**31 - 1).m == 2**31 - 1


@pytest.mark.row("F-77", "F-78", "F-79")
@given(st.lists(st.text(), max_size=40), st.text())
def test_no_key_that_was_put_is_ever_missed(keys, other):
    bits, untouched = BitsArray.of_length(DEFAULT.m), BitsArray.of_length(DEFAULT.m)
    for key in keys:
        DEFAULT.hash_to(key, bits)
    assert all(DEFAULT.is_hit(key, bits) for key in keys)
    assert DEFAULT.is_hit(other, bits) is all(bits.get_bit(i) for i in DEFAULT.calc_bit_positions(other))
    assert not any(untouched.data)


@pytest.mark.row("F-76")
def test_false_hits_stay_near_the_configured_rate():
    bits = BitsArray.of_length(DEFAULT.m)
    for i in range(32):
        DEFAULT.hash_to(f"group{i}#T", bits)
    false_hits = sum(DEFAULT.is_hit(f"other{i}#T", bits) for i in range(2000)) / 2000
    assert 0.05 < false_hits < 0.30


@pytest.mark.row("F-80")
@pytest.mark.parametrize(
    ("data", "valid"),
    [
        (BloomFilterData([1, 2, 3], 112), True),
        (BloomFilterData([1, 2, 3], 104), False),
        (BloomFilterData([1, 2], 112), False),
        (BloomFilterData(None, 112), False),
        (None, False),
    ],
)
def test_data_of_another_filter_is_refused(data, valid):
    bits = BitsArray.of_length(112)
    assert DEFAULT.is_valid(data) is valid
    if valid:
        DEFAULT.hash_to(data, bits)
        assert DEFAULT.is_hit(data, bits)
    else:
        for use in (DEFAULT.hash_to, DEFAULT.is_hit):
            with pytest.raises(BloomFilterError, match=r"^Bloom filter data may not belong to this filter! "):
                use(data, bits)


@pytest.mark.row("F-78")
def test_bits_of_another_length_are_refused():
    with pytest.raises(BloomFilterError, match=r"^Length\(8\) of bits in BitsArray is not equal to 112!$"):
        DEFAULT.hash_to([1], BitsArray.of_length(8))


@pytest.mark.row("F-78")
def test_overloads_by_key_positions_and_data_agree():
    key, bits = "G#T", [BitsArray.of_length(112) for _ in range(3)]
    for target, form in zip(bits, (key, DEFAULT.calc_bit_positions(key), DEFAULT.generate(key)), strict=True):
        assert not check_false_hit(DEFAULT.calc_bit_positions(key), target)
        DEFAULT.hash_to(form, target)
        assert check_false_hit(DEFAULT.calc_bit_positions(key), target)
    assert bits[0].data == bits[1].data == bits[2].data
