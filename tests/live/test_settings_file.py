"""A setting changed while the broker runs is in its file afterwards, and the file's old text in the `.bak`."""

from __future__ import annotations

import asyncio

import pytest

import rmqlab
from rmqlab.files import read_properties
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.configuration_files import rewrite_properties
from rmqlab_tools.live.serve_config import ServeConfig
from tests.proof.clients.socket_clients import SocketClients

OLD = "enablePropertyFilter=true\n# ours\nmadeUp=here\n"


async def change(broker, body):
    async with SocketClients(broker.namesrv_addr) as clients:
        request = RemotingCommand.request(RequestCode.UPDATE_BROKER_CONFIG, body=body)
        return (await clients.invoke(broker.broker_addr, request)).code


def test_a_change_goes_into_the_file(tmp_path):
    path = tmp_path / "broker.conf"
    path.write_text(OLD, encoding="utf-8")
    with rmqlab.serve(config=path) as broker:
        assert (
            asyncio.run(change(broker, b"longPollingEnable=false\nmadeUp=there\nunknown=1\n")) == ResponseCode.SUCCESS
        )
        port = broker.broker_addr.rpartition(":")[2]
    found = read_properties(path)
    assert found["longPollingEnable"] == "false"
    assert found["enablePropertyFilter"] == "true"
    assert found["madeUp"] == "there"
    assert "unknown" not in found
    assert found["listenPort"] == port
    assert (tmp_path / "broker.conf.bak").read_text("utf-8") == OLD
    with rmqlab.serve(config=path, listen="127.0.0.1:0", namesrv="127.0.0.1:0") as broker:
        assert broker.call(lambda one: one.config.long_polling_enable) is False


def test_without_a_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with rmqlab.serve() as broker:
        assert asyncio.run(change(broker, b"longPollingEnable=false\n")) == ResponseCode.SUCCESS
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_logged(tmp_path, caplog):
    path = tmp_path / "broker.conf"
    path.mkdir()
    rewrite_properties(path, "a=1\n")
    assert "in force, but not in its file" in caplog.text


@pytest.mark.parametrize(
    ("told", "port"),
    [
        ({}, 9876),
        ({"listen": "127.0.0.1:10911"}, 9876),
        ({"listen": "127.0.0.1:0"}, 0),
        ({"listen": "127.0.0.1:0", "namesrv": "127.0.0.1:9876"}, 9876),
    ],
)
def test_whoever_wants_any_port_gets_any_for_the_name_server_too(told, port):
    assert ServeConfig.of({}, where="test", **told).namesrv.port == port
    named = ServeConfig.of({"namesrvAddr": "127.0.0.1:1234"}, where="test", listen="127.0.0.1:0")
    assert named.namesrv.port == 1234
