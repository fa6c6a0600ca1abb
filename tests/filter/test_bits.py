"""The bit array, slips included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.bloom import BitsArray, BitsError
from tests.proof.conform.bits import BitsIndexError, JavaBitsArray, NegativeBitsError


@pytest.mark.row("F-79")
@given(st.sets(st.integers(0, 111)))
def test_bit_p_lies_in_byte_p_div_8(positions):
    bits = JavaBitsArray.of_length(112)
    for position in positions:
        bits.set_bit(position, value=True)
    assert int.from_bytes(bits.data, "little") == sum(1 << position for position in positions)
    assert {position for position in range(112) if bits.get_bit(position)} == positions


@given(st.integers(0, 15), st.booleans(), st.booleans())
def test_operations_on_one_bit(position, before, value):
    for operate, expected in (
        (JavaBitsArray.xor_bit, before ^ value),
        (JavaBitsArray.or_bit, before or value),
        (JavaBitsArray.and_bit, before and value),
        (JavaBitsArray.set_bit, value),
    ):
        bits = JavaBitsArray.of_length(16)
        bits.set_bit(position, before)
        operate(bits, position, value)
        assert bits.get_bit(position) is expected
    bits.not_bit(position)
    assert bits.get_bit(position) is not value


@given(st.binary(min_size=1, max_size=4), st.binary(min_size=1, max_size=4))
def test_operations_on_arrays_stop_with_the_shorter(one, other):
    for operate, of_two in (
        (JavaBitsArray.xor, int.__xor__),
        (JavaBitsArray.or_, int.__or__),
        (JavaBitsArray.and_, int.__and__),
    ):
        bits = JavaBitsArray.from_bytes(one)
        operate(bits, JavaBitsArray.from_bytes(other))
        both = min(len(one), len(other))
        expected = bytes(of_two(a, b) for a, b in zip(one, other, strict=False)) + one[both:]
        assert bytes(bits.data) == expected


def test_the_check_of_positions_lets_one_too_many_pass():
    bits = JavaBitsArray.of_length(8)
    with pytest.raises(BitsIndexError, match=r"^Index 1 out of bounds for length 1$"):
        bits.get_bit(8)
    with pytest.raises(BitsError, match=r"^BitPos is greater than 8$"):
        bits.get_bit(9)
    with pytest.raises(BitsError, match=r"^BitPos is less than 0$"):
        bits.get_bit(-1)
    bits.or_bit(8, value=False)
    bits.and_bit(8, value=True)


@pytest.mark.parametrize(("length", "size"), [(0, 0), (-7, 0), (1, 1), (8, 1), (9, 2)])
def test_lengths(length, size):
    assert JavaBitsArray.of_length(length).byte_length == size


def test_lengths_that_cannot_be():
    with pytest.raises(NegativeBitsError, match=r"^-1$"):
        JavaBitsArray.of_length(-8)
    for data, length in ((b"", None), (None, None), (b"x", 0), (b"xy", 15)):
        with pytest.raises(BitsError):
            JavaBitsArray.from_bytes(data, length)
    assert JavaBitsArray.from_bytes(b"x", 9).bit_length == 9


def test_a_length_that_is_no_multiple_of_8_cannot_be_cloned():
    with pytest.raises(BitsError):
        JavaBitsArray.of_length(12).clone()
    original = JavaBitsArray.from_bytes(b"\x01")
    original.clone().set_bit(1, value=True)
    assert original.data == b"\x01"


def test_bytes_are_signed_when_read():
    bits = JavaBitsArray.from_bytes(b"\xff\x00")
    assert (bits.get_byte(0), bits.get_byte(1)) == (-1, 0)
    bits.set_byte(1, -117)
    assert bits.data == b"\xff\x8b"
    for position, error in ((2, BitsIndexError), (3, BitsError), (-1, BitsError)):
        with pytest.raises(error):
            bits.get_byte(position)


def test_printing_shows_a_partial_byte_one_bit_too_long():
    assert str(JavaBitsArray.from_bytes(b"\xff\x00")) == "0000000011111111\n"
    assert str(JavaBitsArray.of_length(12)) == "0000000000000\n"
    assert str(JavaBitsArray.of_length(72)) == "0" * 8 + "\n" + "0" * 64 + "\n"


@given(st.binary(min_size=1, max_size=20))
def test_the_filters_own_array_is_the_same_for_whole_bytes(data):
    bits, of_java = BitsArray.from_bytes(data), JavaBitsArray.from_bytes(data)
    assert (str(bits), bits.bit_length) == (str(of_java), of_java.bit_length)
    assert BitsArray.of_length(8 * len(data)).data == JavaBitsArray.of_length(8 * len(data)).data
    with pytest.raises(IndexError):
        bits.get_bit(bits.bit_length)
