"""What happens around starts and stops, on a real network and in a `Lab(seed=...)`, request code by request code.

`python -m tests.proof.traffic` compares 200 seeds with all recorded sets of push and lite pull consumers and prints
every row; tests/search/test_traffic.py does it with fewer.

A window begins when a client's first frame reaches the broker, or when its goodbye does, and lasts 3 s. In it are
counted its own frames, and those of the members of its group that were there before: requests by code, answers by code
of request and answer, notifications. Scenarios in which links break are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from math import hypot, sqrt
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.checkout import checkout_path
from rmqlab.protocol.channel import C2S
from rmqlab.protocol.codes import RequestCode, ResponseCode, code_name
from rmqlab.scenario.fault_steps import FaultStep
from rmqlab.scenario.scenario import Scenario, Start, Stop, read_scenarios
from rmqlab.sim.cluster import settings_beside
from rmqlab.sim.simulate import Simulation
from rmqlab_tools.recordings.frames import read_recording
from rmqlab_tools.search.explorer.timings import NETWORK_TIMING, NetworkChooser
from rmqlab_tools.search.partial_order_reduction import PartialOrderReduction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.scenario.schedule import Chooser, Timing
    from rmqlab.sim.cluster import ClusterConfig
    from rmqlab.sim.network import VirtualConnection

SETS = ("base", "base-2", "bitmap", "noprop", "lite", "lite-2", "random")
SEEDS = 200
WINDOW_MS = 3_000.0
GOODBYE_MS = 200.0  # what a client commits before its goodbye belongs to its stop
ENOUGH = 30  # recorded windows of a kind, to say something of it
SHARE_APART, MEAN_APART = 0.12, 0.3  # what is less is taken for alike
ERRORS = 2.5  # how many standard errors are still chance


class Figures(NamedTuple):
    """Of one kind of frame: how many in a window, in which share of the windows any, and the mean's standard error."""

    mean: float
    share: float
    error: float


class SeenFrame(NamedTuple):
    """A frame at the broker: when (ms), of which client, and what it is."""

    t: float
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """One kind of frame in one kind of window: per window how many, and in which share of the windows any."""

    window: str
    what: str
    windows: int
    recorded: Figures
    simulated: Figures

    @property
    def apart(self) -> bool:
        """Whether enough was recorded to say that the two differ."""
        there, here = self.recorded, self.simulated
        chance = ERRORS * hypot(there.error, here.error)
        far = max(MEAN_APART * max(there.mean, here.mean), MEAN_APART / 2, chance)
        is_apart = abs(there.share - here.share) > SHARE_APART or abs(there.mean - here.mean) > far
        return self.windows >= ENOUGH and is_apart

    def __str__(self) -> str:
        """The row of a table."""
        numbers = "  ".join(f"{number:6.2f}" for number in (*self.recorded[:2], *self.simulated[:2]))
        return f"{self.window:<24} {self.what:<52} {self.windows:>4}  {numbers}{'  <' if self.apart else ''}"


def _request(code: int) -> str:
    return code_name(RequestCode, code)


def _answer(request: int, code: int) -> str:
    return f"{_request(request)} -> {code_name(ResponseCode, code)}"


def recorded_frames(path: Path) -> dict[str, list[SeenFrame]]:
    """The frames of each scenario of a recorded set."""
    recording = read_recording(path)
    clients = {line.conn: line.client.partition("@")[2].partition("_") for line in recording.lines if line.client}
    codes: dict[tuple[int, int], int] = {}
    frames: dict[str, list[SeenFrame]] = defaultdict(list)
    for line in recording.lines:
        command = line.command
        if command is None or line.conn not in clients:
            continue
        client, _, scenario = clients[line.conn]
        what = _what(command, (line.conn, command.opaque), codes, upward=line.to_broker)
        if what is not None:
            frames[scenario].append(SeenFrame(line.t, client, what))
    return frames


def _what(
    command: RemotingCommand, key: tuple[int, int], codes: dict[tuple[int, int], int], *, upward: bool
) -> str | None:
    if upward and not command.is_response:
        codes[key] = int(command.code)
        return _request(command.code)
    if not upward and command.is_response:
        return _answer(codes[key], command.code) if key in codes else None
    return None if upward else f"to the client: {_request(command.code)}"


