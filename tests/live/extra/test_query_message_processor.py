"""Messages looked up by id and by key."""

from __future__ import annotations

import pytest

from rmqlab.message.ids import decode_message_id
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab_tools.live.extra.admin_headers import QueryMessageRequestHeader, ViewMessageRequestHeader


@pytest.fixture
def ready(bench):
    bench.topic("T")
    bench.ids = [bench.send("T", b"%d" % number, props={"KEYS": "order"}).header.msg_id for number in range(3)]
    return bench


def view(bench, offset):
    return bench.ask(bench.channel(), RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset))


def query(bench, key, **fields):
    header = QueryMessageRequestHeader("T", key, 2, 0, bench.now)
    return bench.ask(bench.channel(), RequestCode.QUERY_MESSAGE, header, **fields)


def test_a_message_by_its_id(ready, bodies):
    answer = view(ready, decode_message_id(ready.ids[1]).offset)
    assert (answer.code, answer.remark, answer.all_ext_fields()) == (ResponseCode.SUCCESS, None, None)
    assert bodies(answer) == [b"1"]


def test_no_message_by_that_id(ready):
    answer = view(ready, 99_999)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "can not find message by the offset, 99999",
    )
    assert view(ready, None).remark == "java.lang.NullPointerException"


def test_the_newest_messages_with_a_key_in_the_order_of_the_log(ready, bodies):
    answer = query(ready, "order")
    assert answer.code == ResponseCode.SUCCESS
    assert bodies(answer) == [b"1", b"2"]
    assert answer.header.index_last_update_timestamp == ready.now
    # A query by the unique key asks for as many as the store gives.
    assert len(bodies(query(ready, "order", ext_fields={"_UNIQUE_KEY_QUERY": "true"}))) == 3


def test_no_message_with_that_key(ready):
    answer = query(ready, "nothing")
    assert (answer.code, answer.remark) == (
        ResponseCode.QUERY_NOT_FOUND,
        "can not find message, maybe time range not correct",
    )
