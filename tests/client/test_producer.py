from __future__ import annotations

import zlib

import pytest

from rmqlab.client.client_config import ServiceState
from rmqlab.client.client_error import ClientErrorCode, MQBrokerError, MQClientError
from rmqlab.client.mq_client_api import SendStatus
from rmqlab.client.runtime import RemotingTimeoutError
from rmqlab.message.message import Message
from rmqlab.message.topics import VALID_NAME_PATTERN, MessageQueue
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import SendMessageResponseHeader
from tests.proof.clients.batch_send import send_batch
from tests.proof.clients.picked_send import send_oneway, send_picked
from tests.proof.fixed_chooser import FixedChooser

SEND = RequestCode.SEND_MESSAGE_V2


@pytest.fixture
def producer(world):
    world.topic("T")
    made = world.producer()
    world.do(made.start())
    return made


def first_line(error):
    return str(error.value).split("\n")[0]


def answering(world, *codes):
    """Let the broker answer sends with these codes, the last one for ever; returns the times of the sends."""
    server, real = world.time.servers["10.0.1.1:10911"], world.time.servers["10.0.1.1:10911"].handler
    sends = []

    class Broker:
        def __getattr__(self, name):
            return getattr(real, name)

        def handle(self, channel, command, now):
            if command.code != SEND:
                return real.handle(channel, command, now)
            sends.append((round(world.time.now_ms()), command.header.queue_id))
            code = codes[min(len(sends), len(codes)) - 1]
            return (
                None
                if code is None
                else RemotingCommand.response(code, "why", SendMessageResponseHeader("0" * 32, 0, 0)).reply_to(command)
            )

    server.handler = Broker()
    return sends


@pytest.mark.row("S-19", "S-20", "S-31")
@pytest.mark.parametrize("first", [0, 2])
def test_eight_messages_go_round_robin_from_a_chosen_first_queue(make_world, first):
    world = make_world(FixedChooser({"P: first_queue": first}))
    world.topic("T")
    producer = world.producer()
    world.do(producer.start())
    tags = ["tagA"] * 4 + ["tagB"] * 4
    results = [world.do(producer.send(Message.of("T", b"MsgStr%d" % i, tag))) for i, tag in enumerate(tags)]
    assert [r.send_status for r in results] == [SendStatus.SEND_OK] * 8
    assert [r.message_queue.queue_id for r in results] == [(first + i) % 4 for i in range(8)]
    assert [r.queue_offset for r in results] == [0, 0, 0, 0, 1, 1, 1, 1]
    by_queue = {(r.message_queue.queue_id, tag) for r, tag in zip(results, tags, strict=True)}
    assert by_queue == {(queue, tag) for queue in range(4) for tag in ("tagA", "tagB")}


@pytest.mark.row("S-21", "S-22")
def test_both_ids_of_a_send(world, producer):
    results = [world.do(producer.send(Message.of("T", b"MsgStr%d" % i, "tagA"))) for i in range(2)]
    assert [r.msg_id[-4:] for r in results] == ["0000", "0001"]
    assert results[0].msg_id.startswith("0A00000100010000000")
    step = int(results[1].offset_msg_id, 16) - int(results[0].offset_msg_id, 16)
    assert results[0].offset_msg_id.startswith("0A00010100002A9F")
    assert step == 112 - 14 + 1 + 85
    message = Message.of("T", b"x")
    result = world.do(producer.send(message))
    assert message.unique_id == result.msg_id
    assert world.do(producer.send(message)).msg_id == result.msg_id  # a message sent again keeps its id


@pytest.mark.row("S-18")
def test_the_timeout_is_three_seconds_unless_set(world, producer):
    answering(world, None)
    begin = world.time.now_ms()
    with pytest.raises(RemotingTimeoutError):
        world.do(producer.send(Message.of("T", b"x"), MessageQueue("T", "broker-a", 0)), 20_000)
    assert world.time.now_ms() - begin == pytest.approx(3_000, abs=1)
    producer.config.send_msg_timeout = 15_000
    begin = world.time.now_ms()
    with pytest.raises(RemotingTimeoutError):
        world.do(producer.send(Message.of("T", b"x"), MessageQueue("T", "broker-a", 0)), 20_000)
    assert world.time.now_ms() - begin == pytest.approx(15_000, abs=1)


