"""Transactions: prepared, committed, rolled back, left open."""

from __future__ import annotations

import pytest

from rmqlab.message.ids import decode_message_id
from rmqlab.message.record import decode_records
from rmqlab.message.sysflag import TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE
from rmqlab.message.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.producer_headers import EndTransactionRequestHeader
from rmqlab.store.config import BrokerRole
from rmqlab.store.dispatch_request import PutMessageResult, PutMessageStatus


def stored(bench, topic, queue=0):
    result = bench.store.get_message("any", topic, queue, 0, 32, None)
    return decode_records(b"".join(result.messages))


@pytest.fixture
def ready(bench):
    """A prepared message of producer group P for queue 2 of T; another one before it."""
    bench.topic("T")
    props = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "U"}
    bench.send("T", b"other", props=props)
    bench.offset = decode_message_id(bench.send("T", b"deal", "tagA", queue=2, props=props).header.msg_id).offset
    return bench


def end(bench, how, *, group="P", state_offset=1, offset=None, check=False):
    header = EndTransactionRequestHeader(
        producer_group=group,
        tran_state_table_offset=state_offset,
        commit_log_offset=bench.offset if offset is None else offset,
        commit_or_rollback=how,
        from_transaction_check=check,
        msg_id="U",
    )
    return bench.ask(bench.channel(), RequestCode.END_TRANSACTION, header)


def test_a_prepared_message_is_seen_by_nobody(ready):
    assert stored(ready, "T", 2) == []
    assert [one.body for one in stored(ready, TRANS_HALF_TOPIC)] == [b"other", b"deal"]


@pytest.mark.parametrize("check", [False, True])
def test_commit_brings_it_to_its_queue_and_notes_that_it_is_done(ready, check):
    answer = end(ready, TRANSACTION_COMMIT_TYPE, check=check)
    assert (answer.code, answer.remark, answer.all_ext_fields()) == (ResponseCode.SUCCESS, None, None)
    (message,) = stored(ready, "T", 2)
    assert (message.body, message.tags, message.prepared_transaction_offset) == (b"deal", "tagA", ready.offset)
    assert message.sys_flag == TRANSACTION_COMMIT_TYPE
    # The text of the properties was made before three of them were taken away.
    assert {"TRAN_MSG", "REAL_TOPIC", "REAL_QID"} < set(message.properties)
    (note,) = stored(ready, TRANS_OP_HALF_TOPIC)
    assert (note.body, note.tags, note.properties) == (b"1", "d", {"WAIT": "true", "TAGS": "d"})


def test_rollback_only_notes_that_it_is_done(ready):
    answer = end(ready, TRANSACTION_ROLLBACK_TYPE)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "not set any response code")
    assert stored(ready, "T", 2) == []
    assert [one.body for one in stored(ready, TRANS_OP_HALF_TOPIC)] == [b"1"]


def test_a_producer_that_does_not_know_yet_gets_no_answer(ready):
    assert end(ready, 0) is None
    assert stored(ready, TRANS_OP_HALF_TOPIC) == []


def test_a_state_that_does_not_exist_is_refused_by_the_header_itself(ready):
    answer = end(ready, 4)
    assert answer is None
    command_fields = {"commitOrRollback": "4", "commitLogOffset": "0", "tranStateTableOffset": "0"}
    answer = ready.ask(ready.channel(), RequestCode.END_TRANSACTION, ext_fields=command_fields)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "org.apache.rocketmq.remoting.exception.RemotingCommandException: commitOrRollback field wrong",
    )


@pytest.mark.parametrize("how", [TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE])
@pytest.mark.parametrize(
    ("wrong", "remark"),
    [
        ({"group": "Q"}, "The producer group wrong"),
        ({"state_offset": 0}, "The transaction state table offset wrong"),
        ({"offset": 99_999}, "Find prepared transaction message failed"),
    ],
)
def test_who_ends_it_must_know_it(ready, how, wrong, remark):
    answer = end(ready, how, **wrong)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert stored(ready, TRANS_OP_HALF_TOPIC) == []


def test_a_message_of_nobodys_group_is_a_system_error(bench):
    bench.topic("T")
    bench.send("T", b"plain")
    bench.offset = 0
    answer = end(bench, TRANSACTION_COMMIT_TYPE, state_offset=0)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")


def test_a_message_that_was_never_prepared_is_a_system_error(bench):
    bench.topic("T")
    bench.send("T", b"plain", props={"PGROUP": "P"})
    bench.offset = 0
    answer = end(bench, TRANSACTION_COMMIT_TYPE, state_offset=0)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "java.lang.NumberFormatException: null")


def test_a_commit_the_store_refuses_leaves_it_open(ready):
    put = ready.store.put_message
    ready.store.put_message = lambda *_: PutMessageResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
    answer = end(ready, TRANSACTION_COMMIT_TYPE)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "Create mapped file failed.",
    )
    ready.store.put_message = put
    assert stored(ready, TRANS_OP_HALF_TOPIC) == []


def test_a_slave_ends_nothing(make_bench):
    bench = make_bench(store_config={"broker_role": BrokerRole.SLAVE})
    bench.offset = 0
    answer = end(bench, TRANSACTION_COMMIT_TYPE)
    assert (answer.code, answer.remark) == (ResponseCode.SLAVE_NOT_AVAILABLE, "not set any response code")
