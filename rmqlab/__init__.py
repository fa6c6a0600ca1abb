"""rmqlab: a laboratory for RocketMQ subscriptions, filters and heartbeats.

The rooms, from the bottom up: message, protocol, filter, store, broker, namesrv, client (rules only, no I/O),
runtime (virtual time and sockets), lab (scenarios, fates, experiments), show (pictures).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.lab.lessons.check import check
    from rmqlab.serving import serve

__all__ = ["__version__", "check", "serve"]
__version__ = "0.1.0"

_LATER = {"check": "rmqlab.lab.lessons.check", "serve": "rmqlab.serving"}


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `import rmqlab` alone must cost nothing."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
