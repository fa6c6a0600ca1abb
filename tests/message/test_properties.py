"""The stored text of properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.java import in_hash_map_order
from rmqlab.message.properties import properties_to_string, string_to_properties, text_with_properties

plain = st.text(st.characters(exclude_characters="\x01\x02"), min_size=1)


@given(st.dictionaries(plain, plain))
def test_round_trip(properties):
    text = properties_to_string(properties)
    assert string_to_properties(text) == properties
    assert len(text) == sum(len(name) + len(value) + 2 for name, value in properties.items())


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_text_can_be_read_and_what_was_read_can_be_written(text):
    read = string_to_properties(text)
    assert string_to_properties(properties_to_string(read)) == read
    assert all(value for value in read.values())


@given(st.dictionaries(st.text("ab\x01\x02", max_size=4), st.text("ab\x01\x02", max_size=4), max_size=4))
def test_a_text_that_carries_its_map_reads_as_one_that_does_not(properties):
    text = text_with_properties(properties)
    assert text == properties_to_string(properties)
    read = string_to_properties(text)
    assert list(read.items()) == list(string_to_properties(properties_to_string(properties)).items())
    read["more"] = "x"
    assert "more" not in string_to_properties(text)


@pytest.mark.row("S-27")
def test_the_stored_properties_of_the_eight_messages_take_85_bytes():
    stored = {
        "UNIQ_KEY": "AC10DFD6121618B4AAC216EE4CBE0004",
        "CLUSTER": "DefaultCluster",
        "WAIT": "true",
        "TAGS": "tagB",
    }
    assert len(properties_to_string(stored).encode()) == 85
    assert properties_to_string(stored).endswith("TAGS\x01tagB\x02")


def test_nulls():
    assert properties_to_string(None) == properties_to_string({}) == ""
    assert properties_to_string({"a": None, None: "v"}) == "null\x01v\x02"
    assert string_to_properties(None) == string_to_properties("") == {}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a\x011", {"a": "1"}),
        ("a\x01\x02b\x012\x02", {"b": "2"}),  # an empty value is lost
        ("\x01v\x02", {"": "v"}),
        ("a\x011\x012\x02", {}),  # three parts
        ("a\x011\x01\x02", {"a": "1"}),  # the empty third part is dropped by split
        ("a\x011\x02a\x012\x02", {"a": "2"}),
        ("a=1", {}),
        ("\x02\x02", {}),
    ],
)
def test_items_that_are_no_pair_are_skipped(text, properties):
    assert string_to_properties(text) == properties


def test_java_order_is_that_of_a_hash_map():
    mixed = {"TAGS": "a", "UNIQ_KEY": "b", "WAIT": "c", "KEYS": "d"}
    assert list(in_hash_map_order(mixed)) == ["KEYS", "UNIQ_KEY", "WAIT", "TAGS"]
