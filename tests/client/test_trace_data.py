"""Trace as the real clients wrote it, entry by entry and byte by byte."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from rmqlab.checkout import checkout_path
from rmqlab.message.java import in_hash_map_order
from rmqlab.message.properties import string_to_properties
from rmqlab.message.sysflag import COMPRESSED_FLAG
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.live.wire.frame_codec import decode_frame
from tests.proof.clients.message_trace import KINDS, TraceError, decode, encode


def recorded():
    """Keys and body of every trace message that a real client sent, each kind of body once a hundred messages."""
    path = checkout_path("data") / "golden" / "broker-4.8.0" / "audit" / "frames.jsonl.gz"
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            if "524d515f5359535f54524143455f544f504943" in line and '"c2s"' in line:  # RMQ_SYS_TRACE_TOPIC
                command = decode_frame(bytes.fromhex(json.loads(line)["frame"])[4:])
                if command.code == RequestCode.SEND_MESSAGE_V2:
                    fields = command.all_ext_fields()
                    packed = int(fields["f"]) & COMPRESSED_FLAG
                    body = zlib.decompress(command.body) if packed else command.body
                    found.append((fields["i"], body.decode()))
    return found


def test_every_recorded_trace_is_written_again_alike():
    messages = recorded()
    assert len(messages) > 1_000
    kinds = set()
    for properties, body in messages:
        entries = decode(body)
        kinds |= {entry.kind for entry in entries}
        assert "".join(map(encode, entries)) == body
        keys = {key: "" for entry in entries for key in (entry.msg_id, entry.keys) if key}
        assert " ".join(in_hash_map_order(keys)) == string_to_properties(properties)["KEYS"]
    assert kinds == set(KINDS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Sub\x01\x02", "no trace of kind 'Sub'"),
        ("SubAfter\x01a\x02", "8 fields, not 1"),
        ("SubAfter\x01r\x01m\x01soon\x01true\x01k\x010\x011\x01G\x02", "'soon' stands where a number"),
    ],
)
def test_another_text_is_refused(text, why):
    with pytest.raises(TraceError, match=why):
        decode(text)
