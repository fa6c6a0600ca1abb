"""Records: sizes, CRCs, bytes that come back, bytes that are rejected."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message import record
from rmqlab.message.message import Host, MessageExt
from rmqlab.message.sysflag import (
    BORNHOST_V6_FLAG,
    COMPRESSED_FLAG,
    STOREHOST_V6_FLAG,
    CompressionError,
    compress,
    uncompress,
)

ints = st.integers(-(2**31), 2**31 - 1)
longs = st.integers(-(2**63), 2**63 - 1)
plain = st.text(st.characters(codec="utf-8", exclude_characters="\x01\x02"), min_size=1, max_size=20)


@st.composite
def messages(draw):
    """A message whose addresses agree with its sys flag and whose body does not claim to be compressed."""
    flag = draw(ints) & ~(BORNHOST_V6_FLAG | STOREHOST_V6_FLAG | COMPRESSED_FLAG)
    hosts = []
    for bit in (BORNHOST_V6_FLAG, STOREHOST_V6_FLAG):
        v6 = draw(st.booleans())
        address = (
            draw(st.binary(min_size=16, max_size=16).filter(lambda a: a[:12] != bytes(10) + b"\xff\xff"))
            if v6
            else (draw(st.binary(min_size=4, max_size=4)))
        )
        hosts.append(Host.of_address(address, draw(st.integers(0, 65535))))
        flag |= bit if v6 else 0
    return MessageExt(
        topic=draw(st.text(st.characters(codec="utf-8"), max_size=30)),
        body=draw(st.binary(max_size=200)),
        flag=draw(ints),
        properties=draw(st.dictionaries(plain, plain, max_size=5)),
        queue_id=draw(ints),
        queue_offset=draw(longs),
        sys_flag=flag,
        born_timestamp=draw(longs),
        born_host=hosts[0],
        store_timestamp=draw(longs),
        store_host=hosts[1],
        commit_log_offset=draw(longs),
        body_crc=draw(ints),
        reconsume_times=draw(ints),
        prepared_transaction_offset=draw(longs),
    )


def article_message(body=b"MsgStr4"):
    """MsgStr4 as the broker of experiment E1 stored it."""
    return MessageExt(
        topic="SUBSCRIBE_TEST",
        body=body,
        properties={
            "UNIQ_KEY": "AC10DFD6121618B4AAC216EE4CBE0004",
            "CLUSTER": "DefaultCluster",
            "WAIT": "true",
            "TAGS": "tagB",
        },
        queue_id=2,
        queue_offset=1,
        born_timestamp=1630810315966,
        born_host=Host("172.16.0.103", 62659),
        store_timestamp=1630810316147,
        store_host=Host("172.16.1.15", 10911),
        commit_log_offset=98843387602,
        body_crc=record.body_crc(body),
    )


@pytest.mark.row("S-28")
def test_body_crcs_of_the_article():
    assert [record.body_crc(b"MsgStr%d" % i) for i in range(8)] == [
        797201645, 1485005947, 1099576769, 915211607, 686395636, 1609474146, 1189605848, 836813134,
    ]  # fmt: skip
    assert list(b"MsgStr4")[-1] == 52
    assert record.body_crc(None) == record.body_crc(b"") == 0


@pytest.mark.row("S-27")
def test_a_message_of_the_article_takes_197_bytes():
    encoded = record.encode_record(article_message())
    assert len(encoded) == record.message_length(0, 7, len("SUBSCRIBE_TEST"), 85) == 197
    assert record.message_length(0, 0, 0, 0) == 91
    v6 = BORNHOST_V6_FLAG | STOREHOST_V6_FLAG
    assert record.message_length(v6, 0, 0, 0) == 91 + 24
    assert record.message_length(0, -1, 0, -1) == 91


@pytest.mark.row("S-24", "S-25", "S-29")
def test_the_stored_message_comes_back_with_the_article_s_ids():
    message = record.decode_record(record.encode_record(article_message()))
    assert message.store_size == 197
    assert message.msg_id == "AC10010F00002A9F00000017038666D2"
    assert int(message.msg_id[16:], 16) == message.commit_log_offset == 98843387602
    assert message.client_msg_id == "AC10DFD6121618B4AAC216EE4CBE0004"
    assert (str(message.born_host), str(message.store_host)) == ("/172.16.0.103:62659", "/172.16.1.15:10911")


@given(messages())
def test_round_trip(message):
    encoded = record.encode_record(message)
    decoded = record.decode_record(encoded)
    expected = dataclasses.replace(
        message,
        store_size=len(encoded),
        msg_id=decoded.msg_id,
        body=message.body or None,
    )
    assert decoded == expected
    assert record.decode_properties(encoded) == (message.properties or None)
    assert decoded.store_host.address.hex().upper() == decoded.msg_id[: len(decoded.store_host.address) * 2]
    assert record.encode_record(dataclasses.replace(decoded, body=decoded.body or b"")) == encoded


@given(messages(), messages(), st.data())
def test_a_pull_body_is_read_up_to_the_first_broken_record(first, second, data):
    encoded = [record.encode_record(first), record.encode_record(second)]
    assert len(record.decode_records(b"".join(encoded))) == 2
    cut = data.draw(st.integers(0, len(encoded[1]) - 1))
    read = record.decode_records(memoryview(encoded[0] + encoded[1][:cut]))
    assert [message.store_size for message in read] == [len(encoded[0])]


@given(messages(), st.binary(max_size=40))
def test_reading_stops_where_the_record_ends(message, trailing):
    encoded = record.encode_record(message)
    decoded = record.read_record(b"xyz" + encoded + trailing, 3)
    assert decoded.position == 3 + len(encoded)
    assert decoded.has_properties == bool(message.properties)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_rejected(data):
    decoded = record.read_record(data)
    assert decoded.message is not None or decoded.position == len(data)
    assert len(record.decode_records(data)) <= len(data)


def test_a_rejected_record_leaves_nothing():
    encoded = record.encode_record(article_message())
    for length in range(len(encoded)):
        assert record.read_record(encoded[:length]) == (None, length, False)
    bad_port = bytearray(encoded)
    bad_port[53] = 1  # the born port becomes 65536 more
    assert record.decode_record(bad_port) is None
    negative_topic = bytearray(encoded)
    negative_topic[88 + 7] = 0x80
    assert record.decode_record(negative_topic) is None


def test_magic_size_and_crc_are_not_checked_on_reading():
    encoded = bytearray(record.encode_record(article_message()))
    encoded[0:12] = bytes(12)
    message = record.decode_record(encoded)
    assert (message.store_size, message.body_crc, message.body) == (0, 0, b"MsgStr4")


def test_body_can_be_left_out():
    encoded = record.encode_record(article_message())
    message = record.decode_record(encoded, read_body=False)
    assert message.body is None
    assert message.tags == "tagB"
    assert record.decode_records(encoded, read_body=False) == [message]


def test_compressed_bodies():
    message = article_message(b"z" * 5000)
    message.sys_flag = COMPRESSED_FLAG
    encoded = record.encode_record(message, need_compress=True)
    assert len(encoded) < 300
    assert record.decode_record(encoded).body == message.body
    assert record.decode_record(encoded, decompress_body=False).body == compress(message.body)
    assert record.decode_record(record.encode_record(message)) is None  # says it is compressed, is not
    message.sys_flag = 0
    assert len(record.encode_record(message, need_compress=True)) > 5000


@given(st.binary(), st.integers(0, 9), st.binary(max_size=5))
def test_compression_round_trip(body, level, trailing):
    assert uncompress(compress(body, level) + trailing) == body


def test_broken_streams():
    stream = compress(b"some body")
    for broken in (stream[:-1], stream[:5], b"\x78\x9c\xff", stream[:-1] + b"\x00"):
        with pytest.raises(CompressionError):
            uncompress(broken)
    assert uncompress(b"\x78\xbb\x00\x00\x00\x01") == b""  # asks for a preset dictionary


@pytest.mark.parametrize(
    ("changes", "java_error"),
    [
        ({"body": None}, "NullPointerException"),
        ({"store_size": 10}, "BufferOverflowException"),
        ({"topic": "t" * 128}, "BufferOverflowException"),  # its length wraps to -128
        ({"topic": "t" * 128, "body": b"", "properties": {}}, "IllegalArgumentException"),
        ({"properties": {"k": "v" * 32768}}, "IllegalArgumentException"),
        ({"born_host": Host.parse("[::1]:1")}, "BufferOverflowException"),  # no flag says so
    ],
)
def test_what_makes_no_record(changes, java_error):
    with pytest.raises(record.RecordError) as caught:
        record.encode_record(dataclasses.replace(article_message(), **changes))
    assert caught.value.java_error == java_error


def test_a_given_size_is_filled_with_zeros():
    encoded = record.encode_record(dataclasses.replace(article_message(), store_size=200))
    assert len(encoded) == 200
    assert encoded[:4] == b"\x00\x00\x00\xc8"
    assert encoded[-3:] == bytes(3)


def test_an_ipv4_address_in_an_ipv6_field_makes_a_padded_id():
    message = dataclasses.replace(article_message(), sys_flag=STOREHOST_V6_FLAG, store_host=Host.parse("[::2]:10911"))
    encoded = bytearray(record.encode_record(message))
    assert encoded[64:80] == bytes(15) + b"\x02"
    encoded[64:80] = bytes(10) + b"\xff\xff\x01\x02\x03\x04"
    decoded = record.decode_record(encoded)
    assert decoded.store_host == ("1.2.3.4", 10911)
    assert decoded.msg_id == "0102030400002A9F" + f"{message.commit_log_offset:016X}" + "0" * 24


def test_properties_of_a_record_cut_short():
    encoded = record.encode_record(article_message())
    with pytest.raises(record.RecordError) as caught:
        record.decode_properties(encoded[:-1])
    assert caught.value.java_error == "BufferUnderflowException"
    for length in (0, 36, 40, 87, 95, 111):
        with pytest.raises(record.RecordError) as caught:
            record.decode_properties(encoded[:length])
        assert caught.value.java_error == "IndexOutOfBoundsException"
