"""The pinned Spark, pandas, Arrow and the Java at hand work together: what each alone cannot promise."""

from __future__ import annotations

import os
import sys

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    from rmqlab.java_runtime import find_java

    if "JAVA_HOME" not in os.environ and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
        session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
        yield session
        session.stop()


@pytest.mark.parametrize("arrow", ["true", "false"])
def test_null_survives_the_way_through_pandas(spark, arrow):
    """Under pandas 3 this PySpark turns None into the text 'nan'."""
    import pandas as pd

    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", arrow)
    frame = spark.createDataFrame(pd.DataFrame({"k": [None, "a"]}))
    assert frame.where("k is null").count() == 1
    assert frame.toPandas()["k"].isna().tolist() == [True, False]


def test_python_workers_run(spark):
    doubled = spark.sparkContext.parallelize([1, 2], 1).map(lambda number: 2 * number)
    assert doubled.collect() == [2, 4]
