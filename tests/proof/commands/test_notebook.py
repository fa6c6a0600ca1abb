"""The verb `notebook`: JupyterLab, running anew, generating."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from jupyterlab_server.settings_utils import get_settings
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook

from rmqlab.checkout import ROOT
from rmqlab_tools.cli import cli
from rmqlab_tools.cli import notebook as verb
from rmqlab_tools.cli.cli import main
from rmqlab_tools.course import learner_copy
from tests.proof.commands.test import notebooks
from tests.proof.notebook_files import read, write
from tests.proof.notebook_files import read as proof_read

SOLVED = "# begin solution\nprint(2)\n# otherwise\n# print(...)\n# end solution"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    notebooks = tmp_path / "notebooks"
    monkeypatch.setattr(verb, "checkout_path", lambda _: notebooks)
    monkeypatch.setattr(verb, "lessons", lambda: notebooks)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    write(notebooks / "solutions" / "01.ipynb", new_notebook(cells=[new_code_cell(SOLVED, id="task")]))
    write(notebooks / "01.ipynb", new_notebook(cells=[new_code_cell("1 + 1", id="one")]))
    return notebooks


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


@pytest.fixture
def commands(monkeypatch):
    commands = []
    monkeypatch.setattr(verb, "run_until_ended", lambda command, without: commands.append(command) or 3)
    return commands


def test_a_copy_alone_opens_nothing(tree, commands, capsys):
    assert main(["notebook", "--copy", "--json", "-"]) == 0
    assert commands == []
    copy = Path(json.loads(capsys.readouterr().out)["copy"])
    assert copy == tree.parent / "my-lessons"
    assert (copy / "00_index.ipynb").is_file()


def test_the_address_of_a_folder_with_a_space_is_whole(tree, commands):
    assert main(["notebook", "--folder", "my lessons"]) == 3
    (command,) = commands
    assert "--LabApp.default_url=/lab/tree/my%20lessons/01.ipynb" in command


def test_a_broken_file_of_a_copy_is_named_with_what_to_do(tree, commands, capsys):
    assert main(["notebook", "--copy"]) == 0
    path = tree.parent / "my-lessons" / "01.ipynb"
    path.write_text("{")
    assert main(["notebook"]) == 2
    error = capsys.readouterr().err
    assert "01.ipynb: not a notebook (" in error
    assert "; rename it or delete it, and you get it anew" in error
    path.unlink()
    assert main(["notebook"]) == 3
    assert read(path)["cells"]


def test_a_copy_that_cannot_be_written_is_named(tree, commands, capsys, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied", "01.ipynb")

    monkeypatch.setattr(verb, "make_copy", refused)
    assert main(["notebook"]) == 2
    error = "my-lessons: cannot be written (Permission denied); name a --folder that can be"
    assert error in capsys.readouterr().err
    assert commands == []


@pytest.mark.parametrize("file", [".devcontainer/devcontainer.json", "postBuild"])
def test_what_containers_and_binder_run_is_a_verb_with_arguments_that_it_knows(file):
    """Neither Binder nor Codespaces is started here: their commands are ours, and the rest is well formed."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".json"):
        settings = json.loads(text)
        assert {"name", "image", "postCreateCommand", "hostRequirements"} <= set(settings)
        version = re.fullmatch(r"python:3\.(\d+)-\w+", settings["image"])
        assert int(version[1]) >= 11
        text = f"{settings['postCreateCommand']}\n{settings['postAttachCommand']}"
    else:
        assert os.access(ROOT / file, os.X_OK)
        assert text.startswith("#!/usr/bin/env bash")
    commands = re.findall(r"(?:\./lab|^rmqlab) (\w+) ([^'\n\"]+)", text, re.MULTILINE)
    assert commands
    for name, arguments in commands:
        assert name == "notebook"
        known, rest = cli.parser_of(name).parse_known_args(arguments.split())
        assert known.copy or set(rest) <= {"--no-browser", "--allow-root"}


def test_jupyterlab_opens_the_first_lesson_of_a_trusted_copy(tree, commands):
    assert main(["notebook", "--port", "8899"]) == 3
    root, opened = f"--ServerApp.root_dir={tree.parent}", "--LabApp.default_url=/lab/tree/my-lessons/01.ipynb"
    workspaces = f"--LabApp.workspaces_dir={sys.prefix}/share/jupyter/rmqlab-workspaces"
    assert commands[0][1:] == ["-P", "-m", "jupyterlab", root, opened, workspaces, *verb.QUIET, "--port", "8899"]
    for name in ("00_index.ipynb", "01.ipynb"):
        assert NotebookNotary().check_signature(proof_read(tree.parent / "my-lessons" / name))


def test_it_opens_the_index_once_the_first_lesson_is_begun(tree, commands):
    assert main(["notebook"]) == 3
    path = tree.parent / "my-lessons" / "01.ipynb"
    mine = read(path)
    mine["cells"][0]["execution_count"] = 1
    write(path, mine)
    assert main(["notebook"]) == 3
    assert [command[5].rpartition("/")[2] for command in commands] == ["01.ipynb", "00_index.ipynb"]


def test_the_list_of_files_is_folded_the_first_time_alone(tree, commands):
    main(["notebook"])
    (file,) = Path(commands[0][6].partition("=")[2]).iterdir()
    assert json.loads(file.read_text(encoding="utf-8"))["data"]["layout-restorer:data"]["left"]["collapsed"]
    file.write_text("as it was left", encoding="utf-8")
    main(["notebook", "--read"])
    assert file.read_text(encoding="utf-8") == "as it was left"


def test_jupyterlab_opens_another_folder_or_what_ran(tree, commands):
    assert main(["notebook", "--folder", "class"]) == 3
    assert commands[0][5] == "--LabApp.default_url=/lab/tree/class/01.ipynb"
    assert main(["notebook", "--read"]) == 3
    assert commands[1][5] == "--LabApp.default_url=/lab/tree/notebooks/01.ipynb"
    assert NotebookNotary().check_signature(proof_read(tree / "01.ipynb"))


@pytest.mark.parametrize(("name", "text"), [("..", "holds"), ("notebooks", "holds")])
def test_a_folder_that_cannot_be_a_copy_is_named(tree, commands, capsys, name, text):
    assert main(["notebook", "--folder", name]) == 2
    assert text in capsys.readouterr().err
    assert not commands


def test_a_copy_that_was_interrupted_is_gone_on_with(tree, commands, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(learner_copy, "index_lesson", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main(["notebook"]) == 130
    assert not commands
    assert [path.name for path in (tree.parent / "my-lessons").glob("*.ipynb")] == ["01.ipynb"]
    assert main(["notebook"]) == 3
    assert (tree.parent / "my-lessons" / "00_index.ipynb").is_file()


def test_strict_comparison_leaves_exercises_out():
    names = notebooks()
    assert "notebooks/01_eight_messages.ipynb" in names
    assert "notebooks/solutions/01_eight_messages_tasks.ipynb" in names
    assert not [name for name in names if "exercises" in name]


def test_jupyterlab_asks_for_no_news(tmp_path, monkeypatch):
    """What its page gets to read: asked through its own server code, with its own schema."""
    monkeypatch.setenv("JUPYTERLAB_DIR", str(tmp_path / "lab"))
    schemas = Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas"
    settings = verb._no_question().parent.parent
    name = "@jupyterlab/apputils-extension:notification"
    shown, _ = get_settings(str(settings), str(schemas), str(tmp_path / "mine"), schema_name=name)
    assert shown["schema"]["properties"]["fetchNews"]["default"] == "false"
