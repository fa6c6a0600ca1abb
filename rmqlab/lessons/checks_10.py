"""The checks of notebook 10: read a recording's silence, its slots, make a recording that replays, write a rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmqlab.errors import BadInput
from rmqlab.lab.recorded.matched_runs import matched_runs
from rmqlab.lab.recorded.run_timeline import recorded_timeline, set_folder
from rmqlab.lab.replay.frames import read_recording
from rmqlab.lab.replay.replay import replay
from rmqlab.lessons.check import CheckFailed
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.rules import DEFAULT_RULES

FROZEN = "p-freeze-067"
NEAR_S = 5
SLOTS = ("p-article-000", "p-loss-002", "p-loss-005", "p-overlap-044")
JUDGE = "noprop"
LATEST = "Which pulls are refused hangs on two versions: the broker's and the pull's (S-66)."
SILENCE = "A silent member keeps its queues until a scan forgets it, and the others until they rebalance (H-41, H-48)."
VERSION = "The slot has what the newest version said; a consumer that stamps again takes it back (S-77)."
RECORD = "The tap writes frames.jsonl and broker.conf; `rmqlab replay` asks our broker the same again."
HINTS = {
    "silence": "Two moments matter: when the connection freezes, and when the last message that waited is consumed.",
    "slots": "Look for the last change of the slot before the first message.",
    "recording": "A group that disagrees needs two members, two tags, and at least one message.",
}


def silence(answer: Any) -> str:
    """Seconds from the freeze of A's connection until B had consumed what waited in A's queues."""
    if not isinstance(answer, int | float) or isinstance(answer, bool):
        raise CheckFailed(f"{answer!r} is no number of seconds.", rule=SILENCE)
    strip = recorded_timeline(FROZEN)
    frozen, last = strip.broken[0].t, max(mark.t for mark in strip.consumed)
    here = (last - frozen) / 1_000
    if abs(answer - here) > NEAR_S:
        lines = [
            f"recorder  freezes A's connection {frozen / 1_000:.1f} s after the first start",
        ]
        raise CheckFailed(HINTS["silence"], problem=f"Not {answer:g} s.", rule=SILENCE, lines=lines)
    other = matched_runs(FROZEN).simulated
    ours = (max(mark.t for mark in other.consumed) - other.broken[0].t) / 1_000
    return f"{here:.0f} s on the real broker, {ours:.0f} s in the simulation."


def slots(answer: Any) -> str:
    """For each scenario of ``SLOTS`` the expression that was in the group's slot when the first message came."""
    if not isinstance(answer, Mapping) or set(answer) != set(SLOTS):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, SLOTS))}.", rule=VERSION)
    for name in SLOTS:
        strip = recorded_timeline(name)
        here = strip.slot_at(strip.sent[0].t)
        if answer[name] != here:
            lines = [f"{slot.t / 1_000:8.3f} s  {slot.expression}" for slot in strip.slots]
            raise CheckFailed(HINTS["slots"], problem=f"{name}: not {answer[name]!r}.", rule=VERSION, lines=lines)
    return f"All {len(SLOTS)} slots are read rightly."


def recording(answer: Any) -> str:
    """The folder of a recording: two members of one group that disagree, messages, and answers that replay."""
    if not isinstance(answer, str | Path):
        raise CheckFailed("Give the folder that the tap wrote.", rule=RECORD)
    try:
        lines = read_recording(Path(answer)).lines
        result = replay(Path(answer))
    except BadInput as error:
        raise CheckFailed(f"That is no recording: {error}", rule=RECORD) from None
    asked = [line.command for line in lines if line.command is not None and line.to_broker]
    sends = sum(command.code in {RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2} for command in asked)
    if not sends:
        raise CheckFailed(HINTS["recording"], problem="No message was sent in it.", rule=RECORD)
    wanted: dict[tuple[str, str], set[str]] = {}
    for command in asked:
        if command.code == RequestCode.HEART_BEAT:
            for consumer in HeartbeatData.decode(command.body or b"").consumer_data_set:
                for one in consumer.subscription_data_set:
                    wanted.setdefault((consumer.group_name, str(one.topic)), set()).add(str(one.sub_string))
    if not any(len(expressions) > 1 for expressions in wanted.values()):
        raise CheckFailed(
            HINTS["recording"],
            problem="No two members of a group ask for different tags of a topic in it.",
            rule=VERSION,
        )
    if result.differing:
        first = result.differing[0]
        told = [f"connection {first.conn}  {first.field}: {first.expected!r} there, {first.got!r} here"]
        raise CheckFailed(
            HINTS["recording"], problem=f"{len(result.differing)} answers are not the same.", rule=RECORD, lines=told
        )
    return "A group that disagrees, recorded; replayed, every answer is the same."


def rule(answer: Any) -> str:
    """A rule `is_latest(held_version, pull_version)`, by which our broker answers as the recorded one did."""
    if not callable(answer):
        raise CheckFailed("Give the function itself: is_latest(held_version, pull_version).")
    result = replay(set_folder(JUDGE), rules=DEFAULT_RULES.replace(is_latest=answer))
    codes = [one for one in result.differing if one.field == "code"]
    served = sum(one.expected == ResponseCode.SUBSCRIPTION_NOT_LATEST for one in codes)
    refused = sum(one.got == ResponseCode.SUBSCRIPTION_NOT_LATEST for one in codes)
    told = f"{served} pulls are served that the real broker refused, {refused} refused that it served."
    if served:
        raise CheckFailed("The real broker refuses more pulls than yours. Which of the two versions may be newer?",
                          rule=LATEST, problem=told)  # fmt: skip
    if result.differing:
        raise CheckFailed("It refuses pulls that the real one served. What if they differ the other way?",
                          rule=LATEST, problem=told)  # fmt: skip
    return f"All {result.requests} answers of the recording come out the same."


CHECKS = {"10-rule": rule, "10-silence": silence, "10-slots": slots, "10-record": recording}
