"""A verb whose Spark is killed in the middle: one sentence, a status of its own, no file half written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from rmqlab_tools.spark.ended import how_spark_ended

CHILDREN_S = 120


def test_any_other_error_is_not_about_spark():
    assert how_spark_ended(ValueError("some error")) is None
    assert how_spark_ended(ConnectionRefusedError("a name server")) is None


def test_what_lies_behind_an_error_is_found():
    error = RuntimeError("audit")
    error.__cause__ = RuntimeError("... Python worker exited unexpectedly (crashed) ...")
    assert "a Python worker of Spark ended" in how_spark_ended(error)


def running(verb, wanted):
    """The first process below the verb that `wanted` accepts."""
    until = time.monotonic() + CHILDREN_S
    while time.monotonic() < until and verb.poll() is None:
        for child in psutil.Process(verb.pid).children(recursive=True):
            try:
                if wanted(child):
                    return child
            except psutil.Error:
                continue
        time.sleep(0.02)
    raise AssertionError(f"it did not come; the verb ended with {verb.poll()}")


def is_java(process):
    return process.name() == "java"


def is_worker(process):
    """A worker that the daemon has forked: it works for a task."""
    return "pyspark.daemon" in process.cmdline() and "pyspark.daemon" in process.parent().cmdline()


@pytest.mark.parametrize(("victim", "says"), [(is_worker, "ended"), (is_java, "Java ended")], ids=["worker", "jvm"])
def test_a_killed_one_is_one_sentence(tmp_path, victim, says):
    """A session at work in Python, as the verbs have it; local mode tries a task once, so one worker is enough."""
    program = tmp_path / "verb.py"
    program.write_text(
        "import sys, time\n"
        "from rmqlab_tools.cli import cli\n"
        "from rmqlab_tools.cli import sweep\n"
        "def run(args):\n"
        "    from rmqlab_tools.spark.session import open_session\n"
        "    from pyspark.sql.functions import pandas_udf\n"
        "    def wait(parts):\n"
        "        for part in parts:\n"
        "            time.sleep(60)\n"
        "            yield part\n"
        "    open_session().range(4).mapInPandas(wait, 'id long').count()\n"
        "    return 0\n"
        "sweep.run = run\n"
        "sys.exit(cli.main(['sweep', 'heartbeats']))\n"
    )
    with subprocess.Popen(
        [sys.executable, str(program)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as verb:
        running(verb, is_worker)
        os.kill(running(verb, victim).pid, signal.SIGKILL)
        _, errors = verb.communicate(timeout=CHILDREN_S)
    ours = [line for line in errors.splitlines() if "sweep:" in line]
    assert verb.returncode == 5, errors
    assert says in ours[-1]
    assert "Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["verb.py"]
