"""Audits for a reader: run, and handed over as plain rows (`rmqlab.lab.audit_report`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.audit_report import AuditReport, HeldSubscription
from rmqlab.spark import read_store
from rmqlab.spark.audit.auditing import NOTHING, Audit, AuditOptions
from rmqlab.spark.audit.subscription_file import read_subscriptions
from rmqlab.spark.audit.totals import is_lost, resend_plan
from rmqlab.spark.files.store_tables import StoreConfig

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from pyspark.sql import SparkSession


def audited(
    spark: SparkSession,
    store: Path,
    name: str,
    *,
    subscriptions: Path | None = None,
    delivered: Path | None = None,
) -> AuditReport:
    """Audit `store` with what is known besides it; `name` says what that is.

    Raises:
        BadInput: no store directory, a file that cannot be read.
    """
    given = read_subscriptions(subscriptions) if subscriptions else NOTHING
    paths = (str(delivered),) if delivered else ()
    audit = Audit(spark, store, AuditOptions(subscriptions=given, delivered=paths, each_message=True))
    try:
        lost, summary, messages = audit.lost_table.to_pylist(), audit.summary, audit.messages.to_pylist()
    finally:
        audit.close()
    ends: dict[tuple[str, int], int] = {}
    columns = ["topic", "queueId", "queueOffset"]
    for row in read_store(spark, store, columns=columns).toArrow().to_pylist():
        place = row["topic"], row["queueId"]
        ends[place] = max(ends.get(place, 0), row["queueOffset"] + 1)
    committed = StoreConfig(store).offsets()
    lag = {
        key: sum(ends.get((key[1], queue), 0) - offset for queue, offset in committed.get(key, {}).items())
        for key in ((group, topic) for group, topics in summary.items() for topic in topics)
    }
    slots = {key: [HeldSubscription(one.since, one.expression) for one in held] for key, held in given.held.items()}
    return AuditReport(name, summary, list(filter(is_lost, lost)), messages, slots, lag)


def plan(audit: AuditReport, group: str) -> dict[str, Any]:
    """The resend plan of one group; nothing is sent.

    Raises:
        BadInput: the audit knows no such group, or it lost nothing.
    """
    import pyarrow as pa

    from rmqlab.errors import BadInput

    audit.topic_of(group)
    rows = audit.lost_of(group)
    if not rows:
        raise BadInput(f"group {group!r} lost nothing: there is nothing to send again")
    return resend_plan(pa.Table.from_pylist(rows))[0]
