"""The controls of notebook 06: periods, and how a client disappears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.groups.disappearance import WAYS, Disappearance
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.heartbeats.clock_lane import clock_lane

if TYPE_CHECKING:
    from rmqlab.show.figure import Picture

MS = 1_000


def play_heartbeats(*, mode: Mode = "live", way: str = "machine gone", pause_s: int = 60) -> None:
    """Show the clock lane of a disappearance, then controls for everything that may be varied."""
    explore(
        _draw,
        mode=mode,
        way=ChoiceControl("A disappears", {name: name for name in WAYS}, start=way),
        for_s=_seconds("Pause or freeze", (10, 30, 60, 100, 140, 200), pause_s),
        beat_s=_seconds("Beat every", (1, 3, 5, 10, 30, 60), 30),
        expiry_s=_seconds("Forgotten after", (6, 10, 15, 30, 60, 120, 240), 120),
        scan_s=_seconds("Scan every", (1, 2, 5, 10, 30), 10),
        rebalance_s=_seconds("Rebalance every", (1, 2, 5, 10, 20, 60), 20),
        at_s=_seconds("Moment", (32, 38, 45, 52, 60), 45),
    )


def _seconds(label: str, values: tuple[int, ...], start: int) -> ChoiceControl:
    every = sorted({*values, start})
    return ChoiceControl(label, {f"{value} s": value for value in every}, start=f"{start} s", slider=True)


def _draw(*, way: str, for_s: int, beat_s: int, expiry_s: int, scan_s: int, rebalance_s: int, at_s: int) -> Picture:
    one = Disappearance(
        way=way, at_ms=at_s * MS, for_ms=for_s * MS, beat_ms=beat_s * MS, expiry_ms=expiry_s * MS, scan_ms=scan_s * MS,
        rebalance_ms=rebalance_s * MS,
    )  # fmt: skip
    return clock_lane(one.run())
