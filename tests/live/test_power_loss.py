"""Power fails at any moment: with SYNC_FLUSH what was acknowledged had been brought to disk before."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rmqlab
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import SendMessageRequestHeader
from rmqlab_tools.live import file_segments
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

pytestmark = pytest.mark.slow

SIZES = {
    "mappedFileSizeCommitLog": "8192", "mappedFileSizeConsumeQueue": "400", "diskMaxUsedSpaceRatio": "99",
    "flushIntervalCommitLog": "600000",  # how late ASYNC_FLUSH is must not depend on how busy the machine is
}  # fmt: skip
QUEUES = 3


class Disk:
    """What is on disk for sure: the bytes each file had when it was last synchronised. All else is lost."""

    def __init__(self, monkeypatch):
        self.files, self._sync, self._lock = {}, os.fsync, threading.Lock()
        monkeypatch.setattr(file_segments, "_fdatasync", self.sync)
        monkeypatch.setattr(os, "fsync", self.sync)

    def sync(self, fd):
        self._sync(fd)
        path = Path(f"/proc/self/fd/{fd}").readlink()
        if path.is_file():
            data = path.read_bytes()
            with self._lock:
                self.files[str(path).removesuffix(".tmp")] = data

    def after_power_loss(self):
        with self._lock:
            return dict(self.files)


def send(number):
    header = SendMessageRequestHeader(
        producer_group="P", topic="T", default_topic="TBW102", default_topic_queue_nums=4, queue_id=number % QUEUES,
        sys_flag=0, born_timestamp=1, flag=0, properties=f"KEYS\x01k{number}\x02",
    )  # fmt: skip
    command = RemotingCommand.request(RequestCode.SEND_MESSAGE, header, b"%d." % number * (number * 13 % 40 + 1))
    command.opaque = number
    return encode_frame(command)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs a system with /proc to know what is synchronised")
@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_acknowledged_messages_survive_a_loss_of_power(net, monkeypatch, tmp_path, flush):
    disk = Disk(monkeypatch)
    root = tmp_path / "store"
    moments = []  # how many were acknowledged, and what was on disk then

    async def run():
        startup = BrokerStartup(
            ServeConfig.of(
                {**SIZES, "flushDiskType": flush}, where="test", listen="127.0.0.1:0", namesrv="127.0.0.1:0", store=root
            )
        )
        await startup.start()
        try:
            async with net.raw(startup.broker_addr) as (reader, writer):
                acknowledged = []
                for begin in range(0, 60, 4):
                    writer.write(b"".join(map(send, range(begin, begin + 4))))
                    for _ in range(4):
                        length = int.from_bytes(await reader.readexactly(4))
                        answer = decode_frame(await reader.readexactly(length))
                        assert answer.code == 0
                        acknowledged.append(answer.opaque)
                    moments.append((list(acknowledged), disk.after_power_loss()))
        finally:
            await startup.stop()

    asyncio.run(run())
    monkeypatch.undo()
    assert len(moments) == 15
    lost = 0
    for number, (acknowledged, files) in enumerate(moments):
        if number not in {0, 1, 7, 14}:
            continue
        shutil.rmtree(root)
        root.mkdir()
        (root / "abort").touch()
        for path, data in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)
        with rmqlab.serve(store=root, **SIZES) as broker:
            served = {one.body for one in broker.messages("T")}
            expected = {b"%d." % one * (one * 13 % 40 + 1) for one in acknowledged}
            lost += len(expected - served)
            assert {one.split(b".")[0] for one in served} <= {b"%d" % one for one in range(60)}
    assert (lost == 0) == (flush == "SYNC_FLUSH")  # else the test would not see a loss


FULL = """
import subprocess
import sys
from pathlib import Path
import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.live.serve import ServeError

disk = Path(sys.argv[1])
store, ballast = disk / "store", disk / "ballast"
ballast.write_bytes(bytes(200_000))
sizes = dict(mappedFileSizeCommitLog=1 << 20, mappedFileSizeConsumeQueue=20_000, diskMaxUsedSpaceRatio=99)
with rmqlab.serve(store=store, **sizes) as broker:
    stored, refused = 0, ""
    try:
        for number in range(4_000):
            broker.send("T", f"{number}:" + "x" * 1000, queue=0)
            stored += 1
    except ServeError as error:
        refused = str(error)
    served = [one.body for one in broker.messages("T")]
assert len(served) == stored, (len(served), stored)
with rmqlab.serve(store=store, **sizes) as broker:  # nothing was lost, and nothing can be written yet
    assert [one.body for one in broker.messages("T")] == served
ballast.unlink()
with rmqlab.serve(store=store, **sizes) as broker:
    broker.send("T", "room again", queue=0)
    assert [one.body for one in broker.messages("T")] == [*served, b"room again"]
subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
try:
    rmqlab.serve(store=store, **sizes).start()
except BadInput as error:
    assert "name a folder that can be written" in str(error), error
else:
    raise AssertionError("a folder that cannot be written was taken")
print(stored, refused)
"""


def test_a_disk_that_is_really_full_and_one_that_cannot_be_written(tmp_path):
    """A file system of two megabytes, mounted where nobody else sees it."""
    script = tmp_path / "full.py"
    script.write_text(FULL, encoding="utf-8")
    folder = tmp_path / "disk"
    folder.mkdir()
    unshare = shutil.which("unshare")
    if unshare is None or alone(unshare, f'mount -t tmpfs tmpfs "{folder}"').returncode:
        pytest.skip("this system lets nobody mount a file system of their own (unshare --mount --map-root-user)")
    done = alone(unshare, f'mount -t tmpfs -o size=2m tmpfs "{folder}" && "{sys.executable}" "{script}" "{folder}"')
    assert done.returncode == 0, done.stderr
    stored, _, refused = done.stdout.partition(" ")
    assert 1_000 < int(stored) < 2_100
    assert "was not stored: SERVICE_NOT_AVAILABLE" in refused


def alone(unshare, command):
    """Run a command that has its own view of what is mounted."""
    return subprocess.run(
        [unshare, "--mount", "--map-root-user", "sh", "-c", command],
        capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[2], timeout=120,
    )  # fmt: skip
