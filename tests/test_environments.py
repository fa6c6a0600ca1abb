"""Each verb in an environment with the packages of its own extras and no others: its help, and its example."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest

from rmqlab.checkout import ROOT
from rmqlab.commands import VERBS
from rmqlab.java_runtime import find_java
from tests.proof.installed import closure, make_environment, missing

pytestmark = pytest.mark.slow

LONGEST_S = 240
# Examples that take minutes, need a cluster, or go on until they are stopped. Other tests run these: `site` in such an
# environment too (the fixture of tests/conftest.py), `notebook` and `serve` until they are ended (test_processes.py).
LONG = {
    "audit", "bench", "bundle", "catalogue", "doctor", "events", "notebook", "plan", "serve", "site", "tap", "test",
    "workshop",
}  # fmt: skip
GROUPS = sorted({frozenset({*verb.extras} - {"java"}) for verb in VERBS.values()}, key=sorted)


def names(extras):
    return "+".join(sorted(extras)) or "core"


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """The Python of a group's environment, made when it is asked for."""
    made = {}

    def of(extras):
        lacking = missing(extras)
        if lacking:
            pytest.skip(f"{lacking} is not installed here: ./lab test installs it")
        if extras not in made:
            made[extras] = make_environment(tmp_path_factory.mktemp(names(extras)) / "env", extras)
        return made[extras]

    return of


def run(python, folder, *arguments):
    environ = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    told = subprocess.run(
        [str(python), "-P", "-m", "rmqlab", *arguments], cwd=folder, env=environ, capture_output=True, text=True,
        check=False, timeout=LONGEST_S,
    )  # fmt: skip
    assert "Traceback" not in told.stderr, told.stderr
    return told


@pytest.mark.parametrize("extras", GROUPS, ids=names)
def test_verbs_work_with_the_packages_of_their_extras(extras, environments, tmp_path):
    python = environments(extras)
    code = (
        "import json; from importlib.metadata import distributions as d; print(json.dumps([str(one) for one in d()]))"
    )
    there = json.loads(subprocess.check_output([python, "-c", code], text=True))
    assert len(there) == len(closure(extras))
    (tmp_path / "data").symlink_to(ROOT / "data")
    for name, verb in VERBS.items():
        if frozenset({*verb.extras} - {"java"}) != extras:
            continue
        assert run(python, tmp_path, name, "--help").returncode == 0
        if name in LONG or ("java" in verb.extras and find_java(os.environ) is None):
            continue
        told = run(python, tmp_path, *shlex.split(verb.example))
        assert told.returncode in verb.statuses, told.stderr
        assert "missing" not in told.stderr


def test_a_package_that_no_extra_brings_is_not_there(environments):
    told = subprocess.run([environments(frozenset()), "-c", "import pandas"], capture_output=True, check=False)
    assert told.returncode == 1
