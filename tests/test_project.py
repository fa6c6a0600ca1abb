"""The rules that hold for the whole tree: agreement of its lists, rooms, sizes, and what may not be committed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from rmqlab_tools.cli import VERBS
from rmqlab_tools.cli.cli import OF_A_CHECKOUT
from tests.proof.bundle import committed
from tests.proof.pins import CORE as CORE_PACKAGES
from tests.proof.pins import pinned, wanted
from tests.proof.rows import REQUIRED, collect, read_rows, select

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = sorted([*(ROOT / "rmqlab").rglob("*.py"), *(ROOT / "rmqlab_tools").rglob("*.py")])
PROOF = sorted(path for path in (ROOT / "tests" / "proof").rglob("*.py") if not path.name.startswith("test_"))
LONGEST_MODULE = 500
LONGEST = {"rmqlab/rules.py": 600}  # every rule and the table of them: that they stand in one file is the point of it


def test_modules_are_short():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in [*MODULES, *PROOF]
    }
    assert {name: length for name, length in lengths.items() if length >= LONGEST.get(name, LONGEST_MODULE)} == {}


def extras(*names):
    """The requirements of these extras, with the extras that they name resolved."""
    for name in names:
        for text in PROJECT["optional-dependencies"][name]:
            requirement = Requirement(text)
            if requirement.name == PROJECT["name"]:
                yield from extras(*requirement.extras)
            else:
                yield requirement


def test_conda_environment_agrees_with_pyproject():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert environment["name"] == PROJECT["name"]
    python = next(entry for entry in plain if entry.startswith("python"))
    assert sorted(plain) == sorted(["openjdk=17", "pip", python])
    # repo2docker reads this and nothing else, and takes a Python of its own where it finds none
    version = re.fullmatch(r"python=(\d+\.\d+)", python)
    assert SpecifierSet(PROJECT["requires-python"]).contains(version[1])
    # conda gives these lines to pip as a file beside environment.yml
    (listed,) = pip
    assert listed.split() == ["--requirement", "requirements.txt"]
    assert (ROOT / listed.split()[1]).is_file()
    assert "pip install --no-deps --editable .\n" in (ROOT / "postBuild").read_text(encoding="utf-8")


def test_the_version_and_the_authors_stand_in_one_place():
    """In the package; CITATION.cff has both for who cites, and pyproject.toml reads the version."""
    import rmqlab

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert "version" in PROJECT["dynamic"]
    assert cited["version"] == rmqlab.__version__
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in PROJECT["authors"]]


def test_all_means_every_extra_but_java():
    every = set(PROJECT["optional-dependencies"]) - {"all", "java"}
    assert {str(one) for one in extras("all")} == {str(one) for one in extras(*every)}


def test_packages_of_the_design_card_are_asked_for():
    named = {requirement.name for requirement in extras("all")}
    assert {"pyspark", "jupyterlab", "ipywidgets", "papermill", "pytest", "nbval"} <= named


def pins():
    yield from pinned((ROOT / "requirements.txt").read_text(encoding="utf-8")).items()


def test_every_pin_has_hashes_and_says_who_wants_it():
    """A pin without a hash would let pip take any file; `./lab` chooses by the extras that stand behind each."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    blocks = re.findall(r"^[A-Za-z0-9](?:.*\n)(?:    .*\n)*", text, re.MULTILINE)
    assert len(blocks) == len(pinned(text)) > 100
    for block in blocks:
        first, *hashes, wanted = block.splitlines()
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[0-9][\w.!+]*(?: ; [^\\]+)? \\", first), first
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line) for line in hashes), first
        assert re.fullmatch(r"    # for:(?: [a-z]+)+", wanted), first
        assert set(wanted.split()[2:]) <= {CORE_PACKAGES, *PROJECT["optional-dependencies"]}


@pytest.mark.parametrize("extra", [CORE_PACKAGES, *sorted(set(PROJECT["optional-dependencies"]) - {"all"})])
def test_each_extra_finds_its_packages_among_the_pins(extra):
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    named = re.findall(rf"^([a-z0-9.-]+)==[^#]*# for:(?: [a-z]+)*? {extra}\b", text, re.MULTILINE)
    assert {canonicalize_name(Requirement(asked).name) for asked in wanted()[extra]} <= set(named)


