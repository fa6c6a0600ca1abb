"""The message itself: how it is made, printed, joined and ordered."""

from __future__ import annotations

import pytest

from rmqlab.message.java import NumberFormatError
from rmqlab.message.message import Host, HostError, Message, MessageExt, UserPropertyError
from rmqlab.message.properties import SYSTEM_PROPERTIES
from rmqlab.message.topics import MessageQueue
from rmqlab.rules import tags_code

# the two lines that ConsumerForTagB printed (experiment E1), and what differs between them
PRINTED = (
    "MessageExt [brokerName=broker-172.16.1.15:10911, queueId={queue}, storeSize=197, queueOffset=1, sysFlag=0, "
    "bornTimestamp={born}, bornHost=/172.16.0.103:62659, storeTimestamp={stored}, storeHost=/172.16.1.15:10911, "
    "msgId={offset_id}, commitLogOffset={offset}, bodyCRC={crc}, reconsumeTimes=0, preparedTransactionOffset=0, "
    "toString()=Message{{topic='SUBSCRIBE_TEST', flag=0, properties={{MIN_OFFSET=0, MAX_OFFSET=2, "
    "CONSUME_START_TIME={consumed}, UNIQ_KEY={unique}, CLUSTER=DefaultCluster, WAIT=true, TAGS=tagB}}, "
    "body=[77, 115, 103, 83, 116, 114, {last}], transactionId='null'}}]"
)
LINES = [
    {
        "queue": 2,
        "born": 1630810315966,
        "stored": 1630810316147,
        "offset_id": "AC10010F00002A9F00000017038666D2",
        "offset": 98843387602,
        "crc": 686395636,
        "consumed": 1630810316068,
        "unique": "AC10DFD6121618B4AAC216EE4CBE0004",
        "last": 52,
    },
    {
        "queue": 3,
        "born": 1630810316057,
        "stored": 1630810316223,
        "offset_id": "AC10010F00002A9F0000001703866797",
        "offset": 98843387799,
        "crc": 1609474146,
        "consumed": 1630810316088,
        "unique": "AC10DFD6121618B4AAC216EE4D190005",
        "last": 53,
    },
]


def consumed(line):
    """The message of one printed line, its properties in the order in which client and broker set them."""
    return MessageExt(
        topic="SUBSCRIBE_TEST",
        body=b"MsgStr" + bytes([line["last"]]),
        properties={
            "TAGS": "tagB",
            "WAIT": "true",
            "UNIQ_KEY": line["unique"],
            "CLUSTER": "DefaultCluster",
            "MIN_OFFSET": "0",
            "MAX_OFFSET": "2",
            "CONSUME_START_TIME": str(line["consumed"]),
        },
        broker_name="broker-172.16.1.15:10911",
        queue_id=line["queue"],
        store_size=197,
        queue_offset=1,
        born_timestamp=line["born"],
        born_host=Host("172.16.0.103", 62659),
        store_timestamp=line["stored"],
        store_host=Host("172.16.1.15", 10911),
        msg_id=line["offset_id"],
        commit_log_offset=line["offset"],
        body_crc=line["crc"],
    )


@pytest.mark.row("S-24", "S-26", "S-29")
@pytest.mark.parametrize("line", LINES, ids=["MsgStr4", "MsgStr5"])
def test_a_consumed_message_prints_as_in_the_article(line):
    assert str(consumed(line)) == PRINTED.format(**line)


@pytest.mark.row("S-25")
def test_print_shows_the_offset_id_while_the_client_answers_the_unique_id():
    message = consumed(LINES[0])
    assert message.msg_id == message.offset_msg_id == "AC10010F00002A9F00000017038666D2"
    assert message.client_msg_id == message.unique_id == "AC10DFD6121618B4AAC216EE4CBE0004"
    del message.properties["UNIQ_KEY"]
    assert message.client_msg_id == "AC10010F00002A9F00000017038666D2"


@pytest.mark.row("S-30")
def test_consumption_seems_to_begin_before_storing_because_the_clocks_differ():
    assert [line["consumed"] - line["stored"] for line in LINES] == [-79, -135]


def test_signed_bytes_and_nulls_in_print():
    assert str(Message("T", b"\x7f\x80\xff")) == (
        "Message{topic='T', flag=0, properties={}, body=[127, -128, -1], transactionId='null'}"
    )
    assert "body=null" in str(Message("T", None, transaction_id="x"))
    assert "brokerName=null" in str(MessageExt("T", b""))
    assert "msgId=null" in str(MessageExt("T", b""))


