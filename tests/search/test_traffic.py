"""Around starts and stops a lab with a seed shows what recordings of real clients show, code by code."""

from __future__ import annotations

import pytest

from rmqlab.lab.lab import Lab
from rmqlab_tools.search.explorer.timings import NETWORK_SHARES, NETWORK_TIMING, RACE_TIMING, RaceChooser
from tests.proof.traffic import ENOUGH, compared

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows():
    return compared()


@pytest.mark.row("S-66", "S-84")
def test_what_happens_around_starts_and_stops_is_what_was_recorded(rows):
    known = [row for row in rows if row.windows >= ENOUGH]
    assert len(known) > 80
    assert [str(row) for row in known if row.apart] == []


def test_a_pull_is_refused_at_four_starts_of_ten_as_it_was_there(rows):
    (first,) = [
        row for row in rows if row.window == "start push first" and row.what.endswith("SUBSCRIPTION_NOT_LATEST")
    ]
    assert first.recorded.share == pytest.approx(0.46, abs=0.01)
    assert 0.36 < first.simulated.share < 0.56


def test_the_comparison_finds_what_was_missing():
    """Frames alone that vary, as a lab drew them once: nobody's pull is ever refused for being early."""
    found = {(row.window, row.what) for row in compared(("base", "base-2"), 150, RaceChooser, RACE_TIMING) if row.apart}
    refused = "PULL_MESSAGE -> SUBSCRIPTION_NOT_LATEST"
    assert {("start push first", refused), ("start push next", refused)} <= found


def test_a_lab_with_a_seed_draws_from_these_times():
    lab = Lab(topics={"T": 4}, seed=3)
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "*"})
        lab.run(seconds=5)
    assert lab.schedule().timing == NETWORK_TIMING
    refused = sum(frame.response == "SUBSCRIPTION_NOT_LATEST" for seed in range(8) for frame in _started(seed).frames())
    assert refused > 0


def _started(seed):
    lab = Lab(topics={"T": 4}, seed=seed)
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=3)
    return lab


def test_every_share_has_as_many_options_as_there_are_times():
    options = {
        "delay ": NETWORK_TIMING.delays_us, "wake ": NETWORK_TIMING.wake_us, "reput ": NETWORK_TIMING.reput_us,
        "register broker": NETWORK_TIMING.register_us,
    }  # fmt: skip
    for name, shares in NETWORK_SHARES.items():
        assert sum(shares) == 100
        assert len(shares) == len(options.get(name, NETWORK_TIMING.thread_us))
