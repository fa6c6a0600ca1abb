"""Random numbers by counter, for compiled code: number n of run r of a seed, whatever was drawn before or elsewhere.

SplitMix64 over (seed, run, counter). A run therefore gives the same figures in any task, on any machine, in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_RUNS = np.uint64(0x632BE59BD9B4E019)


def seed_of(seed: int) -> np.uint64:
    """The seed as compiled code takes it: its lowest 64 bits."""
    return np.uint64(seed & 0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True)
def _mixed(x: Any) -> Any:
    """SplitMix64's finaliser: neighbouring counters give unrelated numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def run_key(seed: Any, run: Any) -> Any:
    """What `drawn` needs to know of run ``run`` (int) of a seed (uint64)."""
    return _mixed(seed + _mixed(np.uint64(run) + _RUNS))


@njit(cache=True, nogil=True)
def drawn(key: Any, counter: Any) -> Any:
    """A float in [0, 1): number ``counter`` of the run with this key."""
    return float(_mixed(key + (np.uint64(counter) + np.uint64(1)) * _GOLDEN) >> np.uint64(11)) * (1.0 / 2.0**53)
