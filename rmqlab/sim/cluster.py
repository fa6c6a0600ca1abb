"""A cluster in virtual time: one name server, one broker, and as many clients as a scenario starts.

Everything an experiment may set is an argument, or a setting by RocketMQ's name, given or in a broker.conf. The
broker can be stopped and started again: what 4.8.0 keeps in files survives.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import (
    OF_POP,
    BrokerConfig,
    known_keys,
    refuse_unknown,
    refuse_unworkable,
    unknown_keys,
)
from rmqlab.broker.config_manager import file_text
from rmqlab.broker.pop.pop_services import PopServices
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.events import Registration
from rmqlab.files import is_file, read_properties
from rmqlab.language import _, joined
from rmqlab.namesrv.name_server import NameServer
from rmqlab.protocol.channel import LocalChannel
from rmqlab.rules import DEFAULT_RULES, Rules, require_rules
from rmqlab.run.facts import Fact, FactLog
from rmqlab.scenario.fault_steps import BROKER
from rmqlab.sim.network import VirtualConnection
from rmqlab.sim.scheduler import US_PER_MS
from rmqlab.sim.virtual import VirtualTime
from rmqlab.sim.virtual_server import LatePops, LateReput
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rmqlab.broker.config_manager import ConfigManager
    from rmqlab.broker.remoting_proxy import RemotingProxy
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.serializable import RemotingSerializable
    from rmqlab.protocol.topic_config import BrokerRegistration
    from rmqlab.scenario.schedule import Chooser, Timing

FILE_NAME = "broker.conf"
# Written now and then (row order of 4.8.0 `BrokerController.initialize`); topics and groups are written as they change.
FIRST_WRITTEN_MS = 10_000
NOW_AND_THEN = {"consumerOffset.json": 5_000, "consumerFilter.json": 10_000, "delayOffset.json": 10_000}
WALL_CLOCK_TIMERS = "delay level"  # 4.8.0 `ScheduleMessageService` uses `java.util.Timer`, the others `System.nanoTime`


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """Addresses ("ip:port"), clocks (ms) and settings of a cluster.

    `epoch_ms` is when the run begins on an exact clock; `broker_skew_ms` is how far the broker's clock is ahead.
    `rules` are those of broker and clients.
    """

    epoch_ms: int = 1_630_810_300_000
    namesrv_address: str = "127.0.0.1:9876"
    broker: BrokerConfig = field(default_factory=BrokerConfig)
    store: MessageStoreConfig = field(default_factory=MessageStoreConfig)
    base_offset: int = 0
    broker_skew_ms: int = 0
    rules: Rules = DEFAULT_RULES

    def __post_init__(self) -> None:
        """Check the rules.

        Raises:
            BadInput: rules that are none.
        """
        require_rules(self.rules)


def read_cluster_config(path: Path, *, strict: bool = True) -> ClusterConfig:
    """The cluster of one broker with the settings of `path`.

    Raises:
        BadInput: the file cannot be read, a value is not of its setting's kind, or, if `strict`, a 4.8.0 broker does
            not know a name (the broker itself says nothing). The text names file and setting.
    """
    properties = read_properties(path)
    unknown = unknown_keys(properties) if strict else []
    if unknown:
        named = joined(", ", (repr(name) if not name.isalnum() else name for name in unknown))
        meant = did_you_mean(unknown[0], known_keys()) or _("; check the spelling")
        raise BadInput(_("{path}: {named}: no setting of a 4.8.0 broker{meant}", path=path, named=named, meant=meant))
    config = _cluster_config(properties, str(path))
    first = (config.broker.namesrv_addr or config.namesrv_address).partition(";")[0]
    return replace(config, namesrv_address=first)


def settings_beside(folder: Path) -> ClusterConfig:
    """The settings of the broker.conf in `folder`; without one the defaults, and SQL92 allowed, as was recorded.

    Raises:
        BadInput: the file has a key or a value that the broker does not know.
    """
    path = folder / FILE_NAME
    return read_cluster_config(path, strict=False) if is_file(path) else default_settings()


def default_settings() -> ClusterConfig:
    """The broker's defaults, but for enablePropertyFilter."""
    return ClusterConfig(broker=BrokerConfig(enable_property_filter=True))


