"""A cluster in virtual time: one name server, one broker, and as many clients as a scenario starts.

Everything an experiment may set is an argument: addresses, clocks, the commit log's first offset, delays.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.lab.facts import FactLog
from rmqlab.message.message import Host
from rmqlab.namesrv.name_server import NameServer
from rmqlab.runtime.virtual import VirtualTime
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from rmqlab.broker.broker_registration import BrokerRegistration
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.network import Timing
    from rmqlab.runtime.schedule import Chooser
    from rmqlab.runtime.virtual import VirtualNode

REGISTER_DELAY_US = 1_000  # the broker's own connection to the name server has no choice points


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """Addresses ("ip:port"), clocks (ms) and settings of a cluster.

    ``epoch_ms`` is when the run begins on an exact clock; ``broker_skew_ms`` is how far the broker's clock is ahead.
    """

    epoch_ms: int = 1_630_810_300_000
    namesrv_address: str = "127.0.0.1:9876"
    broker: BrokerConfig = field(default_factory=BrokerConfig)
    store: MessageStoreConfig = field(default_factory=MessageStoreConfig)
    base_offset: int = 0
    broker_skew_ms: int = 0


class _BrokerLink:
    """The broker's connection to the name server, as the name server sees it."""

    remote_address = "127.0.0.1:40000"

    def send(self, command: RemotingCommand) -> None:
        """Answers to a registration need nobody."""

    def close(self) -> None:
        """The name server found the broker dead."""


class Cluster:
    """Name server and broker on one heap; ``facts`` collects what both and all clients report."""

    def __init__(self, config: ClusterConfig, chooser: Chooser | None = None, timing: Timing | None = None) -> None:
        self.config = config
        self.world = VirtualTime(config.epoch_ms, chooser, timing)
        self.facts = FactLog(self.world.now_ms)
        now = config.epoch_ms
        self.namesrv = NameServer(now)
        self.world.serve(config.namesrv_address, self.namesrv)
        uptimes = self.world.timing.uptime_ms
        uptime = uptimes[self.world.chooser.choose("broker uptime", len(uptimes)) if len(uptimes) > 1 else 0]
        broker_started = now + config.broker_skew_ms - uptime
        host = Host(config.broker.broker_ip1, config.broker.listen_port)
        store = MessageStore(config.store, store_host=host, base_offset=config.base_offset)
        self.broker = Broker(
            config.broker, store, now=broker_started, choose=self._choose,             on_register=self._register,
        )  # fmt: skip
        self._link = _BrokerLink()
        self.broker_address = f"{host.ip}:{host.port}"
        self.broker.run_timers(now + config.broker_skew_ms)
        self.world.serve(self.broker_address, self.broker, config.broker_skew_ms)

    def _choose(self, label: str, n: int) -> int:
        return self.world.chooser.choose(f"broker: {label}", n) if n > 1 else 0

    def _register(self, registration: BrokerRegistration) -> None:
        # The broker's tables live on, what it sends does not.
        sent = registration._replace(
            topic_config_table=dict(registration.topic_config_table), data_version=copy(registration.data_version),
        )  # fmt: skip
        scheduler = self.world.scheduler
        # The cluster is up when a run begins: what it registered before is there already.
        scheduler.at(scheduler.now_us + (REGISTER_DELAY_US if scheduler.now_us else 0), self._at_namesrv, sent)

    def _at_namesrv(self, sent: BrokerRegistration) -> None:
        self.namesrv.route_info_manager.register_broker(
            sent.cluster_name,
            sent.broker_addr,
            sent.broker_name,
            sent.broker_id,
            sent.ha_server_addr,
            sent.topic_config_table,
            sent.data_version,
            sent.filter_server_list,
            self._link,
            self.world.epoch_now(),
        )

    def node(self, name: str, **settings: Any) -> VirtualNode:
        """A client machine on this cluster's network."""
        return self.world.node(name, **settings)
