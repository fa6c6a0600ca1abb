"""A forked kernel is one of its own: its process, namespace, folder, environment, streams, end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from tests.proof.notebook_files import kernel_environment
from tests.proof.warm_kernels import ADDRESS_SETTING, Forked, use_warm_kernels, warm_kernels

ABOUT = """
import os, signal, sys, threading
{"pid": os.getpid(), "parent": os.getppid(), "folder": os.getcwd(), "leads": os.getsid(0) == os.getpid(),
 "mine": os.environ.get("MINE"), "argv": os.path.basename(sys.argv[0]), "names": sorted(globals()), "path": sys.path,
 "main": __name__, "threads": threading.active_count(), "outputs": [os.fstat(n).st_ino for n in (1, 2)],
 "signals": [str(signal.getsignal(n)).split(" at ")[0] for n in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)]}
"""
OF_ITS_OWN = {"pid", "parent"}


@contextmanager
def started(folder, **settings):
    with kernel_environment() as environ:
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env={**environ, **settings}, cwd=str(folder))
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        try:
            yield manager, client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def ask(client, code):
    said = []
    client.execute_interactive(code, output_hook=lambda message: said.append(message["content"]), timeout=60)
    (data,) = (content["data"]["text/plain"] for content in said if "data" in content)
    return eval(data)  # noqa: S307 - what our own code says


@pytest.fixture(scope="module")
def forks():
    """This process has kernels forked, by a process of its own."""
    factory = KernelProvisionerFactory.instance()
    before = factory.default_provisioner_name
    with kernel_environment() as environ, pytest.MonkeyPatch.context() as patch, warm_kernels(environ):
        patch.setenv(ADDRESS_SETTING, environ[ADDRESS_SETTING])
        patch.setenv("PYTHONSAFEPATH", "1")
        use_warm_kernels()
        yield
    factory.default_provisioner_name = before


def gone(pid):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_each_is_a_process_of_its_own_that_differs_in_its_parent_alone(forks, tmp_path):
    with started(tmp_path, MINE="x") as (manager, client):
        assert isinstance(manager.provisioner, Forked)
        forked = ask(client, ABOUT)
        client.execute_interactive("mine = 1", timeout=60)
    with started(tmp_path) as (_, client):
        second = ask(client, ABOUT)
    factory = KernelProvisionerFactory.instance()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factory, "default_provisioner_name", "local-provisioner")
        with started(tmp_path, MINE="x") as (manager, client):
            assert type(manager.provisioner) is LocalProvisioner
            plain = ask(client, ABOUT)
    assert {**forked, **dict.fromkeys(OF_ITS_OWN)} == {**plain, **dict.fromkeys(OF_ITS_OWN)}
    assert second["mine"] is None
    assert second["names"] == forked["names"]
    assert forked["parent"] == second["parent"] != plain["parent"] == os.getpid()
    assert len({forked["pid"], second["pid"], plain["pid"]}) == 3


def test_an_environment_that_python_reads_at_its_start_gets_a_started_kernel(forks, tmp_path):
    with started(tmp_path, PYTHONUTF8="1", PYTHONHASHSEED="7") as (manager, client):
        assert not hasattr(manager.provisioner.process, "_connection")
        assert ask(client, "import os, sys; (sys.flags.utf8_mode, sys.flags.hash_randomization, os.getppid())") == (
            1, 1, os.getpid(),
        )  # fmt: skip


def test_random_numbers_and_time_are_each_kernels_own(forks, tmp_path):
    drawn = []
    for zone in ("UTC", "Asia/Shanghai"):
        with started(tmp_path, TZ=zone) as (_, client):
            drawn.append(ask(client, "import random, time; (random.random(), time.tzname[0])"))
    assert drawn[0][0] != drawn[1][0]
    assert [zone for _, zone in drawn] == ["UTC", "CST"]


def test_its_end_is_told_as_that_of_a_child(forks, tmp_path):
    with started(tmp_path) as (manager, client):
        process = manager.provisioner.process
        assert process.poll() is None
        client.execute("import os; os._exit(3)")
        assert process.wait() == process.poll() == process.returncode == 3
    with started(tmp_path) as (manager, _):
        process = manager.provisioner.process
        process.kill()
        assert process.wait() == -signal.SIGKILL
        process.terminate()  # of one that has ended nothing is asked


def test_an_interrupt_reaches_the_cell_and_a_restart_forks_anew(forks, tmp_path):
    with started(tmp_path) as (manager, client):
        first = manager.provisioner.pid
        client.execute("import time; time.sleep(600)")
        while client.get_iopub_msg(timeout=60)["content"].get("execution_state") != "busy":
            pass
        time.sleep(0.2)
        manager.interrupt_kernel()
        assert client.get_shell_msg(timeout=60)["content"]["ename"] == "KeyboardInterrupt"
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=60)
        assert ask(client, "import os; os.getpid()") == manager.provisioner.pid != first
        assert gone(first)


def test_a_kernel_ends_with_who_asked_for_it_and_with_the_process_that_forked_it(tmp_path):
    code = (
        "import json, os, sys, time\n"
        "from tests.proof.warm_kernels import forked\n"
        "kernel = forked(['-f', sys.argv[1]], os.environ, '.')\n"
        "print(kernel.pid, flush=True)\n"
        "if sys.argv[2] == 'waits': time.sleep(600)\n"
    )
    with kernel_environment() as environ:
        with warm_kernels(environ):
            pids = []
            for number, ends in enumerate(("ends", "waits")):
                asks = subprocess.Popen(
                    [sys.executable, "-c", code, str(tmp_path / f"{number}.json"), ends],
                    env=environ, stdout=subprocess.PIPE, text=True,
                )  # fmt: skip
                pids.append(int(asks.stdout.readline()))
                if ends == "ends":
                    asks.wait()
                    assert gone(pids[0])
        assert gone(pids[1])
        asks.kill()
        asks.communicate()
        assert ADDRESS_SETTING not in environ