def cluster_of(settings: Mapping[str, object], rules: Rules = DEFAULT_RULES) -> ClusterConfig:
    """A cluster whose broker has these settings, by RocketMQ's names; `enablePropertyFilter` is true unless given.

    >>> cluster_of({"enablePropertyFilter": False}).broker.enable_property_filter
    False

    Raises:
        BadInput: a 4.8.0 broker has no such setting, or the value is not of its kind.
    """
    given = {"enablePropertyFilter": True, **settings}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    refuse_unknown(texts, OF_POP if rules.has_pop else ())
    return replace(_cluster_config(texts, "Lab"), rules=rules)


def changed_settings(cluster: ClusterConfig) -> dict[str, str | int | bool]:
    """The settings that `cluster_of` must be given for such a broker: by RocketMQ's names, those with other values.

    >>> changed_settings(cluster_of({"longPollingEnable": False}))
    {'longPollingEnable': 'false'}
    """
    usual = cluster_of({})
    known = usual.broker.properties() | usual.store.properties()
    now = cluster.broker.properties() | cluster.store.properties() | cluster.broker.inert | cluster.broker.of_pop
    return {name: value for name, value in now.items() if known.get(name) != value}


def _cluster_config(properties: Mapping[str, str], where: str) -> ClusterConfig:
    broker = BrokerConfig.from_properties(properties, where=where)
    store = MessageStoreConfig.from_properties(properties, where=where)
    refuse_unworkable(broker, store, where)
    return ClusterConfig(broker=broker, store=store)


def _is_behind_proxy(channel: Channel) -> bool:
    return isinstance(channel, VirtualConnection) and channel.node.is_behind_proxy


