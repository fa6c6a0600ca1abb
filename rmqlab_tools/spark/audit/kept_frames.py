"""What Spark keeps of a frame, and that an ended session keeps nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def has_ended(session: SparkSession) -> bool:
    """Whether a session was stopped, by whomever, or its Java is gone."""
    stopped: bool | None = getattr(session, "is_stopped", None)  # Spark Connect's sessions have it
    if stopped is not None:
        return stopped
    context = session.sparkContext._jsc  # noqa: SLF001 - None once PySpark has stopped it
    try:
        return context is None or bool(context.sc().isStopped())
    except Exception as error:
        if isinstance(error, OSError) or type(error).__module__.startswith("py4j"):
            return True
        raise


def release(frame: DataFrame) -> None:
    """Let go of what Spark keeps of a persisted frame; where its session has ended, that has gone with it."""
    if not has_ended(frame.sparkSession):
        frame.unpersist()
