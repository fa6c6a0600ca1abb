"""The name server's part of a recording, asked of ours: every answer has the same bytes."""

from __future__ import annotations

import gzip
import json
from collections import Counter

from rmqlab.namesrv.name_server import NameServer
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

# The recorder stood between broker and clients: it changed the port in the answers, not in the registrations.
REGISTERED, TAPPED = b"127.0.0.1:10911", b"127.0.0.1:20911"
# Where it was installed.
FOLDERS = {
    b"rocketmqHome=/opt/rocketmq\n": b"rocketmqHome=/data/rocketmq/xxxxx\n",
    b"/opt/rocketmq/namesrv/": b"/data/rocketmq/xxxxxxxxxx/namesrv/",
}


class Connection:
    remote_address = "127.0.0.1:1"

    def close(self) -> None:
        raise AssertionError("nobody was silent")


def test_every_answer_of_the_recorded_name_server(golden):
    server = NameServer(0)
    connections: dict[int, Connection] = {}
    answers: dict[tuple[int, int], tuple[int, bytes]] = {}
    checked: Counter[int] = Counter()
    with gzip.open(golden / "broker-4.8.0" / "admin" / "frames.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        conn, now = row["conn"], int(row["t"])
        server.run_timers(now)
        if row.get("close") and row["dir"] == "c2s" and conn in connections:
            server.on_channel_close(connections.pop(conn), now)
        if row.get("to") != "namesrv" or "frame" not in row:
            continue
        frame = bytes.fromhex(row["frame"])
        command = decode_frame(frame[4:])
        if command.is_response:
            code, ours = answers.pop((conn, command.opaque))
            assert ours == frame, code
            checked[code] += 1
            continue
        answer = server.handle(connections.setdefault(conn, Connection()), command, now)
        if answer is not None:
            ours = encode_frame(answer)[4:].replace(REGISTERED, TAPPED)
            for own, recorded in FOLDERS.items():
                ours = ours.replace(own, recorded)
            answers[conn, command.opaque] = command.code, len(ours).to_bytes(4, "big") + ours
    assert not answers
    assert checked == {100: 1, 102: 1, 103: 11, 105: 203, 106: 11, 205: 1, 206: 4, 216: 1, 319: 1}
