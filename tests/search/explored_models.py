"""Small models for the tests of exploration: consumers of one group, two tags, two messages a queue."""

from __future__ import annotations

from rmqlab.scenario.scenario import Scenario, convert_scenario


def start(who: str, at: int, expr: str, **more: object) -> dict[str, object]:
    subscribe = {"T": {"type": "TAG", "expr": expr}}
    return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": subscribe, **more}


def model(queues: int, *steps: dict[str, object], end: int = 34_000, also: dict[str, int] | None = None) -> Scenario:
    """Messages m0 (a) and m1 (b) go to queue 0 of T, m2 (a) and m3 (b) to queue 1, and so on; ``also``: more topics."""
    messages = [{"body": f"m{i}", "tag": "ab"[i % 2], "queue": i // 2} for i in range(2 * queues)]
    send = {"at": 8_000, "do": "send", "topic": "T", "messages": messages}
    return convert_scenario({
        "id": "x", "topics": {"T": queues, **(also or {})}, "steps": [*steps, send, {"at": end, "do": "offsets"}],
    })  # fmt: skip


ONE = model(1, start("A", 0, "a"))
TWO_ON_ONE_QUEUE = model(1, start("A", 0, "a"), start("B", 2_000, "b"))
TWO_ON_TWO_QUEUES = model(2, start("A", 0, "a"), start("B", 2_000, "b"))
TWO_AT_ONCE = model(2, start("A", 0, "a"), start("B", 0, "b"))
BROADCASTING = model(1, start("A", 0, "a", mode="broadcasting"), start("B", 2_000, "b", mode="broadcasting"))
