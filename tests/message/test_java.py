"""Java's text and number rules: hash codes, UTF-16, UTF-8, splitting, HashMap order."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message import java

anything = st.text(st.characters(exclude_categories=()))  # lone surrogates included


@given(anything)
def test_a_hash_that_remembers_how_a_text_begins_is_no_other(text):
    assert java.hash_of_varied_end(text) == java.string_hash(text)


def test_string_hash():
    assert java.string_hash("") == 0
    assert java.string_hash("hello world") == 1794106052
    assert java.string_hash("polygenelubricants") == -(2**31)
    assert java.string_hash("\U0001f600") == 31 * 0xD83D + 0xDE00
    assert java.string_hash("\ud83d") == 0xD83D


@given(st.one_of(st.text("aZ0#%\u00e9", max_size=140), anything))
def test_a_hash_code_is_horners_rule_whatever_the_length(text):
    result = 0
    for unit in java.utf16_units(text):
        result = java.to_int32(31 * result + unit)
    assert java.string_hash(text) == result


@pytest.mark.row("F-50")
def test_recorded_hash_codes(golden):
    cases = [json.loads(line) for line in (golden / "vectors" / "tags.jsonl").open()]
    hashes = {case["tag"]: case["hash"] for case in cases if case["kind"] == "hash" and case["tag"] is not None}
    assert len(hashes) > 100
    assert {tag: java.string_hash(tag) for tag in hashes} == hashes


@given(anything, anything)
def test_hash_of_a_concatenation(left, right):
    power = pow(31, java.utf16_length(right), 1 << 32)
    joined = java.to_int32(java.string_hash(left) * power + java.string_hash(right))
    assert java.string_hash(left + right) == joined


@given(anything)
def test_utf16_units_are_what_java_counts(text):
    units = java.utf16_units(text)
    assert len(units) == java.utf16_length(text) == len(text) + sum(char > "\uffff" for char in text)
    assert b"".join(unit.to_bytes(2) for unit in units) == java.utf16_key(text)


@given(st.text())
def test_utf8_round_trip(text):
    assert java.from_utf8(java.to_utf8(text)) == text


def test_lone_surrogates_become_question_marks():
    assert java.to_utf8("a\ud800b\udc00") == b"a?b?"
    assert java.to_utf8("\ud83d" + "\ude00") == "\U0001f600".encode()
    assert java.to_utf8("\ude00\ud83d") == b"??"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("ff", "\ufffd"),
        ("c0af", "\ufffd\ufffd"),
        ("e4b8", "\ufffd"),
        ("e4b841", "\ufffdA"),
        ("f09f98", "\ufffd"),
        ("f09f41", "\ufffdA"),
        ("eda080", "\ufffd"),  # one fault where Python sees three
        ("eda0", "\ufffd"),
        ("eda041", "\ufffdA"),
        ("ed9fbf", "\ud7ff"),
        ("ed41", "\ufffdA"),
        ("eda080edb080", "\ufffd\ufffd"),
        ("f4908080", "\ufffd" * 4),
        ("80", "\ufffd"),
    ],
)
def test_malformed_utf8_as_openjdk_17_replaces_it(data, text):
    assert java.from_utf8(bytes.fromhex(data)) == text


def test_integers():
    assert java.parse_int("-2147483648") == -(2**31)
    assert java.parse_int("+7") == java.parse_int("007") == 7
    assert java.parse_int("٣") == 3  # Character.digit knows the digits of every script
    assert java.parse_long("9223372036854775807") == 2**63 - 1
    for text in ("", "-", "+", " 1", "1 ", "1_0", "2147483648", "0x1", "+-1", "²"):
        with pytest.raises(java.NumberFormatError):
            java.parse_int(text)
    with pytest.raises(java.NumberFormatError, match=r"^null$"):
        java.parse_int(None)
    assert java.to_int32(0x80000000) == -(2**31)
    assert java.to_int64(1 << 63) == -(1 << 63)
    assert java.to_int32(-1) == java.to_int64(-1) == -1


@given(st.integers())
def test_casts_keep_the_low_bits(number):
    assert java.to_int32(number) % 2**32 == number % 2**32
    assert java.INT_MIN <= java.to_int32(number) <= java.INT_MAX
    assert java.to_int64(number) % 2**64 == number % 2**64
    assert java.LONG_MIN <= java.to_int64(number) <= java.LONG_MAX


def test_booleans():
    assert [java.parse_boolean(text) for text in ("true", "TRUE", "True", " true", "1", "", None)] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip
    assert (java.boolean_text(True), java.boolean_text(False)) == ("true", "false")


def test_split_drops_empty_texts_at_the_end_only():
    assert java.split("a||b||||", "||") == ["a", "b"]
    assert java.split("||a", "||") == ["", "a"]
    assert java.split("", "||") == [""]
    assert java.split("||", "||") == []
    assert java.split(" ", "||") == [" "]


def test_trim_and_blank():
    assert java.trim("\x00\t a \x1f\u3000") == "a \x1f\u3000"
    assert java.is_blank(None)
    assert java.is_blank("")
    assert java.is_blank(" \t\n\u2003\u3000\x1c")
    assert not java.is_blank("\u00a0")  # no-break space is no whitespace for Java
    assert not java.is_blank("\u2007")
    assert not java.is_blank("\x00")


def test_hash_map_order_follows_the_table():
    assert java.hash_map_order(["b", "a"]) == ["a", "b"]
    assert java.hash_map_order(["Aa", "BB"]) == ["Aa", "BB"]  # one bucket: order of insertion
    assert java.hash_map_order(["BB", "Aa", "BB"]) == ["BB", "Aa"]
    assert java.hash_map_order([None, "a"]) == [None, "a"]


def test_hash_map_grows_at_three_quarters_and_when_a_bucket_gets_a_ninth_key():
    keys = [chr(code) for code in range(40, 53)]  # the thirteenth key doubles the table of 16
    assert java.hash_map_order(keys[:12]) == [*"0123", *"()*+,-./"]
    assert java.hash_map_order(keys) == keys
    colliding = [chr(16 * n) for n in range(9, 0, -1)]  # all in bucket 0 of 16; the ninth doubles the table too
    assert java.hash_map_order(colliding[:8]) == colliding[:8]
    assert [ord(key) // 16 for key in java.hash_map_order(colliding)] == [8, 6, 4, 2, 9, 7, 5, 3, 1]


@given(st.lists(anything, unique=True, max_size=40))
def test_hash_map_order_is_a_permutation(keys):
    assert sorted(java.hash_map_order(keys)) == sorted(keys)
