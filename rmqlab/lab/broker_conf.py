"""broker.conf: the settings of a broker and of its store as 4.8.0 reads them from a file of properties."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig, known_keys, unknown_keys
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.runtime.properties_file import read_properties
from rmqlab.store.config import MessageStoreConfig

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "broker.conf"


class BrokerConfError(BadInput):
    """A file of settings with a name in it that 4.8.0 does not have."""


def read_cluster_config(path: Path, *, strict: bool = True) -> ClusterConfig:
    """The cluster of one broker with the settings of ``path``.

    Raises:
        BrokerConfError: if ``strict``, for a name that a 4.8.0 broker does not know (the broker itself says nothing).
        BadInput: the file cannot be read, or a value is not of its setting's kind; the text names file and setting.
    """
    properties = read_properties(path)
    unknown = unknown_keys(properties) if strict else []
    if unknown:
        named = ", ".join(repr(name) if not name.isalnum() else name for name in unknown)
        meant = did_you_mean(unknown[0], known_keys()) or "; check the spelling"
        raise BrokerConfError(f"{path}: {named}: no setting of a 4.8.0 broker{meant}")
    broker = BrokerConfig.from_properties(properties, where=str(path))
    store = MessageStoreConfig.from_properties(properties, where=str(path))
    config = ClusterConfig(broker=broker, store=store)
    first = (broker.namesrv_addr or config.namesrv_address).partition(";")[0]
    return replace(config, namesrv_address=first)
