"""Tables of notebook 10: how recordings and simulations agree, what the wire shows, what the real admin tool says."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.lab.recorded.consumer_status import found_consistent, recorded_consumer_status
from rmqlab.lab.recorded.matched_runs import agreement, tally
from rmqlab.lab.recorded.run_timeline import commands, recorded_timeline, set_folder
from rmqlab.lab.replay.replay import code_name, replay
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.search.explorer.recorded_outcomes import RecordedVerdict
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.protocol.command import RemotingCommand

TOLD = ("topic", "queueId", "queueOffset", "subscription", "nextBeginOffset", "commitOffset", "consumerGroup")


def guessed(sets: Sequence[str], seeds: int, guess: Mapping[str, int]) -> Table:
    """Of each recorded set: how many scenarios there are, how many the reader expects to agree, how many do."""
    rows = []
    for name, found in agreement(tuple(sets), seeds).items():
        count = tally(found)
        agree = count[RecordedVerdict.SAME] + count[RecordedVerdict.REACHED]
        rows.append(
            (name, len(found), guess.get(name), agree, count[RecordedVerdict.SAME], count[RecordedVerdict.REACHED])
        )
    headers = (
        "recorded set",
        "scenarios",
        "you guess",
        "agree",
        "one end in all our runs",
        "a race: one of the ends reached",
    )
    return Table("Recorded outcomes that the simulation has too", headers, rows)


def frames(scenario_id: str, first: int, count: int) -> Table:
    """Frames of a recorded scenario, from the frame numbered `first` on."""
    asked: dict[tuple[str, int], int] = {}
    rows = []
    began = None
    for number, (t, who, direction, command) in enumerate(commands(scenario_id)):
        began = t if began is None else began
        if not command.is_response:
            asked[who, command.opaque] = command.code
        if not first <= number < first + count:
            continue
        way = f"{who} → broker" if direction == "c2s" else f"broker → {who}"
        rows.append((f"{t - began:.1f}", way, _what(command, asked.get((who, command.opaque))), _fields(command)))
    return Table(f"{scenario_id} on the wire", ("ms", "way", "frame", "some of what it carries"), rows)


def _what(command: RemotingCommand, asked: int | None) -> str:
    if not command.is_response:
        return f"{code_name(command.code)} ({command.code})"
    known = command.code in ResponseCode.__members__.values()
    answer = ResponseCode(command.code).name if known else str(command.code)
    return f"answer to {asked}: {answer} ({command.code})"


def _fields(command: RemotingCommand) -> str:
    if command.code == RequestCode.HEART_BEAT and not command.is_response:
        data = HeartbeatData.decode(command.body or b"")
        told = [
            f"{one.sub_string} @ {one.sub_version}"
            for consumer in data.consumer_data_set
            for one in consumer.subscription_data_set
            if not str(one.topic).startswith("%RETRY%")
        ]
        return ", ".join(told) or "producers only"
    fields = command.all_ext_fields() or {}
    return ", ".join(f"{name} {fields[name]}" for name in TOLD if name in fields)


def summary(scenario_id: str) -> Table:
    """Heartbeats, notices, pulls and what they brought, of each consumer of a recorded scenario."""
    strip = recorded_timeline(scenario_id)
    rows = []
    for who in strip.names:
        beats = [mark.t for mark in strip.beats if mark.who == who]
        pause = max((later - one for one, later in pairwise(beats)), default=0.0)
        pulls = [mark.text.partition(": ")[2] for mark in strip.pulls if mark.who == who]
        answers = ", ".join(f"{pulls.count(one)} {one}" for one in sorted(set(pulls)))
        rows.append((who, len(beats), f"{pause / 1_000:.1f} s", strip.count(strip.told)[who], answers))
    headers = ("consumer", "heartbeats", "longest pause", "told that members changed", "answers to its pulls")
    return Table(f"{scenario_id}, summed up from its frames", headers, rows)


def versions(scenario_id: str) -> Table:
    """Every value of the group's slot, from the frames."""
    rows = [(f"{slot.t / 1_000:.3f} s", slot.expression) for slot in recorded_timeline(scenario_id).slots]
    return Table(f"{scenario_id}: the group's slot", ("from the first start", "subscription in force"), rows)


@lru_cache
def replayed(name: str) -> Table:
    """A recorded set fed to our broker: requests by code, and how many answers are those of the recording."""
    result = replay(set_folder(name))
    rows: list[tuple[object, ...]] = [
        (f"{code} {code_name(code)}", requests, identical) for code, (requests, identical) in result.codes.items()
    ]
    rows.append(("all", result.requests, result.identical))
    marked = frozenset(number for number, row in enumerate(rows) if row[1] != row[2])
    return Table(f"Set {name}, replayed (marked: not identical)", ("request", "requests", "identical"), rows, marked)


def tool() -> Table:
    """What the real admin tool printed of a group in which A asks for tagA and B for tagB."""
    said = recorded_consumer_status()
    return Table(said.command, ("it printed",), [(line,) for line in said.lines])


def tool_ages(*seconds: int) -> Table:
    """What the tool's rule says of the same group by the age of its first member; the recorded age is added."""
    recorded = round(recorded_consumer_status().age_ms / 1_000)
    rows = []
    for age in sorted({recorded, *seconds}):
        when = f"{age} s (when it was recorded)" if age == recorded else f"{age} s"
        rows.append((when, "same" if found_consistent(age * 1_000) else "NOT same"))
    return Table("A wants tagA, B wants tagB", ("the first member has run", "the tool says"), rows)
