"""What `rmqlab serve` is given: addresses, and the settings of broker.conf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmqlab.broker.broker_config import BrokerConfig, refuse_unknown, refuse_unworkable, unknown_keys
from rmqlab.errors import BadInput
from rmqlab.files import read_properties
from rmqlab.language import _
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.store.config import MessageStoreConfig
from rmqlab_tools.live.configuration_files import ACL_FILE
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.socket_server import SERVER_IDLE_SECONDS
from rmqlab_tools.live.tls import TlsConfig

BROKER_PORT, NAMESRV_PORT = 10911, 9876
IDLE_SETTING = "serverChannelMaxIdleTimeSeconds"  # the one setting of Netty that has an effect here


@dataclass(slots=True)
class ServeConfig:
    """What to serve, and where.

    The name server is ours, unless `name_servers` ("ip:port" each) names others that run already. `folder` is the
    store's (`storePathRootDir`), `commit_log` that of its log if it lies elsewhere; without a folder everything is kept
    in memory. The broker gives clients `brokerIP1` when
    `advertise` is set, else the host it listens on. The broker closes connections that are silent for `idle_seconds`
    (`serverChannelMaxIdleTimeSeconds`). `acl` has the rules of access control, or the file they are in;
    None: nothing is checked. `others` are settings that no 4.8.0 broker has, with their values; `inert` are those that
    have no effect here. Settings that are changed while the broker runs go into `settings_file`, if there
    is one. `tls` says how connections are encrypted, those of broker and name server. `rules` are the broker's.
    """

    broker: BrokerConfig = field(default_factory=BrokerConfig)
    store: MessageStoreConfig = field(default_factory=MessageStoreConfig)
    listen: Endpoint = field(default_factory=Endpoint)
    namesrv: Endpoint = field(default_factory=Endpoint)
    name_servers: tuple[str, ...] = ()
    folder: Path | None = None
    commit_log: Path | None = None
    advertise: bool = False
    idle_seconds: int = SERVER_IDLE_SECONDS
    acl: Path | Mapping[str, Any] | None = None
    inert: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    settings_file: Path | None = None
    tls: TlsConfig = field(default_factory=TlsConfig)
    rules: Rules = DEFAULT_RULES

    @classmethod
    def of(
        cls,
        properties: Mapping[str, str],
        *,
        where: str,
        listen: str | None = None,
        namesrv: str | None = None,
        join: str | None = None,
        store: str | Path | None = None,
        acl: str | Path | Mapping[str, Any] | None = None,
    ) -> ServeConfig:
        """Put together what was given: settings under 4.8.0's names (`where` they came from), and addresses.

        An address of its own goes before a setting, a setting before the usual ports. With port 0 to `listen` at the
        name server has any free port too, unless it is said.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        broker = BrokerConfig.from_properties(properties, where=where)
        stores = MessageStoreConfig.from_properties(properties, where=where)
        refuse_unworkable(broker, stores, where)
        config = cls(
            broker,
            stores,
            Endpoint(port=broker.listen_port if "listenPort" in properties else BROKER_PORT),
            Endpoint(port=NAMESRV_PORT),
            advertise="brokerIP1" in properties,
            idle_seconds=_idle_seconds(properties.get(IDLE_SETTING), where),
            inert=[name for name in broker.set_without_effect() if name != IDLE_SETTING],
            others={name: properties[name] for name in unknown_keys(properties)},
            tls=TlsConfig.of(properties, where),
        )
        if listen is not None:
            config.listen = Endpoint.parse(listen, "--listen")
            if not config.listen.port:  # whoever wants any port runs several side by side
                config.namesrv = Endpoint()
        if namesrv is not None:
            config.namesrv = Endpoint.parse(namesrv, "--namesrv")
        elif broker.namesrv_addr:
            config.namesrv = Endpoint.parse(broker.namesrv_addr.split(";")[0], f"{where}: namesrvAddr")
        if join is not None:
            config.name_servers = tuple(join.split(";"))
        if acl is not None:
            config.acl = Path(acl) if isinstance(acl, str) else acl
            broker.acl_enable = True
        elif broker.acl_enable:
            raise BadInput(
                _(
                    "{where}: aclEnable=true needs rules: {acl_file} beside broker.conf, or --acl FILE",
                    where=where,
                    acl_file=ACL_FILE,
                )
            )
        folder = properties.get("storePathRootDir") if store is None else store
        if folder is not None:
            config.folder = Path(folder).expanduser()
            config.store.store_path_root_dir = str(config.folder)
            config.store.store_path_commit_log = str(config.folder / "commitlog")
            if store is None and "storePathCommitLog" in properties:
                config.commit_log = Path(properties["storePathCommitLog"]).expanduser()
                config.store.store_path_commit_log = str(config.commit_log)
        return config

    @classmethod
    def of_file(cls, path: Path | None, extra: Mapping[str, str], **addresses: Any) -> ServeConfig:
        """Read a settings file, put `extra` over it, and go on with `of`.

        A name in `extra` that no broker of 4.8.0 has is one; in a file it has no effect, as in 4.8.0.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        refuse_unknown(extra)
        properties = {} if path is None else read_properties(path)
        properties = {**properties, **extra}
        if path is not None and addresses.get("acl") is None and properties.get("aclEnable", "").lower() == "true":
            beside = path.with_name(ACL_FILE)
            addresses["acl"] = beside if beside.is_file() else None
        config = cls.of(properties, where="settings" if path is None else str(path), **addresses)
        config.settings_file = path
        return config


def _idle_seconds(text: str | None, where: str) -> int:
    """`serverChannelMaxIdleTimeSeconds`.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    if text is None:
        return SERVER_IDLE_SECONDS
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 31):
        raise BadInput(
            _(
                "{where}: {idle_setting} must be a number of seconds above 0, not {text}",
                where=where,
                idle_setting=IDLE_SETTING,
                text=f"{text!r}",
            )
        )
    return int(text)
