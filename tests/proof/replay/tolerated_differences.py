"""The one list of what a recording cannot tell, each with the reason and how far it may go.

Whatever a replay takes from the recording instead of working it out, and every difference it lets pass, is one of
these; each use is counted and shown. Anything else that differs is a difference. The functions change our side of an
answer to the recorded one where another machine, started at another moment, would tell otherwise: rates, disks,
durations, settings of the installation.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from rmqlab.broker.broker_config import OF_MACHINE
from rmqlab.language import N_
from rmqlab.protocol import fastjson
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.header import FrameError
from rmqlab_tools.recordings.exchange import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class Tolerated(Enum):
    """What is taken from the recording, or not compared; the value is the reason."""

    STORE_TIME = N_(
        "the store time of a message is the broker's clock at a moment between frame and answer: taken from "
        "the recording if it lies there"
    )
    BORN_PORT = N_(
        "a connection's port at the broker was not recorded (the recorder stood between): learnt from its "
        "first message or refusal that names it, the same for all others"
    )
    OVERTAKEN = N_(
        "requests under way at the same moment are handled by different threads: one may be handled after "
        "another that was seen later, if its own answer had not been seen by then, and an answer asks for it"
    )
    DISPATCH_LAG = N_(
        "the reput thread makes a stored message visible a moment after it is stored: a pull may still miss "
        "it for a while, in the order of the commit log"
    )
    REPUT_STALL = N_(
        "the reput thread may stand still for up to 1 s: a message stays invisible, and all after it in the "
        "commit log, until the first answer that shows one of them, if answers ask for it"
    )
    MISSED_WAKE_UP = N_(
        "a message that becomes visible between a pull's look at the queue and its being held does not wake "
        "it: the pull waits for the next message or for the hold service"
    )
    LOOK_PHASE = N_(
        "the hold service looks every 5 s and the time its own look takes: the phase is that of the recorded "
        "time-outs, and it may come to a queue some ms after it began"
    )
    SCAN_PHASE = N_("the housekeeping scans every 10 s: the phase is that of a connection it closed")
    SEEN_MIDWAY = N_(
        "a message became visible while the broker answered a pull, which has it, and the highest offset from before"
    )
    LATE_SUSPEND = N_(
        "a pull's time counts from when it was held, some ms after its frame was seen: taken as later when "
        "it was not answered at the look 15 s after its frame"
    )
    HALF_HEARTBEAT = N_(
        "a heartbeat makes the retry topic if need be, then changes the group's subscriptions, then its "
        "compiled filters: a pull may look in between"
    )
    LOST = N_(
        "a request without an answer when its connection ended may be handled after that, or never: so "
        "assumed where later answers show it"
    )
    TORN_HEARTBEAT = N_(
        "of two heartbeats handled at once the older subscription may be written last, for 4.8.0 compares "
        "versions before it writes, without a lock: so assumed where later answers show it"
    )
    TIMER_LAG = N_(
        "a delayed message, due on its ms as far as the recording tells it (to 1 ms), is stored when the "
        "timer thread gets to it"
    )
    POP_CHOICES = N_(
        "with which queue a pop begins, whether it looks at retries first and which queue of the revive log it is "
        "given are Java's chance and count of pops, and when it was executed is the broker's clock: learnt from "
        "its answer"
    )
    LOCKED_QUEUE = N_(
        "a queue at which another pop of the group is at work is passed by, and what is in it counts as rest: so "
        "assumed where the answer has such a rest"
    )
    LOG_PLACE = N_(
        "where check points, acks, what the timer gives back and what is revived lie in the log between messages whose "
        "places are known: their sizes add up to the room between them"
    )
    NOTIFY_OPAQUE = N_(
        "the number of a request the broker sends by itself counts all commands of the process, the "
        "observer's unrecorded ones too"
    )
    MEMBER_ORDER = N_(
        "members are listed in the order of a hash table whose keys are connections with random ids: compared as a set"
    )
    SHED = N_(
        "a broker whose threads cannot keep up turns requests away unhandled (code 2, broker busy); ours has "
        "no threads and is never busy"
    )
    STATS_PHASE = N_(
        "counters are sampled every 10 s by a thread that may be a few ms late: the phase is one that "
        "explains all recorded sums and rates, and a rate may differ by that lateness (a fifth of a per cent)"
    )
    MEASURED = N_(
        "how fast, busy and full the broker and its disk were, how long its puts took, since when it ran: "
        "measured at that moment on another machine"
    )
    INSTALLATION = N_(
        "settings that come from the machine (number of processors, addresses) or from the folders of the "
        "installation, which a recording leaves out, and when the broker read its settings"
    )
    TABLE_ORDER = N_(
        "settings whose names share a place of Java's hash table stand in the order in which that table "
        "grew: compared as a table"
    )
    TAPPED = N_("the recorder put its own address for the broker's into the name server's answers")
    FROZEN = N_("the recorder kept nothing of a connection after it froze it")
    CUT_OFF = N_("what the broker sent just before a connection or the recording ended may not have been seen")


class Uses(Counter[Tolerated]):
    """How often each was used."""

    def as_json(self) -> dict[str, dict[str, object]]:
        """Return {name: {used, reason}} of those used."""
        return {kind.name.lower(): {"used": self[kind], "reason": kind.value} for kind in Tolerated if self[kind]}


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
OF_INSTALLATION = OF_MACHINE.keys() | {
    "brokerIP2", "storePathRootDir", "storePathCommitLog", "kvConfigPath", "configStorePath",
}  # fmt: skip
# A sample taken a few ms late changes a rate by that part of its span, which is 10 s at least.
_RATE_TOLERANCE = Decimal("0.002")


def settle_body(request_code: int, expected: Any, got: Any, uses: Uses) -> None:
    """Take what was measured from the recorded body of an answer; both are parsed JSON."""
    if not isinstance(expected, dict) or not isinstance(got, dict):
        return
    if request_code == RequestCode.GET_BROKER_RUNTIME_INFO:
        _runtime_info(expected, got, uses)
    elif request_code == RequestCode.GET_CONSUME_STATS:
        _rate(expected, got, "consumeTps", uses)
    elif request_code == RequestCode.VIEW_BROKER_STATS_DATA:
        for span in expected.keys() & got.keys():
            _rate(expected[span], got[span], "tps", uses)


def settle_config(expected: str, got: str, uses: Uses) -> str:
    """Return our `name=value` lines with the recorded values of what belongs to the installation."""
    recorded = dict(line.split("=", 1) for line in expected.splitlines() if "=" in line)
    lines = []
    for line in got.splitlines(keepends=True):
        name, equals, value = line.partition("=")
        if name in OF_INSTALLATION and equals and name in recorded and recorded[name] != value.rstrip("\n"):
            uses[Tolerated.INSTALLATION] += 1
            lines.append(f"{name}={recorded[name]}\n")
        else:
            lines.append(line)
    settled = "".join(lines)
    if settled != expected and sorted(lines) == sorted(expected.splitlines(keepends=True)):
        uses[Tolerated.TABLE_ORDER] += 1
        return expected
    return settled


def settle_max_offset(
    expected: Mapping[str, str | None], got: Mapping[str, str | None], uses: Uses
) -> Mapping[str, str | None]:
    """Return our header of a pull with the recorded `maxOffset`, where that was read before the last messages came.

    4.8.0 `DefaultMessageStore.getMessage` reads it first, and the queue's entries after.
    """
    following = number_of(expected.get("nextBeginOffset"))
    highest = number_of(expected.get("maxOffset"))
    if following is None or highest is None or following <= highest or got.get("maxOffset") != str(following):
        return got
    uses[Tolerated.SEEN_MIDWAY] += 1
    return {**got, "maxOffset": expected.get("maxOffset")}


def settle_version(expected: str | None, got: str | None, uses: Uses) -> str | None:
    """Return our version of a table of settings with the recorded time, if the counters agree."""
    try:
        left, right = (fastjson.read((text or "").encode()) for text in (expected, got))
    except FrameError:
        return got
    if not isinstance(left, dict) or not isinstance(right, dict) or left.get("counter") != right.get("counter"):
        return got
    if left != right:
        uses[Tolerated.INSTALLATION] += 1
    return expected


def _runtime_info(expected: dict[str, Any], got: dict[str, Any], uses: Uses) -> None:
    left, right = expected.get("table"), got.get("table")
    if isinstance(left, dict) and isinstance(right, dict):
        for name in MEASURED & left.keys() & right.keys():
            if left[name] != right[name]:
                right[name] = left[name]
                uses[Tolerated.MEASURED] += 1


def _rate(expected: dict[str, Any], got: dict[str, Any], name: str, uses: Uses) -> None:
    left, right = expected.get(name), got.get(name)
    if not isinstance(left, Decimal) or not isinstance(right, Decimal) or left == right:
        return
    if abs(left - right) <= max(left, right) * _RATE_TOLERANCE:
        got[name] = left
        uses[Tolerated.STATS_PHASE] += 1
