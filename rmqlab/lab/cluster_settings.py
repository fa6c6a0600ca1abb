"""The settings of a cluster's broker and store, by RocketMQ's names: given as arguments, or in a broker.conf."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig, known_keys, unknown_keys
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.rules import RULES, Rules
from rmqlab.runtime.configuration_files import read_properties
from rmqlab.store.config import MessageStoreConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    config = _cluster_config(properties, str(path))
    first = (config.broker.namesrv_addr or config.namesrv_address).partition(";")[0]
    return replace(config, namesrv_address=first)


def cluster_of(settings: Mapping[str, object], rules: Rules = RULES["4.8.0"]) -> ClusterConfig:
    """A cluster whose broker has these settings, by RocketMQ's names; `enablePropertyFilter` is true unless given.

    >>> cluster_of({"enablePropertyFilter": False}).broker.enable_property_filter
    False

    Raises:
        BadInput: a 4.8.0 broker has no such setting, or the value is not of its kind.
    """
    given = {"enablePropertyFilter": True, **settings}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    for name in unknown_keys(texts):
        raise BadInput(f"setting {name!r}: a 4.8.0 broker has none of this name{did_you_mean(name, known_keys())}")
    return replace(_cluster_config(texts, "Lab"), rules=rules)


def _cluster_config(properties: Mapping[str, str], where: str) -> ClusterConfig:
    return ClusterConfig(
        broker=BrokerConfig.from_properties(properties, where=where),
        store=MessageStoreConfig.from_properties(properties, where=where),
    )
