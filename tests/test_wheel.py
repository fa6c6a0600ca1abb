"""The wheel alone, outside a checkout: what works, what says which packages are missing, what wants a checkout."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import drawsvg
import msgspec
import polib
import pytest

from rmqlab import __version__
from rmqlab.errors import BadInput
from rmqlab_tools import extras
from rmqlab_tools.cli import VERBS, cli
from rmqlab_tools.cli.cli import OF_A_CHECKOUT
from tests.proof.bundle import committed

pytestmark = pytest.mark.slow

pytest.importorskip("hatchling", reason="hatchling is not installed: ./lab installs it")
SCENARIO = {
    "id": "one",
    "topics": {"T": 2},
    "steps": [
        {"at": 0, "do": "start", "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "a"}}},
        {"at": 5000, "do": "send", "topic": "T", "messages": [{"tag": "a", "body": "x"}]},
        {"at": 30000, "do": "offsets"},
    ],
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory, root):
    """The wheel, unpacked as pip does it, with the packages of the core beside it and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")  # noqa: S202 - our own wheel
    for package in (drawsvg, msgspec):
        (folder / "site" / package.__name__).symlink_to(Path(package.__file__).parent)
    (folder / "site" / "polib.py").symlink_to(polib.__file__)
    (folder / "empty").mkdir()
    return folder


def run(installed, *arguments):
    """Run a verb in an empty folder: without site-packages, this checkout is not found either."""
    code = f"import sys; sys.path.insert(0, {str(installed / 'site')!r}); from rmqlab_tools.cli.cli import main; "
    code += "sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        cwd=installed / "empty", capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reproduce", "--only", "E1", "E2a"], "2 of 2 experiments agree"),
        (["simulate", "one.jsonl"], "1 delivered"),
        (["sql92", "a > 3"], "a > 3"),
        (["explain", "25"], "SUBSCRIPTION_NOT_LATEST"),
        (["lint", "--member", "A:T=a", "--member", "B:T=a"], ""),
        (["plan", "a", "a", "--budget", "5"], "a to a: safe whatever the producers do"),
        (["explore", "one.jsonl", "--budget", "5"], "one loses none of 1 message"),
        (["explore", "one.jsonl", "--budget", "5", "--picture", "one.txt"], "one loses none of 1 message"),
        (["explore", "one.jsonl", "--budget", "5", "--picture", "one.svg"], "one loses none of 1 message"),
        (["serve", "--help"], "usage: rmqlab serve"),
        (["audit", "--help"], "usage: rmqlab audit"),
        (["simulate", "--example"], "# Scenario"),
        (["lint", "--example"], "# Members of a group"),
    ],
)
def test_what_works_with_the_core_alone(installed, arguments, says):
    (installed / "empty" / "one.jsonl").write_text(json.dumps(SCENARIO) + "\n")
    told = run(installed, *arguments)
    assert told.returncode == 0
    assert says in told.stdout + told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [(["audit", "."], "spark"), (["sweep", "loss"], "spark"), (["events", "."], "spark"),
 ],
)  # fmt: skip
def test_what_is_missing_is_named_with_its_extra(installed, arguments, extra):
    (installed / "empty" / "one.jsonl").write_text(json.dumps(SCENARIO) + "\n")
    told = run(installed, *arguments)
    assert (told.stdout, told.returncode) == ("", 2)
    assert told.stderr.count("\n") == 1
    assert f"pip install 'rmqlab[{extra}]' (missing here: " in told.stderr


