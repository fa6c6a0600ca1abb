"""The checks of notebook 10: a silence, four slots, a recording of one's own."""

from __future__ import annotations

import asyncio

import pytest

import rmqlab
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.lab.recorded.run_timeline import recorded_timeline
from rmqlab.lessons.check import CheckFailed, judge
from rmqlab.lessons.checks_10 import FROZEN, SLOTS
from rmqlab.message.message import Message
from rmqlab.runtime.socket_clients import SocketClients
from rmqlab.runtime.tap import recorded_broker

IN_THE_SLOT = {"p-article-000": "tagA", "p-loss-002": "tagB", "p-loss-005": "tagA", "p-overlap-044": "*"}


def test_right_answers():
    strip = recorded_timeline(FROZEN)
    waited = (strip.consumed[-1].t - strip.broken[0].t) / 1_000
    assert "s in the simulation" in repr(rmqlab.check("10-silence", waited))
    assert set(SLOTS) == set(IN_THE_SLOT)
    rmqlab.check("10-slots", IN_THE_SLOT)


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("10-silence", 30, "freezes A's connection"),
        ("10-silence", "soon", "no number of seconds"),
        ("10-slots", {}, "Give a dict"),
        ("10-slots", IN_THE_SLOT | {"p-loss-005": "tagB"}, "the first message"),
        ("10-record", 5, "Give the folder"),
        ("10-record", "/nowhere", "no recording"),
    ],
)
def test_wrong_answers_say_why(name, answer, problem):
    with pytest.raises(CheckFailed, match=problem):
        judge(name, answer)


def listener(messages, context):
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


async def record(folder, *tags, count):
    async with recorded_broker(folder) as address, SocketClients(address) as clients:
        producer = await clients.producer("P")
        await producer.create_topic("TBW102", "T", 2)
        for tag in tags:
            await clients.push_consumer("G", {"T": tag}, listener)
        for number in range(count):
            await producer.send(Message.of("T", b"%d" % number, "tagA"))


@pytest.mark.parametrize(
    ("tags", "count", "problem"), [(["a"], 1, "No two members"), (["a", "b"], 0, "No message was sent")]
)
def test_a_recording_must_show_something(tmp_path, tags, count, problem):
    asyncio.run(record(tmp_path / "recorded", *tags, count=count))
    with pytest.raises(CheckFailed, match=problem):
        judge("10-record", tmp_path / "recorded")


WRONG_RULES = {
    "serves everything": lambda held, pull: True,
    "the same alone": lambda held, pull: held == pull,
    "nothing": lambda held, pull: None,
    "the wrong way round": lambda held, pull: held <= pull,
}


@pytest.mark.row("S-66")
@pytest.mark.parametrize("name", WRONG_RULES)
def test_a_wrong_rule_is_found_by_the_recording(name):
    with pytest.raises(CheckFailed) as caught:
        judge("10-rule", WRONG_RULES[name])
    assert "refuses" in caught.value.hint
    assert ">=" not in str(caught.value)


def test_the_rule_of_4_8_0_gives_every_answer():
    assert "All 468 answers" in judge("10-rule", lambda held, pull: held >= pull)
    with pytest.raises(CheckFailed, match="Give the function"):
        judge("10-rule", 5)
