"""Frames in both serialisations, written and read."""

from __future__ import annotations

import contextlib
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.protocol.codes import LANGUAGE_CODES, ResponseCode
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.consumer_headers import (
    PullMessageRequestHeader,
    PullMessageResponseHeader,
)
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
INT32 = st.integers(-(2**31), 2**31 - 1)
INT16 = st.integers(-(2**15), 2**15 - 1)


def commands(serialize_type: SerializeType):
    binary = serialize_type == SerializeType.ROCKETMQ
    number = INT16 if binary else INT32
    fields = st.dictionaries(TEXT, TEXT, min_size=1 if binary else 0, max_size=20)
    return st.builds(
        RemotingCommand,
        code=number,
        language=st.sampled_from(LANGUAGE_CODES),
        version=number,
        opaque=INT32,
        flag=INT32,
        remark=st.none() | (TEXT.filter(bool) if binary else TEXT),
        ext_fields=st.none() | fields,
        content=st.none() | st.binary(min_size=1),
        serialize_type=st.just(serialize_type),
    )


@given(st.sampled_from(SerializeType).flatmap(commands))
def test_a_frame_gives_back_the_command(command):
    frame = encode_frame(command)
    assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    assert decode_frame(frame[4:]) == command


@given(st.binary(max_size=80), st.sampled_from((0, 1)))
def test_any_bytes_are_read_or_refused_with_a_frame_error(data, kind):
    payload = struct.pack(">BBH", kind, 0, min(len(data), 60)) + data
    with contextlib.suppress(FrameError):
        assert decode_frame(payload).serialize_type == kind


def test_extfields_come_in_hash_map_order():
    fields = {f"k{i}": "v" for i in range(14)}
    text = encode_frame(RemotingCommand(1, ext_fields=fields))[8:].decode()
    assert list(json.loads(text)["extFields"]) == [
        "k0", "k1", "k2", "k3", "k4", "k5", "k11", "k6", "k10", "k7", "k13", "k8", "k12", "k9",
    ]  # fmt: skip


def test_rocketmq_keeps_the_low_16_bits_of_code_and_version():
    command = RemotingCommand(70_000, version=32_768, serialize_type=SerializeType.ROCKETMQ)
    decoded = decode_frame(encode_frame(command)[4:])
    assert (decoded.code, decoded.version) == (70_000 - 65_536, -32_768)


def test_rocketmq_cannot_write_a_language_it_does_not_know():
    with pytest.raises(FrameError, match="language"):
        encode_frame(RemotingCommand(1, language=None, serialize_type=SerializeType.ROCKETMQ))


def test_json_without_opaque_takes_the_local_counter():
    payload = b'\0\0\0\x0b{"code":11}'
    assert decode_frame(payload, lambda: 77).opaque == 77
    assert decode_frame(payload).opaque == 0


@pytest.mark.parametrize(
    ("payload", "java_error"),
    [
        (b"\0\0", "BufferUnderflowException"),
        (b"\0\0\xff\xff{}", "BufferUnderflowException"),
        (b"\2\0\0\2{}", "NullPointerException"),
        (b"\1\0\0\4abcd", "BufferUnderflowException"),
        (b"\1\0\0\x17" + bytes(17) + struct.pack(">ih", 2, -1), "NegativeArraySizeException"),
    ],
)
def test_a_malformed_frame_is_refused_as_java_refuses_it(payload, java_error):
    with pytest.raises(FrameError) as caught:
        decode_frame(payload)
    assert caught.value.java_error == java_error


def test_a_header_is_read_from_the_wire():
    header = PullMessageRequestHeader("G", "T", 1, 2, 32, 6, 0, 15_000, "a || b", 1_609_459_200_000, "TAG")
    decoded = decode_frame(encode_frame(RemotingCommand.request(11, header))[4:])
    assert decoded.header is None
    assert decoded.decode_header(PullMessageRequestHeader) == header


def test_a_response_header_without_values_still_shows_as_empty_extfields():
    response = RemotingCommand.response(ResponseCode.NO_PERMISSION, "no", PullMessageResponseHeader())
    assert decode_frame(encode_frame(response)[4:]).ext_fields == {}
