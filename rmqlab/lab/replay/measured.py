"""What an answer tells that another machine, started at another moment, would tell otherwise: rates, disks, durations.

Each function changes our side of an answer to the recorded one where the difference is of that kind, and counts it;
everything else is left to differ.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rmqlab.broker.broker_config import OF_MACHINE
from rmqlab.lab.replay.undetermined import Undetermined
from rmqlab.protocol import fastjson
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.header import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.lab.replay.undetermined import Uses

# Of GET_BROKER_RUNTIME_INFO: when the broker began, how fast and how busy it was, how full its disk is.
MEASURED = frozenset({
    "bootTimestamp", "runtime", "commitLogDirCapacity", "commitLogDiskRatio", "consumeQueueDiskRatio",
    "putMessageEntireTimeMax", "getMessageEntireTimeMax", "putMessageDistributeTime", "putTps", "getFoundTps",
    "getMissTps", "getTotalTps", "getTransferedTps", "dispatchBehindBytes", "dispatchMaxBuffer",
    "pageCacheLockTimeMills", "remainHowManyDataToFlush", "remainHowManyDataToCommit", "sendThreadPoolQueueSize",
    "pullThreadPoolQueueSize", "queryThreadPoolQueueSize", "EndTransactionQueueSize",
    "sendThreadPoolQueueHeadWaitTimeMills", "pullThreadPoolQueueHeadWaitTimeMills",
    "queryThreadPoolQueueHeadWaitTimeMills",
})  # fmt: skip
# Of GET_BROKER_CONFIG: defaults of the machine, and folders, which no recording keeps.
OF_INSTALLATION = OF_MACHINE | {
    "brokerIP2", "storePathRootDir", "storePathCommitLog", "kvConfigPath", "configStorePath",
}  # fmt: skip
# A sample taken a few ms late changes a rate by that part of its span, which is 10 s at least.
_RATE_TOLERANCE = Decimal("0.002")
_CLOCK_MS = 1_000


def settle_body(request_code: int, expected: Any, got: Any, uses: Uses | None) -> None:
    """Take what was measured from the recorded body of an answer; both are parsed JSON."""
    if isinstance(expected, dict) and isinstance(got, dict) and request_code in _BODIES:
        _BODIES[request_code](expected, got, uses)


def settle_config(expected: str, got: str, uses: Uses | None) -> str:
    """Return our `name=value` lines with the recorded values of what belongs to the installation."""
    recorded = dict(line.split("=", 1) for line in expected.splitlines() if "=" in line)
    lines = []
    for line in got.splitlines(keepends=True):
        name, equals, value = line.partition("=")
        if name in OF_INSTALLATION and equals and name in recorded and recorded[name] != value.rstrip("\n"):
            _note(uses, Undetermined.INSTALLATION)
            lines.append(f"{name}={recorded[name]}\n")
        else:
            lines.append(line)
    settled = "".join(lines)
    if settled != expected and sorted(lines) == sorted(expected.splitlines(keepends=True)):
        _note(uses, Undetermined.TABLE_ORDER)
        return expected
    return settled


def settle_version(expected: str | None, got: str | None, uses: Uses | None) -> str | None:
    """Return our version of a table of settings with the recorded time, if the counters agree."""
    try:
        left, right = (fastjson.read((text or "").encode()) for text in (expected, got))
    except FrameError:
        return got
    if not isinstance(left, dict) or not isinstance(right, dict) or left.get("counter") != right.get("counter"):
        return got
    if left != right:
        _note(uses, Undetermined.INSTALLATION)
    return expected


def _runtime_info(expected: dict[str, Any], got: dict[str, Any], uses: Uses | None) -> None:
    left, right = expected.get("table"), got.get("table")
    if isinstance(left, dict) and isinstance(right, dict):
        for name in MEASURED & left.keys() & right.keys():
            if left[name] != right[name]:
                right[name] = left[name]
                _note(uses, Undetermined.MEASURED)


def _rate(expected: dict[str, Any], got: dict[str, Any], name: str, uses: Uses | None) -> None:
    left, right = expected.get(name), got.get(name)
    if not isinstance(left, Decimal) or not isinstance(right, Decimal) or left == right:
        return
    if abs(left - right) <= max(left, right) * _RATE_TOLERANCE:
        got[name] = left
        _note(uses, Undetermined.STATS_PHASE)


def _consume_stats(expected: dict[str, Any], got: dict[str, Any], uses: Uses | None) -> None:
    _rate(expected, got, "consumeTps", uses)


def _broker_consume_stats(expected: dict[str, Any], got: dict[str, Any], uses: Uses | None) -> None:
    for left, right in zip(expected.get("consumeStatsList") or (), got.get("consumeStatsList") or (), strict=False):
        for group in left.keys() & right.keys():
            for one, other in zip(left[group], right[group], strict=False):
                _rate(one, other, "consumeTps", uses)


def _stats_data(expected: dict[str, Any], got: dict[str, Any], uses: Uses | None) -> None:
    for span in expected.keys() & got.keys():
        _rate(expected[span], got[span], "tps", uses)


def _time_span(expected: dict[str, Any], got: dict[str, Any], uses: Uses | None) -> None:
    spans = expected.get("consumeTimeSpanSet") or (), got.get("consumeTimeSpanSet") or ()
    for left, right in zip(*spans, strict=False):
        late, ours = left.get("delayTime"), right.get("delayTime")
        if late != ours and isinstance(late, int) and isinstance(ours, int) and abs(late - ours) < _CLOCK_MS:
            right["delayTime"] = late
            _note(uses, Undetermined.MEASURED)


def _note(uses: Uses | None, kind: Undetermined) -> None:
    if uses is not None:
        uses[kind] += 1


_BODIES: dict[int, Callable[[dict[str, Any], dict[str, Any], Uses | None], None]] = {
    RequestCode.GET_BROKER_RUNTIME_INFO: _runtime_info,
    RequestCode.GET_CONSUME_STATS: _consume_stats,
    RequestCode.GET_BROKER_CONSUME_STATS: _broker_consume_stats,
    RequestCode.VIEW_BROKER_STATS_DATA: _stats_data,
    RequestCode.QUERY_CONSUME_TIME_SPAN: _time_span,
}