def test_pins_satisfy_pyproject():
    versions = dict(pins())
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    asked = [*map(Requirement, [*build, *PROJECT["dependencies"]]), *extras("all", "java")]
    for requirement in asked:
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} has no pin in requirements.txt"
        assert requirement.specifier.contains(version), f"{requirement} against {version}"


def test_pins_are_what_runs_here():
    """Only under ./lab: in an environment of one's own the versions are one's own business."""
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("these tests do not run in the environment that ./lab made: run ./lab test")
    from importlib.metadata import distributions

    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions()}
    pinned = dict(pins())
    assert {name: version for name, version in installed.items() if pinned.get(name, version) != version} == {}
    assert set(installed) - set(pinned) - {"rmqlab", "pip", "setuptools", "wheel"} == set()


def test_notebooks_run_on_this_interpreter():
    from jupyter_client import KernelManager

    command = KernelManager(kernel_name="python3").format_kernel_cmd()
    assert Path(command[0]) == Path(sys.executable)
    assert command[1:3] in (["-m", "ipykernel_launcher"], ["-Xfrozen_modules=off", "-m"])


# Built from pieces, so that this file passes its own test.
HOSTS = [
    ".".join(parts)
    for parts in [
        ("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs", "org"), ("crates", "io"), ("repo1", "maven"),
        ("repo", "maven"), ("deb", "debian", "org"), ("proxy", "golang", "org"), ("conda", "anaconda", "org"),
    ]
]  # fmt: skip
MACHINE = [("work", ""), ("root", ""), ("home", ""), ("tmp", "team"), ("Users", "")]
FOLDERS = ["/" + "/".join(parts) for parts in MACHINE]
LOCKS = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "conda-lock.yml", "package-lock.json", "yarn.lock"}


def test_without_git_the_files_are_the_same(monkeypatch):
    """As in an unpacked sdist, or where git is not installed: what `bundle` takes, and what is looked through below."""
    known = set(committed())
    taken = set(committed(untracked=True))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert known <= taken == set(committed())
    assert len(known) > 1000


def test_nothing_of_one_machine_is_committed():
    wrong = []
    for name in committed(untracked=True):
        if Path(name).name in LOCKS:
            wrong.append(f"{name}: a lock file; requirements.txt has the pins")
        if name.startswith("data/golden/"):  # recorded: paths in it are the recorder's, and part of the evidence
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        wrong += [f"{name}: names the host {host}" for host in HOSTS if host in text]
        wrong += [f"{name}: names the folder {found}" for folder in FOLDERS if (found := stray(folder, text))]
    assert wrong == []


def stray(folder, text):
    """The first place where `text` names a path in `folder`, not just a longer path or an address with that part."""
    match = re.search(rf"(?<![\w.~*$}}]){re.escape(folder)}\S*", text)
    return match and match[0]


def test_required_rows_are_shown():
    checklist = read_rows(ROOT / "data" / "mission" / "rows.tsv")
    shown = collect(ROOT, checklist)
    assert [row for row in select(checklist, REQUIRED) if not shown[row]] == []


def test_every_verb_of_the_table_is_there():
    for verb in VERBS:
        assert (ROOT / VERBS[verb].package.replace(".", "/") / f"{verb}.py").is_file()
    assert tuple(verb for verb in VERBS if VERBS[verb].checkout) == OF_A_CHECKOUT


def test_readme_maps_every_room_and_verb():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    packages = ("rmqlab", "rmqlab_tools")
    rooms = [f"`{name}/{path.parent.name}/`" for name in packages for path in (ROOT / name).glob("*/__init__.py")]
    assert [name for name in [*rooms, *(f"`{verb}`" for verb in VERBS)] if name not in text] == []


def test_ruff():
    told = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "."], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_ruff_format():
    told = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", "."],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.slow
def test_mypy():
    told = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
