"""Executors on a cluster that are killed, one after the other, until Spark gives up: in `./lab test --hostile` alone.

Two executors of `local-cluster` take a minute and more to start and to be lost; the rest of the tier takes seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

CLUSTER = "local-cluster[2,1,1024]"
LONGEST_S = 600
VERB = """
import sys, time
from rmqlab_tools.cli import cli, sweep
def run(args):
    from rmqlab_tools.spark.session import open_session
    def wait(parts):
        for part in parts:
            time.sleep(60)
            yield part
    open_session().range(4).mapInPandas(wait, 'id long').count()
    return 0
sweep.run = run
sys.exit(cli.main(['sweep', 'heartbeats']))
"""


def executors_at_work(verb):
    """Java processes that are executors and have a Python worker."""
    for child in psutil.Process(verb.pid).children(recursive=True):
        try:
            is_executor = any("CoarseGrainedExecutorBackend" in part for part in child.cmdline())
            if is_executor and any("pyspark" in " ".join(one.cmdline()) for one in child.children(recursive=True)):
                yield child
        except psutil.Error:
            continue


if "RMQLAB_HOSTILE_INPUTS" in os.environ:

    @pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc: run it on Linux")
    def test_executors_that_are_killed_are_one_sentence(tmp_path):
        """One lost executor is made good by Spark; four of a task's are not."""
        program = tmp_path / "verb.py"
        program.write_text(VERB)
        environment, killed = {**os.environ, "RMQLAB_SPARK": CLUSTER}, 0
        until = time.monotonic() + LONGEST_S
        with subprocess.Popen(
            [sys.executable, str(program)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
            env=environment,
        ) as verb:  # fmt: skip
            while verb.poll() is None and time.monotonic() < until:
                for executor in executors_at_work(verb):
                    os.kill(executor.pid, signal.SIGKILL)
                    killed += 1
                time.sleep(0.1)
            _, errors = verb.communicate(timeout=60)
        ours = [line for line in errors.splitlines() if "sweep:" in line]
        assert verb.returncode == 5, errors
        assert killed >= 4
        assert "an executor of Spark ended" in ours[-1]
        assert "Traceback" not in errors
