"""The pinned Spark, pandas, Arrow and the Java at hand work together: what each alone cannot promise."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")


@pytest.mark.parametrize("arrow", ["true", "false"])
def test_null_survives_the_way_through_pandas(spark, arrow):
    """Under pandas 3 this PySpark turns None into the text 'nan'."""
    import pandas as pd

    setting = "spark.sql.execution.arrow.pyspark.enabled"
    before = spark.conf.get(setting)
    spark.conf.set(setting, arrow)
    try:
        frame = spark.createDataFrame(pd.DataFrame({"k": [None, "a"]}))
        assert frame.where("k is null").count() == 1
        assert frame.toPandas()["k"].isna().tolist() == [True, False]
    finally:
        spark.conf.set(setting, before)


def test_python_workers_run(spark):
    doubled = spark.sparkContext.parallelize([1, 2], 1).map(lambda number: 2 * number)
    assert doubled.collect() == [2, 4]
