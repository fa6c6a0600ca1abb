"""Fixtures and settings for every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
