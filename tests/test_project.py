"""The rules that hold for the whole tree: agreement of its lists, rooms, sizes, and what may not be committed."""

from __future__ import annotations

import ast
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

from rmqlab.cli import OF_A_CHECKOUT
from rmqlab.commands import VERBS
from tests.proof.bundle import committed
from tests.proof.pins import CORE as CORE_PACKAGES
from tests.proof.pins import pinned, wanted
from tests.proof.rows import REQUIRED, collect, read_rows, select

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = sorted((ROOT / "rmqlab").rglob("*.py"))
PROOF = sorted(path for path in (ROOT / "tests" / "proof").rglob("*.py") if not path.name.startswith("test_"))
LONGEST_MODULE = 500

# What a room may import, as in the README's map; a room may always import itself and rmqlab.errors.
CORE = ("message", "protocol", "filter", "store", "broker", "namesrv", "client")
MAY_IMPORT = {
    "message": set(),
    "protocol": {"message"},  # rules and events are above these two and know nothing else
    "filter": {"message", "protocol"},
    "store": {"message", "protocol", "filter"},
    "broker": {"message", "protocol", "filter", "store"},
    "namesrv": {"message", "protocol"},
    "client": {"message", "protocol", "filter"},
    "runtime": set(CORE),
    "lab": {*CORE, "runtime", "java_runtime"},  # java_runtime is no room: it finds a Java and imports nothing of ours
    "search": {*CORE, "runtime", "lab"},
    "experiments": {*CORE, "runtime", "lab", "search", "java_runtime"},
    "spark": {*CORE, "runtime", "lab", "search", "experiments", "java_runtime", "extras"},
    "show": {*CORE, "runtime", "lab", "search", "experiments"},
    "diagnosis": {*CORE, "runtime", "lab", "search", "show", "extras"},
    "lessons": {*CORE, "runtime", "lab", "search", "experiments", "show", "diagnosis", "spark"},
}
# Folders of lab that ask the search, so they stand above it.
EXPERIMENTS = ("articles", "recorded")
# `Lab` explores, draws and hands its tables to Spark, what it answers with draws itself, and a link draws its run's
# times as a search does: they look up to the rooms above when they are asked for that.
FACADE = {
    "rmqlab/lab/lab.py", "rmqlab/lab/results.py", "rmqlab/lab/link.py", "rmqlab/search/explorer/exploration.py",
}  # fmt: skip
# What client code awaits, and the errors of a lost request: a module of its own, with no runtime behind it.
INTERFACE = "rmqlab.runtime.runtime"
# Clocks, sockets, threads and chance come into the core from outside.
NOT_IN_CORE = {
    "asyncio", "concurrent", "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select", "selectors",
    "signal", "socket", "subprocess", "sys", "threading", "time", "uuid",
}  # fmt: skip


def imports_of(path):
    """Every import of a module, those for annotations included: line and dotted name."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in tree.body if path.relative_to(ROOT).as_posix() in FACADE else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            if node.module in {"rmqlab", "rmqlab.runtime"}:
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module


def room_of(path):
    return room_of_parts(path.relative_to(ROOT / "rmqlab").parts)


def room_of_parts(parts):
    return "experiments" if parts[0] == "lab" and parts[1:2] and parts[1] in EXPERIMENTS else parts[0]


def test_rooms_import_only_downwards():
    wrong = []
    base = {"errors", "language", "files", "checkout", "rules", "events", "program", "styled", "visible", "wrapping"}
    for path in MODULES:
        room = room_of(path)
        for line, name in imports_of(path) if room in MAY_IMPORT else ():
            package, _, rest = name.partition(".")
            allowed = {room, *base, *MAY_IMPORT[room]}
            there = room_of_parts(rest.split("."))
            if package == "rmqlab" and there not in allowed and (room, name) != ("client", INTERFACE):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert wrong == []


def test_nothing_of_a_wheel_imports_what_a_checkout_alone_has():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        for line, name in imports_of(path)
        if name.partition(".")[0] == "tests"
    ]
    assert wrong == []


def test_interface_of_the_runtime_stands_alone():
    path = ROOT / "rmqlab" / "runtime" / "runtime.py"
    ours = {name for _, name in imports_of(path) if name.startswith("rmqlab")}
    assert {name.split(".")[1] for name in ours} <= {"protocol"}
    assert list(imports_of(ROOT / "rmqlab" / "runtime" / "__init__.py")) == []


def test_every_room_has_its_rule():
    rooms = {path.parent.name for path in (ROOT / "rmqlab").glob("*/__init__.py")}
    assert rooms - {"commands"} <= set(MAY_IMPORT)


def test_folders_of_a_room_import_one_way():
    """Whoever reads a folder needs only those below it: inside a room, no folder leads back to itself."""
    arrows = {}
    for path in MODULES:
        room, *inner = path.relative_to(ROOT / "rmqlab").parts[:-1] or [""]
        for _, name in imports_of(path):
            package, _, rest = name.partition(".")
            there, *below = rest.split(".")
            if package == "rmqlab" and there == room and (ROOT / "rmqlab" / room).is_dir():
                target = [below[0]] if below and (ROOT / "rmqlab" / room / below[0]).is_dir() else []
                if target != inner[:1]:
                    arrows.setdefault((room, *inner[:1]), set()).add((room, *target))

    def reached(start):
        found, open_ = set(), [start]
        while open_:
            new = arrows.get(open_.pop(), set()) - found
            found |= new
            open_ += new
        return found

    assert [folder for folder in arrows if folder in reached(folder)] == []


def test_core_has_no_clock_socket_thread_or_chance():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        if room_of(path) in CORE
        for line, name in imports_of(path)
        if name.partition(".")[0] in NOT_IN_CORE
    ]
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.func)}()"
        for path in MODULES
        if room_of(path) in CORE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and re.search(r"^(open|input|print)$|\bdatetime\.(now|utcnow|today)$", ast.unparse(node.func))
    ]
    assert wrong + calls == []


def test_modules_are_short():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in [*MODULES, *PROOF]
    }
    assert {name: length for name, length in lengths.items() if length >= LONGEST_MODULE} == {}


HEAVY = ("numpy", "matplotlib", "pandas", "pyspark", "pyarrow", "IPython", "ipywidgets", "nbformat", "asyncio")


def modules_after(statement):
    """The names in sys.modules after `statement` in a new interpreter."""
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def test_import_is_light():
    loaded = modules_after("import rmqlab")
    assert "rmqlab" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_core_imports_are_light():
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if room_of(path) in CORE
    ]
    loaded = modules_after(f"import {', '.join(names)}")
    assert set(names) <= loaded
    assert loaded.isdisjoint(HEAVY)


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
    rooms = [f"`rmqlab/{path.parent.name}/`" for path in (ROOT / "rmqlab").glob("*/__init__.py")]
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