def test_the_front_door_opens_with_the_core_alone(installed):
    code = (
        f"import sys; sys.path.insert(0, {str(installed / 'site')!r})\n"
        "import pydoc, rmqlab\n"
        "print(pydoc.plaintext.document(rmqlab))\n"
        "lab = rmqlab.Lab(topics={'T': 1}); lab.consumer('A', group='G', subscribe={'T': '*'}); lab.send('T', 'a')\n"
        "print(lab.grid().svg[:4], lab.messages())\n"
        "print(rmqlab.check('07-newcomer', '10.0.0.99@N', show='rule'))\n"
        "for call in (rmqlab.spark, lambda: rmqlab.read_store(None, 'x')):\n"
        "    try: call()\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=installed / "empty", capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "read_store(session" in told.stdout
    assert "<svg Messages: 1" in told.stdout
    assert "07-newcomer: not yet. 5 queues move.\nHint: Where do the members' blocks begin and end" in told.stdout
    assert "Rule: The order of the ids decides" in told.stdout
    assert told.stdout.count("BadInput the packages of rmqlab[spark] are needed: pip install") == 2


@pytest.mark.parametrize("arguments", [*([name] for name in OF_A_CHECKOUT), ["reproduce", "--report", "r"]])
def test_what_needs_a_checkout_says_so_before_any_work(installed, arguments):
    told = run(installed, *arguments)
    assert (told.stdout, told.returncode) == ("", 2)
    assert told.stderr.count("\n") == 1
    assert told.stderr.startswith(f"rmqlab {arguments[0]}: ")
    assert "checkout" in told.stderr


def test_a_wheel_has_no_proof_and_lists_no_verb_of_a_checkout(installed):
    assert {path.name for path in (installed / "site").iterdir() if not path.is_symlink()} == {
        "rmqlab", "rmqlab_tools", f"rmqlab-{__version__}.dist-info"
    }  # fmt: skip
    listed = re.findall(r"^  (\w+) ", run(installed).stdout, re.MULTILINE)
    assert listed == [name for name in VERBS if name not in OF_A_CHECKOUT]


def test_the_wheel_has_the_lessons_and_what_they_read(installed, root):
    """A copy in both languages without any other package, and every file that a lesson asks `rmqlab.data` for."""
    told = run(installed, "notebook", "--copy", "mine")
    assert told.returncode == 0, told.stderr
    for name in ("mine", "mine-zh"):
        copies = sorted(path.name for path in (installed / "empty" / name).glob("[0-9]*.ipynb"))
        assert copies == sorted(["00_index.ipynb", *(path.name for path in (root / "notebooks").glob("*.ipynb"))])
        assert (installed / "empty" / name / "exercises" / "01_eight_messages_tasks.ipynb").is_file()
    text = "".join(path.read_text(encoding="utf-8") for path in (installed / "empty").rglob("*.ipynb"))
    asked = set(re.findall(r'rmqlab\.data\(\\"([^"{]+)\\"', text))
    assert len(asked) >= 10
    assert [name for name in asked if not (installed / "site" / "rmqlab" / "data" / name).exists()] == []


def test_the_sdist_has_everything_that_is_committed(tmp_path, root):
    """In the unpacked sdist `./lab` does all that it does in a clone."""
    if not (root / ".git").exists():
        pytest.skip("git knows nothing of this copy, so there is nothing to compare")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        there = {member.name.partition("/")[2] for member in archive if member.isfile()}
        script = archive.getmember(f"{path.name.removesuffix('.tar.gz')}/lab")
    assert set(committed()) - there == set()
    assert script.mode & 0o111


def absent(name):
    raise PackageNotFoundError(name)


def test_an_environment_of_lab_is_told_what_brings_them(monkeypatch, tmp_path):
    monkeypatch.setattr(extras, "distribution", absent)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    with pytest.raises(BadInput, match=r"pip install 'rmqlab\[notebook\]' \(missing here: ipykernel, "):
        extras.require("notebook")
    (tmp_path / "lab-stamp").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(BadInput, match=r"missing from .*: ipykernel, .*; ./lab --install notebook brings them"):
        extras.require("notebook")


def test_a_package_on_the_path_is_there_without_being_installed(monkeypatch):
    """As PySpark is under spark-submit."""
    monkeypatch.setattr(extras, "distribution", absent)
    extras.require("notebook")


def test_a_package_that_the_core_misses_is_one_line(monkeypatch, capsys):
    def broken(name):
        raise ModuleNotFoundError("No module named 'msgspec'", name="msgspec.json")

    monkeypatch.setattr(cli, "import_module", broken)
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    assert cli.main(["simulate", "x"]) == 2
    assert capsys.readouterr().err == (
        "rmqlab simulate: the packages of rmqlab are needed: pip install 'rmqlab' (missing here: msgspec)\n"
    )
