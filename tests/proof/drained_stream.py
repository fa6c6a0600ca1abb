"""A stream of Spark, run until it has all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, Row


def drained(frame: DataFrame, folder: Path) -> list[Row]:
    """All rows that a stream has given up to now; `folder` keeps them, and how far the stream came."""
    for _ in range(6):
        query = (
            frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
            .option("path", str(folder / "out")).trigger(availableNow=True).start()
        )  # fmt: skip
        try:
            query.awaitTermination()
        except Exception as error:
            # Spark waits for a new Python worker for 10 s, fewer than a busy machine may need.
            if "failed to connect back" not in str(error):
                raise
        else:
            return frame.sparkSession.read.parquet(str(folder / "out")).collect()
    raise AssertionError("Spark could not start a Python worker in 10 s, six times")
