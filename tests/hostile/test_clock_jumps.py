"""A broker on sockets whose machine's clock is set, back and forth: it goes on, and forgets nobody too early."""

from __future__ import annotations

import asyncio
import json

import pytest

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live import broker_startup, socket_server
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.system import epoch_ms

HOUR_MS = 3_600_000
BEAT = {
    "clientID": "c", "consumerDataSet": [{
        "groupName": "G", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [{"topic": "T", "subString": "*"}],
    }],
}  # fmt: skip


@pytest.mark.parametrize("jumps", [[-HOUR_MS], [HOUR_MS, -2 * HOUR_MS], [-24 * HOUR_MS, 48 * HOUR_MS]])
def test_a_broker_outlives_a_clock_that_is_set(monkeypatch, caplog, jumps):
    off_ms = 0

    def clock():
        return epoch_ms() + off_ms

    for module in (socket_server, broker_startup):
        monkeypatch.setattr(module, "epoch_ms", clock)

    async def run():
        nonlocal off_ms
        startup, runtime = (
            BrokerStartup(ServeConfig.of({}, where="t", listen="127.0.0.1:0", namesrv="127.0.0.1:0")),
            None,
        )
        await startup.start()
        runtime = SocketRuntime()
        try:

            async def ask(code, body=None):
                return await runtime.invoke(startup.broker_addr, RemotingCommand.request(code, body=body), 3_000)

            groups = startup.broker.consumer_manager.consumer_table
            for jump in (0, *jumps):
                off_ms += jump
                startup._broker_server._run_timers()
                await asyncio.sleep(0.1)  # after a jump forth the broker has closed a connection that seemed silent
                answer = await ask(RequestCode.HEART_BEAT, json.dumps(BEAT).encode())
                assert answer.code == 0
                startup._broker_server._run_timers()
                assert groups["G"].client_ids == ("c",)
        finally:
            await runtime.aclose()
            await startup.stop()

    asyncio.run(run())
    assert not [record for record in caplog.records if record.exc_info]
