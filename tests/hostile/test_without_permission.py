"""Files that may not be read, for a user who is not root: one sentence each, and no traceback."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.files import read_properties
from rmqlab.scenario.scenario import read_scenarios
from rmqlab_tools.cli.cli import main
from rmqlab_tools.live.configuration_files import read_rules
from rmqlab_tools.live.store_folder import StoreFolder
from rmqlab_tools.recordings.frames import read_recording
from rmqlab_tools.recordings.store import open_store
from tests.proof.stress.readers import READERS

NOBODY = 65_534
SCENARIOS = ROOT / "data" / "golden" / "broker-4.8.0" / "base" / "scenarios.jsonl"


@pytest.fixture
def open_folder():
    """A folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_nobody(function) -> str:
    """What a function says to a user who is not root, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            said = f"read: {function()}"
        except BadInput as error:
            said = f"refused: {error}"
        except BaseException as error:  # noqa: BLE001 - the test tells what it was
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read().decode()
    os.waitpid(child, 0)
    return said


VERBS = {
    "lint": lambda path: ["lint", path],
    "simulate": lambda path: ["simulate", path],
    "explore": lambda path: ["explore", path],
    "explain": lambda path: ["explain", path],
    "replay": lambda path: ["replay", path],
    "doctor": lambda path: ["doctor", "--recorded", path],
    "events": lambda path: ["events", path, "--view", "losses"],
    "audit": lambda path: ["audit", path],
    "sweep": lambda path: ["sweep", "heartbeats", "--row", "0", "--table", path],
    "sweep of a folder": lambda path: ["sweep", "heartbeats", "--row", "0", "--out", path],
    "settings of a simulation": lambda path: ["simulate", str(SCENARIOS), "--conf", path],
    "settings of a broker": lambda path: ["serve", "-c", path],
    "keys": lambda path: ["doctor", "--namesrv", "127.0.0.1:1", "--acl", path],
    "--json": lambda path: ["lint", "--member", "A:T=tagA", "--json", f"{path}/told.json"],
}
OF_SPARK = {"events", "audit", "sweep", "sweep of a folder"}


def ended(verb, path):
    """Exit status and what was said on standard error, in one line."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        status = main(VERBS[verb](str(path)))
    return f"{status} {' / '.join(told.getvalue().splitlines())}"


@pytest.mark.parametrize("inside", ["", "below", "x" * 300])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_says_in_a_line_what_may_not_be_read(open_folder, verb, inside):
    """A folder that may not be entered, something in it, and a name that no file can have."""
    if verb in OF_SPARK:
        pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    closed = open_folder / "closed"
    closed.mkdir()
    path = closed / inside
    ended(verb, open_folder / "nothing")  # its modules are imported: nobody may not
    ended(verb, closed)
    closed.chmod(0)
    said = as_nobody(lambda: ended(verb, path))
    closed.chmod(0o755)
    assert said.startswith("read: 2 "), said
    assert "Traceback" not in said
    assert " / " not in said
    assert str(closed) in said
    wants_a_file = not inside and "Is a directory" in said
    assert "Permission denied" in said or wants_a_file


@pytest.mark.parametrize("text", ["x" * 5_000, "a/" * 3_000, "a#b" * 2_000, "nul\0"])
@pytest.mark.parametrize("verb", ["lint", "simulate", "explore", "replay", "doctor", "audit"])
def test_a_text_that_can_be_no_path_is_refused_in_a_line(verb, text):
    if verb in OF_SPARK:
        pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    said = ended(verb, text)
    assert said.startswith("2 ")
    assert " / " not in said


def test_files_of_a_store_that_may_not_be_read_are_named(open_folder):
    """A task would find one later, or leave it out in silence."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    shutil.unpack_archive(SCENARIOS.parent.parent / "noprop" / "store.tar.gz", open_folder, filter="data")
    store = open_folder / "store"
    for path in (open_folder, *open_folder.rglob("*")):
        path.chmod(0o755)
    log, queue = next((store / "commitlog").iterdir()), next((store / "consumequeue").glob("*/*/*"))
    offsets = store / "config" / "consumerOffset.json"
    assert opened_audit(store) == []
    for closed in (log, log.parent, queue, queue.parent, queue.parent.parent, store / "config"):
        closed.chmod(0)
        said = as_nobody(lambda: opened_audit(store))
        if closed == store / "config":  # as a broker at its start: it knows of no offset
            assert "consumerOffset.json is damaged: Permission denied" in said
        else:
            assert said.startswith("refused: "), said
            assert str(closed) in said
            assert "Permission denied" in said
        closed.chmod(0o755)
    assert offsets.exists()


def opened_audit(store):
    from rmqlab_tools.spark.audit_store import open_audit

    return open_audit(store, session=lambda: None).config_damage


def opened(path):
    with open_store(path):
        pass


@pytest.mark.parametrize("name", ["scenario", "members", "look", "notebook", "evidence", "rules"])
def test_a_file_that_may_not_be_read_is_named(open_folder, name):
    path = open_folder / "given"
    path.write_bytes(READERS[name].examples()[0])
    reads = {"scenario": read_scenarios, "rules": read_rules}.get(name)
    by_file = reads or READERS[name].read.__closure__[0].cell_contents
    assert by_file(path) is not None  # its modules are imported: nobody may not
    path.chmod(0)
    said = as_nobody(lambda: by_file(path))
    assert said.startswith("refused: ")
    assert "Permission denied" in said
    assert str(path) in said


def test_folders_that_may_not_be_read_or_written_are_named(open_folder):
    (open_folder / "conf").write_text("a=1\n")
    closed = open_folder / "closed"
    closed.mkdir()
    for path in (open_folder / "conf", closed):
        path.chmod(0)
    for function in (
        lambda: read_properties(open_folder / "conf"),
        lambda: StoreFolder(closed).open(),
        lambda: StoreFolder(open_folder / "new").open(),
        lambda: opened(closed),
        lambda: read_recording(closed),
    ):
        said = as_nobody(function)
        assert said.startswith("refused: "), said
    closed.chmod(0o755)
