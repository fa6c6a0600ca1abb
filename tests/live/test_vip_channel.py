"""The port two below a broker's own: what Java clients before 4.5.1 send goes there, all but pulls."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

import rmqlab
from rmqlab.client.runtime import RemotingTimeoutError
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import FLAG_SUBSCRIPTION, PullMessageRequestHeader
from rmqlab.protocol.producer_headers import SendMessageRequestHeader
from rmqlab_tools.live.endpoint import Endpoint, bind_with_vip
from rmqlab_tools.live.sockets import SocketRuntime


def vip(address):
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) - 2}"


def send(body=b"x"):
    header = SendMessageRequestHeader(
        producer_group="P", topic="T", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0, sys_flag=0,
        born_timestamp=1, flag=0, properties="",
    )  # fmt: skip
    return RemotingCommand.request(RequestCode.SEND_MESSAGE, header, body)


def pull():
    header = PullMessageRequestHeader(
        consumer_group="G", topic="T", queue_id=0, queue_offset=0, max_msg_nums=32, sys_flag=FLAG_SUBSCRIPTION,
        commit_offset=0, suspend_timeout_millis=15_000, subscription="*", sub_version=1, expression_type="TAG",
    )  # fmt: skip
    return RemotingCommand.request(RequestCode.PULL_MESSAGE, header)


def test_it_takes_everything_but_pulls_which_wait_in_vain_as_in_4_8_0(caplog):
    async def run(broker):
        runtime = SocketRuntime()
        try:
            address = broker.broker_addr
            assert (await runtime.invoke(vip(address), send(), 3000)).code == ResponseCode.SUCCESS
            count = await runtime.invoke(vip(address), RemotingCommand.request(RequestCode.GET_ALL_TOPIC_CONFIG), 3000)
            assert b'"T"' in count.body
            assert (await runtime.invoke(address, pull(), 3000)).code == ResponseCode.SUCCESS
            with pytest.raises(RemotingTimeoutError):
                await runtime.invoke(vip(address), pull(), 100)
        finally:
            await runtime.aclose()

    with rmqlab.serve() as broker:
        asyncio.run(run(broker))
        assert [message.body for message in broker.messages("T")] == [b"x"]
    assert "request 11 PULL_MESSAGE: the broker has no answer to it" in caplog.text


def test_a_message_over_it_wakes_who_waits_on_the_other_port():
    async def run(broker):
        runtime = SocketRuntime()
        try:
            address = broker.broker_addr
            await runtime.invoke(address, send(), 3000)
            held = pull()
            held.header.queue_offset, held.header.sys_flag = 1, FLAG_SUBSCRIPTION | 2
            waiting = asyncio.create_task(runtime.invoke(address, held, 3000))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await runtime.invoke(vip(address), send(b"second"), 3000)
            assert b"second" in (await waiting).body
        finally:
            await runtime.aclose()

    with rmqlab.serve() as broker:
        asyncio.run(run(broker))


def test_any_free_port_means_a_pair_and_a_taken_one_is_said(caplog):
    for one in bind_with_vip(Endpoint()):
        one.close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listening, nothing = bind_with_vip(Endpoint("127.0.0.1", port + 2))
        with listening:
            assert nothing is None
    assert f"no VIP channel, to which Java clients before 4.5.1 send: cannot listen on 127.0.0.1:{port}" in caplog.text


def test_a_broker_beside_its_name_server_two_ports_apart_starts_without(caplog):
    """`--listen HOST:9878 --namesrv HOST:9876`: the name server comes first."""
    ours, theirs = bind_with_vip(Endpoint())
    port = ours.getsockname()[1]
    ours.close()
    theirs.close()
    told = caplog.at_level(logging.WARNING)
    with told, rmqlab.serve(listen=f"127.0.0.1:{port}", namesrv=f"127.0.0.1:{port - 2}") as broker:
        assert broker.namesrv_addr == f"127.0.0.1:{port - 2}"
    assert "no VIP channel" in caplog.text
