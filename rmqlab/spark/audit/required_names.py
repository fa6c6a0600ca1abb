"""Groups, topics and messages that an audit is asked for, or told of, and that nothing in the store names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.message.topics import DLQ_GROUP_TOPIC_PREFIX, RETRY_GROUP_TOPIC_PREFIX, SYSTEM_TOPICS, is_system_group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rmqlab.spark.audit.subscriptions import Key

_MOST_NAMES: Final = 12


def is_audited(group: str, topic: str) -> bool:
    """Tell whether an audit is about a topic in a group: neither is the system's own."""
    prefixes = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX)
    return not (topic in SYSTEM_TOPICS or topic.startswith(prefixes) or is_system_group(group))


def require_groups(root: str | Path, known: Collection[str], asked: Iterable[str], told_of: Collection[str]) -> None:
    """Raise `BadInput` where no group is `known`, or not one that is `asked` for, or none of those logs tell of."""
    if not known:
        raise BadInput(f"{root}: no group is known: config/consumerOffset.json names none; give --subscriptions")
    for group in asked:
        if group not in known:
            raise BadInput(f"group {group!r}: neither offsets nor subscriptions of it; there are {_some(known)}")
    if told_of and not set(told_of) & set(known):
        raise BadInput(
            f"the delivery log names {_some(told_of)}, of which nothing is known here; there are {_some(known)}"
        )


def require_topics(known: Collection[str], told_of: Iterable[Key]) -> None:
    """Raise `BadInput` for a topic that the subscriptions name and the store has not; without any all may be."""
    for group, topic in sorted(told_of):
        if known and topic not in known:
            raise BadInput(
                f"the subscriptions name topic {topic!r} (group {group!r}), which the store does not have; there "
                f"are {_some(one for one in known if is_audited(group, one))}"
            )


def require_logs_of(details: DataFrame, logs: pa.Table, groups: Iterable[str]) -> None:
    """Raise `BadInput` if delivery logs name messages of one of the groups and none of them is in the store.

    `details` are the audit's rows of single messages, `logs` has columns group and key. A log tells of all deliveries,
    so one of another store would prove every message undelivered.
    """
    if not len(logs):
        return
    named = details.sparkSession.createDataFrame(logs)
    here = {
        row["group"]
        for column in ("key", "offsetMsgId")
        for row in details.join(named.withColumnRenamed("key", column), ["group", column], "left_semi")
        .select("group").distinct().collect()
    }  # fmt: skip
    of_group, keys = logs["group"].to_pylist(), logs["key"].to_pylist()
    for group in sorted(set(groups).intersection(of_group) - here):
        names = {key for one, key in zip(of_group, keys, strict=True) if one == group}
        raise BadInput(
            f"the delivery log names messages of group {group!r}, and none of them is in the store: "
            f"{_some(names)}; is it the log of another store?"
        )


def _some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    found = sorted(names)
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return ", ".join(found[:_MOST_NAMES]) + more or "none"
