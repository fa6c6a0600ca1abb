"""Commit logs made for tests and benchmarks, with the store's own record codec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.message.message import Host, MessageExt
from rmqlab.message.record import BLANK_MAGIC_CODE, body_crc, encode_record
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOST_V6_FLAG

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STORE_HOST: Final = Host("10.1.2.3", 10911)
_BLANK: Final = 8


def record(
    offset: int,
    topic: str = "T",
    body: bytes = b"hello",
    *,
    queue: int = 0,
    queue_offset: int = 0,
    properties: Mapping[str, str] | None = None,
    flags: int = 0,
    stored: int = 1_000,
    host: Host = STORE_HOST,
) -> bytes:
    """Return a record for commit log `offset`; `stored` is epoch ms; it was born 5 ms before, on `host`."""
    return encode_record(
        MessageExt(
            topic=topic,
            body=body,
            properties=dict(properties or {}),
            queue_id=queue,
            queue_offset=queue_offset,
            sys_flag=flags | (BORNHOST_V6_FLAG | STOREHOST_V6_FLAG if host.is_v6 else 0),
            born_timestamp=stored - 5,
            born_host=host,
            store_timestamp=stored,
            store_host=host,
            commit_log_offset=offset,
            body_crc=body_crc(body),
        )
    )


class LogMaker:
    """Appends records to files of `size` bytes, in memory; `offsets` has the commit log offset of each."""

    def __init__(self, size: int = 4096) -> None:
        self.size = size
        self.files = [bytearray()]
        self.offsets: list[int] = []

    @property
    def end(self) -> int:
        """The commit log offset behind the last record."""
        return (len(self.files) - 1) * self.size + len(self.files[-1])

    def add(
        self,
        topic: str = "T",
        body: bytes = b"hello",
        *,
        queue: int = 0,
        queue_offset: int = 0,
        properties: Mapping[str, str] | None = None,
        flags: int = 0,
        stored: int = 1_000,
        host: Host = STORE_HOST,
    ) -> LogMaker:
        """Append a record. As a broker does, one that does not fit leaves a blank one and goes to the next file."""

        def made() -> bytes:
            return record(
                self.end,
                topic,
                body,
                queue=queue,
                queue_offset=queue_offset,
                properties=properties,
                flags=flags,
                stored=stored,
                host=host,
            )

        data = made()
        rest = self.size - len(self.files[-1])
        if len(data) + _BLANK > rest:
            self.files[-1] += (rest.to_bytes(4) + BLANK_MAGIC_CODE.to_bytes(4, signed=True)).ljust(rest, b"\0")
            self.files.append(bytearray())
            data = made()
        self.offsets.append(self.end)
        self.files[-1] += data
        return self

    def write(self, folder: Path, *, pad: bool = True) -> Path:
        """Write the files into the store directory `folder` and return it; `pad`: as long as a broker maps them."""
        log = folder / "commitlog"
        log.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(self.files):
            (log / f"{number * self.size:020d}").write_bytes(data.ljust(self.size, b"\0") if pad else data)
        return folder
