"""What a caller may give: a scenario in any form, settings of a broker by RocketMQ's names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.lab.scenario import Scenario, convert_scenario
from rmqlab.rules import RULES, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.lab.cluster import ClusterConfig

_WHERE = re.compile(r"^lab: (steps\[\d+\]\.?)?")


def cluster_of(settings: Mapping[str, object], rules: Rules = RULES["4.8.0"]) -> ClusterConfig:
    """A cluster whose broker has these settings, by RocketMQ's names; `enablePropertyFilter` is true unless given.

    >>> cluster_of({"enablePropertyFilter": False}).broker.enable_property_filter
    False

    Raises:
        BadInput: a 4.8.0 broker has no such setting, or the value is not of its kind.
    """
    from rmqlab.broker.broker_config import BrokerConfig, known_keys, unknown_keys
    from rmqlab.lab.cluster import ClusterConfig
    from rmqlab.store.config import MessageStoreConfig

    given = {"enablePropertyFilter": True, **settings}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    for name in unknown_keys(texts):
        raise BadInput(f"setting {name!r}: a 4.8.0 broker has none of this name{did_you_mean(name, known_keys())}")
    return ClusterConfig(
        broker=BrokerConfig.from_properties(texts, where="Lab"),
        store=MessageStoreConfig.from_properties(texts, where="Lab"),
        rules=rules,
    )


def as_scenario(given: Scenario | Mapping[str, Any] | str) -> Scenario:
    """A scenario from itself, its dict, or its JSON text. Raises `BadInput` if it is none."""
    from rmqlab.lab.scenario import parse_scenario

    if isinstance(given, Scenario):
        return given
    return parse_scenario(given) if isinstance(given, str) else convert_scenario(given)


def checked(fields: dict[str, Any]) -> Scenario:
    """A scenario from the dicts of its JSON form; the error of a bad call names the argument, not a place in a file."""
    try:
        return convert_scenario(fields, "lab")
    except BadInput as error:
        raise BadInput(_WHERE.sub("", str(error))) from None
