"""One Spark session for all tests of this folder."""

from __future__ import annotations

import os
import sys

import pytest

from rmqlab.java_runtime import find_java


@pytest.fixture(scope="session")
def spark():
    """The session that `rmqlab.spark` opens by default, on two cores."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    if "JAVA_HOME" not in os.environ and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    from rmqlab.spark.session import open_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # One JVM serves every test: a small heap and the quick compiler alone start it sooner.
        session = open_session(
            "local[2]",
            {
                "spark.driver.memory": "1g",
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            },
        )
        yield session
        session.stop()
