"""Batches: what may go together, and the body of the request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.batch import decode_messages
from rmqlab.message.message import Message
from rmqlab.message.record import RecordError
from tests.proof.clients.batch_send import MessageBatch, UnsupportedBatch, encode_message

plain = st.text(st.characters(codec="utf-8", exclude_characters="\x01\x02"), min_size=1, max_size=20)
messages = st.builds(
    Message,
    topic=st.just("T"),
    body=st.binary(max_size=50),
    flag=st.integers(-(2**31), 2**31 - 1),
    properties=st.dictionaries(plain, plain, max_size=4),
)


@given(st.lists(messages, min_size=1, max_size=5))
def test_round_trip(parts):
    for part in parts:
        part.properties.pop("DELAY", None)
        part.wait_store_msg_ok = True
    batch = MessageBatch.generate_from_list(parts)
    assert batch.topic == "T"
    assert list(batch) == parts
    for part in parts:
        part.topic = ""  # it is not in the body
    assert decode_messages(batch.encode()) == parts


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (Message("T", b"", properties={"DELAY": "1"}), "TimeDelayLevel"),
        (Message("%RETRY%g", b""), "Retry Group"),
        (Message("U", b""), "topic of the messages"),
        (Message("T", b"", properties={"WAIT": "false"}), "waitStoreMsgOK"),
    ],
)
def test_what_may_not_go_together(second, reason):
    with pytest.raises(UnsupportedBatch, match=reason):
        MessageBatch.generate_from_list([Message("T", b""), second])


def test_no_batch_of_nothing():
    with pytest.raises(UnsupportedBatch, match="at least one"):
        MessageBatch.generate_from_list([])


def test_wait_is_that_of_the_messages():
    batch = MessageBatch.generate_from_list([Message("T", b"", properties={"WAIT": "false"})])
    assert not batch.wait_store_msg_ok


@pytest.mark.parametrize(
    ("message", "java_error"),
    [
        (Message("T", None), "NullPointerException"),
        (Message("T", b"", properties={"k": "v" * 32766}), "IllegalArgumentException"),
        (Message("T", b"x" * 40000, properties={"k": "v" * 32766}), "BufferOverflowException"),
        (Message("T", b"", properties={"k": "v" * 65536}), "BufferOverflowException"),
    ],
)
def test_what_cannot_be_written(message, java_error):
    with pytest.raises(RecordError) as caught:
        encode_message(message)
    assert caught.value.java_error == java_error


def test_a_body_that_ends_early():
    encoded = encode_message(Message("T", b"abc", properties={"k": "v"}))
    for length in range(1, len(encoded)):
        with pytest.raises(RecordError) as caught:
            decode_messages(encoded[:length])
        assert caught.value.java_error == "BufferUnderflowException"
    for place in (16, 23):
        negative = bytearray(encoded)
        negative[place] = 0x80
        with pytest.raises(RecordError) as caught:
            decode_messages(negative)
        assert caught.value.java_error == "NegativeArraySizeException"
