"""The data pipeline: filters as Spark columns, store files, sweeps and audits. Imports the core and the lab.

The room can be called: `spark = rmqlab.spark()` opens a session that reads `spark.read.format("rocketmq")`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Room(ModuleType):
    """A package that is a verb as well: `rmqlab.spark` names both."""

    def __call__(self, address: str | None = None) -> SparkSession:
        """Open a session: at `address`, else where RMQLAB_SPARK says, else on this machine (`local[*]`).

        Raises:
            BadInput: Spark or Java is missing, or nothing answers at the address; the text says what to do.
        """
        from rmqlab.spark.session import open_session
        from rmqlab.spark.store_source import register

        session = open_session(address)
        register(session)
        return session


sys.modules[__name__].__class__ = _Room
