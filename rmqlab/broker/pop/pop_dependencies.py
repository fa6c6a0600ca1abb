"""What the parts of POP share: the broker's tables, settings, the clock, and the choices that Java makes by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple, Protocol

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
from rmqlab.broker.consumer_manager import ConsumerManager
from rmqlab.broker.pop.pop_config import PopConfig
from rmqlab.broker.processor import BrokerHooks, Timers
from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
from rmqlab.rules import Rules
from rmqlab.store.message_store import MessageStore

PERCENT = 100


class PopChoices(Protocol):
    """What is left to chance, or to other threads: an explorer decides it, a replay learns it from recorded answers."""

    def start_queue(self, topic: str, queues: int) -> int:
        """With which queue of a topic a pop begins."""
        ...

    def retry_first(self, topic: str, group: str, probability: int) -> bool:
        """Whether a pop looks at the retry topic first, which has something to give; `probability` in percent."""
        ...

    def retry_v1(self, topic: str, group: str) -> bool:
        """Whether it looks at the retry topic of version 1, where messages may lie in that and in that of version 2."""
        ...

    def revive_queue(self, queues: int) -> int:
        """The queue of the revive log that gets the check points of a pop."""
        ...

    def is_locked(self, topic: str, group: str, queue_id: int) -> bool:
        """Whether another pop of the group is at work on a queue at this moment, so that this one passes it by."""
        ...


@dataclass(slots=True)
class ChosenByBroker:
    """The choices of a broker whose requests are handled one after another; `choose(label, n)` is its random source.

    A pop's first queue and whether it looks at the retry topic first are of one random number in Java, 0 to 99; with up
    to 20 queues every pair may come. The revive queue is counted: each pop, also one that is woken, takes the next.
    """

    choose: Callable[[str, int], int]
    _next: int = 0

    def start_queue(self, topic: str, queues: int) -> int:
        """One of the queues, each alike."""
        return self.choose(f"first queue of {topic}", queues)

    def retry_first(self, topic: str, group: str, probability: int) -> bool:
        """Whether a number from 0 to 99 is below the probability: as few options as there are for that."""
        divisor = gcd(probability, PERCENT)
        options = PERCENT // divisor
        return self.choose(f"retries of {group}, {topic} first", options) >= options - probability // divisor

    def retry_v1(self, topic: str, group: str) -> bool:
        """One of two."""
        return self.choose(f"version of the retry topic of {group}, {topic}", 2) == 0

    def revive_queue(self, queues: int) -> int:
        """The next one round."""
        self._next += 1
        return (self._next - 1) % queues

    def is_locked(self, topic: str, group: str, queue_id: int) -> bool:
        """Never: no request comes in between."""
        return False


class PopDependencies(NamedTuple):
    """What a pop is checked against and works on."""

    config: BrokerConfig
    pop_config: PopConfig
    store: MessageStore
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    consumers: ConsumerManager
    filters: ConsumerFilterManager
    offsets: ConsumerOffsetManager
    timers: Timers
    hooks: BrokerHooks
    rules: Rules
