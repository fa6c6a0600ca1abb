"""A broker of ours, and members that only send heartbeats and answer 307: a test starts thousands in no time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

import rmqlab
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.doctor.read_client import ReadClient
from rmqlab_tools.doctor.snapshot import SnapshotOptions
from rmqlab_tools.doctor.take_snapshot import take_look
from rmqlab_tools.live.extra.admin_headers import GetConsumerRunningInfoRequestHeader
from rmqlab_tools.live.sockets import SocketRuntime


@dataclass
class Member:
    """A client in some groups; `answers` is what it says to 307: "all", an error's remark, or None: nothing at all."""

    client_id: str
    groups: dict[str, dict[str, str]]
    answers: str | None = "all"
    language: str = "JAVA"
    queues: tuple[MessageQueue, ...] = ()
    version: int = 373  # V4_8_0
    expression_type: str = "TAG"
    runtime: SocketRuntime = field(default_factory=SocketRuntime)

    async def join(self, addr):
        """Send one heartbeat and stay."""
        self.runtime.on_request(self._answer)
        data = HeartbeatData(client_id=self.client_id)
        for group, subscriptions in self.groups.items():
            data.consumer_data_set.append(
                ConsumerData(
                    group, ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING,
                    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, self._subscriptions(group, subscriptions),
                )
            )  # fmt: skip
        request = RemotingCommand.request(RequestCode.HEART_BEAT, None, data)
        request.language, request.version = self.language, self.version
        answer = await self.runtime.invoke(addr, request, 60_000)
        assert answer.code == ResponseCode.SUCCESS

    def _subscriptions(self, group, subscriptions):
        every = [build_subscription(topic, text, self.expression_type, 1) for topic, text in subscriptions.items()]
        return [*every, build_subscription(f"%RETRY%{group}", "*", "TAG", 1)]

    def _answer(self, addr, request):
        if request.code != RequestCode.GET_CONSUMER_RUNNING_INFO or self.answers is None:
            return None
        if self.answers != "all":
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, self.answers)
        group = request.decode_header(GetConsumerRunningInfoRequestHeader).consumer_group
        body = ConsumerRunningInfo(
            properties={f"PROP_{number}": f"value {number}" for number in range(30)},
            subscription_set=self._subscriptions(group, self.groups[group]),
            mq_table={queue: ProcessQueueInfo() for queue in self.queues},
        )
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())


@pytest.fixture
def member():
    """Give the class of members."""
    return Member


@pytest.fixture
def broker():
    """Give a broker with a topic T of two queues, four messages in each: two of tagA, then two of tagB."""
    with rmqlab.serve() as served:
        served.create_topic("T", 2)
        for number in range(8):
            served.send("T", f"{number}", "tagA" if number < 4 else "tagB", queue=number % 2)
        yield served


@pytest.fixture
def commit(broker):
    """Give a function that writes a group's committed offsets of queue 0, 1, ... into the broker."""
    return partial(commit_at, broker)


@asynccontextmanager
async def online(addr, members):
    """Members are there as long as the context is."""
    for one in members:
        await one.join(addr)
    try:
        yield
    finally:
        await asyncio.gather(*(one.runtime.aclose() for one in members))


@pytest.fixture
def looks(broker):
    """Give a function that looks a number of times while members are online; each look knows the one before."""
    return partial(look_at, broker)


def look_at(broker, *members, times=1, before=None, between=None, namesrv=None, client=None, **asked):
    """Look `times` times; `before` is called when the members are there, `between` after each look."""

    async def run():
        seen = [None]
        async with (
            online(broker.broker_addr, members),
            ReadClient(namesrv or broker.namesrv_addr, SnapshotOptions(**asked), **(client or {})) as reader,
        ):
            if before is not None:
                before()
            for _ in range(times):
                seen.append(await take_look(reader, seen[-1]))
                if between is not None:
                    between()
        return seen[1:]

    return asyncio.run(run())


def commit_at(broker, group, topic, *offsets):
    """Write a group's committed offsets of queue 0, 1, ... into a broker."""

    def write(inside):
        for number, offset in enumerate(offsets):
            inside.consumer_offset_manager.commit_offset("test", group, topic, number, offset)

    broker.call(write)
