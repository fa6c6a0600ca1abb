"""The tests that the worked examples bring pass in a copy of the tree to which all of them were applied."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.proof.worked.patches import EXAMPLES, ids_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes(tried, tmp_path_factory):
    """Test to what became of it ("" if it passed), and what pytest printed."""
    tree, _ = tried
    report = tmp_path_factory.mktemp("report") / "tests.xml"
    tests = [test for name in EXAMPLES for test in ids_of(name)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment["PYTHONPATH"] = str(tree)  # under a safe path the current folder is not searched
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    cases = ET.parse(report).iter("testcase") if report.is_file() else ()
    cases_of = {f"{case.get('classname')}::{case.get('name')}": [part.tag for part in case] for case in cases}
    return cases_of, done.stdout + done.stderr


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_own_tests_pass(name, outcomes):
    became, printed = outcomes
    for test in ids_of(name):
        path, _, case = test.partition("::")
        start = f"{path.removesuffix('.py').replace('/', '.')}::{case}"
        ran = {key: what for key, what in became.items() if key.startswith(start)}
        assert ran, printed
        assert [key for key, what in ran.items() if what] == [], printed
