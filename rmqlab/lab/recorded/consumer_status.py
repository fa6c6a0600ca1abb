"""What the real admin tool said of a group whose members disagree, and what decides that."""

from __future__ import annotations

from typing import NamedTuple

from rmqlab.checkout import folder
from rmqlab.filter import filter_api
from rmqlab.filter.consistency import RunningConsumer, analyze_subscription
from rmqlab.search.explorer.recorded_outcomes import recorded_events

RECORDED = ("golden", "broker-4.8.0", "admin")
COMMAND = "$ mqadmin consumerStatus -g G_"
WANTED = {"A": "tagA", "B": "tagB"}


class ConsumerStatus(NamedTuple):
    """The tool's lines, and how long (ms) the member with the lowest client id had run when it was asked."""

    command: str
    lines: list[str]
    age_ms: int


def recorded_consumer_status() -> ConsumerStatus:
    """What `consumerStatus` printed of the recorded group in which A asks for tagA and B for tagB."""
    path = folder("data").joinpath(*RECORDED)
    text = (path / "mqadmin.txt").read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(text) if line.startswith(COMMAND))
    after = next(number for number in range(first + 1, len(text)) if text[number].startswith("$ "))
    lines = [line for line in text[first + 1 : after] if line.strip()]
    asked_at = int(lines[0].split()[-1].partition("/")[0])  # the tool names the file of a client after its own clock
    events = next(iter(recorded_events(path).values()))
    started = next(event["t"] for event in events if event["ev"] == "started" and event["who"] == "A")
    return ConsumerStatus(text[first], lines, asked_at - int(events[0]["epochMs"]) - int(started))


def found_consistent(age_ms: int) -> bool:
    """Whether the tool finds the same group consistent when its first member has run `age_ms`."""
    members = {
        f"192.0.2.2@{who}": RunningConsumer(
            push=True, started=0, subscriptions=[filter_api.build_subscription_data("G", "T", tag, 0)]
        )
        for who, tag in WANTED.items()
    }
    return analyze_subscription(members, age_ms)
