"""Members of many groups in one process, for the doctor's benchmarks: they beat, and say what they run (307).

`python -m tests.proof.bench.doctor_crowd BROKER GROUPS MEMBERS`: a connection for each of the MEMBERS, a member of
every group. Prints "ready" when the broker knows all, and ends with standard input.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import UpdateConsumerOffsetRequestHeader
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.live.extra.admin_headers import GetConsumerRunningInfoRequestHeader
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.system import epoch_ms

TOPIC, QUEUES = "Sends", 4
"""What the client of these benchmarks sends to."""
_BEAT_MS: Final = 60_000
"""A broker makes a retry topic of each new group while it takes the first beat."""
_BEAT_SECONDS: Final = 30


class CrowdMember:
    """One client, a member of every group; `number` of `members`."""

    def __init__(self, broker: str, groups: int, number: int, members: int) -> None:
        self._broker = broker
        self._subscription = build_subscription(TOPIC, "tagA", None, epoch_ms())
        self._held = [MessageQueue(TOPIC, "broker-a", queue) for queue in range(number, QUEUES, members)]
        consumers = [
            ConsumerData(
                f"G{group:04d}", ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING,
                ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, [self._subscription],
            )
            for group in range(groups)
        ]  # fmt: skip
        self._beat = HeartbeatData(f"10.0.0.{number}@crowd", [], consumers).encode()
        self._runtime = SocketRuntime()
        self._runtime.on_request(self._asked)

    async def beat(self) -> None:
        """Tell the broker that it is there."""
        await self._runtime.invoke(
            self._broker, RemotingCommand.request(RequestCode.HEART_BEAT, body=self._beat), _BEAT_MS
        )

    async def commit(self, groups: int) -> None:
        """Have an offset in every queue that it holds of each group."""
        for group in range(groups):
            for queue in self._held:
                header = UpdateConsumerOffsetRequestHeader(f"G{group:04d}", queue.topic, queue.queue_id, 100)
                request = RemotingCommand.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)
                await self._runtime.invoke_oneway(self._broker, request)

    def _asked(self, _address: str, command: RemotingCommand) -> RemotingCommand | None:
        if command.code != RequestCode.GET_CONSUMER_RUNNING_INFO:
            return None
        command.decode_header(GetConsumerRunningInfoRequestHeader)
        now = epoch_ms()
        info = ConsumerRunningInfo(
            {
                "messageModel": "CLUSTERING", "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "postSubscriptionWhenPull": "false",
            },
            [self._subscription],
            {queue: ProcessQueueInfo(last_pull_timestamp=now, last_consume_timestamp=now) for queue in self._held},
        )  # fmt: skip
        return RemotingCommand.response(ResponseCode.SUCCESS, body=info.encode())


async def _run(broker: str, groups: int, members: int) -> None:
    crowd = [CrowdMember(broker, groups, number, members) for number in range(members)]
    for member in crowd:
        await member.beat()
        await member.commit(groups)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not ended.done():
        await asyncio.wait([ended], timeout=_BEAT_SECONDS)
        await asyncio.gather(*(member.beat() for member in crowd))


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
