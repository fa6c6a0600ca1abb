"""How fast vectors and recordings are worked off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rmqlab.checkout import checkout_path
from rmqlab.scenario.scenario import read_scenarios
from rmqlab_tools.recordings.frames import read_recording
from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.core import timed
from tests.proof.conform.conformance import conform
from tests.proof.recorded_outcomes import survey
from tests.proof.replay.replay import replay_recording

if TYPE_CHECKING:
    from pathlib import Path


def _vectors() -> Path:
    return checkout_path("data") / "golden" / "vectors"


def _recording() -> Path:
    return checkout_path("data") / "golden" / "broker-4.8.0" / "audit"


def _conform() -> Measurement:
    return timed(lambda: sum(result.total for result in conform(_vectors()).values()))


def _read_vectors() -> Measurement:
    def work() -> float:
        lines = 0
        for path in sorted(_vectors().glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                json.loads(line)
                lines += 1
        return lines

    return timed(work)


def _replay() -> Measurement:
    recording = read_recording(_recording())
    return timed(lambda: replay_recording(recording).requests)


def _read_frames() -> Measurement:
    return timed(lambda: len(read_recording(_recording()).lines))


def _survey() -> Measurement:
    scenario = read_scenarios(checkout_path("data") / "golden" / "broker-4.8.0" / "base" / "scenarios.jsonl")[0]
    return timed(lambda: survey(scenario, seeds=20).runs)


def _nominal() -> Measurement:
    scenario = read_scenarios(checkout_path("data") / "golden" / "broker-4.8.0" / "base" / "scenarios.jsonl")[0]
    return timed(lambda: sum(survey(scenario, seeds=0).runs for _ in range(20)))


BENCHMARKS = (
    Benchmark("conform", "cases of all vector families", "cases/s", "reading them as JSON", _conform, _read_vectors),
    Benchmark(
        "replay", "requests of the recorded set 4.8.0 audit", "requests/s", "frames read and decoded",
        _replay, _read_frames,
    ),
    Benchmark("survey", "seeded runs of a recorded scenario", "runs/s", "its nominal runs", _survey, _nominal),
)  # fmt: skip