class Cluster:
    """Name server and broker on one heap; `facts` collects what both and all clients report."""

    def __init__(self, config: ClusterConfig, chooser: Chooser | None = None, timing: Timing | None = None) -> None:
        self.config = config
        self.world = VirtualTime(config.epoch_ms, chooser, timing)
        self.facts = FactLog()
        now = config.epoch_ms
        self.namesrv = NameServer(now, wire=config.rules.wire)
        self.namesrv_server = self.world.serve(config.namesrv_address, self.namesrv)
        uptime = self.world.chooser.among("broker uptime", self.world.timing.uptime_ms)
        broker_started = now + config.broker_skew_ms - uptime
        self._store = MessageStore(
            config.store, store_host=config.broker.store_host, base_offset=config.base_offset, rules=config.rules
        )
        self.broker = self._make_broker(broker_started, self._register)
        self._link = LocalChannel("127.0.0.1:40000")
        self.broker_address = config.broker.broker_addr
        self.broker.timers.run(now + config.broker_skew_ms)
        self.broker_server = self.world.serve(self.broker_address, self.broker, config.broker_skew_ms)
        self._threads_late()
        self.on_disk: dict[str, RemotingSerializable] = {}
        self._uptime_ms = uptime  # of the broker, when it starts to write its files
        self._writes = False
        self._has_proxy = False
        self._tables: dict[str, ConfigManager] = {}

    def _threads_late(self) -> None:
        server, timing, pop = self.broker_server, self.world.timing, self.broker.pop
        if len(timing.reput_us) > 1:
            server.reput = LateReput(server, self.broker)
        if not isinstance(pop, PopServices):
            return
        if len(timing.pop_us) > 1 and self.world.lanes is None:
            server.pops = LatePops(server, self.broker, pop.pop_message_processor)
        for queue_id, service in enumerate(pop.revive):
            service.next_scan += self.world.chooser.among(f"revive {queue_id}", timing.revive_ms)

    def _make_broker(self, started: int, on_register: Callable[[BrokerRegistration], None] | None) -> Broker:
        broker, rules = self.config.broker, self.config.rules
        return Broker(broker, self._store, now=started, choose=self._choose, on_register=on_register, rules=rules)

    def _choose(self, label: str, n: int) -> int:
        return self.world.chooser.choose(f"broker: {label}", n) if n > 1 else 0

    def _register(self, registration: BrokerRegistration) -> None:
        self.facts.append(Fact(self.world.now_ms(), BROKER, Registration(registration.broker_name)))
        # The broker's tables live on, what it sends does not.
        sent = registration._replace(
            topic_config_table=dict(registration.topic_config_table), data_version=copy(registration.data_version),
        )  # fmt: skip
        scheduler = self.world.scheduler
        # The cluster is up when a run begins: what it registered before is there already.
        takes_us = self.world.chooser.among("register broker", self.world.timing.register_us) if scheduler.now_us else 0
        scheduler.at(scheduler.now_us + takes_us, self._at_namesrv, sent)

    def _at_namesrv(self, sent: BrokerRegistration) -> None:
        if self.namesrv_server.up:
            self.namesrv.route_info_manager.register_broker(sent, self._link, self.world.epoch_now())

    def put_proxy_before_broker(self) -> None:
        """Let a proxy serve the machines that connect to it (`Machine.is_behind_proxy`), from now on."""
        if not self._has_proxy:
            self._has_proxy = True
            self.broker_server.handler = self._front()

    def _front(self) -> Broker | RemotingProxy:
        """Whoever listens at the broker's address."""
        if not self._has_proxy:
            return self.broker
        from rmqlab.broker.remoting_proxy import RemotingProxy

        return RemotingProxy(self.broker, _is_behind_proxy)

    # Faults.

    def write_files_now_and_then(self) -> None:
        """Keep what 4.8.0 has written so far, so that a crash loses what came after."""
        self._writes = True
        self._tables = {table.file_name: table for table in self.broker.config_managers}
        now_us = self.world.scheduler.now_us
        for name, usual_ms in NOW_AND_THEN.items():
            offsets = name == "consumerOffset.json"
            period_ms = self.config.broker.flush_consumer_offset_interval if offsets else usual_ms
            first_us = now_us + (FIRST_WRITTEN_MS - self._uptime_ms) * US_PER_MS
            self.world.scheduler.at(first_us, self._write, name, period_ms, self.broker)

    def _write(self, name: str, period_ms: int, broker: Broker) -> None:
        if broker is self.broker and self.broker_server.up:
            self.on_disk[name] = self._tables[name].body()
            now_us = self.world.scheduler.now_us
            self.world.scheduler.at(now_us + period_ms * US_PER_MS, self._write, name, period_ms, broker)

    def stop_broker(self, *, crash: bool) -> None:
        """End the broker's process. In good order it writes its files and unregisters at the name server."""
        broker, routes = self.broker, self.namesrv.route_info_manager
        for table in broker.config_managers:
            if not crash or table.file_name not in NOW_AND_THEN:
                self.on_disk[table.file_name] = table.body()
        self.broker_server.stop()
        if not self.namesrv_server.up:
            return
        if crash:
            routes.on_channel_destroy(self._link.remote_address, self._link)
        else:
            config = broker.config
            routes.unregister_broker(
                config.broker_cluster_name, config.broker_addr, config.broker_name, config.broker_id
            )

    def start_broker(self) -> None:
        """Start a broker on the same files: messages, topics, groups, offsets, filters are there, clients are not."""
        now = self.broker_server.now()
        observe = self.broker.observe
        del self._store.dispatchers[0]  # the bit maps of the broker before
        broker = self._make_broker(now, None)
        for table in broker.config_managers:
            if table.file_name in self.on_disk:
                table.decode(file_text(self.on_disk[table.file_name]))
        delays = broker.schedule_message_service
        delays.shutdown()
        delays.start(now)
        broker.observe, broker.on_register = observe, self._register
        self.broker = broker
        if self.broker_server.reput is not None:
            self._store.dispatch()  # a broker that starts brings its queues up first
        self.broker_server.start(self._front())
        self._threads_late()
        self._uptime_ms = 0
        if self._writes:
            self.write_files_now_and_then()
        broker.register_broker_all()

    def stop_namesrv(self) -> None:
        """End the name server's process."""
        self.namesrv_server.stop()

    def start_namesrv(self) -> None:
        """Start a name server that knows nothing yet."""
        self.namesrv = NameServer(self.namesrv_server.now(), wire=self.config.rules.wire)
        self.namesrv_server.start(self.namesrv)

    def set_broker_clock(self, by_ms: int) -> None:
        """Move the broker's clock by `by_ms`, back if below 0. Its timers do not notice, all but delayed messages."""
        self.broker.now += by_ms
        self.broker.timers.clock_was_set(by_ms, unless=WALL_CLOCK_TIMERS)
        self.broker_server.set_clock(by_ms)
