from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.protocol.admin_headers import CreateTopicRequestHeader
from rmqlab.protocol.consumer_headers import (
    FLAG_CLASS_FILTER,
    FLAG_COMMIT_OFFSET,
    FLAG_LITE_PULL_MESSAGE,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
    UnregisterClientRequestHeader,
)
from rmqlab.protocol.header import (
    NullFieldError,
    RemotingCommandException,
    _header_of_what_can_be_read,
    header_from_ext_fields,
)
from rmqlab.protocol.producer_headers import (
    EndTransactionRequestHeader,
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
)
from tests.proof.conform.remoting import HEADERS

VALUES = {
    "str": st.text(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "Long": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
}
FIXED = {
    "topic_filter_type": st.sampled_from(["SINGLE_TAG", "MULTI_TAG"]),
    "commit_or_rollback": st.sampled_from([8, 12]),
}


def header_objects(cls):
    fields = {name: FIXED.get(name, VALUES[kind.removesuffix(" | None")]) for name, kind in cls.__annotations__.items()}
    return st.builds(cls, **fields)


@given(st.sampled_from(sorted(HEADERS.values(), key=str)).flatmap(header_objects))
def test_every_header_survives_its_texts(header):
    assert header_from_ext_fields(type(header), header.to_ext_fields()) == header


def test_wire_names_are_those_of_java():
    assert HEADERS["UnregisterClientRequestHeader"].__struct_encode_fields__[0] == "clientID"
    assert HEADERS["RegisterBrokerRequestHeader"].__struct_encode_fields__[-1] == "bodyCrc32"
    assert HEADERS["RegisterMessageFilterClassRequestHeader"].__struct_encode_fields__[-1] == "classCRC"
    assert "".join(HEADERS["SendMessageRequestHeaderV2"].__struct_encode_fields__) == "abcdefghijklm"


@pytest.mark.row("S-59")
def test_each_flag_of_a_pull_has_a_bit_of_its_own():
    flags = [FLAG_COMMIT_OFFSET, FLAG_SUSPEND, FLAG_SUBSCRIPTION, FLAG_CLASS_FILTER, FLAG_LITE_PULL_MESSAGE]
    assert flags == [1 << bit for bit in range(5)]


@pytest.mark.parametrize("text", ["", "abc", " 3", "3.0", "2147483648", "1_0", "0x1", "-"])
def test_a_number_that_cannot_be_read_stays_null(text):
    assert header_from_ext_fields(
        PullMessageRequestHeader, {"queueId": text, "topic": "T"}
    ) == PullMessageRequestHeader(topic="T")


@pytest.mark.parametrize(("text", "number"), [("+3", 3), ("-0", 0), ("007", 7), ("３", 3)])
def test_numbers_are_read_as_java_reads_them(text, number):
    assert header_from_ext_fields(PullMessageRequestHeader, {"queueId": text}).queue_id == number


def test_a_long_may_be_longer_than_an_int():
    fields = {"queueOffset": "2147483648", "queueId": "2147483648", "commitOffset": "9223372036854775808"}
    header = header_from_ext_fields(PullMessageRequestHeader, fields)
    assert (header.queue_offset, header.queue_id, header.commit_offset) == (2147483648, None, None)


@pytest.mark.parametrize(("text", "value"), [("TRUE", True), ("true", True), ("1", False), ("yes", False)])
def test_only_true_is_true(text, value):
    assert header_from_ext_fields(SendMessageRequestHeaderV2, {"k": text}).unit_mode is value


def test_required_fields_may_be_missing():
    assert header_from_ext_fields(UnregisterClientRequestHeader, {"clientID": "c"}).consumer_group is None


def test_v2_has_the_fields_of_v1():
    v1 = SendMessageRequestHeader("PG", "T", "TBW102", 4, 1, 0, 5, 0, "p", 0, unit_mode=False, batch=True)
    v2 = SendMessageRequestHeaderV2.of(v1)
    assert v2.v1() == v1
    assert v2.to_ext_fields()["m"] == "true"


def test_a_topic_needs_a_known_filter_type():
    with pytest.raises(RemotingCommandException, match=r"^topicFilterType = \[\] value invalid$"):
        header_from_ext_fields(CreateTopicRequestHeader, {"topicFilterType": ""})
    with pytest.raises(RemotingCommandException, match=r"\[null\]"):
        header_from_ext_fields(CreateTopicRequestHeader, {})
    assert header_from_ext_fields(CreateTopicRequestHeader, None).topic is None


def test_a_transaction_ends_in_one_of_three_ways():
    for value in (0, 8, 12):
        fields = {"commitOrRollback": str(value)}
        assert header_from_ext_fields(EndTransactionRequestHeader, fields).commit_or_rollback == value
    with pytest.raises(RemotingCommandException, match=r"^commitOrRollback field wrong$"):
        header_from_ext_fields(EndTransactionRequestHeader, {"commitOrRollback": "4"})
    with pytest.raises(NullFieldError):
        header_from_ext_fields(EndTransactionRequestHeader, {})


@given(
    st.dictionaries(
        st.sampled_from("abcdefghijklm"),
        st.sampled_from(["", "0", "7", "-1", "+7", "true", "TRUE", "no", "2147483648", "1606000000000", "x", "٣"]),
    )
)
def test_a_header_read_at_once_is_the_one_read_field_by_field(texts):
    header = header_from_ext_fields(SendMessageRequestHeaderV2, texts)
    assert header == _header_of_what_can_be_read(SendMessageRequestHeaderV2, texts.get)
