"""The totals of an audit by group and topic, as its JSON has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.lab.fates import LOSING, Fate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.spark.audit.subscriptions import Key


def totals(
    keys: Iterable[Key], counts: Iterable[Mapping[str, Any]], lost: Iterable[Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return by group and topic: sent, delivered, lost, by_fate, lost_by_*, lost_ids, first_lost, last_lost (epoch ms).

    `counts` and `lost` are rows of `Audit.counts` and `Audit.lost`; the ids are in the order of `lost`.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for group, topic in keys:
        found.setdefault(group, {})[topic] = {
            "sent": 0,
            "delivered": 0,
            "lost": 0,
            "by_fate": {},
            "lost_by_certainty": {},
            "lost_by_tag": {},
            "lost_by_queue": {},
            "lost_unless_nobody_asked": 0,
            "lost_unknown_because": {},
            "lost_ids": [],
        }
    for row in counts:
        one, number = found[row["group"]][row["topic"]], row["messages"]
        one["sent"] += number
        one["by_fate"][row["fate"]] = one["by_fate"].get(row["fate"], 0) + number
        if row["fate"] == Fate.DELIVERED:
            one["delivered"] += number
        elif Fate(row["fate"]) in LOSING and row["asked"] != "no":
            one["lost"] += number
            one["lost_unless_nobody_asked"] += number * (row["asked"] == "unknown")
            for part, name in (("certainty", row["certainty"]), ("tag", row["tag"]), ("queue", row["queueId"])):
                cells, text = one[f"lost_by_{part}"], "" if name is None else str(name)
                cells[text] = cells.get(text, 0) + number
    for row in lost:
        one = found[row["group"]][row["topic"]]
        if row["reason"]:
            one["lost_unknown_because"][row["reason"]] = one["lost_unknown_because"].get(row["reason"], 0) + 1
        one["lost_ids"].append(row["offsetMsgId"])
        one.setdefault("first_lost", row["storeTimestamp"])
        one["last_lost"] = row["storeTimestamp"]
    return found
