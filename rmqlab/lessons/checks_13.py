"""The checks of notebook 13: a cluster sized, where it begins to pay, what its workers need.

Judged by what was measured (`rmqlab.lab.cluster_times`).
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from rmqlab.lab.cluster_times import stored_times
from rmqlab.lessons.check import CheckFailed

PLACE, ALONE, WORKERS = "cluster, 2 workers", "local, 1 core", 2
STORE_GIB, LIMIT_S = 2048, 600
TOO_MANY = 1.34
NEAR = 0.2
NEEDED: Final = {
    "a Java": True,
    "Python with the packages of the extra spark": True,
    "the store's files, under the same path": True,
    "rmqlab itself": False,
    "JupyterLab": False,
    "RocketMQ's jars": False,
}
DIVIDED = "The data is divided among the workers; the session and the first job are not."
SHIPPED = "The session ships the package to the workers; what it imports, Java and the files must be there."
HINTS = {
    "size": "Which part of the time can be divided among workers, and which cannot?",
    "worth": "Write both times as a fixed part and a part for each GiB. When are they equal?",
    "needs": "What can the session bring along, and what must be there before it comes?",
}


def size(answer: Any) -> str:
    """How many workers of one core audit ``STORE_GIB`` within ``LIMIT_S``, by the upper bound of what was measured."""
    sizing = stored_times().sizing(PLACE, STORE_GIB)
    least = ceil(sizing.data.high / (LIMIT_S - sizing.place.fixed))
    if not isinstance(answer, int) or isinstance(answer, bool) or answer < 1:
        raise CheckFailed("Give a whole number of workers.", rule=DIVIDED)
    if answer < least:
        lines = [f"{answer} workers take up to {sizing.seconds(answer).high / 60:.1f} minutes"]
        raise CheckFailed(HINTS["size"], problem=f"{answer} are too few.", rule=DIVIDED, lines=lines)
    if answer > least * TOO_MANY:
        raise CheckFailed(HINTS["size"], problem=f"{answer} are more than a third too many.", rule=DIVIDED)
    found = sizing.seconds(answer).scaled(1 / 60)
    return f"{answer} workers take {found.low:.1f} to {found.high:.1f} minutes; {least} would just do."


def worth(answer: Any) -> str:
    """From how many GiB on ``WORKERS`` workers are sooner done than one core alone, sessions included, by medians."""
    times = stored_times()
    alone, shared = times.sizing(ALONE, 1.0), times.sizing(PLACE, 1.0)
    begin = (shared.place.fixed - alone.place.fixed) / (alone.data.median - shared.data.median / WORKERS)
    if not isinstance(answer, int | float) or isinstance(answer, bool):
        raise CheckFailed("Give a number of GiB.", rule=DIVIDED)
    if abs(answer / begin - 1) > NEAR:
        here, there = (times.sizing(name, max(answer, 0.0)) for name in (ALONE, PLACE))
        one, many = here.seconds(1).median, there.seconds(WORKERS).median
        lines = [f"{answer:g} GiB: one core {one:.0f} s, {WORKERS} workers {many:.0f} s"]
        raise CheckFailed(
            HINTS["worth"], problem=f"{answer:g} GiB is not where the two are equal.", rule=DIVIDED, lines=lines
        )
    return f"From {begin:.2g} GiB on, by the medians. Well below it the cluster still starts when one core is done."


def needs(answer: Any) -> str:
    """Which of ``NEEDED`` must be on each worker before a session comes: a set of names."""
    given = set(answer) if isinstance(answer, set | list | tuple | frozenset) else None
    if given is None or not given <= set(NEEDED):
        raise CheckFailed(f"Give a set of these: {', '.join(NEEDED)}.", rule=SHIPPED)
    for name, needed in NEEDED.items():
        if needed and name not in given:
            raise CheckFailed(
                HINTS["needs"], problem="Something is missing: without it no task runs there.", rule=SHIPPED
            )
        if name in given and not needed:
            raise CheckFailed(
                HINTS["needs"], problem="No worker needs all of that before the session comes.", rule=SHIPPED
            )
    return "These three. The package comes with the session, the notebook stays with you."


CHECKS = {"13-size": size, "13-worth": worth, "13-needs": needs}
