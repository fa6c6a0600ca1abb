# ruff: noqa: INP001 - pages import it by its own name
"""The playground "the loss": a state becomes pictures, tables and words."""

from __future__ import annotations

from rmqlab import Lab


def draw(_state: dict[str, object]) -> dict[str, str]:
    """The swimlane and the grid of fates of eight messages, as HTML."""
    lab = Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=30)
    return {"swimlane": lab.swimlane().html(), "grid": lab.grid().html()}
