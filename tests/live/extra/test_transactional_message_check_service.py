"""Half messages that nobody ended: the producer is asked, again and again, until it is enough."""

from __future__ import annotations

import pytest

from rmqlab.message.record import decode_record, decode_records
from rmqlab.message.sysflag import TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE
from rmqlab.message.topics import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.heartbeat import HeartbeatData, ProducerData
from rmqlab.protocol.producer_headers import CheckTransactionStateRequestHeader, EndTransactionRequestHeader
from rmqlab_tools.live.extra.transactions import TransactionalMessageService

MINUTE = 60_000
GROUP = "CID_RMQ_SYS_TRANS"


def stored(bench, topic):
    result = bench.store.get_message("any", topic, 0, 0, 32, None)
    return decode_records(b"".join(result.messages))


def half(bench, body=b"deal", **props):
    bench.send("T", body, "tagA", queue=2, props={"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": f"U-{body}", **props})


def producer(bench, channel=None):
    channel = channel or bench.channel()
    beat = HeartbeatData(client_id="C", producer_data_set=[ProducerData(group_name="P")])
    bench.ask(channel, RequestCode.HEART_BEAT, None, beat.encode())
    return channel


def offsets(bench):
    query = bench.broker.consumer_offset_manager.query_offset
    return query(GROUP, TRANS_HALF_TOPIC, 0), query(GROUP, TRANS_OP_HALF_TOPIC, 0)


def end(bench, channel, request, how):
    asked = request.decode_header(CheckTransactionStateRequestHeader)
    header = EndTransactionRequestHeader(
        producer_group="P",
        tran_state_table_offset=asked.tran_state_table_offset,
        commit_log_offset=asked.commit_log_offset,
        commit_or_rollback=how,
        from_transaction_check=True,
        msg_id=asked.msg_id,
    )
    bench.ask(channel, RequestCode.END_TRANSACTION, header)


@pytest.fixture
def ready(bench):
    bench.topic("T")
    return bench


def test_the_first_run_makes_the_half_topic(bench):
    bench.pass_time(MINUTE - 1)
    assert TRANS_HALF_TOPIC not in bench.broker.topic_config_manager.topic_config_table
    bench.pass_time(1)
    assert TRANS_HALF_TOPIC in bench.broker.topic_config_manager.topic_config_table
    assert TRANS_HALF_TOPIC in bench.registrations[-1].topic_config_table


@pytest.mark.parametrize("how", [TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE])
def test_the_producer_is_asked_and_its_answer_counts(ready, how):
    half(ready)
    channel = producer(ready)
    ready.pass_time(MINUTE)
    (request,) = channel.sent
    assert (request.code, request.is_oneway) == (RequestCode.CHECK_TRANSACTION_STATE, True)
    message = decode_record(request.body)
    assert (message.topic, message.queue_id, message.body, message.tags) == ("T", 2, b"deal", "tagA")
    assert message.properties["TRANSACTION_CHECK_TIMES"] == "1"
    first, again = stored(ready, TRANS_HALF_TOPIC)
    asked = request.decode_header(CheckTransactionStateRequestHeader)
    assert asked.tran_state_table_offset == again.queue_offset == 1
    assert asked.commit_log_offset == again.commit_log_offset != first.commit_log_offset
    assert offsets(ready) == (1, -1)

    end(ready, channel, request, how)
    committed = ready.store.get_message("any", "T", 2, 0, 32, None).messages
    assert len(committed) == (how == TRANSACTION_COMMIT_TYPE)
    ready.pass_time(MINUTE)
    assert (len(channel.sent), offsets(ready)) == (1, (2, 1))


def test_one_that_was_ended_is_not_asked_about(ready):
    half(ready, b"1")
    half(ready, b"2")
    first, _ = stored(ready, TRANS_HALF_TOPIC)
    TransactionalMessageService(ready.store, ready.broker.config.store_host).delete_prepare_message(first, ready.now)
    channel = producer(ready)
    ready.pass_time(MINUTE)
    # a note was read, and it is not older than a timeout: more notes might come
    assert [decode_record(request.body).body for request in channel.sent] == [b"2"]
    assert offsets(ready) == (2, 1)


def test_a_young_one_is_left_alone(ready):
    ready.pass_time(MINUTE - 5_999)
    half(ready)
    channel = producer(ready)
    ready.pass_time(5_999)
    assert (channel.sent, offsets(ready)) == ([], (-1, -1))
    ready.pass_time(MINUTE)
    assert len(channel.sent) == 1


def test_a_message_may_have_a_time_of_its_own(ready):
    half(ready, CHECK_IMMUNITY_TIME_IN_SECONDS="150")
    channel = producer(ready)
    ready.pass_time(MINUTE)
    assert channel.sent == []
    _, again = stored(ready, TRANS_HALF_TOPIC)
    assert again.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "0"
    ready.pass_time(MINUTE)
    assert channel.sent == []
    assert stored(ready, TRANS_HALF_TOPIC)[-1].properties["TRAN_PREPARED_QUEUE_OFFSET"] == "0"
    producer(ready, channel)
    ready.pass_time(MINUTE)
    assert len(channel.sent) == 1


def test_with_a_time_of_its_own_the_note_names_the_first_copy(ready):
    half(ready, CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    (first,) = stored(ready, TRANS_HALF_TOPIC)
    producer(ready)
    ready.pass_time(MINUTE)
    assert len(stored(ready, TRANS_HALF_TOPIC)) == 2
    # the note names offset 0, below the offset of the pass: it is done with, and the copy goes round
    TransactionalMessageService(ready.store, ready.broker.config.store_host).delete_prepare_message(first, ready.now)
    ready.pass_time(MINUTE)
    assert offsets(ready) == (2, 1)


def test_too_often_is_enough(make_bench):
    bench = make_bench(config={"transaction_check_max": 2})
    bench.topic("T")
    half(bench)
    channel = producer(bench)
    for _ in range(4):
        bench.pass_time(MINUTE)
        producer(bench, channel)
    assert len(channel.sent) == 2
    (given_up,) = stored(bench, TRANS_CHECK_MAX_TIME_TOPIC)
    assert (given_up.body, given_up.properties["REAL_TOPIC"]) == (b"deal", "T")
    assert offsets(bench)[0] == 3


def test_nobody_to_ask(ready):
    half(ready)
    ready.pass_time(2 * MINUTE)
    assert [one.properties.get("TRANSACTION_CHECK_TIMES") for one in stored(ready, TRANS_HALF_TOPIC)] == [
        None, "1", "2",
    ]  # fmt: skip


def test_what_has_no_topic_to_go_to_harms_nobody(ready):
    half(ready)
    channel = producer(ready)
    record = ready.store.commit_log.get_message(0, ready.store.commit_log.max_offset)
    broken = record.replace(b"REAL_TOPIC", b"REAL_TIPOC")
    segment = ready.store.commit_log.mapped_file_queue.mapped_files[0].segment
    segment.truncate(0)
    segment.append(broken)
    ready.pass_time(MINUTE)
    assert channel.sent == []
    assert offsets(ready)[0] == 1
