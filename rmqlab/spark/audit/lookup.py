"""What was judged one by one, looked up in the evidence of deliveries: that decides, where it tells of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.fates import Fate
from rmqlab.spark.audit import evidence as audit_evidence
from rmqlab.spark.audit import scan as audit_scan
from rmqlab.spark.audit.verdict import ASKED, CERTAINTIES, MAYBE, UNKNOWN, UNTOLD, WHY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def looked_up(frame: DataFrame, evidence: DataFrame) -> DataFrame:
    """Decide what the evidence (`audit_evidence.SCHEMA`, one row a group and key) tells about the details of a scan."""
    from pyspark.sql import functions as F  # noqa: N812

    waiting = F.col("fate").isin(str(Fate.WAITING), str(Fate.NO_OWNER))
    told = {
        audit_evidence.CONSUMED: (F.lit(str(Fate.DELIVERED)), F.lit("proved")),
        audit_evidence.DEAD: (F.lit(str(Fate.DEAD_LETTER)), F.lit("proved")),
        audit_evidence.FAILED: (F.lit(str(Fate.RETRYING)), F.lit("proved")),
        # The listener got it; how that went nobody wrote down, but the group went on.
        audit_evidence.BEGUN: (
            F.when(waiting, F.lit(str(Fate.RETRYING))).otherwise(F.lit(str(Fate.DELIVERED))),
            F.lit("implied"),
        ),
    }
    fate, certainty = F.col("fate"), F.col("certainty")
    reason = F.when(F.col("rank").isNull() | (F.col("rank") == 0), F.col("reason"))
    for rank, (what, how) in told.items():
        fate = F.when(F.col("rank") == rank, what).otherwise(fate)
        certainty = F.when(F.col("rank") == rank, how).otherwise(certainty)
    named = evidence.select("group", "key", "rank")
    # A delivery log may name messages by their offsetMsgId although they have a UNIQ_KEY.
    by_place = named.withColumnsRenamed({"key": "offsetMsgId", "rank": "place"})
    detail = frame.where(F.col("kind") == audit_scan.DETAIL)
    joined = detail.join(named, ["group", "key"], "left").join(by_place, ["group", "offsetMsgId"], "left")
    joined = _covered(joined.withColumn("rank", F.greatest("rank", "place")))
    decided = joined.withColumns({"fate": fate, "certainty": certainty, "reason": reason}).select(*frame.columns)
    return frame.where(F.col("kind") != audit_scan.DETAIL).unionByName(decided)


def _covered(joined: DataFrame) -> DataFrame:
    """Decide where nobody knows who owned a queue: one in which no traced client got anything is not covered.

    Queues change hands, and not every client writes a trace: what should have been delivered in a covered queue, and is
    not named, is likely lost, and not certainly.
    """
    from pyspark.sql import functions as F  # noqa: N812

    got = joined.where(F.col("rank").isin(audit_evidence.BEGUN, audit_evidence.CONSUMED))
    queues = got.select("group", "topic", "queueId").distinct().withColumn("queueCovered", F.lit(True))
    both = joined.join(F.broadcast(queues), ["group", "topic", "queueId"], "left")
    untold = (F.col("covered") == ASKED[MAYBE]) & F.col("rank").isNull() & F.col("queueCovered").isNotNull()
    contrary = untold & (F.col("fate") == str(Fate.DELIVERED))
    return both.withColumns(
        {
            "fate": F.when(contrary, F.lit(str(Fate.PASSED))).otherwise(F.col("fate")),
            "certainty": F.when(contrary, F.lit(CERTAINTIES[UNKNOWN])).otherwise(F.col("certainty")),
            "reason": F.when(contrary, F.lit(WHY[UNTOLD])).otherwise(F.col("reason")),
        }
    ).drop("queueCovered")