def test_a_send_is_tried_three_times_on_the_next_queues(world, producer):
    sends = answering(world, ResponseCode.SYSTEM_ERROR)
    with pytest.raises(MQClientError) as error:
        world.do(producer.send(Message.of("T", b"x")))
    assert first_line(error).startswith("Send [3] times, still failed, cost [")
    assert first_line(error).endswith("ms, Topic: T, BrokersSent: [broker-a, broker-a, broker-a]")
    assert error.value.response_code == ResponseCode.SYSTEM_ERROR
    # with a single broker the search for another one goes round once each time: five queues further
    assert [queue for _, queue in sends] == [0, 1, 2]


def test_a_refusal_that_no_other_broker_would_mend_is_not_tried_again(world, producer):
    sends = answering(world, ResponseCode.MESSAGE_ILLEGAL)
    with pytest.raises(MQBrokerError) as error:
        world.do(producer.send(Message.of("T", b"x")))
    assert (error.value.response_code, len(sends)) == (ResponseCode.MESSAGE_ILLEGAL, 1)
    assert first_line(error) == "CODE: 13  DESC: why BROKER: 10.0.1.1:10911"


def test_a_second_try_goes_to_another_broker(world):
    world.add_broker()
    world.topic("T", 2)
    producer = world.producer()
    world.do(producer.start())
    sends = answering(world, ResponseCode.SYSTEM_BUSY + 12)  # SERVICE_NOT_AVAILABLE
    result = world.do(producer.send(Message.of("T", b"x")))
    assert result.message_queue == MessageQueue("T", "broker-b", 0)
    assert len(sends) == 1


@pytest.mark.parametrize(
    ("code", "status"),
    [(10, SendStatus.FLUSH_DISK_TIMEOUT), (11, SendStatus.SLAVE_NOT_AVAILABLE), (12, SendStatus.FLUSH_SLAVE_TIMEOUT)],
)
def test_stored_but_less_safely_is_no_error(world, producer, code, status):
    sends = answering(world, code)
    assert world.do(producer.send(Message.of("T", b"x"))).send_status is status
    assert len(sends) == 1


def test_a_new_topic_is_made_from_the_default_topic(world, producer):
    result = world.do(producer.send(Message.of("New", b"x")))
    assert result.message_queue.topic == "New"
    assert world.broker.topic_config_manager.topic_config_table["New"].read_queue_nums == 4
    ((_, sent),) = world.requests("P", SEND)
    assert (sent.header.default_topic, sent.header.default_topic_queue_nums) == ("TBW102", 4)


def test_no_route_no_send(world, producer):
    world.namesrv.hidden |= {"T", "TBW102"}
    with pytest.raises(MQClientError) as error:
        world.do(producer.send(Message.of("T", b"x")))
    assert first_line(error) == "No route info of this topic: T"
    assert error.value.response_code == ClientErrorCode.NOT_FOUND_TOPIC_EXCEPTION
    with pytest.raises(MQClientError, match="No route info for this topic, T"):
        world.do(send_picked(producer, Message.of("T", b"x"), lambda *_: None))


@pytest.mark.parametrize(
    ("message", "code", "text"),
    [
        (Message("T", None), 13, "CODE: 13  DESC: the message body is null"),
        (Message("T", b""), 13, "CODE: 13  DESC: the message body length is zero"),
        (Message("T", b"x" * 101), 13, "CODE: 13  DESC: the message body size over max value, MAX: 100"),
        (Message("", b"x"), -1, "The specified topic is blank"),
        (
            Message("a b", b"x"),
            -1,
            f"The specified topic[a b] contains illegal characters, allowing only {VALID_NAME_PATTERN}",
        ),
        (Message("t" * 128, b"x"), -1, "The specified topic is longer than topic max length 127."),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), -1, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."),
    ],
)  # fmt: skip
def test_messages_that_are_not_sent(world, producer, message, code, text):
    producer.config.max_message_size = 100
    with pytest.raises(MQClientError) as error:
        world.do(producer.send(message))
    assert (error.value.response_code, first_line(error)) == (code, text)


