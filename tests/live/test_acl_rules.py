"""Access control of a served broker: off unless told, rules from a file that may change, our client signs."""

from __future__ import annotations

import asyncio

import pytest
import yaml

import rmqlab
from rmqlab.client.client_error import MQBrokerError
from rmqlab.errors import BadInput
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab_tools.live.configuration_files import read_rules
from rmqlab_tools.live.extra.acl import AclClientRPCHook
from tests.proof.clients.socket_clients import SocketClients

RULES = {
    "accounts": [
        {"accessKey": "producer", "secretKey": "12345678", "defaultTopicPerm": "PUB|SUB", "defaultGroupPerm": "SUB"}
    ]
}
KEY = AclClientRPCHook("producer", "12345678")


async def send(namesrv_addr, hook=None):
    async with SocketClients(namesrv_addr, hook=hook) as clients:
        producer = await clients.producer("PG")
        return await producer.send(Message.of("T", b"x"), MessageQueue("T", "broker-a", 0))


def test_our_client_signs_and_nobody_else_gets_in():
    with rmqlab.serve(acl=RULES) as broker:
        broker.create_topic("T")
        assert asyncio.run(send(broker.namesrv_addr, KEY)).send_status.name == "SEND_OK"
        with pytest.raises(MQBrokerError, match="AclException: No accessKey is configured"):
            asyncio.run(send(broker.namesrv_addr))
        wrong = AclClientRPCHook("producer", "wrongsecret")
        with pytest.raises(MQBrokerError, match="Check signature failed for accessKey=producer"):
            asyncio.run(send(broker.namesrv_addr, wrong))
        assert len(broker.messages("T")) == 1
    with rmqlab.serve() as broker:  # off by default
        broker.create_topic("T")
        asyncio.run(send(broker.namesrv_addr))


def test_a_changed_file_is_taken_in_and_a_broken_one_is_not(tmp_path):
    path = tmp_path / "plain_acl.yml"
    (tmp_path / "broker.conf").write_text("aclEnable=true\n")
    path.write_text(yaml.safe_dump(RULES))

    def until(condition):
        async def wait():
            async with asyncio.timeout(60):
                while not condition():  # noqa: ASYNC110 - a file has no event
                    await asyncio.sleep(0.02)

        asyncio.run(wait())

    with rmqlab.serve(config=tmp_path / "broker.conf") as broker:
        rules_in_force = lambda: broker._startup._access.rules  # noqa: E731
        assert rules_in_force() == RULES
        path.write_text("accounts: [")
        more = {**RULES, "globalWhiteRemoteAddresses": ["127.0.0.1"]}
        asyncio.run(asyncio.sleep(0.7))
        assert rules_in_force() == RULES
        path.write_text(yaml.safe_dump(more))
        until(lambda: rules_in_force() == more)
        broker.create_topic("T")
        asyncio.run(send(broker.namesrv_addr))  # a white address by now


def test_without_rules_there_is_no_access_control_to_enable(tmp_path):
    with pytest.raises(BadInput, match="aclEnable=true needs rules"):
        rmqlab.serve(aclEnable=True)
    with pytest.raises(BadInput, match="No such file"):
        rmqlab.serve(acl=tmp_path / "none.yml").start()
    (tmp_path / "bad.yml").write_text("accounts: [")
    with pytest.raises(BadInput, match=r"bad\.yml"):
        read_rules(tmp_path / "bad.yml")