def simulated_frames(
    scenario: Scenario, cluster: ClusterConfig, chooser: Chooser, timing: Timing = NETWORK_TIMING
) -> list[SeenFrame]:
    """The frames of one simulated run, as the broker's end sees them."""
    simulation = Simulation(scenario, chooser=chooser, timing=timing, cluster=cluster, reduction=PartialOrderReduction)
    codes: dict[tuple[int, int], int] = {}
    frames: list[SeenFrame] = []

    def see(connection: VirtualConnection, direction: str, command: RemotingCommand, sent_us: int, due_us: int) -> None:
        if connection.server.name != simulation.cluster.broker_address:
            return
        upward = direction == C2S
        what = _what(command, (connection.number, command.opaque), codes, upward=upward)
        if what is not None:
            frames.append(SeenFrame((due_us if upward else sent_us) / 1_000, connection.node.name, what))

    simulation.world.on_frame = see
    simulation.run()
    return sorted(frames)


def windows_of(scenario: Scenario, frames: Sequence[SeenFrame]) -> Iterator[tuple[str, Counter[str]]]:
    """What each start and each stop shows: a name of the kind of window, and how many frames of each kind."""
    there: dict[str, list[str]] = defaultdict(list)
    kinds: dict[str, tuple[str, str]] = {}
    for step in scenario.steps:
        if isinstance(step, Start):
            began = next((frame.t for frame in frames if frame.who == step.who), None)
            if began is None:
                continue
            kind = _kind(step)
            kinds[step.who] = kind, step.group
            mine = there[step.group]
            place = "next" if mine else "first"
            yield f"start {kind} {place}", _count(frames, [step.who], began)
            if mine:
                yield f"start {kind} others {len(mine)}", _count(frames, mine, began)
            mine.append(step.who)
        elif isinstance(step, Stop) and step.who in kinds:
            goodbyes = (seen.t for seen in frames if seen.who == step.who and seen.what == _request(35))
            left = next(goodbyes, None)
            left_kind, group = kinds[step.who]
            there[group].remove(step.who)
            if left is not None:
                yield f"stop {left_kind}", _count(frames, [step.who], left - GOODBYE_MS)
                yield f"stop {left_kind} others {len(there[group])}", _count(frames, there[group], left - GOODBYE_MS)


def _kind(start: Start) -> str:
    if start.kind == "lite":
        return start.kind
    return "broadcasting" if start.broadcasts else "orderly" if start.orderly else "push"


def _count(frames: Iterable[SeenFrame], clients: Sequence[str], since: float) -> Counter[str]:
    return Counter(frame.what for frame in frames if frame.who in clients and since <= frame.t < since + WINDOW_MS)


def compared(
    sets: Sequence[str] = SETS,
    seeds: int = SEEDS,
    chooser: type[Chooser] = NetworkChooser,
    timing: Timing = NETWORK_TIMING,
) -> list[TrafficRow]:
    """Every row of the recorded sets beside simulated runs of their scenarios, each with seeds of its own.

    ``seeds`` is how many runs are made at least; every scenario gets as many.
    """
    golden = checkout_path("data") / "golden" / "broker-4.8.0"
    there: dict[str, list[Counter[str]]] = defaultdict(list)
    here: dict[str, list[Counter[str]]] = defaultdict(list)
    cases: list[tuple[Scenario, ClusterConfig]] = []
    for name in sets:
        frames, cluster = recorded_frames(golden / name), settings_beside(golden / name)
        for scenario in read_scenarios(golden / name / "scenarios.jsonl"):
            if scenario.id in frames and not any(isinstance(step, FaultStep) for step in scenario.steps):
                cases.append((scenario, cluster))
                for window, count in windows_of(scenario, frames[scenario.id]):
                    there[window].append(count)
    for number in range(-(-seeds // len(cases)) * len(cases)):
        scenario, cluster = cases[number % len(cases)]
        drawn = simulated_frames(scenario, cluster, chooser(number), timing)  # type: ignore[call-arg]
        for window, count in windows_of(scenario, drawn):
            here[window].append(count)
    return [
        TrafficRow(window, what, len(counts), _figures(what, counts), _figures(what, here[window]))
        for window, counts in sorted(there.items())
        for what in sorted({what for count in [*counts, *here[window]] for what in count})
    ]


def _figures(what: str, counts: Sequence[Counter[str]]) -> Figures:
    many = [count[what] for count in counts] or [0]
    return Figures(fmean(many), fmean(number > 0 for number in many), pstdev(many) / sqrt(len(many)))


def main(arguments: Sequence[str]) -> int:
    """Print all rows; return 1 if one is apart."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.traffic", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many runs are made at least (default: {SEEDS})")
    rows = compared(seeds=parser.parse_args(arguments).seeds)
    out = sys.stdout
    out.write(f"{'window':<24} {'frame':<52}    n  recorded: mean, share  simulated\n")
    out.writelines(f"{row}\n" for row in rows)
    apart = [row for row in rows if row.apart]
    enough = sum(row.windows >= ENOUGH for row in rows)
    out.write(f"{len(rows)} rows, {enough} of them with {ENOUGH} recorded windows or more; {len(apart)} apart\n")
    return 1 if apart else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
