"""The result of a replay in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rmqlab.lab.replay.replay import code_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.replay.recorded_clock import RecordedClock
    from rmqlab.lab.replay.replay import ReplayResult

_WIDTH = 160


def replay_lines(result: ReplayResult, show: int) -> Iterator[str]:
    """What was equal, by request code, what was taken from the recording, and the first `show` differences."""
    yield (
        f"{result.name}: {result.requests} requests, {result.identical} identical, {len(result.differing)} differences"
    )
    yield f"{len(result.reorderings)} reordered: {result.near} within 1 ms, the widest gap {result.widest_ms} ms"
    yield f"passes over the recording: {result.passes}; orders that only later answers tell: {len(result.orders)}"
    if result.late:
        yield f"{len(result.late)} messages became visible late, up to {result.latest_ms} ms after they were stored"
    clock = result.clock
    yield f"t = 0 is epoch {clock.epoch:.1f} ms ({clock.epoch_from}); {_looks(clock)}"
    for title, codes in (("request", result.codes), ("to the name server", result.namesrv.codes)):
        if codes:
            yield from ("", f"  {title:<34} {'requests':>8} {'identical':>9}")
        for code, (requests, identical) in codes.items():
            yield f"  {code:>3} {code_name(code):<30} {requests:>8} {identical:>9}"
    yield from ("", "Taken from the recording, or let pass:")
    for name, use in result.uses.as_json().items():
        yield f"  {use['used']:>6}  {name}: {use['reason']}"
    if result.differing:
        yield from ("", "Differences:")
    for difference in result.differing[:show]:
        where = f"conn {difference.conn}, opaque {difference.opaque}, {code_name(difference.code)}, {difference.field}"
        yield f"  {where}: expected {_brief(difference.expected)}, got {_brief(difference.got)}"
    if len(result.differing) > show:
        yield f"  and {len(result.differing) - show} more"


def _looks(clock: RecordedClock) -> str:
    if not clock.looks:
        return "no look of the hold service shows"
    return f"the hold service looks from {clock.looks[0]:.0f} ms on, every {clock.look_period} ms"


def _brief(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
