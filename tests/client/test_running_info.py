"""307: what a push consumer says of itself."""

from __future__ import annotations

import gzip
import json

from rmqlab.checkout import checkout_path
from rmqlab.message.message import Message
from rmqlab.protocol.bodies import ConsumerRunningInfo
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.extra.admin_headers import GetConsumerRunningInfoRequestHeader
from rmqlab_tools.live.extra.running_info import answer_running_info
from rmqlab_tools.live.wire.frame_codec import decode_frame

# Java prints objects here, with their addresses; and settings that our consumers do not have.
JAVA_ONLY = {
    "log", "allocateMessageQueueStrategy", "messageListener", "offsetStore", "defaultMQPushConsumerImpl",
    "subscription", "consumeTimestamp", "awaitTerminationMillisWhenShutdown", "adjustThreadPoolNumsThreshold",
}  # fmt: skip


def recorded():
    """What the real client A answered to the real tool."""
    path = checkout_path("data") / "golden" / "broker-4.8.0" / "admin" / "frames.jsonl.gz"
    asked = set()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            if "frame" not in line:
                continue
            command = decode_frame(bytes.fromhex(line["frame"])[4:])
            place = line["conn"], command.opaque
            if line["dir"] == "s2c" and command.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
                asked.add(place)
            elif line["dir"] == "c2s" and command.is_response and place in asked:
                return ConsumerRunningInfo.decode(command.body)
    raise AssertionError("no answer to 307 in the recording")


def ask(world, code, header, body=None):
    instance = world.instance("A")
    answer_running_info(instance)
    return instance.process_request("10.0.1.1:10911", RemotingCommand.request(code, header, body))


def consumer_of(world, listener=None, **settings):
    world.topic("T", 2)
    consumer = world.consumer("A", listener=listener, **settings)
    world.do(consumer.subscribe("T", "tagA"))
    world.do(consumer.start())
    world.run(1_000)
    return consumer


def test_a_consumer_says_what_a_real_one_says(world):
    consumer_of(world, consume_thread_min=1)
    producer = world.producer()
    world.do(producer.start())
    for number in range(2):
        world.do(producer.send(Message.of("T", b"%d" % number, "tagA")))
    world.run(6_000)
    answer = ask(world, RequestCode.GET_CONSUMER_RUNNING_INFO, GetConsumerRunningInfoRequestHeader("G", "x"))
    ours, theirs = ConsumerRunningInfo.decode(answer.body), recorded()
    varying = {"consumerGroup", "PROP_NAMESERVER_ADDR", "PROP_CONSUMER_START_TIMESTAMP"}
    assert ours.properties.keys() == theirs.properties.keys() - JAVA_ONLY
    for name in ours.properties.keys() - varying:
        assert ours.properties[name] == theirs.properties[name], name
    assert [(one.topic, one.sub_string) for one in ours.subscription_set] == [("%RETRY%G", "*"), ("T", "tagA")]
    offsets = {queue.queue_id: info.commit_offset for queue, info in ours.mq_table.items() if queue.topic == "T"}
    assert offsets == {0: 1, 1: 1}


def test_another_group_is_told_so(world):
    consumer_of(world)
    answer = ask(world, RequestCode.GET_CONSUMER_RUNNING_INFO, GetConsumerRunningInfoRequestHeader("H", "x"))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "The Consumer Group <H> not exist in this consumer"
