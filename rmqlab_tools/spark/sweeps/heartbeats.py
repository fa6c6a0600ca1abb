"""Heartbeats of very many clients: what the broker has to bear, and when it notices that one is gone.

The rules are those of 4.8.0, each client on its own, since none waits for another: a beat every period
(`MQClientInstance.startScheduledTask`), a scan of the channels every scan period
(`ClientHousekeepingService.start`) that expires whoever was heard of longer ago than the expiry
(`ConsumerManager.scanNotActiveChannel`). A client that is cut off is noticed at once, by its closed channel, and is
not counted here: this is about silence.

Random numbers are SplitMix64 over (seed, client, counter): a client gives the same figures in any task, on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from rmqlab_tools.spark.sweeps.sweep import require_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

MS_A_SECOND, MS_AN_HOUR = 1_000, 3_600_000
_PHASE, _DEATH, _FIRST_LOSS = 0, 1, 2
_GOLDEN, _CLIENTS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x632BE59BD9B4E019)


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """Periods in ms, the defaults of 4.8.0; `lost`: the share of beats that never arrive.

    The clients start at any moment of a period.

    Raises:
        BadInput: a parameter out of its range; the text names it and the range.
    """

    clients: int = 10_000
    period_ms: int = 30_000
    expiry_ms: int = 120_000
    scan_ms: int = 10_000
    lost: float = 0.0

    def __post_init__(self) -> None:
        """Look at the numbers."""
        require_within(1, 10_000_000, clients=self.clients)
        require_within(1, MS_AN_HOUR, period_ms=self.period_ms, expiry_ms=self.expiry_ms, scan_ms=self.scan_ms)
        require_within(0, 0.99, lost=self.lost)


def detection_ms(beats: Heartbeats, seed: int) -> NDArray[np.int64]:
    """Ms from each client's silent death (at a moment of its own) to the scan that expires it; shape (clients,)."""
    out = np.zeros(beats.clients, np.int64)
    _detections(out, _stream(seed, 0), beats.period_ms, beats.expiry_ms, beats.scan_ms, beats.lost)
    return out


def false_expiries_an_hour(beats: Heartbeats, seed: int) -> int:
    """How often in an hour a client that lives is expired, because too many of its beats in a row were lost."""
    key = _stream(seed, 1)
    return int(_false_expiries(key, beats.clients, beats.period_ms, beats.expiry_ms, beats.scan_ms, beats.lost))


def beats_by_second(beats: Heartbeats, seed: int) -> NDArray[np.int64]:
    """Beats that reach the broker in each second of one period, lost ones left out; shape (seconds of a period,)."""
    seconds = np.zeros(-(-beats.period_ms // MS_A_SECOND), np.int64)
    _by_second(seconds, _stream(seed, 2), beats.clients, beats.period_ms, beats.lost)
    return seconds


def _stream(seed: int, number: int) -> np.uint64:
    """What the random numbers of one of the three figures begin with: the seed's lowest 64 bits, mixed."""
    return np.uint64(_key(np.uint64(seed & 0xFFFFFFFFFFFFFFFF), number))


@njit(cache=True, nogil=True)
def _mixed(x: Any) -> Any:
    """SplitMix64's finaliser: neighbouring counters give unrelated numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _key(seed: Any, number: Any) -> Any:
    """What `_drawn` needs to know of client `number` of a seed (uint64)."""
    return _mixed(seed + _mixed(np.uint64(number) + _CLIENTS))


@njit(cache=True, nogil=True)
def _drawn(key: Any, counter: Any) -> Any:
    """A float in [0, 1): number `counter` of the client with this key."""
    return float(_mixed(key + (np.uint64(counter) + np.uint64(1)) * _GOLDEN) >> np.uint64(11)) * (1.0 / 2.0**53)


@njit(cache=True, nogil=True)
def _detections(out: Any, key: Any, period: Any, expiry: Any, scan: Any, lost: Any) -> None:
    for client in range(out.shape[0]):
        mine = _key(key, client)
        last = np.int64(_drawn(mine, _PHASE) * period)
        death = last + np.int64(_drawn(mine, _DEATH) * period)
        number = _FIRST_LOSS
        while lost > 0.0 and _drawn(mine, number) < lost:
            last -= period
            number += 1
        # scans run at 0, scan, 2 scan...; the first that finds more than the expiry gone by
        noticed = -((-(last + expiry + 1)) // scan) * scan
        out[client] = max(noticed, -((-death) // scan) * scan) - death


@njit(cache=True, nogil=True)
def _false_expiries(key: Any, clients: Any, period: Any, expiry: Any, scan: Any, lost: Any) -> Any:
    count = 0
    for client in range(clients):
        if lost <= 0.0 and expiry >= period:
            continue
        mine = _key(key, client)
        heard = np.int64(_drawn(mine, _PHASE) * period)
        beat, number = heard + period, _FIRST_LOSS
        while beat < MS_AN_HOUR:
            if _drawn(mine, number) >= lost:
                # a scan between the two that finds the expiry gone by drops the client; the beat brings it back
                if -((-(heard + expiry + 1)) // scan) * scan < beat:
                    count += 1
                heard = beat
            number += 1
            beat += period
    return count


@njit(cache=True, nogil=True)
def _by_second(seconds: Any, key: Any, clients: Any, period: Any, lost: Any) -> None:
    for client in range(clients):
        mine = _key(key, client)
        if lost <= 0.0 or _drawn(mine, _FIRST_LOSS) >= lost:
            seconds[np.int64(_drawn(mine, _PHASE) * period) // MS_A_SECOND] += 1
