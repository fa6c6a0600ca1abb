"""The recorded cut and freeze step by step: who is a member when, who owns what, as on the real broker."""

from __future__ import annotations

import gzip
import json

import pytest

from rmqlab.checkout import checkout_path
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.scenario.schedule import Timing
from rmqlab.sim.cluster import settings_beside
from rmqlab.sim.simulate import Simulation

BASE = checkout_path("data") / "golden" / "broker-4.8.0" / "base"
SCAN_ROUND_MS = 10_000
NEAR_MS = 1_500  # the recording's observer asks now and then, and its clients took some ms to start


def recorded(scenario_id):
    with gzip.open(BASE / "events.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [event for event in map(json.loads, lines) if event["id"] == scenario_id]


def simulated(scenario_id, uptime_ms):
    scenario = next(one for one in read_scenarios(BASE / "scenarios.jsonl") if one.id == scenario_id)
    timing = Timing(uptime_ms=(uptime_ms,))
    return Simulation(scenario, timing=timing, cluster=settings_beside(BASE)).run().events


def members(events):
    """Who the members are, and since when, one entry for each change."""
    end = max(event["t"] for event in events if event["ev"] == "offset")
    found = []
    for event in events:
        if event["ev"] == "broker" and event["t"] <= end:
            clients = [client.partition("@")[2] for client in event["view"].get("clients", ())]
            if not found or found[-1][1] != clients:
                found.append((event["t"], clients))
    return found


def owned(events):
    return [(event["who"], event["queues"].get("T")) for event in events if event["ev"] == "alloc"]


def consumed(events):
    return sorted((event["who"], event["body"]) for event in events if event["ev"] == "consume")


@pytest.mark.row("H-41", "H-44", "H-46", "H-48")
@pytest.mark.parametrize("scenario_id", ["p-cut-066", "p-freeze-067"])
def test_members_owners_and_messages_are_those_of_the_recording(scenario_id):
    real = recorded(scenario_id)
    scan = next((t for t, clients in members(real) if clients == ["B"]), 0)
    # where the scans fell is the recording's; the rest follows
    ours = simulated(scenario_id, -scan % SCAN_ROUND_MS)
    assert [clients for _, clients in members(ours)] == [clients for _, clients in members(real)]
    for (here, _), (there, _) in zip(members(ours), members(real), strict=True):
        assert abs(here - there) < NEAR_MS
    assert owned(ours) == owned(real)
    if scenario_id == "p-freeze-067":
        assert consumed(ours) == consumed(real)
    else:  # which tag holds the slot after a cut is a race
        assert {who for who, _ in consumed(ours)} == {who for who, _ in consumed(real)}
