"""What to send again so that a group gets what it lost, and who else would get it twice. Nothing here sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.message.topics import retry_topic

if TYPE_CHECKING:
    import pyarrow as pa


def resend_plan(lost: pa.Table) -> list[dict[str, Any]]:
    """Return one entry a (group, topic) of a table of lost messages, with two ways and the duplicates of each.

    A message sent to its topic again reaches every group: those that have got it get it twice. One sent to the group's
    retry topic reaches that group alone, whose members all subscribe to it with `*`: any of them may get it, also one
    that never asked for its tag (4.8.0 `DefaultMQPushConsumerImpl.copySubscription`).
    """
    plan: dict[tuple[str, str], dict[str, Any]] = {}
    for row in lost.select(["group", "topic", "offsetMsgId", "elsewhere", "asked", "certainty"]).to_pylist():
        group, topic = row["group"], row["topic"]
        entry = plan.setdefault(
            (group, topic),
            {
                "group": group,
                "topic": topic,
                "first_check": "repair the group's subscriptions: all members the same, or it is lost again",
                "to_topic": {"topic": topic, "duplicates": 0},
                "to_retry_topic": {"topic": retry_topic(group), "duplicates": 0},
                "uncertain": 0,
                "messages": [],
            },
        )
        entry["to_topic"]["duplicates"] += row["elsewhere"]
        # What was delivered without a trace would come twice by either way.
        entry["uncertain"] += row["certainty"] == "unknown" or row["asked"] == "unknown"
        entry["messages"].append(row["offsetMsgId"])
    return [plan[key] for key in sorted(plan)]
