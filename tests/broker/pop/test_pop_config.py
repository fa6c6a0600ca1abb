"""Settings of POP: known by name to a broker that has none of it."""

from __future__ import annotations

import subprocess
import sys

from rmqlab.broker.broker_config import OF_POP, BrokerConfig
from rmqlab.broker.pop.pop_config import PopConfig

CODE = """
import sys
from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.rules import RULES
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
for version, loads in (("4.8.0", False), ("5.3.3", True)):
    Broker(BrokerConfig(), MessageStore(MessageStoreConfig(), rules=RULES[version]), now=0, rules=RULES[version])
    assert any(name.startswith("rmqlab.broker.pop") for name in sys.modules) is loads, version
"""


def test_the_names_are_those_of_its_settings():
    assert set(PopConfig.property_names().values()) == OF_POP


def test_they_are_kept_beside_those_of_4_8_0():
    config = BrokerConfig.from_properties({"reviveQueueNum": "4", "brokerName": "b"})
    assert (config.of_pop, PopConfig.from_properties(config.of_pop).revive_queue_num) == ({"reviveQueueNum": "4"}, 4)
    assert "reviveQueueNum" not in config.properties()


def test_a_broker_of_4_8_0_loads_nothing_of_it():
    subprocess.run([sys.executable, "-c", CODE], check=True)
