"""Odd messages: the same ones for a seed, and each kind of oddness among them."""

from __future__ import annotations

import math
import subprocess
import sys
import unicodedata

import pytest

from rmqlab.filter.sql92 import compile_sql92
from rmqlab.message.properties import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, string_to_properties
from tests.proof.agree.adversarial import EXPRESSIONS, NAMES, row, rows

SOME = list(rows(3_000, 8))


def test_a_row_is_made_from_seed_and_number_alone():
    assert [row(number, 8) for number in range(50)] == SOME[:50]
    assert list(rows(50, 9)) != SOME[:50]
    code = (
        "import zlib; from tests.proof.agree.adversarial import rows; print(zlib.crc32(''.join(rows(200, 8)).encode()))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def values():
    for text in SOME:
        yield from string_to_properties(text).values()


def is_float(text):
    try:
        return math.isfinite(float.fromhex(text)) and "x" in text.lower()
    except (ValueError, OverflowError):
        return False


@pytest.mark.parametrize(
    "odd",
    [
        lambda value: any(unicodedata.category(char) == "Nd" and not char.isascii() for char in value),
        lambda value: "NaN" in value,
        is_float,
        lambda value: value != value.strip(),
        lambda value: value.startswith("+"),
        lambda value: value.lstrip("+-0").isascii() and value.lstrip("+-").startswith("00"),
        lambda value: value.isascii() and value.isdigit() and 2**31 <= int(value) < 2**63,
        lambda value: value.isascii() and value.isdigit() and int(value) >= 2**63,
        lambda value: "e" in value and "." in value,
        lambda value: any(ord(char) > 0xFFFF for char in value),
    ],
    ids=["foreign digits", "NaN", "hex", "blanks", "plus", "zeros", "long", "too long", "exponent", "beyond 16 bits"],
)
def test_odd_values_are_there(odd):
    assert sum(map(odd, values())) >= 3


def items(text):
    return [item.split(NAME_VALUE_SEPARATOR) for item in text.split(PROPERTY_SEPARATOR) if item]


@pytest.mark.parametrize(
    "odd",
    [
        lambda all_items: len({item[0] for item in all_items}) < len(all_items),
        lambda all_items: any(len(item) == 1 for item in all_items),
        lambda all_items: any(len(item) > 2 and item[2] for item in all_items),
        lambda all_items: any(len(item) > 2 and not item[-1] for item in all_items),
        lambda all_items: any(not item[0] for item in all_items),
        lambda all_items: any(item[0] not in NAMES for item in all_items),
        lambda all_items: not all_items,
    ],
    ids=["name twice", "no value", "separator inside", "separator behind", "no name", "other name", "nothing"],
)
def test_odd_texts_are_there(odd):
    assert sum(odd(items(text)) for text in SOME) >= 3


def test_every_filter_compiles():
    for expression in EXPRESSIONS:
        assert compile_sql92(expression).rest.image == ""
