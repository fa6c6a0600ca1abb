"""Frames out of a stream: cut anywhere, and every length that cannot be right."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab_tools.live.frames import (
    FRAME_MAX_LENGTH,
    HEADER_MAX_LENGTH,
    BadFrame,
    FrameDecoder,
    UnreadBudget,
)
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame


def frames_of(decoder):
    while (frame := decoder.next()) is not None:
        yield frame


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_any_cut_gives_the_same_frames(bodies, data):
    commands = [
        RemotingCommand(
            code=number,
            opaque=number,
            content=body or None,
            serialize_type=SerializeType(number % 2),
            ext_fields={"a": "b"},
        )
        for number, body in enumerate(bodies)
    ]
    stream = b"".join(encode_frame(command) for command in commands)
    decoder, found = FrameDecoder(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        decoder.feed(stream[:size])
        stream = stream[size:]
        found += frames_of(decoder)
    assert [decode_frame(frame).body for frame in found] == [body or None for body in bodies]
    assert [decode_frame(frame).opaque for frame in found] == list(range(len(bodies)))


@pytest.mark.parametrize(
    ("head", "text"),
    [
        (struct.pack(">i", -1), "not negative"),
        (struct.pack(">i", FRAME_MAX_LENGTH - 3), "at most"),
        (struct.pack(">ii", 100, 97), "header of 97 bytes in a frame of 100"),
        (struct.pack(">ii", HEADER_MAX_LENGTH * 2, HEADER_MAX_LENGTH + 1), "header of"),
        (b"\x16\x03\x01\x02\x00", "at most"),  # a TLS client says hello
        (b"GET / HTTP/1.1\r\n", "at most"),
    ],
)
def test_a_length_that_lies_is_refused_before_its_bytes_come(head, text):
    decoder = FrameDecoder()
    decoder.feed(head)
    with pytest.raises(BadFrame, match=text):
        decoder.next()


def test_what_comes_after_the_last_frame_is_left():
    frame, head = (
        encode_frame(RemotingCommand(code=1)),
        struct.pack(">ii", HEADER_MAX_LENGTH * 2, HEADER_MAX_LENGTH + 1),
    )
    decoder = FrameDecoder(header_max=FRAME_MAX_LENGTH)
    decoder.feed(frame + b"GET / HTTP/1.1\r\n")
    assert decoder.next() == frame[4:]
    with pytest.raises(BadFrame):
        decoder.next()
    assert decoder.rest() == b"GET / HTTP/1.1\r\n"
    wider = FrameDecoder(header_max=FRAME_MAX_LENGTH)
    wider.feed(head)
    assert wider.next() is None


def test_the_largest_frame_is_taken():
    decoder = FrameDecoder()
    decoder.feed(struct.pack(">ii", FRAME_MAX_LENGTH - 4, 0))
    assert decoder.next() is None
    decoder.feed(bytes(FRAME_MAX_LENGTH - 8))
    assert len(decoder.next()) == FRAME_MAX_LENGTH - 4


def test_all_connections_share_a_budget():
    budget = UnreadBudget(limit=1000)
    first, second = FrameDecoder(budget), FrameDecoder(budget)
    first.feed(struct.pack(">ii", 5000, 0) + bytes(600))
    with pytest.raises(BadFrame, match="limit is 1000"):
        second.feed(struct.pack(">ii", 5000, 0) + bytes(600))
    second.close()
    first.close()
    assert budget.used == 0
    third = FrameDecoder(budget)
    for _ in range(10):  # what was handed out no longer counts
        third.feed(struct.pack(">ii", 404, 0) + bytes(400))
        assert len(third.next()) == 404
