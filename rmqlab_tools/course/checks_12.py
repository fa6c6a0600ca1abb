"""The checks of notebook 12: the law as a function, a sweep of one's own, a question to stored rows."""

from __future__ import annotations

from numbers import Real
from typing import Any

from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab_tools.course.answers import called, needs_function, rows_of
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.sweeps_12 import TagGroup, stored_sweep

NEAR = 0.0005
# Members, queues, shared tags, by what decides.
CASES = {
    "two-checks": ((2, 8, 0), (3, 12, 0), (4, 16, 0), (1, 5, 0)),
    "shared-tags": ((2, 8, 1), (3, 12, 2), (4, 8, 6)),
    "last-member": ((3, 8, 0), (4, 6, 0), (5, 3, 0), (6, 16, 2), (7, 20, 1)),
}
RING, RING_QUEUES = (2, 3, 4, 5, 6), 12
MAX_ALARMS, LATEST_MS = 1_000, 70_000


def law(answer: Any) -> str:
    """A function of members, queues and shared tags: the share that arrives."""
    needs_function(answer, _("Give a function of members, queues and shared."), rule=OF_TASK)
    number = 0
    for decides, cases in CASES.items():
        for members, queues, shared in cases:
            case = _(
                "members: {members}, queues: {queues}, shared tags: {shared}",
                members=members,
                queues=queues,
                shared=shared,
            )
            said = called(answer, members, queues, shared, context=(_("For {case}", case=case) + " "))
            shares = TagGroup(members, queues, shared).shares()
            if not isinstance(said, Real) or not abs(float(said) - shares["delivered"]) <= NEAR:
                lines = [
                    _(
                        "dropped by the broker: {dropped_by_broker_tag} of the messages",
                        dropped_by_broker_tag=f"{shares['dropped_by_broker_tag']:.4f}",
                    )
                ]
                raise CheckFailed(
                    case=decides, problem=_("For {case} it says {said}.", case=case, said=said), lines=lines
                )
            number += 1
    return _("As in {number} clusters, with queues that divide evenly and others.", number=number)


def sweep(answer: Any) -> str:
    """Rows of members and the share delivered, where each member asks for its own tag and the next one's."""
    rows = rows_of(answer)
    try:
        share_of = {int(row["members"]): float(row["delivered"]) for row in rows}
    except (KeyError, TypeError, ValueError):
        raise CheckFailed(case="rows") from None
    if sorted(share_of) != list(RING) or len(rows) != len(RING):
        raise CheckFailed(
            case="rows", problem=_("Your rows are of {found} members.", found=joined(", ", sorted(share_of)))
        )
    for members in RING:
        if not abs(share_of[members] - ring(members)) <= NEAR:  # nor is NaN near
            raise CheckFailed(
                case="ring",
                problem=_("{members} members: not {found}.", members=members, found=f"{share_of[members]:.4g}"),
            )
    return _(
        "Two tags pass the broker, and three members keep something of them. So nearly four times as much arrives."
    )


def ring(members: int) -> float:
    """The share that arrives; members start one second apart, and all is sent five seconds later."""
    lab = Lab(topics={"T": RING_QUEUES})
    tags = [f"tag{number}" for number in range(members)]
    for number in range(members):
        wanted = f"{tags[number]} || {tags[(number + 1) % members]}"
        lab.consumer(f"C{number}", group="G", subscribe={"T": wanted})
        lab.run(seconds=1)
    lab.run(seconds=5)
    for queue in range(RING_QUEUES):
        lab.send("T", tags, queues=queue)
    lab.run(seconds=25)
    return len(lab.consumed()) / len(lab.messages())


def query(answer: Any) -> str:
    """One row: the period and expiry that cost the fewest beats within both bounds."""
    rows = rows_of(answer)
    if len(rows) != 1 or not {"period_ms", "expiry_ms"} <= set(rows[0]):
        raise CheckFailed(
            _("Give one row with the columns period_ms and expiry_ms: order by the cost, keep the first.")
        )
    settings = {
        (row["period_ms"], row["expiry_ms"]): row
        for row in stored_sweep("heartbeats").good
        if (row["clients"], row["scan_ms"]) == (1_000_000, 10_000) and row["lost"]
    }
    chosen = settings.get((rows[0]["period_ms"], rows[0]["expiry_ms"]))
    if chosen is None:
        raise CheckFailed(_("The file has no such period and expiry."))
    name = _(
        "{period_ms} s and {expiry_ms} s", period_ms=chosen["period_ms"] // 1000, expiry_ms=chosen["expiry_ms"] // 1000
    )
    if chosen["false_expiries_an_hour"] >= MAX_ALARMS:
        problem = _(
            "{name}: {false_expiries_an_hour} false alarms an hour.",
            name=name,
            false_expiries_an_hour=f"{chosen['false_expiries_an_hour']:,}",
        )
        raise CheckFailed(case="alarms", problem=problem)
    if chosen["detection_max_ms"] > LATEST_MS:
        raise CheckFailed(
            case="late",
            problem=_(
                "{name}: {detection_max_ms} ms at the latest.",
                name=name,
                detection_max_ms=f"{chosen['detection_max_ms']:,}",
            ),
        )
    fit = [
        row["beats_a_second"]
        for row in settings.values()
        if row["false_expiries_an_hour"] < MAX_ALARMS and row["detection_max_ms"] <= LATEST_MS
    ]
    if chosen["beats_a_second"] > min(fit):
        raise CheckFailed(
            case="costs",
            problem=_(
                "{name}: {beats_a_second} beats a second.", name=name, beats_a_second=f"{chosen['beats_a_second']:,.0f}"
            ),
        )
    return _(
        "{name}: {beats_a_second} beats a second arrive.", name=name, beats_a_second=f"{chosen['beats_a_second']:,.0f}"
    )


CHECKS = {"12-law": law, "12-sweep": sweep, "12-query": query}
