"""Sends nobody waits for: one call of the callback each, again without an answer, never after a refusal."""

from __future__ import annotations

import pytest

from rmqlab.client.client_error import MQBrokerError, MQClientError
from rmqlab.client.runtime import RemotingError
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode, ResponseCode
from tests.proof.clients.async_send import send_async

BROKER = "10.0.1.1:10911"


class Told:
    def __init__(self):
        self.results, self.errors = [], []

    def on_success(self, result):
        self.results.append(result)

    def on_exception(self, error):
        self.errors.append(error)


@pytest.fixture
def producer(world):
    world.topic("T")
    made = world.producer()
    world.do(made.start())
    return made


def refusing(world, code):
    """The broker answers sends with `code`, or not at all (None); returns the times of the sends."""
    server = world.time.servers[BROKER]
    real, sends = server.handler, []

    class Broker:
        def __getattr__(self, name):
            return getattr(real, name)

        def handle(self, channel, command, now):
            if command.code != RequestCode.SEND_MESSAGE_V2:
                return real.handle(channel, command, now)
            sends.append(round(world.time.now_ms()))
            if code is None:
                return None
            answer = real.handle(channel, command, now)
            answer.code = code
            return answer

    server.handler = Broker()
    return sends


def test_many_at_once_arrive_and_each_is_told_once(world, producer):
    told = Told()
    for number in range(8):
        send_async(producer, Message.of("T", b"%d" % number), told)
    assert told.results == []
    world.run(1_000)
    assert told.errors == []
    assert sorted(result.message_queue.queue_id for result in told.results) == [0, 0, 1, 1, 2, 2, 3, 3]
    send_async(producer, Message.of("T", b"x"), told, MessageQueue("T", told.results[0].message_queue.broker_name, 3))
    send_async(producer, Message.of("T", b"y"), told, selector=lambda queues, message, arg: queues[arg], arg=2)
    world.run(1_000)
    assert [result.message_queue.queue_id for result in told.results[8:]] == [3, 2]


def test_a_refusal_is_not_tried_again(world, producer):
    told, sends = Told(), refusing(world, ResponseCode.SYSTEM_ERROR)
    send_async(producer, Message.of("T", b"x"), told)
    world.run(10_000)
    assert len(sends) == 1
    assert [type(error) for error in told.errors] == [MQBrokerError]


@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (2, 3)])
def test_silence_is_tried_again_as_long_as_there_is_time(world, retries, tries):
    world.topic("T")
    producer = world.producer(retry_times_when_send_async_failed=retries)
    world.do(producer.start())
    told, sends = Told(), refusing(world, None)
    send_async(producer, Message.of("T", b"x"), told)
    world.run(20_000)
    assert len(sends) == tries
    assert len(told.errors) == 1
    assert "wait response timeout" in str(told.errors[0])
    assert told.results == []


@pytest.mark.parametrize(
    ("message", "queue", "text"),
    [
        (Message.of("T", b""), None, "the message body length is zero"),
        (Message.of("T", b"x"), MessageQueue("U", "b", 0), "does not match its target"),
        (Message.of("T", b"x"), MessageQueue("T", "nowhere", 0), "The broker[nowhere] not exist"),
    ],
)
def test_what_cannot_be_sent_is_told_to_the_callback(world, producer, message, queue, text):
    told = Told()
    send_async(producer, message, told, queue)
    world.run(5_000)
    assert [type(error) for error in told.errors] == [MQClientError]
    assert text in str(told.errors[0])


def test_no_time_and_no_producer(world, producer):
    told = Told()
    send_async(producer, Message.of("T", b"x"), told, timeout_ms=0)
    world.do(producer.shutdown())
    send_async(producer, Message.of("T", b"x"), told)
    world.run(1_000)
    assert isinstance(told.errors[0], RemotingError)
    assert "service state not OK" in str(told.errors[1])


def test_a_callback_that_fails_harms_nobody(world, producer):
    class Failing(Told):
        def on_success(self, result):
            super().on_success(result)
            raise ValueError

    told = Failing()
    send_async(producer, Message.of("T", b"1"), told)
    send_async(producer, Message.of("T", b"2"), told)
    world.run(1_000)
    assert len(told.results) == 2
    assert told.errors == []
