"""The checks of notebook 13: a query over a store, a cluster sized under an assumption, what its workers need."""

from __future__ import annotations

import json
from collections import Counter
from math import ceil
from typing import Any, Final

from rmqlab.checkout import data
from rmqlab.language import _, joined
from rmqlab.run.fates import Fate
from rmqlab_tools.course.answers import needs_number, recorded, rows_of
from rmqlab_tools.course.check import OF_TASK, CheckFailed

SCENARIO, TOPIC = "p-audit-006", "T_p-audit-006"
PLACE = "cluster, 2 workers"
GIB, STORE_GIB, LIMIT_S = 1 << 30, 2048, 600
TOO_MANY = 1.34
NEEDED: Final = {
    "a Java": True,
    _("Python with the packages of the extra spark"): True,
    _("the store's files, under the same path"): True,
    _("rmqlab itself"): False,
    "JupyterLab": False,
    _("RocketMQ's jars"): False,
}


def query(answer: Any) -> str:
    """Rows of queueId, sent and lost, one for each queue of `TOPIC`."""
    rows = rows_of(answer)
    if not rows or not {"queueId", "sent", "lost"} <= set(rows[0]):
        raise CheckFailed(_("Give one row for each queue, with the columns queueId, sent and lost."))
    sent, arrived = _recorded()
    answered = {int(row["queueId"]): (int(row["sent"]), int(row["lost"])) for row in rows}
    if len(answered) != len(rows) or set(answered) != set(sent):
        raise CheckFailed(problem=_("Your rows are of queues {found}.", found=sorted(answered)))
    for queue, (count, lost) in sorted(answered.items()):
        if count != sent[queue]:
            raise CheckFailed(problem=_("Queue {queue}: {count} were not sent.", queue=queue, count=count))
        if lost != sent[queue] - arrived[queue]:
            raise CheckFailed(problem=_("Queue {queue}: {lost} were not lost.", queue=queue, lost=lost))
    total = sum(lost for _, lost in answered.values())
    return _("{total} of {sent} lost, and each queue lost some.", total=total, sent=sum(sent.values()))


def _recorded() -> tuple[Counter[int], Counter[int]]:
    """Messages sent and messages that arrived, by queue, as the recording says."""
    fates = recorded("audit", SCENARIO).run.fates
    return Counter(fate.queue for fate in fates), Counter(fate.queue for fate in fates if fate.fate is Fate.DELIVERED)


def size(answer: Any) -> str:
    """How many workers of one core audit `STORE_GIB` within `LIMIT_S`, if each byte costs the upper bound."""
    fixed, data = measured()
    least = ceil(data / (LIMIT_S - fixed))
    needs_number(answer, _("Give a whole number of workers."), least=1)
    if answer < least:
        lines = [
            _("{answer} workers take up to {fixed} minutes", answer=answer, fixed=f"{(fixed + data / answer) / 60:.1f}")
        ]
        raise CheckFailed(problem=_("{answer} are too few.", answer=answer), lines=lines)
    if answer > least * TOO_MANY:
        raise CheckFailed(problem=_("{answer} are more than a third too many.", answer=answer))
    return _(
        "{answer} workers take up to {fixed} minutes; {least} would just do.",
        answer=answer,
        fixed=f"{(fixed + data / answer) / 60:.1f}",
        least=least,
    )


def measured() -> tuple[float, float]:
    """Seconds before the first byte at `PLACE`, and for `STORE_GIB` at most, if each byte costs as measured."""
    times = json.loads(data("cluster/times.json").read_text(encoding="utf-8"))
    place = next(measured_place for measured_place in times["places"] if measured_place["name"] == PLACE)
    a_gib = place["data"] * (1 + place["swing"]) / (times["bytes"] / GIB)
    return place["session"] + place["first"], a_gib * STORE_GIB


def needs(answer: Any) -> str:
    """Which of `NEEDED` must be on each worker before a session comes: a set of names."""
    given = set(answer) if isinstance(answer, set | list | tuple | frozenset) else None
    if given is None or not given <= set(NEEDED):
        raise CheckFailed(_("Give a set of these: {needed}.", needed=joined(", ", NEEDED)), rule=OF_TASK)
    right = {name for name, needed in NEEDED.items() if needed}
    if right - given:
        raise CheckFailed(problem=_("Something is missing: without it no task runs there."))
    if given - right:
        raise CheckFailed(problem=_("No worker needs all of that before the session comes."))
    return _("These three. The package comes with the session, the notebook stays with you.")


CHECKS = {"13-query": query, "13-size": size, "13-needs": needs}