def test_large_bodies_are_compressed(world, producer):
    world.do(producer.send(Message.of("T", b"a" * 4_095)))
    message = Message.of("T", b"a" * 4_096)
    world.do(producer.send(message))
    plain, packed = (c for _, c in world.requests("P", SEND))
    assert (plain.header.sys_flag, len(plain.body)) == (0, 4_095)
    assert (packed.header.sys_flag, zlib.decompress(packed.body)) == (1, b"a" * 4_096)
    assert message.body == b"a" * 4_096


def test_a_selector_picks_the_queue(world, producer):
    def by_order(queues, message, arg):
        return queues[arg % len(queues)]

    results = [world.do(send_picked(producer, Message.of("T", b"x"), by_order, order)) for order in (7, 3, 2)]
    assert [r.message_queue.queue_id for r in results] == [3, 3, 2]
    with pytest.raises(MQClientError, match="select message queue return null"):
        world.do(send_picked(producer, Message.of("T", b"x"), lambda *_: None))
    with pytest.raises(MQClientError, match="select message queue threw exception"):
        world.do(send_picked(producer, Message.of("T", b"x"), by_order, "no"))
    with pytest.raises(MQClientError, match="message's topic not equal mq's topic"):
        world.do(producer.send(Message.of("T", b"x"), MessageQueue("U", "broker-a", 0)))


def test_one_way_waits_for_nothing_and_tries_once(world, producer):
    world.do(producer.send(Message.of("T", b"x")))
    world.frames.clear()
    sends = answering(world, None)
    begin = world.time.now_ms()
    world.do(send_oneway(producer, Message.of("T", b"x"), MessageQueue("T", "broker-a", 1)))
    assert world.time.now_ms() == begin
    world.run(10)
    assert len(sends) == 1
    ((_, command),) = world.requests("P", SEND)
    assert command.is_oneway


def test_a_batch_goes_in_one_request(world, producer):
    messages = [Message.of("T", b"%d" % i, "tagA") for i in range(3)]
    result = world.do(send_batch(producer, messages))
    ((_, command),) = world.requests("P", RequestCode.SEND_BATCH_MESSAGE)
    assert command.header.batch
    assert result.msg_id == ",".join(m.unique_id for m in messages)
    assert len(result.offset_msg_id.split(",")) == 3
    for bad in ([], [messages[0], Message.of("U", b"x")], [Message.of("%RETRY%G", b"x")]):
        with pytest.raises(MQClientError, match="Failed to initiate the MessageBatch"):
            world.do(send_batch(producer, bad))


def test_a_delayed_message_waits_at_the_broker(world, producer):
    message = Message.of("T", b"x")
    message.delay_time_level = 1
    consumer = world.consumer("A")
    world.do(consumer.subscribe("T", "*"))
    world.do(consumer.start())
    world.do(producer.send(message))
    begin = world.time.now_ms()
    world.run(5_000)
    ((at, _, _),) = world.kinds("consume")
    assert at - begin == pytest.approx(1_000, abs=200)


@pytest.mark.row("H-17")
def test_starting_beats_and_stopping_unregisters(world):
    world.topic("T")
    producer = world.producer()
    assert producer.state is ServiceState.CREATE_JUST
    with pytest.raises(MQClientError) as error:
        world.do(producer.send(Message.of("T", b"x")))
    assert first_line(error) == "The producer service state not OK, CREATE_JUST"
    producer.instance.broker_addr_table["broker-a"] = {0: "10.0.1.1:10911"}
    world.do(producer.start())
    beats = world.requests("P", RequestCode.HEART_BEAT)
    assert len(beats) == 2  # the inner producer's and its own
    with pytest.raises(MQClientError, match="The producer service state not OK, maybe started once, RUNNING"):
        world.do(producer.start())
    with pytest.raises(MQClientError, match=r"The producer group\[PROD\] has been created before"):
        world.do(world.producer().start())
    world.do(producer.shutdown())
    assert [c.header.producer_group for _, c in world.requests("P", RequestCode.UNREGISTER_CLIENT)] == [
        "PROD", "CLIENT_INNER_PRODUCER",
    ]  # fmt: skip


def test_group_names_that_do_not_start(world):
    with pytest.raises(MQClientError, match="producerGroup can not equal DEFAULT_PRODUCER"):
        world.do(world.producer("P", "DEFAULT_PRODUCER").start())
