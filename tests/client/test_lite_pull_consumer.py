from __future__ import annotations

import pytest

from rmqlab.client.client_config import LitePullConsumerConfig
from rmqlab.client.client_error import IllegalStateError
from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.heartbeat import ConsumeType
from rmqlab.rules import RULES

PULL, LITE_PULL = RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE
QUEUES = [MessageQueue("T", "broker-a", i) for i in range(4)]


def lite(world, who, **settings):
    config = LitePullConsumerConfig(**settings)
    consumer = DefaultLitePullConsumer("G", world.instance(who, config), config)

    async def poll():
        while True:
            world.consumed += [(who, message) for message in await consumer.poll(300)]

    consumer.go_on_polling = lambda: world.time.scheduler.spawn(poll(), "poll")
    return consumer


def send(world, *tags):
    producer = world.producer()
    world.do(producer.start())
    for i, tag in enumerate(tags):
        world.do(producer.send(Message.of("T", b"MsgStr%d" % i, tag), QUEUES[(2 + i) % 4]))


@pytest.mark.row("S-90")
def test_the_eight_messages_read_by_two_lite_consumers(world):
    # outcome and offsets of the recorded scenario p-lite-000
    world.topic("T")
    for who, tag in (("A", "tagA"), ("B", "tagB")):
        consumer = lite(world, who, pull_thread_nums=2)
        world.do(consumer.subscribe("T", tag))
        world.do(consumer.start())
        consumer.go_on_polling()
        world.run(200)
    world.run(3_000)
    send(world, *["tagA"] * 4, *["tagB"] * 4)
    world.run(45_000)
    assert world.bodies("A") == ["MsgStr2", "MsgStr3"]
    assert world.bodies("B") == ["MsgStr4", "MsgStr5"]
    assert world.broker.consumer_offset_manager.offset_table["T@G"] == {0: 1, 1: 1, 2: 2, 3: 2}
    pull = world.requests("A", PULL)[-1][1].header
    assert (pull.subscription, pull.sub_version, pull.sys_flag, pull.suspend_timeout_millis) == ("tagA", 0, 22, 20_000)


def test_the_first_heartbeat_comes_with_the_timer_and_no_new_queue_stamps(world):
    world.topic("T")
    consumer = lite(world, "A")
    world.do(consumer.subscribe("T", "tagA"))
    stamp = consumer.subscription_inner["T"].sub_version
    world.do(consumer.start())
    world.run(25_000)
    beats = [round(t) for t, _ in world.requests("A", RequestCode.HEART_BEAT)]
    assert beats == pytest.approx([1_000], abs=2)
    assert consumer.subscription_inner["T"].sub_version == stamp
    assert set(consumer.subscription_inner) == {"T"}
    assert consumer.consume_type is ConsumeType.CONSUME_ACTIVELY
    assert sorted(consumer.assigned) == QUEUES


@pytest.mark.parametrize(("version", "code", "pulled"), [("4.8.0", PULL, 4), ("5.5.0", LITE_PULL, 2)])
def test_the_pull_threads_asked_for_count_since_5(make_world, version, code, pulled):
    # 4.8.0 hands the config to a pool of 20 threads before the setter is heard
    world = make_world(rules=RULES[version])
    world.topic("T")
    consumer = lite(world, "A", pull_thread_nums=2)
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    world.run(5_000)
    assert len(world.requests("A", PULL, LITE_PULL)) == pulled
    assert {command.code for _, command in world.requests("A", PULL, LITE_PULL)} == {code}


def test_a_pull_thread_is_held_while_the_broker_holds_its_pull(make_world):
    world = make_world(rules=RULES["5.5.0"])
    world.topic("T")
    consumer = lite(world, "A", pull_thread_nums=2)
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    world.run(5_000)
    assert len(world.requests("A", LITE_PULL)) == 2
    world.run(21_000)
    assert len({c.header.queue_id for _, c in world.requests("A", LITE_PULL)}) == 4


def test_polling_rules(world):
    world.topic("T", 1)
    consumer = lite(world, "A")
    with pytest.raises(IllegalStateError, match="The consumer not running, please start it first"):
        world.do(consumer.poll(1))
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    assert world.do(consumer.poll(100)) == []
    world.do(consumer.shutdown())
    frames = len(world.frames)
    world.run(60_000)
    assert len(world.frames) == frames
