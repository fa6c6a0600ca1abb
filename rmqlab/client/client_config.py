"""Settings that every client has (4.8.0 `ClientConfig`). All times in ms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

MASTER_ID = 0


class ServiceState(Enum):
    """Life of a client."""

    CREATE_JUST = "CREATE_JUST"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"
    START_FAILED = "START_FAILED"

    def __str__(self) -> str:
        return self.value


@dataclass(kw_only=True)
class ClientConfig:
    """What the clients of one client id share.

    `namesrv_addr` is "ip:port;ip:port" or None; then `fetch_namesrv_addr` is asked, at the start and by a timer.
    `pid` replaces the instance name "DEFAULT" when a producer or a clustering consumer starts.
    """

    namesrv_addr: str | None = None
    fetch_namesrv_addr: Callable[[], str | None] | None = None
    client_ip: str = "127.0.0.1"
    instance_name: str = "DEFAULT"
    unit_name: str | None = None
    unit_mode: bool = False
    pid: int = 1
    poll_name_server_interval: int = 30_000
    heartbeat_broker_interval: int = 30_000
    persist_consumer_offset_interval: int = 5_000
    pull_time_delay_when_exception: int = 1_000
    rebalance_wait_interval: int = 20_000

    def build_mq_client_id(self) -> str:
        """`ip@instance` or `ip@instance@unit`: the name the broker knows this client by (row S-97)."""
        client_id = f"{self.client_ip}@{self.instance_name}"
        return f"{client_id}@{self.unit_name}" if self.unit_name and self.unit_name.strip() else client_id

    def change_instance_name_to_pid(self) -> None:
        """Two processes of one host must not share the id `ip@DEFAULT`."""
        if self.instance_name == "DEFAULT":
            self.instance_name = str(self.pid)