def test_a_message_is_made_as_the_java_constructors_make_it():
    message = Message.of("T", b"x", "tagA", ["k1", "k2"], price="3")
    assert message.properties == {"TAGS": "tagA", "KEYS": "k1 k2", "WAIT": "true", "price": "3"}
    assert Message.of("T", b"x", "", "").properties == {"WAIT": "true"}
    assert (message.tags, message.keys, message.wait_store_msg_ok) == ("tagA", "k1 k2", True)
    assert Message("T", b"x").properties == {}


def test_delay_level_and_wait_are_texts():
    message = Message("T", b"")
    assert message.delay_time_level == 0
    message.delay_time_level = 3
    assert message.properties["DELAY"] == "3"
    message.properties["DELAY"] = "x"
    with pytest.raises(NumberFormatError, match='For input string: "x"'):
        _ = message.delay_time_level
    assert message.wait_store_msg_ok
    message.properties["WAIT"] = "TRUE"
    assert message.wait_store_msg_ok
    message.wait_store_msg_ok = False
    assert message.properties["WAIT"] == "false"
    assert not message.wait_store_msg_ok


def test_user_properties_may_not_be_reserved_or_blank():
    message = Message("T", b"")
    assert len(SYSTEM_PROPERTIES) == 30
    for name in SYSTEM_PROPERTIES:
        with pytest.raises(UserPropertyError, match="is used by system"):
            message.put_user_property(name, "x")
    for name, value in (("", "x"), (" ", "x"), ("a", ""), ("a", " \t")):
        with pytest.raises(UserPropertyError, match="null or blank"):
            message.put_user_property(name, value)
    message.put_user_property("TRANSACTION_CHECK_TIMES", "1")  # not on the list of 4.8.0
    assert message.properties == {"TRANSACTION_CHECK_TIMES": "1"}


@pytest.mark.row("F-50", "F-52", "S-15")
def test_tags_code_is_the_hash_of_the_tag():
    assert [tags_code(tag) for tag in ("tagA", "tagB", "TagA", "TagB")] == [3552231, 3552232, 2598919, 2598920]
    assert tags_code("Aa") == tags_code("BB") == 2112
    assert tags_code("AaAa") == tags_code("BBBB") == 2031744
    assert tags_code(None) == tags_code("") == 0
    assert tags_code("\U0001f600") == 1772899


def test_queues_order_and_print_as_in_java():
    queues = [
        MessageQueue("T", "b", 10),
        MessageQueue("T", "b", 9),
        MessageQueue("T", "a", 11),
        MessageQueue("S", "z", 1),
    ]
    assert sorted(queues) == [queues[3], queues[2], queues[1], queues[0]]
    assert str(queues[0]) == "MessageQueue [topic=T, brokerName=b, queueId=10]"


def test_hosts():
    assert str(Host("10.0.0.1", 10911)) == "/10.0.0.1:10911"
    assert str(Host("0:0:0:0:0:0:0:1", 1)) == "/[0:0:0:0:0:0:0:1]:1"
    assert Host("10.0.0.1", 10911).text == "10.0.0.1:10911"
    assert Host.parse("10.0.0.1:80") == Host.parse("10.0.0.1|80") == Host.parse("/10.0.0.1:80") == ("10.0.0.1", 80)
    assert Host.parse("[fe80::1]:80") == Host.parse("fe80::1|80") == ("fe80:0:0:0:0:0:0:1", 80)
    mapped = Host.of_address(bytes.fromhex("00000000000000000000ffff01020304"), 5)
    assert mapped == ("1.2.3.4", 5)
    assert not mapped.is_v6
    assert Host.parse("::1|0").is_v6


@pytest.mark.parametrize(
    "text", ["", "10.0.0.1", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:65536", "host:1", "1.2.3:1", "1::2::3|1"]
)
def test_what_is_no_host_is_refused(text):
    with pytest.raises(HostError):
        Host.parse(text)


def test_address_of_other_length_is_refused():
    with pytest.raises(HostError, match="4 or 16 bytes, not 5"):
        Host.of_address(b"12345", 1)
    with pytest.raises(HostError, match="not 17"):
        Host.of_address(bytes(10) + b"\xff\xff" + b"12345", 1)
