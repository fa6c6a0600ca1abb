"""The one list of what a recording cannot tell, each with the reason and how far it may go.

Whatever a replay takes from the recording instead of working it out, and every difference it lets pass, is one of
these; each use is counted and shown. Anything else that differs is a difference.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum


class Undetermined(Enum):
    """What is taken from the recording, or not compared; the value is the reason."""

    STORE_TIME = (
        "the store time of a message is the broker's clock at a moment between frame and answer: taken from the "
        "recording if it lies there"
    )
    BORN_PORT = (
        "a connection's port at the broker was not recorded (the recorder stood between): learnt from its first "
        "message, the same for all others"
    )
    OVERTAKEN = (
        "requests under way at the same moment are handled by different threads: one may be handled after another that "
        "was seen later, if its own answer had not been seen by then, and an answer asks for it"
    )
    DISPATCH_LAG = (
        "the reput thread makes a stored message visible a moment after it is stored: a pull may still miss it for a "
        "while, in the order of the commit log"
    )
    REPUT_STALL = (
        "the reput thread may stand still for up to 1 s: a message stays invisible, and all after it in the commit "
        "log, until the first answer that shows one of them, if answers ask for it"
    )
    MISSED_WAKE_UP = (
        "a message that becomes visible between a pull's look at the queue and its being held does not wake it: the "
        "pull waits for the next message or for the hold service"
    )
    LOOK_PHASE = (
        "the hold service looks every 5 s and the time its own look takes: the phase is that of the recorded "
        "time-outs, and it may come to a queue some ms after it began"
    )
    SCAN_PHASE = "the housekeeping scans every 10 s: the phase is that of a connection it closed"
    LATE_SUSPEND = (
        "a pull's time counts from when it was held, some ms after its frame was seen: taken as later when it was not "
        "answered at the look 15 s after its frame"
    )
    HALF_HEARTBEAT = (
        "a heartbeat changes the group's subscriptions first and its compiled filters after: a pull may look in between"
    )
    TIMER_LAG = "a delayed message, due on its ms, is stored when the timer thread gets to it"
    NOTIFY_OPAQUE = (
        "the number of a request the broker sends by itself counts all commands of the process, the observer's "
        "unrecorded ones too"
    )
    MEMBER_ORDER = (
        "members are listed in the order of a hash table whose keys are connections with random ids: compared as a set"
    )
    SHED = (
        "a broker whose threads cannot keep up turns requests away unhandled (code 2, broker busy); ours has no "
        "threads and is never busy"
    )
    STATS_PHASE = (
        "counters are sampled every 10 s by a thread that may be a few ms late: the phase is one that explains all "
        "recorded sums and rates, and a rate may differ by that lateness (a fifth of a per cent)"
    )
    MEASURED = (
        "how fast, busy and full the broker and its disk were, how long its puts took, since when it ran: measured at "
        "that moment on another machine"
    )
    INSTALLATION = (
        "settings that come from the machine (number of processors, addresses) or from the folders of the "
        "installation, which a recording leaves out, and when the broker read its settings"
    )
    TABLE_ORDER = (
        "settings whose names share a place of Java's hash table stand in the order in which that table grew: compared "
        "as a table"
    )
    TAPPED = "the recorder put its own address for the broker's into the name server's answers"
    FROZEN = "the recorder kept nothing of a connection after it froze it"
    CUT_OFF = "what the broker sent just before a connection or the recording ended may not have been seen"


class Uses(Counter[Undetermined]):
    """How often each was used."""

    def as_json(self) -> dict[str, dict[str, object]]:
        """Return {name: {used, reason}} of those used."""
        return {kind.name.lower(): {"used": self[kind], "reason": kind.value} for kind in Undetermined if self[kind]}
