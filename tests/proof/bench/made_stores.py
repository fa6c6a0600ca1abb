"""Stores that benchmarks read: big ones of small records, and sparse ones.

Records of our codec are copied with their offsets put right.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.message.record import BLANK_MAGIC_CODE, LAYOUTS
from tests.proof.log_maker import record

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = 256 << 20
_BLOCK: Final = 32 << 20
SIZES: Final = {"470": (64, 448), "2k": (1024, 3072)}
"""The least and the largest body, in bytes, by the size of a record."""
_QUEUES: Final = 4
TAGS: Final = "Tag1 || Tag2 || Tag3"
_HOLLOW: Final = 4 << 20
_HEAD: Final = LAYOUTS[4, 4].size


def write_store(folder: Path, size: int, bodies: tuple[int, int], seed: int = 7, *, file_bytes: int = FILE) -> int:
    """Write about `size` bytes of commit log into the store directory `folder`; return the number of records.

    The log has files of `file_bytes`. Raises `BadInput` where the disk has no room.
    """
    if shutil.disk_usage(folder).free < 2 * size:
        raise BadInput(f"{folder}: a store of {size} bytes and as much again is needed; free some or set TMPDIR")
    import numpy as np

    block, starts = _block(bodies, seed, min(_BLOCK, file_bytes // 4))
    log = folder / "commitlog"
    log.mkdir()
    places = starts[:, None] + np.arange(8)
    count = 0
    per_file = (file_bytes - 8) // len(block)
    for base in range(0, max(size, file_bytes), file_bytes):
        with (log / f"{base:020d}").open("wb") as file:
            for number in range(per_file):
                block[places + 20] = _big_endian(count // _QUEUES + np.arange(len(starts)) // _QUEUES)
                block[places + 28] = _big_endian(base + number * len(block) + starts)
                file.write(block.tobytes())
                count += len(starts)
            rest = file_bytes - per_file * len(block)
            file.write((rest.to_bytes(4) + BLANK_MAGIC_CODE.to_bytes(4, signed=True)).ljust(rest, b"\0"))
    _write_offsets(folder)
    return count


def _write_offsets(folder: Path) -> None:
    config = folder / "config"
    config.mkdir()
    offsets = {f"{_topic(topic)}@G": {str(queue): 1 << 40 for queue in range(_QUEUES)} for topic in range(8)}
    (config / "consumerOffset.json").write_text(json.dumps({"offsetTable": offsets}), encoding="ascii")


def write_sparse_store(folder: Path, files: int, *, file_bytes: int = 1 << 30, block_bytes: int = 8 << 20) -> int:
    """Write a store whose log has `files` files of `file_bytes` each, most of it holes; return the number of records.

    Each file begins with a block of small records. In three of four a blank record up to the file's end follows, as a
    broker writes it where the next record has no room; in the fourth records whose bodies are holes of 4 MiB fill it.
    """
    import numpy as np

    block, starts = _block(SIZES["470"], 7, min(block_bytes, file_bytes // 4))
    hollow = record(0, _topic(0), bytes(_HOLLOW), properties={"TAGS": "Tag1"}, stored=1_700_000_000_000)
    log = folder / "commitlog"
    log.mkdir(parents=True)
    places = starts[:, None] + np.arange(8)
    count = 0
    for number in range(files):
        base, at = number * file_bytes, len(block)
        with (log / f"{base:020d}").open("wb") as file:
            block[places + 20] = _big_endian(count // _QUEUES + np.arange(len(starts)) // _QUEUES)
            block[places + 28] = _big_endian(base + starts)
            file.write(block.tobytes())
            count += len(starts)
            while number % 4 == 3 and at + len(hollow) + 8 <= file_bytes:
                head = bytearray(hollow[:_HEAD])
                head[20:36] = count.to_bytes(8) + (base + at).to_bytes(8)
                file.seek(at)
                file.write(head)
                file.seek(at + _HEAD + _HOLLOW)
                file.write(hollow[_HEAD + _HOLLOW :])
                at, count = at + len(hollow), count + 1
            file.seek(at)
            file.write((file_bytes - at).to_bytes(4) + BLANK_MAGIC_CODE.to_bytes(4, signed=True))
            file.truncate(file_bytes)
    _write_offsets(folder)
    return count


def _big_endian(numbers: Any) -> Any:
    import numpy as np

    return numbers.astype(">i8").view(np.uint8).reshape(-1, 8)


def write_subscriptions(path: Path) -> Path:
    """What the members of the group of such a store ask for, and what the broker held, as the verb takes it."""
    lines = [
        {"group": "G", "topic": _topic(number), "expr": TAGS, **held}
        for number in range(8)
        for held in ({}, {"held": True})
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
    return path


def _topic(number: int) -> str:
    """The name of one of the eight topics."""
    return f"Topic{'ABCDEFGH'[number]}_{'x' * 3 * number}"


def _block(bodies: tuple[int, int], seed: int, most: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(seed)
    made: list[bytes] = []
    starts: list[int] = []
    at = 0
    while True:
        number = len(starts)
        topic, tag, price, region = (int(drawn) for drawn in rng.integers(0, (8, 16, 5000, 5)))
        properties = {
            "KEYS": f"order_{number:08d}",
            "UNIQ_KEY": rng.bytes(16).hex().upper(),
            "WAIT": "true",
            "region": ("hz", "sh", "bj", "sz", "qd")[region],
            "TAGS": f"Tag{tag}",
            "a": str(tag % 10),
            "price": repr(price / 100),
        }
        body = rng.bytes(int(rng.integers(*bodies)))
        packed = record(
            0, _topic(topic), body, queue=number % _QUEUES, properties=properties, stored=1_700_000_000_000 + number
        )
        if at + len(packed) > most:
            return np.frombuffer(b"".join(made), np.uint8).copy(), np.array(starts, np.int64)
        starts.append(at)
        made.append(packed)
        at += len(packed)
