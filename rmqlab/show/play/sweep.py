"""The control of notebook 12: any three axes of the stored sweep as panels, lines and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.multiples import multiples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.show.figure import Picture

NAMES: Final = {
    "members": "members", "queues": "queues", "shared": "shared tags", "gap_ms": "gap of the starts, ms",
    "delay_us": "frame, µs", "traffic": "traffic:", "delivered": "share delivered", "law": "the law 1/n²",
    "dropped_by_broker_tag": "share dropped by the broker", "dropped_by_client": "share dropped by the client",
    "last_wins": "share of runs in which the last starter wins",
}  # fmt: skip
AXES: Final = ("members", "queues", "shared", "gap_ms", "delay_us", "traffic")
USUAL: Final = {
    "members": 2, "queues": 8, "shared": 0, "gap_ms": 1_000, "delay_us": 1_000, "traffic": "settled",
}  # fmt: skip
VALUES: Final = ("delivered", "dropped_by_broker_tag", "dropped_by_client", "last_wins")


def loss_picture(
    records: Sequence[Mapping[str, Any]], *, value: str = "delivered", x: str = "members", panels: str = "queues",
    lines: str = "shared", **fixed: object,
) -> Picture:  # fmt: skip
    """Small multiples of the stored sweep `loss`; axes that are not shown stand at ``USUAL`` or at ``fixed``.

    Raises:
        BadInput: an axis twice, or a value that the sweep does not have.
    """
    others = {name: fixed.get(name, USUAL[name]) for name in AXES if name not in {x, panels, lines}}
    standing = ", ".join(f"{NAMES[name]} {value}" for name, value in others.items())
    return multiples(
        records, value=value, x=x, lines=lines, panels=panels, fixed=others, names=NAMES,
        title=f"{NAMES[value].capitalize()} ({standing})",
        law=(lambda one: 1 / one["members"] ** 2) if value == "delivered" and x == "members" else None,
    )  # fmt: skip


def play_sweep(records: Sequence[Mapping[str, Any]], *, mode: Mode = "live", x: str = "members") -> None:
    """The stored sweep with its axes to choose; raises `BadInput` for an axis that there is not."""
    axes = {NAMES[name].removesuffix(":"): name for name in AXES}
    if x not in AXES:
        raise BadInput(f"x is {x!r}; the axes are {', '.join(AXES)}")

    def draw(*, value: str, x: str, panels: str, lines: str, members: int) -> Picture:
        return loss_picture(records, value=value, x=x, panels=panels, lines=lines, members=members)

    counts = sorted({record["members"] for record in records})
    start = {name: words for words, name in axes.items()}
    # three different axes: what stands from left to right is no panel and no line
    panels, lines = [name for name in ("queues", "shared", "members") if name != x][:2]
    explore(
        draw,
        mode=mode,
        value=ChoiceControl("What", {NAMES[name]: name for name in VALUES}),
        x=ChoiceControl("From left to right", axes, start=start[x]),
        panels=ChoiceControl("Panels", axes, start=start[panels]),
        lines=ChoiceControl("Lines", axes, start=start[lines]),
        members=ChoiceControl(
            "Members, where no axis", {str(count): count for count in counts}, start="2", slider=True
        ),
    )
