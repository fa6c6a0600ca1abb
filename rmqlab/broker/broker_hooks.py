"""Who hears what a broker does, besides those who asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rmqlab.events import Observer


@dataclass(slots=True)
class BrokerHooks:
    """Each is None while nobody listens; times are epoch ms.

    `observe(event)` hears what happened. The others count: `on_put(topic, messages, bytes, now)` what producers stored,
    `on_get(group, topic, queue id, messages, bytes, now)` what consumers got, `on_sent_back(group, topic, now)` what
    they sent back.
    """

    observe: Observer | None = None
    on_put: Callable[[str, int, int, int], None] | None = None
    on_get: Callable[[str, str, int | None, int, int, int], None] | None = None
    on_sent_back: Callable[[str, str, int], None] | None = None
