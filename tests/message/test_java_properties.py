"""Settings as `java.util.Properties` reads them: the answers of OpenJDK 17, and what is written is read again."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.java_properties import MalformedEscapeError, load_properties, properties_line, shown_properties


def test_every_case_that_java_answered(root):
    cases = [json.loads(line) for line in (root / "data" / "java" / "properties_load.jsonl").read_text().splitlines()]
    assert len(cases) > 2_000
    assert {case["error"] for case in cases if "error" in case} == {"IllegalArgumentException"}
    for case in cases:
        try:
            found = {"properties": load_properties(case["text"].encode("latin-1"))}
        except MalformedEscapeError:
            found = {"error": "IllegalArgumentException"}
        assert {"text": case["text"], **found} == case


@given(st.dictionaries(st.text(), st.text(), max_size=4))
def test_what_is_written_is_read_again(properties):
    text = "".join(properties_line(*one) for one in properties.items())
    assert text.isascii()
    assert load_properties(text.encode()) == properties


def test_text_of_a_reader_keeps_its_characters():
    assert load_properties("a=消息\n") == {"a": "消息"}
    assert load_properties("a=é\n".encode()) == {"a": "Ã©"}


def test_what_a_broker_shows_is_not_escaped():
    shown = shown_properties(b"rocketmqHome=C:\\users\\t=1\nlistenPort=10911\nempty=\n")
    assert shown == {"rocketmqHome": "C:\\users\\t=1", "listenPort": "10911", "empty": ""}
