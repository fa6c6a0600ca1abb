"""A send is answered before queues have it, and whoever was answered can read it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import FLAG_SUBSCRIPTION, FLAG_SUSPEND, PullMessageRequestHeader
from rmqlab.protocol.producer_headers import SendMessageRequestHeader
from rmqlab_tools.live import socket_server
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.socket_server import SocketChannel
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def long_turns(monkeypatch):
    """What comes together is served together, however busy the machine is."""
    monkeypatch.setattr(socket_server, "TURN_SECONDS", 60)


class Wire:
    """A transport that keeps what is written, and what the store knew at that moment."""

    def __init__(self, store):
        self.store, self.answers, self.behind = store, [], []

    def get_extra_info(self, _name):
        return "127.0.0.1", 40_000

    def write(self, data):
        at = 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 4])
            self.answers.append(decode_frame(data[at + 4 : at + 4 + length]))
            at += 4 + length
        self.behind.append(self.store.dispatch_behind_bytes())

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return False

    def __getattr__(self, _name):
        return lambda *_, **__: None


def send(opaque):
    header = SendMessageRequestHeader(
        producer_group="P", topic="T", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0, sys_flag=0,
        born_timestamp=1, flag=0, properties="TAGS\x01a\x02",
    )  # fmt: skip
    command = RemotingCommand.request(RequestCode.SEND_MESSAGE, header, b"body %d" % opaque)
    command.opaque = opaque
    return encode_frame(command)


def pull(opaque, offset=0, *, suspend_ms=0):
    header = PullMessageRequestHeader(
        consumer_group="G", topic="T", queue_id=0, queue_offset=offset, max_msg_nums=32,
        sys_flag=FLAG_SUBSCRIPTION | (FLAG_SUSPEND if suspend_ms else 0), commit_offset=0,
        suspend_timeout_millis=suspend_ms, subscription="*", sub_version=1, expression_type="TAG",
    )  # fmt: skip
    command = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
    command.opaque = opaque
    return encode_frame(command)


@pytest.mark.parametrize("folder", [False, True])
def test_sends_are_answered_before_queues_have_them_and_can_be_read_at_once(tmp_path, folder):
    async def run():
        startup = BrokerStartup(
            ServeConfig.of(
                {"diskMaxUsedSpaceRatio": "99"}, where="test", listen="127.0.0.1:0", namesrv="127.0.0.1:0",
                store=tmp_path / "store" if folder else None,
            )
        )  # fmt: skip
        await startup.start()
        try:
            store = startup.broker.message_store
            channel, wire = SocketChannel(startup._broker_server), Wire(store)
            channel.connection_made(wire)
            channel.data_received(send(1))
            assert wire.behind[0] > 0
            assert store.dispatch_behind_bytes() == 0
            assert store.get_max_offset_in_queue("T", 0) == 1
            channel.data_received(send(2) + send(3) + pull(4))
            assert [answer.opaque for answer in wire.answers] == [1, 2, 3, 4]
            assert wire.answers[3].code == ResponseCode.SUCCESS
            assert [b"body %d" % n in wire.answers[3].body for n in (1, 2, 3)] == [True] * 3
        finally:
            await startup.stop()

    asyncio.run(run())


def test_a_dispatcher_that_fails_is_logged_and_ends_no_connection(caplog):
    async def run():
        startup = BrokerStartup(ServeConfig.of({}, where="test", listen="127.0.0.1:0", namesrv="127.0.0.1:0"))
        await startup.start()
        try:
            store = startup.broker.message_store
            good, store.dispatchers = store.dispatchers, [lambda _: 1 // 0]
            channel, wire = SocketChannel(startup._broker_server), Wire(store)
            channel.connection_made(wire)
            channel.data_received(send(1))
            store.dispatchers = good
            channel.data_received(send(2) + pull(3))
            assert [answer.code for answer in wire.answers] == [0, 0, 0]
            assert b"body 1" in wire.answers[2].body
            assert b"body 2" in wire.answers[2].body
        finally:
            await startup.stop()

    with caplog.at_level(logging.ERROR):
        asyncio.run(run())
    assert "ZeroDivisionError" in caplog.text


def test_a_held_pull_is_forgotten_when_its_connection_is_lost_and_those_of_others_are_not():
    async def run():
        startup = BrokerStartup(ServeConfig.of({}, where="test", listen="127.0.0.1:0", namesrv="127.0.0.1:0"))
        await startup.start()
        try:
            channels = [SocketChannel(startup._broker_server) for _ in range(2)]
            for opaque, channel in enumerate(channels, start=2):
                channel.connection_made(Wire(startup.broker.message_store))
                channel.data_received(send(1) if opaque == 2 else b"")
                channel.data_received(pull(opaque, 1, suspend_ms=15_000))
            holds = startup.broker.pull_request_hold_service
            assert [held.channel for held in holds.held("T", 0)] == channels
            channels[0].connection_lost(None)
            assert [held.channel for held in holds.held("T", 0)] == channels[1:]
        finally:
            await startup.stop()

    asyncio.run(run())
