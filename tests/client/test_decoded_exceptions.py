"""What a client's start and its filters raise is what the decoder looks for."""

from __future__ import annotations

import pytest

from rmqlab.client.client_error import MQBrokerError, MQClientError
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.errors import BadInput
from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.doctor.decoder import decode


def started(world, *names, **settings):
    world.do(world.consumer("A", *names, **settings).start())


def twice(world):
    consumer = world.consumer("A")
    world.do(consumer.start())
    world.do(consumer.start())


def two_of_a_process(world):
    instance = world.instance("A")
    for _ in range(2):
        world.do(DefaultMQPushConsumer("G", instance, lambda *_: None).start())


RAISED = {
    "exception-group-blank": lambda world: started(world, ""),
    "exception-group-characters": lambda world: started(world, "g p"),
    "exception-default-group": lambda world: started(world, "DEFAULT_CONSUMER"),
    "exception-push-started-once": twice,
    "exception-group-created-before": two_of_a_process,
    "exception-listener-null": lambda world: world.do(DefaultMQPushConsumer("G", world.instance("A"), None).start()),
    "exception-subscription": lambda world: world.do(world.consumer("A").subscribe("T", "||")),
    "exception-split-error": lambda _: build_subscription("T", "||", "TAG"),
    "exception-expression-null": lambda _: build_subscription("T", "", "SQL92"),
    "exception-cannot-be-compared": lambda _: compile_sql92("a > 'x'"),
    "exception-between-order": lambda _: compile_sql92("a BETWEEN 3 AND 1"),
}


@pytest.mark.parametrize("entry", RAISED)
def test_an_exception_is_found(world, entry):
    with pytest.raises((MQClientError, BadInput)) as error:
        RAISED[entry](world)
    found, _ = decode(str(error.value).splitlines()[0])
    assert found.id == entry


def test_a_setting_out_of_range_is_found():
    assert decode("consumeThreadMin Out of range [1, 1000]")[0].id == "exception-out-of-range"


def test_a_code_in_an_exception_is_found_where_the_remark_is_unknown():
    told = str(MQBrokerError(25, "words that nobody knows", "10.0.0.1:10911")).splitlines()[0]
    assert decode(told)[0].name == "SUBSCRIPTION_NOT_LATEST"
    told = str(MQBrokerError(25, "the consumer's subscription not latest")).splitlines()[0]
    assert decode(told)[0].texts == ("the consumer's subscription not latest",)
