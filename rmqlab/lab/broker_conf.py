"""broker.conf: the settings of a broker and of its store as 4.8.0 reads them from a file of properties."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig, unknown_keys
from rmqlab.errors import BadInput
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.store.config import MessageStoreConfig

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "broker.conf"


class BrokerConfError(BadInput):
    """A file of settings that cannot be read, or a line or key in it that 4.8.0 does not have."""


def read_properties(path: Path) -> dict[str, str]:
    """Read lines of key=value; empty lines and comments (# or !) are passed over. Raises BrokerConfError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokerConfError(f"{path}: cannot be read ({error}); give a file of lines key=value") from error
    properties: dict[str, str] = {}
    for number, row in enumerate(text.split("\n"), 1):
        line = row.strip()
        if not line or line[0] in "#!":
            continue
        key, equals, value = line.partition("=")
        if not equals or not key.strip():
            raise BrokerConfError(f"{path}, line {number}: {line!r} is no setting; it must be key=value")
        properties[key.strip()] = value.strip()
    return properties


def read_cluster_config(path: Path, *, strict: bool = True) -> ClusterConfig:
    """The cluster of one broker with the settings of ``path``.

    Raises:
        BrokerConfError: the file cannot be read; if ``strict``, also for a key that a 4.8.0 broker does not know (the
            broker itself says nothing about it).
        BadInput: a value that is not of its setting's kind; the text names file and key.
    """
    properties = read_properties(path)
    unknown = unknown_keys(properties) if strict else []
    if unknown:
        raise BrokerConfError(f"{path}: {', '.join(unknown)}: no setting of a 4.8.0 broker; check the spelling")
    broker = BrokerConfig.from_properties(properties, where=str(path))
    store = MessageStoreConfig.from_properties(properties, where=str(path))
    config = ClusterConfig(broker=broker, store=store)
    first = (broker.namesrv_addr or config.namesrv_address).partition(";")[0]
    return replace(config, namesrv_address=first)
