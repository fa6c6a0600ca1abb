"""What the real 4.8.0 broker, name server and clients sent: read, written again, and the same bytes."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from rmqlab.protocol import bodies
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.namesrv import ClusterInfo, TopicList, TopicRouteData
from rmqlab.protocol.topic_config import RegisterBrokerBody, SubscriptionGroupConfig
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REQUESTS = {
    34: HeartbeatData, 41: bodies.LockBatchRequestBody, 42: bodies.UnlockBatchRequestBody,
    46: bodies.CheckClientRequestBody, 103: RegisterBrokerBody, 200: SubscriptionGroupConfig,
    220: bodies.ResetOffsetBody,
}  # fmt: skip
ANSWERS = {
    28: bodies.KVTable, 38: bodies.GetConsumerListByGroupResponseBody, 41: bodies.LockBatchResponseBody,
    105: TopicRouteData, 106: ClusterInfo, 202: bodies.TopicStatsTable, 203: bodies.ConsumerConnection,
    204: bodies.ProducerConnection, 206: TopicList, 208: bodies.ConsumeStats,
    222: bodies.ResetOffsetBody, 300: bodies.GroupList, 307: bodies.ConsumerRunningInfo,
    315: bodies.BrokerStatsData, 321: bodies.QueryConsumeQueueResponseBody,
}  # fmt: skip
NOT_JSON = {11, 12, 25, 26, 310, 319}  # records, message bodies, name=value texts


def frames(folder: Path, step: int) -> Iterator[tuple[dict[str, object], bytes]]:
    with gzip.open(folder / "frames.jsonl.gz", "rt") as lines:
        for number, line in enumerate(lines):
            if number % step == 0:
                row = json.loads(line)
                if "frame" in row:
                    yield row, bytes.fromhex(row["frame"])


@pytest.mark.parametrize(("name", "step"), [("base", 7), ("audit", 7), ("bitmap", 1), ("noprop", 1), ("lite", 1)])
def test_frames_survive(golden, name, step):
    seen = 0
    for _, frame in frames(golden / "broker-4.8.0" / name, step):
        assert encode_frame(decode_frame(frame[4:])) == frame
        seen += 1
    assert seen > 800


@pytest.mark.parametrize("name", ["admin", "noprop"])
def test_bodies_survive(golden, name):
    asked: dict[tuple[object, int], int] = {}
    seen: set[int] = set()
    for row, frame in frames(golden / "broker-4.8.0" / name, 1):
        command = decode_frame(frame[4:])
        assert encode_frame(command) == frame
        key = row["conn"], command.opaque
        code = asked.get(key, -1) if command.is_response else asked.setdefault(key, command.code)
        if command.body is None or code in NOT_JSON:
            continue
        body = (ANSWERS if command.is_response else REQUESTS)[code].decode(command.body)
        assert body.encode() == command.body
        seen.add(code)
    assert seen == (REQUESTS.keys() | ANSWERS.keys()) - {41, 42} if name == "admin" else seen == {34, 38, 46}
