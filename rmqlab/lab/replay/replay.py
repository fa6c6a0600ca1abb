"""A recording of a real broker fed to ours: every answer, and everything it sends by itself, is compared.

A recording shows when the recorder saw a frame, not when the broker's threads acted on it. So a request is handled at
some moment between its frame and its answer, a stored message becomes visible at some moment after it is stored, and
so on (`undetermined` lists all of it). A replay takes the order of the recording and departs from it only where an
answer demands it and only as far as those reasons allow: changes are put off until something recorded shows that they
have happened, and what only reads is asked again after each. An answer that our broker does not give is never taken.

Two changes under way at the same moment are made in the order seen. Where that shows its effect only much later (two
heartbeats with subscriptions of the same version: the first stays), another pass tries the other order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.replay.clock import RecordedClock, read_clock
from rmqlab.lab.replay.exchange import Exchange, pair
from rmqlab.lab.replay.frames import read_recording
from rmqlab.lab.replay.namesrv import NamesrvReplay, NamesrvResult
from rmqlab.lab.replay.run import ReplayRun
from rmqlab.lab.replay.stage import Choice, Difference, Reordering, Stage
from rmqlab.lab.replay.undetermined import Undetermined, Uses
from rmqlab.protocol.codes import RequestCode

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.lab.replay.frames import Recording
    from rmqlab.lab.replay.stage import After

PASSES = 8
_NEAR_MS = 1.0


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay found.

    `identical` counts requests with the recorded outcome, be it an answer or none. `codes`: request code to how many
    requests and how many of them identical. `differing` also has what the broker sent by itself, or failed to.
    `namesrv` is the name server's part, whose differences are in `differing` as well.
    """

    name: str
    requests: int
    identical: int
    differing: list[Difference]
    reorderings: list[Reordering]
    codes: dict[int, tuple[int, int]]
    uses: Uses
    clock: RecordedClock
    passes: int
    namesrv: NamesrvResult

    @property
    def near(self) -> int:
        """How many of the reorderings concern frames seen less than a millisecond apart."""
        return sum(reordering.gap_ms < _NEAR_MS for reordering in self.reorderings)

    @property
    def widest_ms(self) -> float:
        """How far apart the frames of a reordering were at most."""
        return round(max((reordering.gap_ms for reordering in self.reorderings), default=0.0), 1)

    def as_json(self) -> dict[str, object]:
        """Return everything as JSON values."""
        return {
            "set": self.name,
            "requests": self.requests,
            "identical": self.identical,
            "reordered": len(self.reorderings),
            "differing": [
                {
                    "conn": difference.conn,
                    "opaque": difference.opaque,
                    "code": difference.code,
                    "field": difference.field,
                    "expected": difference.expected,
                    "got": difference.got,
                }
                for difference in self.differing
            ],
            "codes": _codes(self.codes),
            "namesrv": {
                "requests": self.namesrv.requests,
                "identical": self.namesrv.identical,
                "codes": _codes(self.namesrv.codes),
            },
            "reorderings": {
                "within_1_ms": self.near,
                "widest_ms": self.widest_ms,
                "requests": [_reordering(reordering) for reordering in self.reorderings],
            },
            "undetermined": self.uses.as_json(),
            "clock": {
                "epoch_ms": round(self.clock.epoch, 1),
                "from": self.clock.epoch_from,
                "first_look_ms": self.clock.looks[0] if self.clock.looks else None,
                "look_period_ms": self.clock.look_period,
            },
            "passes": self.passes,
        }


def _codes(codes: dict[int, tuple[int, int]]) -> dict[str, object]:
    return {
        str(code): {"name": code_name(code), "requests": requests, "identical": identical}
        for code, (requests, identical) in codes.items()
    }


def code_name(code: int) -> str:
    """Return RocketMQ's name of a request code, the number as text if it has none."""
    return RequestCode(code).name if code in RequestCode.__members__.values() else str(code)


def replay(folder: Path) -> ReplayResult:
    """Replay the recorded set in `folder`; raises `BadInput` when it cannot be read."""
    return replay_recording(read_recording(folder))


