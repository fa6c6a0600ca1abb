"""offsetMsgId and UNIQ_KEY: made, read, refused; the ids of experiment E1."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message import ids
from rmqlab.message.message import Host, Message
from tests.proof.conform.unique_ids import ip_bytes_of, ip_of, pid_of

SHANGHAI = timezone(timedelta(hours=8))
STORE = Host("172.16.1.15", 10911)
# experiment E1: offsetMsgId, msgId, when it was born
SENT = [
    ("AC10010F00002A9F00000017038663BE", "AC10DFD6121618B4AAC216EE4B9C0000", 1630810315676),
    ("AC10010F00002A9F0000001703866483", "AC10DFD6121618B4AAC216EE4C040001", 1630810315780),
    ("AC10010F00002A9F0000001703866548", "AC10DFD6121618B4AAC216EE4C760002", 1630810315894),
    ("AC10010F00002A9F000000170386660D", "AC10DFD6121618B4AAC216EE4C890003", 1630810315913),
    ("AC10010F00002A9F00000017038666D2", "AC10DFD6121618B4AAC216EE4CBE0004", 1630810315966),
    ("AC10010F00002A9F0000001703866797", "AC10DFD6121618B4AAC216EE4D190005", 1630810316057),
    ("AC10010F00002A9F000000170386685C", "AC10DFD6121618B4AAC216EE4D380006", 1630810316088),
    ("AC10010F00002A9F0000001703866921", "AC10DFD6121618B4AAC216EE4DE50007", 1630810316261),
]
addresses = st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16))
longs = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.row("S-21", "S-29")
def test_offset_ids_of_the_article():
    decoded = [ids.decode_message_id(offset_id) for offset_id, _, _ in SENT]
    assert {message_id.host for message_id in decoded} == {STORE}
    assert [message_id.offset for message_id in decoded] == [98843386814 + 197 * i for i in range(8)]
    assert [ids.create_message_id(STORE, 98843386814 + 197 * i) for i in range(8)] == [sent[0] for sent in SENT]


@pytest.mark.row("S-22")
def test_message_ids_of_the_article_say_who_made_them_and_when():
    september = datetime(2021, 9, 5, 12, tzinfo=SHANGHAI)
    now = round(september.timestamp()) * 1000
    assert ids.month_start(now, SHANGHAI) == 1630425600000
    for number, (_, unique, born) in enumerate(SENT):
        assert ip_of(unique) == "172.16.223.214"
        assert pid_of(unique) == 4630
        assert unique.endswith(f"{number:04X}")
        assert ids.time_of(unique, now, SHANGHAI) == born


@pytest.mark.row("S-22")
def test_message_ids_of_the_article_can_be_made_again():
    maker = ids.UniqueIdMaker("172.16.223.214", 4630, 0x18B4AAC2, zone=SHANGHAI)
    assert [maker.create(born) for _, _, born in SENT] == [unique for _, unique, _ in SENT]


@given(addresses, st.integers(0, 65535), longs)
def test_offset_id_round_trip(address, port, offset):
    host = Host.of_address(address, port)
    text = ids.create_message_id(host, offset)
    assert ids.decode_message_id(text) == (host, offset)
    assert len(text) == (56 if host.is_v6 else 32)
    assert ids.decode_message_id(text.lower()) == (host, offset)


@given(addresses, st.integers(), st.integers(), st.integers(0, 4 * 10**12), st.integers(0, 27 * 24 * 3600 * 1000))
def test_unique_id_round_trip(address, pid, class_loader_hash, now, age):
    host = Host.of_address(address, 0)
    maker = ids.UniqueIdMaker(host.ip, pid, class_loader_hash, counter=65535)
    first, second = maker.create(now), maker.create(now)
    assert ip_bytes_of(first) == host.address
    assert pid_of(first) == pid % 2**16
    assert first[-20:-12] == f"{class_loader_hash % 2**32:08X}"
    assert (first[-4:], second[-4:]) == ("FFFF", "0000")
    assert ids.time_of(first, now + age + 1) == now


@given(st.binary())
def test_hex_round_trip(data):
    text = ids.bytes_to_string(data)
    assert text == text.upper()
    assert ids.string_to_bytes(text) == (data or None)


def test_what_is_no_digit_counts_as_minus_one():
    assert ids.string_to_bytes("G0") == b"\xf0"
    assert ids.string_to_bytes("0G") == b"\xff"
    assert ids.string_to_bytes("abc") == b"\xab"
    assert ids.string_to_bytes("ß0") == b"\xff"  # upper case is SS
    assert ids.string_to_bytes("\U0001f600") == b"\xff"  # two units
    assert ids.string_to_bytes("") is None
    assert ids.string_to_bytes(None) is None


@pytest.mark.parametrize(
    ("text", "java_error"),
    [
        ("", "StringIndexOutOfBoundsException"),
        ("AC10010F00002A9F0000001703866AB", "StringIndexOutOfBoundsException"),
        ("AC10010F00002A9F0000001703866ABC" + "00" * 11, "StringIndexOutOfBoundsException"),
        ("AC10010F000100000000001703866ABC", "IllegalArgumentException"),  # port 65536
        ("AC10010FFFFFFFFF0000001703866ABC", "IllegalArgumentException"),  # port -1
        ("ßß" + "0" * 54, "UnknownHostException"),  # makes 17 bytes of address
    ],
)
def test_bad_offset_ids(text, java_error):
    with pytest.raises(ids.MessageIdError) as caught:
        ids.decode_message_id(text)
    assert caught.value.java_error == java_error


def test_short_unique_ids():
    for read in (ip_of, pid_of, lambda text: ids.time_of(text, 0)):
        for text in (None, ""):
            with pytest.raises(ids.MessageIdError) as caught:
                read(text)
            assert caught.value.java_error == "NullPointerException"
        with pytest.raises(ids.MessageIdError):
            read("A")
    with pytest.raises(ids.MessageIdError) as caught:
        ip_of("ACACAC")
    assert caught.value.java_error == "ArrayIndexOutOfBoundsException"
    for read in (pid_of, lambda text: ids.time_of(text, 0)):
        with pytest.raises(ids.MessageIdError) as caught:
            read("AC10DFD6")
        assert caught.value.java_error == "IndexOutOfBoundsException"


def test_address_of_an_ipv6_client():
    unique = ids.UniqueIdMaker("2001:db8::1", 1, 2).create(0)
    assert len(unique) == 56
    assert ip_of(unique) == "2001:0db8:0000:0000:0000:0000:0000:0001"


def test_the_month_turns():
    december = round(datetime(2021, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1000
    assert ids.month_start(december, months=1) == december + 1000
    assert ids.month_start(december + 1000, months=-1) == ids.month_start(december)
    maker = ids.UniqueIdMaker("10.0.0.1", 1, 1)
    before, after = maker.create(december), maker.create(december + 1000)
    assert before[20:28] == f"{31 * 86400000 - 1000:08X}"
    assert after[20:28] == "00000000"
    # a time that would lie ahead belongs to the month before
    assert ids.time_of(before, december + 5000) == december


def test_a_message_keeps_the_id_it_has():
    maker = ids.UniqueIdMaker("10.0.0.1", 1, 1)
    message = Message("T", b"")
    unique = maker.set_unique_id(message, 5)
    assert message.unique_id == unique
    assert maker.set_unique_id(message, 6) == unique
    assert maker.create(7).endswith("0001")
