"""Each verb in an environment with the packages of its own extras and no others: its help, and its example."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.cli import VERBS
from rmqlab_tools.java_runtime import find_java
from tests.proof.installed import closure, make_environment, missing

pytestmark = pytest.mark.slow

LONGEST_S = 240
# Examples that take long, need a cluster, or go on until they are stopped. Other tests run these: `site` in such an
# environment too (the fixture of tests/conftest.py), `notebook` and `serve` until they are ended (test_processes.py).
LONG = {
    "archive", "audit", "bench", "bundle", "catalogue", "doctor", "events", "explore", "match", "notebook", "plan",
    "serve", "site", "sweep", "tap", "workshop",
}  # fmt: skip
# `test` wants nearly everything, and its environment is the one that this runs in.
GROUPS = sorted({frozenset({*verb.extras} - {"java"}) for name, verb in VERBS.items() if name != "test"}, key=sorted)
# What an environment's Python runs, in one process for all verbs of a group: the same packages are there for each.
RUNNER = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import distributions
from rmqlab_tools.cli.cli import main
results = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code
    results.append([status, out.getvalue(), err.getvalue()])
print(json.dumps({"packages": len([*distributions()]), "results": results}))
"""


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


def run_all(python, folder, commands):
    """What each command comes to: status, standard output, standard error; and how many packages are there."""
    environ = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(python), "-P", "-c", RUNNER, json.dumps(commands)], cwd=folder, env=environ,
        capture_output=True, text=True, check=False, timeout=LONGEST_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    return told["results"], told["packages"]


@pytest.mark.parametrize("extras", GROUPS, ids=names)
def test_verbs_work_with_the_packages_of_their_extras(extras, environments, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    verbs = {name: verb for name, verb in VERBS.items() if frozenset({*verb.extras} - {"java"}) == extras}
    without_java = find_java(os.environ) is None
    shown = [name for name in verbs if name not in LONG and not (without_java and "java" in verbs[name].extras)]
    commands = [*([name, "--help"] for name in verbs), *(shlex.split(verbs[name].example) for name in shown)]
    results, packages = run_all(environments(extras), tmp_path, commands)
    assert packages == len(closure(extras))
    for command, (status, out, err) in zip(commands, results, strict=True):
        if "--help" in command:
            assert (status, out[:6], err) == (0, "usage:", ""), command
        else:
            assert status in VERBS[command[0]].statuses, err
            assert "missing" not in err


def test_code_is_read_with_the_packages_of_the_extra_source(environments, tmp_path):
    for name in ("A", "B"):
        listener = f'topic = "T", consumerGroup = "g", selectorExpression = "{name}"'
        code = f"@RocketMQMessageListener({listener}) class {name} {{}}"
        (tmp_path / f"{name}.java").write_text(code, encoding="ascii")
    (tmp_path / "application.yml").write_text("a: b", encoding="ascii")
    extras = frozenset(VERBS["lint"].code_extras)
    ((status, out, err),), packages = run_all(environments(extras), tmp_path, [["lint", "."]])
    assert (status, err, packages) == (1, "", len(closure(extras)))
    assert "g: Inconsistent" in out
    ((status, _, err),), _ = run_all(environments(frozenset()), tmp_path, [["lint", "."]])
    assert status == 2
    assert "rmqlab[source]" in err


def test_a_package_that_no_extra_brings_is_not_there(environments):
    told = subprocess.run([environments(frozenset()), "-c", "import pandas"], capture_output=True, check=False)
    assert told.returncode == 1
