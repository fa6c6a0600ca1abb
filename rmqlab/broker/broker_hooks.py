"""Who hears what a broker does, besides those who asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class BrokerHooks:
    """Hooks for counting, each None while nobody counts; times are epoch ms.

    `on_put(topic, messages, bytes, now)`: a producer's messages are stored. `on_get(group, topic, queue id, messages,
    bytes, now)`: a consumer gets messages. `on_sent_back(group, topic, now)`: a consumer sent one back.
    """

    on_put: Callable[[str, int, int, int], None] | None = None
    on_get: Callable[[str, str, int | None, int, int, int], None] | None = None
    on_sent_back: Callable[[str, str, int], None] | None = None
