"""The parameters of a group that starts, as the reduced model and the whole core take them."""

from __future__ import annotations

from dataclasses import dataclass

from rmqlab.errors import BadInput

MOST_MEMBERS, MOST_QUEUES, MOST_SHARED = 32, 64, 16


@dataclass(frozen=True, slots=True)
class GroupStart:
    """Parameters of a run.

    ``members`` start ``gap_ms`` after one another, in the order of their client ids, or against it with ``reverse``.
    Each asks for a tag of its own and for ``shared`` tags that all ask for. ``messages`` are sent ``every_ms`` from
    ``first_ms`` after the first start on, one queue after the other, with tags drawn evenly. A frame takes
    ``delay_us``, and up to ``jitter`` times as much again, drawn evenly; clocks differ by up to ``skew_ms``. The
    broker's check of held pulls comes every 5 s, ``check_phase_ms`` after the first start, drawn if negative.
    """

    members: int = 2
    queues: int = 4
    shared: int = 0
    gap_ms: float = 1_000.0
    delay_us: int = 1_000
    jitter: float = 0.0
    skew_ms: float = 0.0
    messages: int = 64
    every_ms: float = 100.0
    first_ms: float = 5_000.0
    reverse: bool = False
    check_phase_ms: float = -1.0

    def checked(self) -> GroupStart:
        """Itself.

        Raises:
            BadInput: a parameter out of its range; the text names it and the range.
        """
        for name, low, high in (
            ("members", 1, MOST_MEMBERS), ("queues", 1, MOST_QUEUES), ("shared", 0, MOST_SHARED),
            ("gap_ms", 0, 600_000), ("delay_us", 1, 10_000_000), ("jitter", 0, 1_000), ("skew_ms", 0, 600_000),
            ("messages", 0, 1_000_000), ("every_ms", 0, 600_000), ("first_ms", 0, 86_400_000),
            ("check_phase_ms", -1, 5_000),
        ):  # fmt: skip
            value = getattr(self, name)
            if not low <= value <= high:
                raise BadInput(f"{name} is {value}; it lies between {low} and {high}")
        return self
