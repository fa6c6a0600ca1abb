"""No code from the current folder: what lies there under the name of a module runs in no process that we start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from rmqlab.checkout import ROOT, checkout_path

PROGRAM = Path(sys.executable).with_name("rmqlab")
LEFT_OUT = {"PYTHONPATH", "PYTHONSAFEPATH", "IPYTHONDIR"}  # what `./lab` sets
STORE = checkout_path("data") / "golden" / "broker-4.8.0" / "noprop"


@pytest.fixture(scope="module")
def shadows(tmp_path_factory):
    """A folder with a module of every name that can be imported here; each leaves its name in `ran`."""
    place = tmp_path_factory.mktemp("shadows")
    names = {*sys.stdlib_module_names, *packages_distributions(), "rmqlab", "tests", "sitecustomize", "usercustomize"}
    for name in names:
        if name.isidentifier():
            code = f"open({str(place / 'ran')!r}, 'a').write({name!r} + ' ')\nraise ImportError('a shadow')\n"
            (place / f"{name}.py").write_text(code)
    return place


def ran(shadows):
    """The shadows that ran since the last time."""
    told = shadows / "ran"
    names = told.read_text() if told.exists() else ""
    told.unlink(missing_ok=True)
    return names


def verb(shadows, *arguments, **more):
    """A verb as somebody starts it who installed the wheel: nothing of `./lab`'s environment helps."""
    environ = {name: value for name, value in os.environ.items() if name not in LEFT_OUT} | more
    command = [str(PROGRAM), *arguments]
    return subprocess.run(command, cwd=shadows, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def _installed():
    if not PROGRAM.exists():
        pytest.skip("no program `rmqlab` beside this Python: run ./lab test, or pip install rmqlab")


def test_the_shadows_would_run(shadows):
    """Python as it comes looks into the current folder first: what this module tests is no empty claim."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    subprocess.run([sys.executable, "-m", "selectors"], cwd=shadows, env=environ, capture_output=True, check=False)
    assert ran(shadows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql92", "a > 5", "--set", "a=6"],
        ["lint", "--member", "A:T=tagA", "--member", "B:T=tagA"],
        ["explain", "24"],
        ["reproduce", "--only", "E1"],
        ["plan", "tagA", "tagB", "--members", "1", "--budget", "1"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_verb_runs_none(shadows, arguments):
    assert verb(shadows, *arguments).returncode in {0, 1}
    assert ran(shadows) == ""


@pytest.mark.slow
def test_a_kernel_that_we_start_runs_none(shadows):
    pytest.importorskip("nbclient")
    from nbformat.v4 import new_code_cell, new_notebook

    from tests.proof.notebook_files import execute

    cell = new_code_cell("import json, sqlite3, uuid, rmqlab\nprint(rmqlab.sql92('a > 5').accepted)")
    done = execute(new_notebook(cells=[cell]), shadows)
    assert [output["text"] for output in done["cells"][0]["outputs"]] == ["True\n"]
    assert ran(shadows) == ""


READ = """
import sys
import rmqlab
spark = rmqlab.spark()
frame = rmqlab.read_store(spark, sys.argv[1])
print(frame.count(), frame.mapInPandas(lambda parts: parts, frame.schema).count())
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = tmp_path_factory.mktemp("store")
    shutil.unpack_archive(STORE / "store.tar.gz", place, filter="data")
    return place / "store"


def read(shadows, store, **more):
    """Read a store in Python, with the data source and a function of one's own; driver, planner, daemon, workers."""
    environ = {name: value for name, value in os.environ.items() if name not in LEFT_OUT} | more
    command = [sys.executable, "-P", "-c", READ, str(store)]
    done = subprocess.run(command, cwd=shadows, env=environ, capture_output=True, text=True, check=False)
    assert ran(shadows) == ""
    assert done.returncode == 0, done.stderr
    first, second = map(int, done.stdout.split())
    assert first == second > 0


@pytest.mark.spark
def test_spark_runs_none(shadows, store):
    read(shadows, store)


@pytest.mark.spark
def test_a_connect_server_and_its_workers_run_none(shadows, store, monkeypatch):
    """A server that is started in the folder, as ours are."""
    from tests.proof.spark_servers import ConnectServer

    for name in LEFT_OUT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(shadows)
    with ConnectServer("local[1]") as server:
        read(shadows, store, RMQLAB_SPARK=server.address, PYTHONPATH=str(ROOT))
