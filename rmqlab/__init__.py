"""rmqlab: a laboratory for RocketMQ subscriptions, filters and heartbeats.

The rooms, from the bottom up: message, protocol, filter, store, broker, namesrv, client (rules only, no I/O),
runtime (virtual time and sockets), lab (scenarios, fates, experiments), show (pictures).
"""

from __future__ import annotations

__version__ = "0.1.0"
