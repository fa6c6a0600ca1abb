"""What to send again so that a group gets what it lost, and who else would get it twice. Nothing here sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.message.topics import retry_topic
from rmqlab.spark.audit.totals import is_lost

if TYPE_CHECKING:
    import pyarrow as pa


def resend_plan(lost: pa.Table) -> list[dict[str, Any]]:
    """Return one entry a (group, topic) of a table of lost messages, with two ways and the duplicates of each.

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
                "first_check": "repair the group's subscriptions: all members the same, or it is lost again",
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
