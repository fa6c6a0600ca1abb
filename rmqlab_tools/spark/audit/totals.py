"""What an audit sums up: totals by group and topic, and what to send again. Nothing here sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import _
from rmqlab.message.topics import retry_topic
from rmqlab.run.fates import LOSING, Fate
from rmqlab_tools.spark.audit.fate_codes import ASKED_WORDS, CERTAINTIES, Answer, CertaintyCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from rmqlab_tools.spark.audit.subscriptions import Key


def totals(
    keys: Iterable[Key], counts: Iterable[Mapping[str, Any]], lost: Iterable[Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """By group and topic the figures of an audit.

    sent, delivered, lost, unknown; by_fate, by_certainty, unknown_because; lost_by_*, lost_ids, first_lost, last_lost
    (epoch ms). `delivered` and `lost` have only what is proved or implied, `unknown` what is neither. `may_be_lost` is
    what an offset passed, where it is not known whether it was delivered, or whether somebody asked for it.
    `asked_for`: the subscriptions of all members, where those are known. `by_broker`: sent, delivered, lost, unknown of
    each broker, where there are several; queues have the broker's name then. `counts` and `lost` are rows of
    `Audit.counts` and `Audit.lost`; the ids are in the order of `lost`.
    """
    by_group: dict[str, dict[str, dict[str, Any]]] = {}
    for group, topic in keys:
        by_group.setdefault(group, {})[topic] = {
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
        figures, number = by_group[row["group"]][row["topic"]], row["messages"]
        figures["sent"] += number
        account = _account(row)
        if account is not None:
            figures[account] += number
        if "broker" in row:
            at_broker = figures.setdefault("by_broker", {}).setdefault(row["broker"], dict.fromkeys(_BY_BROKER, 0))
            for name in {"sent", account} - {None}:
                at_broker[name] += number
        _add(figures["by_fate"], row["fate"], number)
        _add(figures["by_certainty"].setdefault(row["certainty"], {}), row["fate"], number)
        if account == "unknown":
            _add(figures["unknown_because"], row["reason"], number)
            figures["may_be_lost"] += number * (row["fate"] != Fate.WAITING and row["asked"] != ASKED_WORDS[Answer.NO])
        elif account == "lost":
            _add(figures["lost_by_tag"], row["tag"] or "", number)
            _add(figures["lost_by_queue"], _queue(row), number)
        elif account is None and Fate(row["fate"]) in LOSING and row["asked"] == ASKED_WORDS[Answer.MAYBE]:
            figures["may_be_lost"] += number
    for row in filter(is_lost, lost):
        figures = by_group[row["group"]][row["topic"]]
        figures["lost_ids"].append(row["offsetMsgId"])
        figures.setdefault("first_lost", row["storeTimestamp"])
        figures["last_lost"] = row["storeTimestamp"]
    return by_group


def is_lost(row: Mapping[str, Any]) -> bool:
    """Whether a row of counts or messages is a loss for certain: dropped or skipped, and asked for."""
    return (
        row["certainty"] != CERTAINTIES[CertaintyCode.UNKNOWN]
        and row["asked"] == ASKED_WORDS[Answer.YES]
        and Fate(row["fate"]) in LOSING
    )


def resend_plan(lost: pa.Table) -> list[dict[str, Any]]:
    """One entry a (group, topic) of a table of lost messages, with two ways and the duplicates of each.

    `messages` are lost for certain; `perhaps` may be lost, and `duplicates` does not count them.

    A message sent to its topic again reaches every group: those that have got it get it twice. One sent to the group's
    retry topic reaches that group alone, whose members all subscribe to it with `*`: any of them may get it, also one
    that never asked for its tag (4.8.0 `DefaultMQPushConsumerImpl.copySubscription`).
    """
    plan: dict[tuple[str, str], dict[str, Any]] = {}
    columns = ["group", "topic", "offsetMsgId", "elsewhere", "asked", "certainty", "fate"]
    for row in lost.select(columns).to_pylist():
        group, topic = row["group"], row["topic"]
        entry = plan.setdefault(
            (group, topic),
            {
                "group": group,
                "topic": topic,
                "first_check": _("repair the group's subscriptions: all members the same, or it is lost again"),
                "to_topic": {"topic": topic, "duplicates": 0},
                "to_retry_topic": {"topic": retry_topic(group), "duplicates": 0},
                "messages": [],
                "perhaps": [],
            },
        )
        if not is_lost(row):
            # Sent again, it would come twice if it was delivered, by either way.
            entry["perhaps"].append(row["offsetMsgId"])
            continue
        entry["to_topic"]["duplicates"] += row["elsewhere"]
        entry["messages"].append(row["offsetMsgId"])
    return [plan[key] for key in sorted(plan)]


_BY_BROKER: Final = ("sent", "delivered", "lost", "unknown")


def _account(row: Mapping[str, Any]) -> str | None:
    """To which of `delivered`, `lost` and `unknown` a row of counts goes; None: to none of them."""
    if row["certainty"] == CERTAINTIES[CertaintyCode.UNKNOWN]:
        return "unknown"
    if row["fate"] == Fate.DELIVERED:
        return "delivered"
    return "lost" if is_lost(row) else None


def _queue(row: Mapping[str, Any]) -> str:
    """The queue's number, with its broker's name where there are several brokers."""
    return f"{row['broker']}:{row['queueId']}" if "broker" in row else str(row["queueId"])


def _add(cells: dict[str, int], name: str, number: int) -> None:
    cells[name] = cells.get(name, 0) + number
