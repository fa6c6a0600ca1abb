"""A group whose members disagree, watched by its gauges: a backlog that is larger than what anybody will get."""

from __future__ import annotations

from typing import Any, NamedTuple

from rmqlab.lab.gauge_samples import Sample
from rmqlab.lab.run import Run
from rmqlab.lab.scenario import convert_scenario
from rmqlab.lab.simulate import Simulation

SAMPLE_MS = 1_000
MESSAGES = 40


class GaugeStory(NamedTuple):
    """The run, its samples, and when the first step was (ms since the run began)."""

    run: Run
    samples: list[Sample]
    begin: float


def gauge_story() -> GaugeStory:
    """A subscribes tagA, B tagB. Both stand still while 40 messages come, then go on; later A's machine is gone."""

    def start(who: str, at: int, tag: str) -> dict[str, Any]:
        return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": {"T": {"type": "TAG", "expr": tag}}}

    messages = [{"body": f"m{number}", "tag": "tagA" if number % 8 < 4 else "tagB"} for number in range(MESSAGES)]
    steps = [
        start("A", 0, "tagA"),
        start("B", 10_000, "tagB"),
        *({"at": 20_000, "do": "pause", "who": who, "forMs": 30_000} for who in "AB"),
        {"at": 25_000, "do": "send", "topic": "T", "messages": messages},
        {"at": 100_000, "do": "kill", "who": "A", "silent": True},
        {"at": 230_000, "do": "offsets"},
    ]
    scenario = convert_scenario({"id": "gauges", "topics": {"T": 4}, "steps": steps}, "gauge story")
    simulation = Simulation(scenario, gauges_every_ms=SAMPLE_MS)
    run = simulation.run()
    begin = next(float(event["t"]) for event in run.events if event["ev"] == "starting")
    return GaugeStory(run, [] if simulation.gauges is None else simulation.gauges.samples, begin)
