"""The verb `notebook`: JupyterLab, running anew, generating."""

from __future__ import annotations

import json
import subprocess

import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook

from rmqlab.cli import main
from rmqlab.lessons.notebooks import read, write
from tests.proof.commands import notebook as verb
from tests.proof.commands.test import notebooks

SOLVED = "# begin solution\nprint(2)\n# otherwise\n# print(...)\n# end solution"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(verb, "folder", lambda _: tmp_path)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    write(tmp_path / "solutions" / "01.ipynb", new_notebook(cells=[new_code_cell(SOLVED, id="task")]))
    return tmp_path


def test_notebooks_are_run_anew_and_exercises_made(tree, capsys):
    path = tree / "solutions" / "01.ipynb"
    assert main(["notebook", "--execute", str(path), "--exercises", "--json", "-"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert written == [str(path), str(tree / "exercises" / "01.ipynb")]
    assert read(path)["cells"][0]["outputs"][0]["text"] == "2\n"
    assert read(tree / "exercises" / "01.ipynb")["cells"][0]["source"] == "# Your turn.\nprint(...)"


def test_a_cell_that_fails_leaves_the_file_alone(tree, capsys):
    path = tree / "solutions" / "01.ipynb"
    write(path, new_notebook(cells=[new_code_cell("1 / 0", id="task")]))
    before = path.read_bytes()
    assert main(["notebook", "--execute", str(path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_file_that_is_no_notebook(tree, capsys):
    assert main(["notebook", "--execute", str(tree / "x.ipynb")]) == 2
    assert "x.ipynb: not a notebook" in capsys.readouterr().err


def test_jupyterlab_opens_the_folder_with_its_notebooks_trusted(tree, monkeypatch):
    commands = []
    monkeypatch.setattr(subprocess, "call", lambda command: commands.append(command) or 3)
    assert main(["notebook", "--port", "8899"]) == 3
    assert commands[0][1:] == ["-m", "jupyterlab", f"--ServerApp.root_dir={tree}", "--port", "8899"]
    assert NotebookNotary().check_signature(read(tree / "solutions" / "01.ipynb"))


def test_strict_comparison_leaves_exercises_out():
    found = notebooks()
    assert "notebooks/01_eight_messages.ipynb" in found
    assert "notebooks/solutions/01_eight_messages_tasks.ipynb" in found
    assert not [name for name in found if "exercises" in name]
