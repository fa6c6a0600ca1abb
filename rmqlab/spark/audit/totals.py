"""The totals of an audit by group and topic, as its JSON has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.lab.fates import LOSING, Fate
from rmqlab.spark.audit.verdict import ASKED, CERTAINTIES, MAYBE, NO, UNKNOWN, YES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.spark.audit.subscriptions import Key


def totals(
    keys: Iterable[Key], counts: Iterable[Mapping[str, Any]], lost: Iterable[Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return by group and topic the figures of an audit.

    sent, delivered, lost, unknown; by_fate, by_certainty, unknown_because; lost_by_*, lost_ids, first_lost, last_lost
    (epoch ms). `delivered` and `lost` have only what is proved or implied, `unknown` what is neither. `may_be_lost` is
    what an offset passed, where it is not known whether it was delivered, or whether somebody asked for it.
    `asked_for`: the subscriptions of all members, where those are known. `counts` and `lost` are rows of `Audit.counts`
    and `Audit.lost`; the ids are in the order of `lost`.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for group, topic in keys:
        found.setdefault(group, {})[topic] = {
            "sent": 0,
            "delivered": 0,
            "lost": 0,
            "unknown": 0,
            "may_be_lost": 0,
            "by_fate": {},
            "by_certainty": {},
            "unknown_because": {},
            "asked_for": [],
            "lost_by_tag": {},
            "lost_by_queue": {},
            "lost_ids": [],
        }
    for row in counts:
        one, number = found[row["group"]][row["topic"]], row["messages"]
        one["sent"] += number
        _add(one["by_fate"], row["fate"], number)
        _add(one["by_certainty"].setdefault(row["certainty"], {}), row["fate"], number)
        if row["certainty"] == CERTAINTIES[UNKNOWN]:
            one["unknown"] += number
            _add(one["unknown_because"], row["reason"], number)
            one["may_be_lost"] += number * (row["fate"] != Fate.WAITING and row["asked"] != ASKED[NO])
        elif row["fate"] == Fate.DELIVERED:
            one["delivered"] += number
        elif Fate(row["fate"]) in LOSING and row["asked"] == ASKED[MAYBE]:
            one["may_be_lost"] += number
        elif is_lost(row):
            one["lost"] += number
            _add(one["lost_by_tag"], row["tag"] or "", number)
            _add(one["lost_by_queue"], str(row["queueId"]), number)
    for row in filter(is_lost, lost):
        one = found[row["group"]][row["topic"]]
        one["lost_ids"].append(row["offsetMsgId"])
        one.setdefault("first_lost", row["storeTimestamp"])
        one["last_lost"] = row["storeTimestamp"]
    return found


def is_lost(row: Mapping[str, Any]) -> bool:
    """Tell whether a row of counts or messages is a loss for certain: dropped or skipped, and asked for."""
    return row["certainty"] != CERTAINTIES[UNKNOWN] and row["asked"] == ASKED[YES] and Fate(row["fate"]) in LOSING


def _add(cells: dict[str, int], name: str, number: int) -> None:
    cells[name] = cells.get(name, 0) + number
