"""A verb that is ended from outside ends what it has started: with real processes, by the signals that people send."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools import processes
from rmqlab_tools.java_runtime import find_java
from rmqlab_tools.processes import below, end

pytestmark = pytest.mark.slow

LONGEST_S = 90
# A verb in whose place a shell starts two programs, one of which does not listen.
STARTS_TWO = """
import subprocess, sys
from rmqlab_tools import processes
from rmqlab_tools.cli import cli
from tests.proof.commands import rows
processes.PATIENCE_S = 0.3
def run(args):
    subprocess.run(["sh", "-c", "trap '' TERM HUP; sleep 1000 & sleep 1000"], check=True)
rows.run = run
sys.exit(cli.main(["rows"]))
"""


@pytest.fixture(autouse=True)
def hangup():
    """A program starts with SIGHUP as a terminal has it, also where these tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def started(*command, environ=None, folder=ROOT):
    """A program in a session of its own, as a terminal or systemd gives it one."""
    return subprocess.Popen(
        [sys.executable, *command], cwd=folder, env={**os.environ, **(environ or {})}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def names(known):
    """The command lines of those that are still there."""
    lines = []
    for one in known:
        with suppress(OSError):
            lines.append((processes._PROC / str(one.number) / "cmdline").read_text().replace("\0", " "))
    return lines


def until(program, there):
    """The processes below a program, once `there` holds for their command lines."""
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline and program.poll() is None:
        found = below(program.pid)
        if there(names(found)):
            return found
        time.sleep(0.1)
    program.kill()
    raise AssertionError(program.stdout.read())


def left_after(program, number, found):
    """What of the processes is still there when the program has ended by a signal."""
    program.send_signal(number)
    try:
        program.wait(30)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    left = [one for one in found if processes._is_there(one)]
    told = names(left)
    end(left, 1)
    return told


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_verb_takes_what_it_started_with_it(name):
    program = started("-c", STARTS_TWO)
    found = until(program, lambda lines: sum("sleep" in line for line in lines) >= 2)
    assert left_after(program, getattr(signal, name), found) == []
    assert program.returncode == 128 + getattr(signal, name)
    said = {"SIGINT": "interrupted", "SIGTERM": "ended by SIGTERM", "SIGHUP": "its terminal was closed"}[name]
    assert program.stdout.read() == f"rmqlab rows: {said}\n"


def test_what_nohup_lets_pass_passes():
    program = started("-c", "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" + STARTS_TWO)
    found = until(program, lambda lines: sum("sleep" in line for line in lines) >= 2)
    program.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.5)
    assert left_after(program, signal.SIGTERM, found) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_serve_ends_in_good_order(name, tmp_path):
    free = ["--listen", "127.0.0.1:0", "--namesrv", "127.0.0.1:0", "--json", "-"]
    program = started("-m", "rmqlab", "serve", *free, "--store", str(tmp_path / "store"))
    assert program.stdout.readline()
    assert left_after(program, getattr(signal, name), []) == []
    assert program.returncode == 0


def test_jupyterlab_and_its_kernels_end(tmp_path):
    environ = {name: str(tmp_path / name) for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    free = [
        "--no-browser",
        "--allow-root",
        "--port",
        str(port),
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=1",
    ]
    program = started("-m", "rmqlab", "notebook", "--read", *free, environ=environ)
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/api/kernels", b'{"name": "python3"}')
    until(program, lambda _: not socket.socket().connect_ex(("127.0.0.1", port)))
    told = urllib.request.urlopen(asked, timeout=LONGEST_S).read()  # noqa: S310 - our own server
    assert json.loads(told)["name"] == "python3"
    found = until(program, lambda lines: any("ipykernel_launcher" in line for line in lines))
    assert any("jupyterlab" in line for line in names(found))
    program.stdout.close()  # nobody reads on
    assert left_after(program, signal.SIGTERM, found) == []
    assert program.returncode == 143


TESTS = "import time\ndef test_one(): time.sleep(600)\ndef test_two(): time.sleep(600)\n"
BUSY = {
    "sweep": (["heartbeats", "--set", "clients=1000,100000", "--spark", "local[1]"], "SparkSubmit"),
    "site": (["--no-lab", "--out", "{folder}/site"], "sphinx"),
    "stress": (["kill", "--count", "50"], "serve"),
    "bundle": (["--extras", "", "--out", "{folder}/bundle"], "pip"),
    "workshop": (["--times", "{folder}/times.json"], "ipykernel"),
    "test": (["-n", "2", "-p", "no:cacheprovider", "{folder}/test_long.py"], "-c"),
}


@pytest.mark.parametrize("verb", BUSY)
def test_a_busy_verb_ends_with_its_programs(verb, tmp_path):
    if verb == "sweep" and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    (tmp_path / "test_long.py").write_text(TESTS)
    arguments, sign = BUSY[verb]
    command = ["-m", "rmqlab", verb, *(one.format(folder=tmp_path) for one in arguments)]
    program = started(*command, environ={"TMPDIR": str(tmp_path)})
    found = until(program, lambda lines: any(sign in line for line in lines))
    time.sleep(0.5)
    assert left_after(program, signal.SIGTERM, [*found, *below(program.pid)]) == []
    assert program.returncode in {143, 2}, program.stdout.read()  # pytest has a status of its own
