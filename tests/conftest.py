"""Fixtures and settings for every test."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from rmqlab.java_runtime import find_java

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run: a red test is red for everybody, and no slow machine makes it flaky.
settings.register_profile("rmqlab", derandomize=True, deadline=None, database=None)
settings.load_profile("rmqlab")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def golden() -> Path:
    """Folder of the vectors and recordings made with the real jars."""
    return ROOT / "data" / "golden"


@pytest.fixture(scope="session")
def spark():
    """One Spark session for all tests: the one that `rmqlab.spark` opens by default, on two cores."""
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


def _no_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure where everything must be there (RMQLAB_REQUIRE_ALL=1, set by .ci/run)."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("RMQLAB_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped although RMQLAB_REQUIRE_ALL=1: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    _no_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _no_skip(report)
    return report
