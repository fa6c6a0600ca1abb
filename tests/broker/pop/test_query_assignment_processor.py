"""Who pops and who pulls: asked by a client, set by an administrator."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.protocol.assignment import (
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.heartbeat import MessageModel

PULL, POP = MessageRequestMode.PULL, MessageRequestMode.POP


def ask(bench, client, topic="T", strategy="AVG", model=MessageModel.CLUSTERING, group="G"):
    body = QueryAssignmentRequestBody(topic, group, client, strategy, model)
    answer = bench.ask(bench.channel(), RequestCode.QUERY_ASSIGNMENT, None, body.encode())
    assert answer.code == ResponseCode.SUCCESS
    found = QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments
    return None if found is None else [(one.message_queue.queue_id, one.mode) for one in found]


def join(bench, *clients):
    for client in clients:
        bench.subscribe(bench.channel(), "G", {"T": "*"}, client=client)


def set_mode(bench, topic="T", group="G", share=-1):
    body = SetMessageRequestModeRequestBody(topic, group, POP, share)
    return bench.ask(bench.channel(), RequestCode.SET_MESSAGE_REQUEST_MODE, None, body.encode())


def test_without_more_everybody_pulls(pop_bench):
    join(pop_bench, "A", "B")
    assert ask(pop_bench, "A") == [(0, PULL), (1, PULL)]
    assert ask(pop_bench, "B", strategy="AVG_BY_CIRCLE") == [(1, PULL), (3, PULL)]


def test_who_pops_pops_from_all_queues(make_pop_bench):
    bench = make_pop_bench(defaultMessageRequestMode="POP")
    join(bench, "A", "B")
    assert ask(bench, "A") == ask(bench, "B") == [(-1, POP)]
    # The retry topic of pushing is pulled all the same: by the first member, as it has one queue.
    assert ask(bench, "A", "%RETRY%G") == [(0, PULL)]
    assert ask(bench, "B", "%RETRY%G") == []


def test_an_administrator_sets_the_mode_and_whose_queues_are_shared(pop_bench):
    join(pop_bench, "A", "B", "C", "D")
    assert set_mode(pop_bench, share=1).code == ResponseCode.SUCCESS
    assert [ask(pop_bench, client) for client in "AD"] == [[(0, POP), (1, POP)], [(3, POP), (0, POP)]]


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": "%RETRY%G"}, ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode"),
        ({"topic": "X"}, ResponseCode.TOPIC_NOT_EXIST, "topic[X] not exist"),
        ({"group": "H"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist"),
    ],
)
def test_modes_that_are_refused(make_pop_bench, fields, code, remark):
    bench = make_pop_bench(config={"auto_create_subscription_group": False})
    answer = set_mode(bench, **fields)
    assert (answer.code, answer.remark) == (code, remark)


@pytest.mark.parametrize("fields", [{"topic": "X"}, {"group": "H"}, {"strategy": "CONFIG"}, {"client": ""}])
def test_nothing_is_said_where_something_is_not_known(pop_bench, fields):
    join(pop_bench, "A")
    assert ask(pop_bench, **{"client": "A"} | fields) is None


def test_broadcasting_members_have_all_queues(pop_bench):
    assert ask(pop_bench, "A", model=MessageModel.BROADCASTING) == [(queue, PULL) for queue in range(4)]


def test_modes_survive_in_their_file(pop_bench, make_pop_bench):
    set_mode(pop_bench, share=2)
    text = pop_bench.broker.pop.modes.encode()
    other = make_pop_bench()
    other.broker.pop.modes.decode(text)
    assert other.broker.pop.modes.mode_of("T", "G").pop_share_queue_num == 2
    assert "messageRequestMode.json" in [table.file_name for table in other.broker.config_managers]


@pytest.mark.parametrize(("name", "value"), [("defaultMessageRequestMode", "PUSH"), ("reviveQueueNum", "x")])
def test_a_setting_that_is_none_is_named(make_pop_bench, name, value):
    with pytest.raises(BadInput, match=name):
        make_pop_bench(**{name: value})
