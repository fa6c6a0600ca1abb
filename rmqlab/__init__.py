"""rmqlab: a laboratory for RocketMQ subscriptions, filters and heartbeats.

The rooms, from the bottom up: message, protocol, filter, store, broker, namesrv, client (rules only, no I/O),
runtime (virtual time and sockets), lab (scenarios, fates, experiments), show (pictures).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.lab.check import check

__all__ = ["__version__", "check"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load `rmqlab.check` when it is first used: importing rmqlab stays light."""
    if name == "check":
        from rmqlab.lab.check import check

        return check
    raise AttributeError(f"module 'rmqlab' has no attribute {name!r}")