def replay_recording(recording: Recording) -> ReplayResult:
    """Replay a recording, in several passes where the order of changes is open."""
    after: After = {}
    tried: set[tuple[int, int]] = set()
    best = _pass(recording, after)
    passes = 1
    while best.differing and passes < PASSES:
        proposals = _proposals(best, tried)
        if not proposals:
            break
        tried.update((choice.earlier.number, choice.later.number) for choice in proposals)
        trial = _pass(recording, _with(after, proposals))
        passes += 1
        was, now = _by_group(best), _by_group(trial)
        better = [choice for choice in proposals if now[choice.domain[1]] < was[choice.domain[1]]]
        if not better:
            continue
        after = _with(after, better)
        if len(better) < len(proposals):
            trial = _pass(recording, after)
            passes += 1
        best = trial
    return _result(best, passes)


def _pass(recording: Recording, after: After) -> Stage:
    exchanges = pair(recording)
    stage = Stage(recording, exchanges, read_clock(recording, exchanges.by_request.values()), after)
    ReplayRun(stage).run()
    return stage


def _with(after: After, choices: list[Choice]) -> After:
    result = dict(after)
    for choice in choices:
        result[choice.earlier.number] = result.get(choice.earlier.number, frozenset()) | {choice.later.number}
    return result


def _by_group(stage: Stage) -> Counter[str]:
    """How many differences each consumer group has."""
    return Counter(group for difference, exchange in stage.differing for group in _groups(difference, exchange))


def _groups(difference: Difference, exchange: Exchange | None) -> set[str]:
    if exchange is not None:
        return exchange.groups
    fields = difference.expected if isinstance(difference.expected, dict) else difference.got
    return {str(fields.get("consumerGroup"))} if isinstance(fields, dict) else set()


def _proposals(stage: Stage, tried: set[tuple[int, int]]) -> list[Choice]:
    """Return choices made before the differences of a group that are most likely to be behind them.

    For each group: the latest tie of two heartbeats; else, for every pull that differs, the change next to the moment
    it was held; else the latest choice of any kind.
    """
    first: dict[str, float] = {}
    differing: set[int] = set()
    for difference, exchange in stage.differing:
        for group in _groups(difference, exchange):
            moment = stage.clock.end if exchange is None else exchange.done_at
            first[group] = min(first.get(group, moment), moment)
        if exchange is not None:
            differing.add(exchange.number)
    ties: dict[str, Choice] = {}
    holds: dict[str, dict[int, Choice]] = {}
    others: dict[str, Choice] = {}
    for choice in stage.choices:
        group = choice.domain[1]
        pair_of_lines = choice.earlier.number, choice.later.number
        if pair_of_lines in tried or choice.later.line.t > first.get(group, -1.0):
            continue
        if choice.likely:
            ties[group] = choice
        elif choice.earlier.number in differing:
            holds.setdefault(group, {}).setdefault(choice.earlier.number, choice)
        else:
            others[group] = choice
    proposals: list[Choice] = []
    for group in first:
        if group in ties:
            proposals.append(ties[group])
        elif group in holds:
            proposals.extend(holds[group].values())
        elif group in others:
            proposals.append(others[group])
    return proposals


def _result(stage: Stage, passes: int) -> ReplayResult:
    exchanges = stage.exchanges.by_request.values()
    codes: dict[int, tuple[int, int]] = {}
    for exchange in exchanges:
        requests, identical = codes.get(exchange.code, (0, 0))
        codes[exchange.code] = requests + 1, identical + exchange.agrees
    namesrv = NamesrvReplay(stage.recording, stage.clock, stage.uses).run()
    stage.uses[Undetermined.STORE_TIME] = stage.broker.store.times_taken
    stage.uses[Undetermined.BORN_PORT] = len(stage.clock.ports)
    stage.uses[Undetermined.SCAN_PHASE] = len(stage.clock.scanned)
    return ReplayResult(
        name=stage.recording.name,
        requests=len(exchanges),
        identical=sum(exchange.agrees for exchange in exchanges),
        differing=[difference for difference, _ in stage.differing]
        + [Difference(*found) for found in namesrv.differing],
        reorderings=stage.reorderings,
        codes=dict(sorted(codes.items())),
        uses=stage.uses,
        clock=stage.clock,
        passes=passes,
        namesrv=namesrv,
    )


def _reordering(reordering: Reordering) -> dict[str, object]:
    return {
        "seen_first": _request(reordering.seen_first),
        "handled_first": _request(reordering.handled_first),
        "gap_ms": round(reordering.gap_ms, 1),
    }


def _request(exchange: Exchange) -> dict[str, int]:
    return {"conn": exchange.line.conn, "opaque": exchange.opaque, "code": int(exchange.code)}
