"""Our clients and our broker on real connections: the article's eight messages, every kind of client."""

from __future__ import annotations

import asyncio
import collections

import pytest

from rmqlab.client.client_config import PushConsumerConfig
from rmqlab.client.listener import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from rmqlab.client.mq_client_api import SendStatus
from rmqlab.client.runtime import RemotingConnectError, RemotingSendRequestError, RemotingTimeoutError
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab_tools.live.endpoint import Endpoint
from tests.proof.clients.batch_send import send_batch
from tests.proof.clients.picked_send import send_oneway
from tests.proof.clients.socket_clients import SocketClients


@pytest.mark.parametrize("kind", list(SerializeType))
def test_eight_messages(net, kind):
    """Two tags, two consumers of one group: the broker keeps the second subscription, six messages are lost."""

    async def run():
        got = collections.defaultdict(list)

        def listener(who):
            def consume(messages, context):
                got[who] += [message.body.decode() for message in messages]
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

            return consume

        def queues_of(member):
            return {queue.queue_id for queue in member.rebalance_impl.process_queue_table if queue.topic == "T"}

        async with net.cluster() as served, SocketClients(served.namesrv_addr, serialize_type=kind) as clients:
            producer = await clients.producer("PG")
            await producer.create_topic("TBW102", "T", 4)
            await net.soon(lambda: "T" in served.broker.topic_config_manager.topic_config_table)
            first = await clients.push_consumer("G", {"T": "tagA"}, listener("A"))
            second = await clients.push_consumer("G", {"T": "tagB"}, listener("B"))
            # which member's id sorts first, and so owns the retry queue, is not this test's matter
            for member in (first, second):
                await net.soon(lambda member=member: len(queues_of(member)) == 2)
            for number in range(8):
                message = Message.of("T", b"MsgStr%d" % number, "tagA" if number < 4 else "tagB")
                result = await producer.send(message, MessageQueue("T", "broker-a", number % 4))
                assert result.send_status is SendStatus.SEND_OK
            await net.soon(lambda: sum(map(len, got.values())) == 2)
            await asyncio.sleep(0.05)
            # whose subscription the broker keeps is a race; the other member's queues lose all, its own lose half
            (tag,) = served.broker.consumer_manager.find_subscription_data("G", "T").tags_set
            winner, loser, client = ("A", "B", first) if tag == "tagA" else ("B", "A", second)
            mine = queues_of(client)
            numbers = range(4) if tag == "tagA" else range(4, 8)
            assert sorted(got[winner]) == [f"MsgStr{number}" for number in numbers if number % 4 in mine]
            assert got[loser] == []

    asyncio.run(run())


def test_lite_pull_and_sql92(net):
    async def run():
        async with (
            net.cluster(enablePropertyFilter="true") as served,
            SocketClients(served.namesrv_addr) as clients,
        ):
            producer = await clients.producer("PG")
            await producer.create_topic("TBW102", "T", 2)
            consumer = await clients.lite_pull_consumer("LG", {"T": ("SQL92", "a > 2")})
            await net.soon(lambda: len(consumer.rebalance_impl.process_queue_table) == 2)
            for number in range(6):
                await producer.send(Message.of("T", b"%d" % number, "t", a=str(number)))
            got = []
            async with asyncio.timeout(60):
                while len(got) < 3:
                    got += [message.body for message in await consumer.poll(200)]
            assert sorted(got) == [b"3", b"4", b"5"]

    asyncio.run(run())


def test_orderly_and_batch(net):
    async def run():
        got = []

        def listener(messages, context):
            got.extend(message.body for message in messages)
            return ConsumeOrderlyStatus.SUCCESS

        async with net.cluster() as served, SocketClients(served.namesrv_addr) as clients:
            producer = await clients.producer("PG")
            await producer.create_topic("TBW102", "T", 1)
            await send_batch(producer, [Message("T", b"%d" % number) for number in range(5)])
            await send_oneway(producer, Message("T", b"5"))
            await clients.push_consumer("OG", {"T": "*"}, listener, _from_first(orderly=True))
            await net.soon(lambda: len(got) == 6)
            assert got == [b"%d" % number for number in range(6)]

    asyncio.run(run())


def _from_first(**settings):
    from rmqlab.protocol.heartbeat import ConsumeFromWhere

    return PushConsumerConfig(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, **settings)


def test_a_lost_connection_is_opened_again(net):
    async def run():
        got = []

        def listener(messages, context):
            got.extend(message.body for message in messages)

        async with net.cluster() as served, SocketClients(served.namesrv_addr) as clients:
            producer = await clients.producer("PG")
            await producer.create_topic("TBW102", "T", 1)
            await clients.push_consumer("G", {"T": "*"}, listener)
            await producer.send(Message("T", b"before"))
            await net.soon(lambda: got[:1] == [b"before"])
            for channel in list(served._broker_server.channels):
                channel.close()
            await net.soon(lambda: not producer.instance.runtime._connections.keys() & {served.broker_addr})
            await producer.send(Message("T", b"after"))
            assert served.broker.message_store.get_max_offset_in_queue("T", 0) == 2

    asyncio.run(run())


def test_why_there_is_no_answer(net, echo):
    echo.answer = lambda channel, command: None

    async def run():
        closed = Endpoint().bind()
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        closed.close()
        async with net.listening(echo) as (_, address), net.client() as runtime:
            with pytest.raises(RemotingConnectError, match=nobody):
                await runtime.invoke(nobody, RemotingCommand.request(1), 1000)
            with pytest.raises(RemotingTimeoutError):
                await runtime.invoke(address, RemotingCommand.request(1), 30)
            waiting = asyncio.create_task(runtime.invoke(address, RemotingCommand.request(1), 3000))
            await net.soon(lambda: len(echo.handled) == 2)
            runtime.close_connections()  # this side closes: it knows that no answer will come
            with pytest.raises(RemotingSendRequestError):
                await waiting
            waiting = asyncio.create_task(runtime.invoke(address, RemotingCommand.request(1), 80))
            await net.soon(lambda: len(echo.handled) == 3)
            echo.handled[2][0].close()  # the server closes: as 4.8.0, the request waits for its timeout
            with pytest.raises(RemotingTimeoutError):
                await waiting

    asyncio.run(run())


def test_requests_of_the_server_are_answered(net, echo):
    async def run():
        async with net.listening(echo) as (_, address), net.client() as runtime:
            asked = []

            def processor(server, command):
                asked.append((server, command.code))
                return RemotingCommand.response(0, body=b"info")

            runtime.on_request(processor)
            await runtime.invoke(address, RemotingCommand.request(1), 1000)
            echo.handled[0][0].send(RemotingCommand(code=307, opaque=5))
            await net.soon(lambda: len(echo.handled) == 2)
            answer = echo.handled[1][1]
            assert (asked, answer.is_response, answer.opaque, answer.body) == ([(address, 307)], True, 5, b"info")

    asyncio.run(run())


def test_events_and_tasks(net):
    async def run():
        async with net.client() as runtime:
            flag, seen = runtime.event(), []

            async def waits():
                seen.append(await flag.wait(5000))

            runtime.spawn(waits(), "waits")
            assert await flag.wait(1) is False
            flag.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert seen == [True]
            flag.clear()
            task = runtime.spawn(waits(), "cancelled")
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            assert seen == [True]
            assert {runtime.choose("x", 3) for _ in range(100)} == {0, 1, 2}

    asyncio.run(run())
