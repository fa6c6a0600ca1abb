"""Settings of a store that are one of a few words."""

from __future__ import annotations

from enum import Enum


class BrokerRole(Enum):
    """What a broker is in its group (4.8.0 `BrokerRole`)."""

    ASYNC_MASTER = "ASYNC_MASTER"
    SYNC_MASTER = "SYNC_MASTER"
    SLAVE = "SLAVE"


class FlushDiskType(Enum):
    """Whether a put waits until the disk has it (4.8.0 `FlushDiskType`)."""

    SYNC_FLUSH = "SYNC_FLUSH"
    ASYNC_FLUSH = "ASYNC_FLUSH"
