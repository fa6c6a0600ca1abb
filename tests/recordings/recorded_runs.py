"""A recording of the real broker as a run, and the first of our runs that ends as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rmqlab
from rmqlab.checkout import checkout_path

if TYPE_CHECKING:
    from rmqlab.run.run import Run

GOLDEN = checkout_path("data") / "golden" / "broker-4.8.0"
MAX_SEEDS = 80


def recorded(name: str, of: str = "base") -> Run:
    """The recorded run of one scenario of a set."""
    return rmqlab.Lab.from_recording(GOLDEN / of, name)


def ended_alike(name: str, of: str = "base") -> Run:
    """The first simulated run that ended as the recorded one."""
    wanted = recorded(name, of).outcome()
    file = f"{GOLDEN / of / 'scenarios.jsonl'}#{name}"
    runs = (rmqlab.simulate(file, seed=seed) for seed in [None, *range(MAX_SEEDS)])
    return next(run for run in runs if run.outcome() == wanted)
