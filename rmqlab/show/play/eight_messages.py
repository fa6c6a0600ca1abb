"""The eight messages to play with: the controls of notebook 01."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab.show.explore import ChoiceControl, Mode, Text, explore
from rmqlab.show.outcome import outcome

if TYPE_CHECKING:
    from rmqlab.show.figure import Picture

HOUR_MS = 3_600_000
ORDERS = {"A, then B": ("A", "B"), "B, then A": ("B", "A")}
GAPS = {
    "0 ms": 0, "5 ms": 5, "20 ms": 20, "200 ms": 200, "1 s": 1_000, "3 s": 3_000, "12 s": 12_000, "31 s": 31_000,
    "60 s": 60_000,
}  # fmt: skip
IDS = {
    "A …@4711, B …@4902": ("4711", "4902"),
    "A …@4902, B …@4711": ("4902", "4711"),
    "A …@9980, B …@10020": ("9980", "10020"),
}
MESSAGES = {
    "4 tagA, then 4 tagB": "AAAABBBB",
    "4 tagB, then 4 tagA": "BBBBAAAA",
    "A and B in turn": "ABABABAB",
    "in pairs: A A B B": "AABBAABB",
}
CLOCKS: dict[str, dict[str, int]] = {
    "all clocks agree": {},
    "A's is 10 ms ahead": {"A": 10},
    "A's is 1 hour ahead": {"A": HOUR_MS},
    "B's is 1 hour behind": {"B": -HOUR_MS},
}
STEADY = 0  # no seed; None would mean that nothing is chosen
DELAYS = {"always the same": STEADY} | {f"as on a real machine, {seed}": seed for seed in range(1, 10)}
MOST_QUEUES = 8


def play(*, mode: Mode = "live", queues: int = 4, gap_ms: int = 60_000) -> None:
    """Show the outcome for the given queues and gap, then controls for everything that may be varied.

    `mode` "static" leaves the controls out.
    """
    gaps = dict(sorted((GAPS | {_gap(gap_ms): gap_ms}).items(), key=lambda pair: pair[1]))
    many = {str(count): count for count in sorted({*range(1, MOST_QUEUES + 1), queues})}
    explore(
        _draw,
        mode=mode,
        order=ChoiceControl("Start order", ORDERS),
        gap=ChoiceControl("Gap of the starts", gaps, start=_gap(gap_ms), slider=True),
        ids=ChoiceControl("Client ids", IDS),
        queues=ChoiceControl("Queues", many, start=str(queues), slider=True),
        tags_a=Text("A subscribes", "tagA"),
        tags_b=Text("B subscribes", "tagB"),
        messages=ChoiceControl("Messages", MESSAGES),
        clocks=ChoiceControl("Clocks", CLOCKS),
        delays=ChoiceControl("Network delays", DELAYS),
    )


def _gap(ms: int) -> str:
    return next((name for name, value in GAPS.items() if value == ms), f"{ms} ms")


def _draw(
    *,
    order: tuple[str, str],
    gap: int,
    ids: tuple[str, str],
    queues: int,
    tags_a: str,
    tags_b: str,
    messages: str,
    clocks: dict[str, int],
    delays: int,
) -> Picture:
    experiment = EightMessages(
        start_order=order,
        gap_ms=gap,
        client_ids={who: f"{CLIENT_IP}@{pid}" for who, pid in zip("AB", ids, strict=True)},
        queues=queues,
        tags={"A": tags_a, "B": tags_b},
        sending_order=messages,
        skew_ms=clocks,
        seed=None if delays == STEADY else delays,
    )
    return outcome(experiment.run())
