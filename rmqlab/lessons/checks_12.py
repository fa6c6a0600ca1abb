"""The checks of notebook 12: the law as a function, a sweep of one's own, a question to stored rows."""

from __future__ import annotations

from typing import Any

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.lessons.check import CheckFailed, needs_function
from rmqlab.lessons.rule_judge import called
from rmqlab.spark.sweeps.results import stored_sweep
from rmqlab.spark.sweeps.tag_group import TagGroup

NEAR = 0.0005
# Members, queues, shared tags; what to think about when the first ones that are wrong are these.
CASES = {
    "A message passes two checks. Which share passes the first, and which share of that the second?": (
        (2, 8, 0), (3, 12, 0), (4, 16, 0), (1, 5, 0),
    ),
    "Tags that all ask for pass both checks. Which part of all tags are they?": ((2, 8, 1), (3, 12, 2), (4, 8, 6)),
    "How many queues does the last member own when they do not divide evenly?": (
        (3, 8, 0), (4, 6, 0), (5, 3, 0), (6, 16, 2), (7, 20, 1),
    ),
}  # fmt: skip
LAW = (
    "The broker holds one subscription for the group, the winner's (S-52); of what passes, the winner keeps what lies"
    " in its own queues, and what these are depends on members and queues (S-45)."
)
RING, RING_QUEUES = (2, 3, 4, 5, 6), 12
RING_HINT = "Member n asks for tag n and for the tag of the next member; the last one asks for the first tag again."
ROWS_HINT = "Give a frame with one row for each of 2, 3, 4, 5 and 6 members, and the columns members and delivered."
MOST_ALARMS, LATEST_MS = 1_000, 70_000
COST = "Each further beat that fits into the expiry makes false alarms rarer, and costs beats (H-41)."


def law(answer: Any) -> str:
    """A function of members, queues and shared tags: the share that arrives."""
    needs_function(answer, "Give a function of members, queues and shared.", LAW)
    number = 0
    for hint, cases in CASES.items():
        for members, queues, shared in cases:
            case = f"{members} members, {queues} queues, {shared} shared tags"
            said = called(answer, members, queues, shared, told=f"For {case} ")
            found = TagGroup(members, queues, shared).shares()
            if not isinstance(said, int | float) or not abs(said - found["delivered"]) <= NEAR:
                lines = [f"dropped by the broker: {found['dropped_by_broker_tag']:.4f} of the messages"]
                raise CheckFailed(hint, rule=LAW, problem=f"For {case} it says {said}.", lines=lines)
            number += 1
    return f"As in {number} clusters, with queues that divide evenly and others."


def sweep(answer: Any) -> str:
    """Rows of members and the share delivered, where each member asks for its own tag and the next one's."""
    rows = _rows(answer)
    try:
        found = {int(row["members"]): float(row["delivered"]) for row in rows}
    except (KeyError, TypeError, ValueError):
        raise CheckFailed(ROWS_HINT) from None
    if sorted(found) != list(RING) or len(rows) != len(RING):
        raise CheckFailed(ROWS_HINT, problem=f"Your rows are of {', '.join(map(str, sorted(found)))} members.")
    for members in RING:
        if abs(found[members] - ring(members)) > NEAR:
            problem = f"{members} members: not {found[members]:.4g}."
            raise CheckFailed(RING_HINT, rule=LAW, problem=problem)
    return "Two tags pass the broker, and three members keep something of them. So nearly four times as much arrives."


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
    rows = _rows(answer)
    if len(rows) != 1 or not {"period_ms", "expiry_ms"} <= set(rows[0]):
        raise CheckFailed("Give one row with the columns period_ms and expiry_ms: order by the cost, keep the first.")
    settings = {
        (row["period_ms"], row["expiry_ms"]): row
        for row in stored_sweep("heartbeats").good
        if (row["clients"], row["scan_ms"]) == (1_000_000, 10_000) and row["lost"]
    }
    chosen = settings.get((rows[0]["period_ms"], rows[0]["expiry_ms"]))
    if chosen is None:
        raise CheckFailed("The file has no such period and expiry.")
    name = f"{chosen['period_ms'] // 1_000} s and {chosen['expiry_ms'] // 1_000} s"
    if chosen["false_expiries_an_hour"] >= MOST_ALARMS:
        problem = f"{name}: {chosen['false_expiries_an_hour']:,} false alarms an hour."
        hint = "Too many false alarms. Which rows of the file have lost beats?"
        raise CheckFailed(hint, rule=COST, problem=problem)
    if chosen["detection_max_ms"] > LATEST_MS:
        problem = f"{name}: {chosen['detection_max_ms']:,} ms at the latest."
        raise CheckFailed("Noticed too late. At the latest is not the mean.", rule=COST, problem=problem)
    fit = [row for row in settings.values() if _is_within_bounds(row)]
    if chosen["beats_a_second"] > min(row["beats_a_second"] for row in fit):
        problem = f"{name}: {chosen['beats_a_second']:,.0f} beats a second."
        raise CheckFailed("Both bounds are kept, but another setting costs less.", rule=COST, problem=problem)
    return f"{name}: {chosen['beats_a_second']:,.0f} beats a second arrive."


def _is_within_bounds(row: dict[str, Any]) -> bool:
    return bool(row["false_expiries_an_hour"] < MOST_ALARMS and row["detection_max_ms"] <= LATEST_MS)


def _rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of a Spark frame, a pandas frame, or a list of dicts."""
    if hasattr(answer, "toPandas"):
        answer = answer.toPandas()
    if hasattr(answer, "to_dict"):
        answer = answer.to_dict("records")
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        raise BadInput("rows are a Spark frame, a pandas frame, or a list of dicts")
    return answer


CHECKS = {"12-law": law, "12-sweep": sweep, "12-query": query}
