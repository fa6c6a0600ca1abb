"""The bit array as a general form: rows with names and positions."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab_tools.show.bits import MAX_BIT_NAMES

DEFAULT = BloomFilter.create_by_fn(20, 32)


def owners(*names, sets=True, bloom=DEFAULT):
    return [
        {"name": name, "positions": bloom.calc_bit_positions(f"{name}#SqlFilterTest"), "sets": sets} for name in names
    ]


def words(picture):
    return [text.text for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.row("F-77", "F-82")
def test_bits_of_names_and_what_each_finds():
    picture = rmqlab.show.bit_array([*owners("CID_A"), *owners("CID_B", sets=False)], size=112, title="One message")
    assert picture.table.rows == [
        ("CID_A", "yes", [12, 44, 42], "all are set"),
        ("CID_B", "no", [99, 19, 92], "bit 99 is 0"),
    ]
    assert words(picture)[0].startswith("One message: 3 of 112 bits are set.")
    assert "✗ bit 99 is 0" in words(picture)


@pytest.mark.row("F-77")
def test_bits_that_others_have_set_stand_out():
    names = [f"CID_{number:02d}" for number in range(32)]
    picture = rmqlab.show.bit_array([*owners(*names), *owners("G13", sets=False)], size=112, title="Many")
    assert picture.table.rows[-1][-1] == "all are set, by others"
    assert picture.table.marked == frozenset({32})
    assert "Of the other 1, 1 find all their bits set by others." in picture.alt
    assert "G13" in words(picture)
    assert f"… and {33 - MAX_BIT_NAMES} more names" in words(picture)
    large = BloomFilter.create_by_fn(1, 200)
    huge = rmqlab.show.bit_array(owners("CID_A", bloom=large), size=large.m, title="Large")
    assert any(text.startswith("… and") and text.endswith("more bits") for text in words(huge))


def test_bits_given_as_bytes_or_as_positions():
    rows = [{"name": "A", "positions": [1, 9], "sets": False}]
    for bits in (bytes([0b10, 0b10]), {1, 9}):
        assert rmqlab.show.bit_array(rows, size=16, bits=bits, title="T").table.rows[0][-1] == "all are set, by others"
    assert rmqlab.show.bit_array(rows, size=16, bits=bytes(2), title="T").table.rows[0][-1] == "bit 1 is 0"


def test_rows_that_are_none():
    with pytest.raises(BadInput, match="is no row; right is"):
        rmqlab.show.bit_array([{"who": "A"}], size=8, title="T")
    with pytest.raises(BadInput, match="A has position 8; there are 0 to 7"):
        rmqlab.show.bit_array([{"name": "A", "positions": [8]}], size=8, title="T")
