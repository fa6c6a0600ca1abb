from __future__ import annotations

import pytest

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.client_error import MQClientError
from rmqlab.message.message import Host, Message, MessageExt
from rmqlab.message.record import encode_record
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.admin_headers import ResetOffsetRequestHeader
from rmqlab.protocol.bodies import ResetOffsetBody
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import NotifyConsumerIdsChangedRequestHeader
from rmqlab.protocol.producer_headers import CheckTransactionStateRequestHeader
from rmqlab_tools.live.extra.running_info import answer_running_info
from tests.proof.clients.transaction_producer import LocalTransactionState, TransactionListener, TransactionMQProducer

QUEUE = MessageQueue("T", "broker-a", 0)
COMMIT, ROLLBACK, UNKNOW = LocalTransactionState


def ask(world, who, code, header, body=None):
    instance = world.instance(who)
    answer_running_info(instance)
    return instance.process_request("10.0.1.1:10911", RemotingCommand.request(code, header, body))


def consumer_of(world, who="A", group="G"):
    world.topic("T", 1)
    consumer = world.consumer(who, group)
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    world.run(1_000)
    return consumer


@pytest.mark.row("S-84")
def test_a_notification_for_any_group_makes_all_consumers_of_the_instance_rebalance(world):
    consumer_of(world)
    consumer_of(world, "A", "H")
    world.frames.clear()
    header = NotifyConsumerIdsChangedRequestHeader("no group of ours")
    assert ask(world, "A", RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header) is None
    world.run(50)
    groups = [c.header.consumer_group for _, c in world.requests("A", RequestCode.GET_CONSUMER_LIST_BY_GROUP)]
    assert groups == ["G", "G", "H", "H"]


def test_the_broker_resets_the_offsets_of_a_push_consumer(world):
    consumer_of(world)
    producer = world.producer()
    world.do(producer.start())
    world.do(producer.send(Message.of("T", b"x"), QUEUE))
    world.run(6_000)
    body = ResetOffsetBody({QUEUE: 0}).encode()
    ask(world, "A", RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ResetOffsetRequestHeader("T", "G", 0, True), body)
    ask(world, "A", RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ResetOffsetRequestHeader("T", "other", 0, True), body)
    world.run(9_900)
    assert world.bodies("A") == ["x"]
    world.run(1_000)
    assert world.bodies("A") == ["x", "x"]


def test_requests_a_client_does_not_know_get_no_answer(world):
    assert ask(world, "A", RequestCode.GET_BROKER_CONFIG, None) is None


@pytest.fixture
def transactions(world):
    world.topic("T", 1)
    consumer_of(world)

    def make(execute, check=lambda _: None):
        config = ProducerConfig()
        producer = TransactionMQProducer("TP", world.instance("P", config), TransactionListener(execute, check), config)
        world.do(producer.start())
        world.run(1_100)
        return producer

    return make


@pytest.mark.parametrize(("state", "seen"), [(COMMIT, ["x"]), (ROLLBACK, []), (None, [])])
def test_a_half_message_is_seen_when_its_transaction_commits(world, transactions, state, seen):
    executed = []

    def execute(message, arg):
        executed.append((message.transaction_id, arg))
        return state

    producer = transactions(execute)
    message = Message.of("T", b"x")
    message.delay_time_level = 3  # has no effect
    result, outcome = world.do(producer.send_message_in_transaction(message, "arg"))
    world.run(1_000)
    assert (world.bodies("A"), outcome) == (seen, state or UNKNOW)
    assert executed == [(result.msg_id, "arg")]
    ((_, end),) = world.requests("P", RequestCode.END_TRANSACTION)
    assert end.is_oneway
    assert (end.header.commit_or_rollback, end.header.msg_id, end.header.from_transaction_check) == (
        (state or UNKNOW).value, result.msg_id, False,
    )  # fmt: skip


def test_a_transaction_that_fails_is_left_open_with_a_remark(world, transactions):
    def execute(message, arg):
        raise RuntimeError("boom")

    producer = transactions(execute)
    _, outcome = world.do(producer.send_message_in_transaction(Message.of("T", b"x")))
    ((_, end),) = world.requests("P", RequestCode.END_TRANSACTION)
    assert (outcome, end.remark) == (UNKNOW, "executeLocalTransactionBranch exception: RuntimeError('boom')")


@pytest.mark.parametrize("group", ["TP", "another", None])
def test_the_broker_asks_again_and_the_listener_of_the_group_decides(world, transactions, group):
    checked = []

    def check(message):
        checked.append(message.transaction_id)
        return COMMIT

    transactions(lambda *_: UNKNOW, check)
    host = Host("10.0.1.1", 10911)
    properties = {"UNIQ_KEY": "ID"} | ({} if group is None else {"PGROUP": group})
    half = MessageExt("T", b"x", properties=properties, born_host=host, store_host=host)
    header = CheckTransactionStateRequestHeader(7, 11, "ID", "ID", "offset id")
    assert ask(world, "P", RequestCode.CHECK_TRANSACTION_STATE, header, encode_record(half)) is None
    world.run(10)
    answers = [c.header for _, c in world.requests("P", RequestCode.END_TRANSACTION)]
    if group != "TP":
        assert (checked, answers) == ([], [])
        return
    assert checked == ["ID"]
    assert [(h.commit_or_rollback, h.tran_state_table_offset, h.commit_log_offset) for h in answers] == [(8, 7, 11)]
    assert answers[0].from_transaction_check


def test_a_half_message_that_cannot_be_sent_is_an_error(world, transactions):
    producer = transactions(lambda *_: COMMIT)
    world.namesrv.hidden |= {"Unknown", "TBW102"}
    with pytest.raises(MQClientError, match="send message Exception"):
        world.do(producer.send_message_in_transaction(Message.of("Unknown", b"x")))
