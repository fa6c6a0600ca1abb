"""Files that may not be read, for a user who is not root: one sentence each, and no traceback."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from rmqlab.errors import BadInput
from rmqlab.files import read_properties
from rmqlab.scenario.scenario import read_scenarios
from rmqlab_tools.live.configuration_files import read_rules
from rmqlab_tools.live.store_folder import StoreFolder
from rmqlab_tools.recordings.frames import read_recording
from rmqlab_tools.recordings.store import open_store
from tests.proof.stress.readers import READERS

NOBODY = 65_534


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
