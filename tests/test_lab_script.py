"""The script `lab`: what it installs, when it starts over, what it hands to the verb. Nothing is downloaded here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from rmqlab_tools.cli import VERBS

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = """
[build-system]
requires = ["builder"]
[project]
name = "a-project"
dependencies = ["core>=1"]
[project.optional-dependencies]
notebook = ["pictures>=2"]
spark = ["sparks>=3"]
java = ["wheel-of-java"]
test = ["checks"]
"""
PINS = "".join(
    f"{name}==1.5{marker} \\\n    --hash=sha256:{name}\n    # for: {extras}\n"
    for name, marker, extras in [
        ("builder", "", "core"), ("core", "", "core"), ("pictures", " ; os_name == 'posix'", "notebook spark"),
        ("sparks", "", "spark"), ("wheel-of-java", "", "java"),
    ]
)  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    """A small project: the real script, the real tables, packages that do not exist."""
    top = tmp_path / "a project"
    for name in ("rmqlab", "rmqlab_tools"):
        (top / name).mkdir(parents=True)
    for name in ("lab", "rmqlab/checkout.py", "rmqlab/errors.py", "rmqlab/language.py", "rmqlab_tools/java_runtime.py"):
        shutil.copy(ROOT / name, top / name)
    shutil.copytree(ROOT / "rmqlab_tools" / "cli", top / "rmqlab_tools" / "cli")
    (top / "tests" / "proof" / "commands").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "proof" / "commands" / "__init__.py", top / "tests" / "proof" / "commands")
    (top / "pyproject.toml").write_text(PYPROJECT)
    (top / "requirements.txt").write_text(PINS)
    return top


def load(tree):
    """The script as a module, with a `run` that only notes the steps and leaves a python where venv would."""
    loader = SourceFileLoader("lab_script", str(tree / "lab"))
    module = module_from_spec(spec_from_loader("lab_script", loader))
    loader.exec_module(module)
    module.steps = []

    def run(*command):
        module.steps.append(command)
        if "venv" in command:
            fake_python(tree, "exit 0")
        if "--editable" in command:
            itself(tree).mkdir(parents=True, exist_ok=True)

    module.really_run, module.run = module.run, run
    return module


def itself(tree):
    return tree / ".venv" / "lib" / "python3.11" / "site-packages" / "rmqlab-0.1.0.dist-info"


def fake_python(tree, body):
    program = tree / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


@pytest.fixture
def script(tree):
    return load(tree)


@pytest.fixture
def installed(script):
    """The script after a first set-up with the extra `notebook`."""
    script.set_up({"notebook"})
    script.steps.clear()
    return script


def call(tree, *arguments, **environ):
    """Run the script as a person would."""
    command = [sys.executable, str(tree / "lab"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environ, cwd=tree)


def test_alone_it_lists_the_verbs_and_installs_nothing(tree):
    told = call(tree)
    assert told.returncode == 0
    assert re.search(r"^  rows +the matrix of mission rows", told.stdout, re.MULTILINE)
    assert not (tree / ".venv").exists()
    assert call(tree, "--help").stdout == told.stdout


def test_a_safe_path_hides_nothing_of_its_own(tree):
    """PYTHONSAFEPATH keeps Python from looking beside the script, where the package lies."""
    assert call(tree, PYTHONSAFEPATH="1").stdout == call(tree).stdout != ""


def test_verbs_of_a_checkout_are_not_offered_without_their_tree(tree):
    shutil.rmtree(tree / "tests")
    assert "rows" not in call(tree).stdout


def test_unknown_verb(tree):
    told = call(tree, "rews")
    assert (told.returncode, told.stdout) == (2, "")
    assert "no verb 'rews'" in told.stderr
    assert "notebook" in told.stderr
    assert not (tree / ".venv").exists()


def test_first_use_installs_what_the_verb_needs(script):
    script.set_up({"notebook"})
    venv, packages, project = script.steps
    assert venv == (sys.executable, "-m", "venv", str(script.VENV))
    assert packages[-4:] == ("--no-deps", "--require-hashes", "--requirement", str(script.PACKAGES))
    assert listed(script) == ["builder", "core", "pictures"]
    assert script.PACKAGES.read_text().count("--hash=sha256:") == 3
    assert project[-4:] == ("--no-deps", "--no-build-isolation", "--editable", ".")
    assert "--no-compile" in packages
    assert script.is_ready({"notebook"})
    assert script.is_ready(set())
    assert not script.is_ready({"spark"})


def test_later_uses_install_nothing(installed):
    installed.set_up({"notebook"})
    assert installed.steps == []


def listed(script):
    """The packages that pip is asked for."""
    return re.findall(r"^([a-z-]+)==", script.PACKAGES.read_text(), re.MULTILINE)


def test_all_is_every_extra_but_java(script):
    script.set_up({"all"})
    assert listed(script) == ["builder", "core", "pictures", "sparks"]


def test_a_bundle_s_wheels_are_of_this_machine_and_have_no_hash_of_a_registry(script):
    script.WHEELS.mkdir()
    script.set_up({"notebook"})
    assert "--require-hashes" not in script.steps[1]
    assert script.PACKAGES.read_text() == "builder==1.5\ncore==1.5\npictures==1.5 ; os_name == 'posix'\n"


def test_an_extra_that_no_pin_is_for_is_named(script):
    with pytest.raises(script.LabError, match=r"no pin for films; there is core, java, notebook, spark"):
        script.pins_of({"films"})


def test_a_further_extra_is_added_to_those_there(installed):
    installed.set_up({"spark"})
    assert listed(installed) == ["builder", "core", "pictures", "sparks"]
    assert installed.is_ready({"notebook", "spark"})


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_a_changed_list_is_installed_again(installed, name):
    with (installed.ROOT / name).open("a") as file:
        file.write("# changed\n")
    assert not installed.is_ready(set())
    installed.set_up(set())
    assert listed(installed)[-1] == "pictures"
    assert installed.is_ready({"notebook"})


@pytest.mark.parametrize("stop_at", ["venv", "--requirement", "--editable"])
def test_an_interrupted_set_up_is_begun_anew(tree, script, stop_at):
    finished = script.run

    def stopped(*command):
        if stop_at in command:
            (tree / ".venv" / "half").mkdir()
            raise KeyboardInterrupt
        finished(*command)

    script.run = stopped
    with pytest.raises(KeyboardInterrupt):
        script.set_up(set())
    again = load(tree)
    assert not again.is_ready(set())
    again.set_up(set())
    assert again.steps[0][1:3] == ("-m", "venv")
    assert not (tree / ".venv" / "half").exists()
    assert again.is_ready(set())


def test_an_interrupted_renewal_is_begun_anew(tree, installed):
    def stopped(*command):
        raise KeyboardInterrupt

    installed.run = stopped
    with pytest.raises(KeyboardInterrupt):
        installed.set_up({"spark"})
    again = load(tree)
    again.set_up(set())
    assert again.steps[0][1:3] == ("-m", "venv")


def test_a_moved_folder_gets_a_new_venv(tree, installed):
    moved = tree.rename(tree.parent / "elsewhere")
    script = load(moved)
    assert not script.is_ready(set())
    script.set_up(set())
    assert script.steps[0] == (sys.executable, "-m", "venv", str(moved / ".venv"))
    assert script.is_ready({"notebook"})


def test_a_venv_whose_python_is_gone_is_made_anew(installed):
    installed.PYTHON.unlink()
    installed.PYTHON.symlink_to("gone")
    assert not installed.is_ready(set())
    installed.set_up(set())
    assert "venv" in installed.steps[0]


def test_a_venv_of_somebody_else_is_left_alone(tree, script):
    (tree / ".venv").mkdir()
    (tree / ".venv" / "mine").touch()
    with pytest.raises(script.LabError, match="was not made by this script; delete it or move it away"):
        script.set_up(set())
    assert (tree / ".venv" / "mine").exists()
    assert script.steps == []


def test_a_venv_that_has_lost_the_package_gets_it_again(tree, installed):
    itself(tree).rmdir()
    assert not installed.is_ready(set())
    installed.set_up(set())
    assert itself(tree).is_dir()


@pytest.mark.parametrize(
    ("says", "line"),
    [
        ("ERROR: No matching distribution found for core", "failed (No matching distribution found for core); all"),
        ("WARNING: Retrying after connection broken by X\nERROR: ResolutionImpossible", "registry cannot be reached"),
        ("/x/.venv/bin/python: No module named pip", "pip is missing from .venv: delete .venv, then run the same"),
        ("OSError: [Errno 28] No space left on device", "no space is left for .venv: make room"),
        ("", "sh failed (status 3)"),
    ],
)
def test_a_failed_step_says_in_one_line_what_to_do(tree, script, says, line):
    (tree / ".venv").mkdir()
    with pytest.raises(script.LabError) as caught:
        script.really_run("sh", "-c", f"printf '%s\\n' 'first' '{says}' >&2; exit 3" if says else "exit 3")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not script.DOWNLOADS.exists()


def test_large_downloads_are_told(tree, script, capsys):
    (tree / ".venv").mkdir()
    script.PERIOD_S = 0.05
    part = 'mkdir "$TMPDIR/pip-unpack-x"; head -c 3000000 /dev/zero > "$TMPDIR/pip-unpack-x/big-1.tar.gz"'
    begun = "echo '  Downloading https://registry/big-1.tar.gz (455.3 MB)'"
    script.really_run("sh", "-c", f"{part}; echo '  Downloading small-1.whl (3.1 MB)'; {begun}; sleep 0.5")
    assert capsys.readouterr().err.splitlines() == ["lab: downloading big-1.tar.gz: 3 of 455 MB"]


def test_what_is_complete_is_told_no_more(tree, script, capsys):
    (tree / ".venv").mkdir()
    script.PERIOD_S, script.REPEAT_S = 0.05, 0
    whole = "head -c 10196000 /dev/zero > \"$TMPDIR/pip-unpack-x/whole.whl\"; echo 'Downloading whole.whl (10.2 MB)'"
    many = "Installing collected packages: " + ", ".join("abcdefghijkl")
    script.really_run("sh", "-c", f"mkdir \"$TMPDIR/pip-unpack-x\"; {whole}; echo '{many}'; sleep 0.3")
    assert set(capsys.readouterr().err.splitlines()) == {"lab: writing 12 packages into .venv"}


def test_no_step_outlives_the_script(tree, script):
    """It has a session of its own, so that Ctrl-C at a terminal cannot make it answer with a traceback."""
    (tree / ".venv").mkdir()

    def interrupted(_):
        raise KeyboardInterrupt

    script.Progress.tell = interrupted
    script.PERIOD_S = 0.2
    with pytest.raises(KeyboardInterrupt):
        script.really_run("sh", "-c", f"echo $$ > '{tree}/pid'; exec sleep 60")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tree / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        ("EROFS", "Read-only file system: {venv}; packages are installed in .venv beside this script, so copy its"),
        ("ENOSPC", "No space left on device: {venv}; make room, then"),
        ("EIO", "Input/output error: {venv}; delete .venv, then run the same command again"),
    ],
)
def test_a_folder_that_cannot_be_written_is_one_line(tree, number, line):
    """The script in a process of its own, where mkdir fails as it does on such a disk."""
    text = (tree / "lab").read_text()
    fails = f"def mkdir(self, **_): raise OSError(errno.{number}, os.strerror(errno.{number}), str(self))"
    (tree / "lab").write_text(text.replace("ROOT = Path", f"{fails}\nPath.mkdir = mkdir\nROOT = Path", 1))
    told = call(tree, "rows")
    assert told.returncode == 1
    lines = told.stderr.splitlines()
    assert lines[0] == "lab: making .venv"
    assert lines[1].startswith("lab: " + line.format(venv=tree / ".venv"))
    assert len(lines) == 2


def test_a_second_one_waits_and_says_so(tree, installed):
    """It holds the lock of the same script while a second process comes."""
    fake_python(tree, "exit 0")
    (tree / "requirements.txt").write_text(PINS.replace("1.5", "1.6"))
    with installed.alone():
        second = subprocess.Popen(
            [sys.executable, str(tree / "lab"), "rows"], stderr=subprocess.PIPE, text=True, cwd=tree
        )
        assert second.stderr.readline().startswith("lab: another ./lab is setting up .venv; this one goes on when")
        assert second.poll() is None
        installed.install({"notebook"})
    assert second.stderr.read() == ""
    assert second.wait() == 0


def test_version(tree):
    shutil.copy(ROOT / "rmqlab" / "__init__.py", tree / "rmqlab" / "__init__.py")
    told = call(tree, "--version")
    assert (told.returncode, told.stderr) == (0, "")
    assert re.fullmatch(r"rmqlab \d+\.\d+\.\d+\n", told.stdout)
    assert not (tree / ".venv").exists()


def test_the_verb_gets_its_arguments_and_gives_its_status(tree, installed):
    fake_python(tree, 'echo "$@"; echo "$VIRTUAL_ENV|$PYSPARK_PYTHON|$PYTHONPATH|$PIP_USER"; exit 7')
    told = call(tree, "simulate", "--port", "1", "two words", PYTHONPATH="/nowhere", PIP_USER="1")
    assert told.returncode == 7
    assert told.stdout.splitlines() == [
        "-P -m rmqlab simulate --port 1 two words",
        f"{tree}/.venv|{tree}/.venv/bin/python||0",
    ]
    assert told.stderr == ""


def test_what_a_verb_imports_is_compiled_once_whatever_the_shell_says(tree, installed):
    fake_python(tree, 'echo "${PYTHONDONTWRITEBYTECODE-kept}"')
    assert call(tree, "rows", PYTHONDONTWRITEBYTECODE="1").stdout == "kept\n"


def test_it_runs_from_any_folder_and_through_a_link(tree, installed):
    fake_python(tree, "pwd; exit 0")
    link = tree.parent / "link"
    link.symlink_to(tree / "lab")
    told = subprocess.run([sys.executable, link, "rows"], capture_output=True, text=True, check=False, cwd=tree.parent)
    assert (told.returncode, told.stdout.strip()) == (0, str(tree.parent))


def shell(tree, *arguments, script=None, **environ):
    """Run it by its first line, so by a shell."""
    return subprocess.run(
        [script or tree / "lab", *arguments],
        capture_output=True, text=True, check=False, env=os.environ | environ, cwd=tree.parent,
    )  # fmt: skip


def test_once_it_is_set_up_the_python_in_it_runs_the_script_and_the_verb(tree, installed):
    fake_python(tree, '[ "$1" != -P ] && [ "$PYTHONSAFEPATH" = 1 ] && echo "inside ${PYTHONPATH-unset} $@"; exit 7')
    told = shell(tree, "rows", "two words", PYTHONPATH="/nowhere")
    assert (told.returncode, told.stdout, told.stderr) == (7, f"inside unset {tree}/lab rows two words\n", "")
    link = tree.parent / "link"
    link.symlink_to(tree / "lab")
    assert shell(tree, "rows", script=link).stdout == ""  # a link goes the other way, and -P is there


def test_a_venv_that_is_not_this_script_s_runs_nothing(tree):
    fake_python(tree, "echo never")
    told = shell(tree, "--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("usage: ")


def real_python(tree):
    """A virtual environment of this Python, without a package of others."""
    (tree / ".venv" / "bin" / "python").unlink()
    (tree / ".venv" / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (tree / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    packages = tree / ".venv" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "itself.pth").write_text(f"{tree}\n")


VERB = """
import os, sys
print(__name__, sys.argv[1:], sys.prefix, sys.flags.safe_path, sys.modules["__main__"].__spec__.name, os.getpid())
print(os.environ["VIRTUAL_ENV"], os.environ["PYTHONHASHSEED"], os.environ["RMQLAB_PROGRAM"], sys.dont_write_bytecode)
sys.exit(7)
"""


def test_the_verb_runs_in_the_process_that_the_script_began(tree, installed):
    real_python(tree)
    (tree / "rmqlab" / "__init__.py").touch()
    (tree / "rmqlab_tools" / "__init__.py").touch()
    (tree / "rmqlab" / "__main__.py").write_text(VERB)
    environ = {"PYTHONHASHSEED": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen([tree / "lab", "rows", "a b"], stdout=subprocess.PIPE, env=os.environ | environ) as verb:
        told = verb.communicate()[0].decode()
    assert told.splitlines() == [
        f"__main__ ['rows', 'a b'] {tree}/.venv True rmqlab.__main__ {verb.pid}",
        f"{tree}/.venv 3 {str(tree / 'lab')!r} False",
    ]
    assert verb.returncode == 7


def test_what_is_made_anew_is_not_what_makes_it(tree, installed):
    """The lists changed: another Python than that of .venv goes on."""
    real_python(tree)
    (tree / "rmqlab_tools" / "__init__.py").touch()
    (tree / "requirements.txt").write_text("# another\n")
    other = tree / "other"
    other.mkdir()
    (other / "python3").write_text('#!/bin/sh\necho "another: ${PYTHONSAFEPATH-unset} $@"\n')
    (other / "python3").chmod(0o755)
    told = shell(tree, "rows", "x", PATH=f"{other}{os.pathsep}{os.environ['PATH']}")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"another: unset {tree}/lab rows x\n", "")


class Became(Exception):
    """This process would be another program now: its path, its command line, its environment."""


def become_something_else(*arguments):
    raise Became(*arguments)


class Java:
    """Stands in for rmqlab_tools/java_runtime.py."""

    def __init__(self, found):
        self.found = found

    def find_java(self, environ):
        return self.found

    def home_from_wheel(self, venv):
        return venv / "java"


@pytest.mark.parametrize("found", [None, Path("/opt/some-java")])
def test_java_comes_from_the_machine_or_else_from_the_wheel(tree, script, monkeypatch, found):
    monkeypatch.setattr(os, "execve", become_something_else)
    script.load = lambda _: Java(found)
    with pytest.raises(Became) as became:
        script.become(["audit", "store"], {"spark", "java"})
    _, command, environ = became.value.args
    assert command[1:] == ["-P", "-m", "rmqlab", "audit", "store"]
    assert environ["JAVA_HOME"] == str(found or tree / ".venv" / "java")
    assert ("wheel-of-java" in listed(script)) == (found is None)


def test_no_verb_looks_for_java_unless_it_needs_one(script, monkeypatch):
    monkeypatch.setattr(os, "execve", become_something_else)
    script.load = lambda path: pytest.fail(f"{path} was loaded")
    with pytest.raises(Became):
        script.become(["rows"], set())


def test_an_old_python_hands_over_to_a_newer_one_that_runs(tree, script, monkeypatch):
    """A shim of pyenv stands first on the PATH, and another one has a name that is newer still."""
    newer = tree / "python3.29"
    shims = tree / "shims"
    shims.mkdir()
    for program, body in ((newer, ""), (shims / "python3.29", "exit 127"), (shims / "python3.30", "exit 127")):
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    monkeypatch.setattr(os, "execv", become_something_else)
    monkeypatch.setenv("PATH", f"{shims}{os.pathsep}{tree}")
    script.OLDEST = (3, 29)
    with pytest.raises(Became) as became:
        script.check_python(["rows", "--missing"])
    assert became.value.args[1] == [str(newer), str(tree / "lab"), "rows", "--missing"]


def test_an_old_python_alone_is_named(script, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    script.OLDEST = (3, 29)
    have = f"{sys.version_info[0]}.{sys.version_info[1]}"
    with pytest.raises(script.LabError, match=f"this is Python {have}, .*; install Python 3.29 or newer"):
        script.check_python([])


def test_a_python_without_ensurepip_is_named(tree, script, monkeypatch):
    monkeypatch.setattr(script.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(script.LabError, match="apt install python3"):
        script.set_up(set())
    assert not (tree / ".venv").exists()


@pytest.mark.parametrize(("found", "brought"), [(None, {"spark", "java"}), (Path("/opt/some-java"), {"spark"})])
def test_extras_are_installed_by_name(script, found, brought):
    """What `rmqlab.need` calls: a Java of the machine is not brought once more."""
    tables = script.load("rmqlab_tools/cli/__init__.py")
    script.load = lambda path: tables if "cli" in path else Java(found)
    assert script.main(["--install", "spark", "java"]) == 0
    assert script.read_stamp().extras == brought
    steps = len(script.steps)
    assert script.main(["--install", "spark"]) == 0
    assert len(script.steps) == steps
    with pytest.raises(script.LabError, match="no extra 'sparc'; there are notebook, spark, java, test"):
        script.main(["--install", "sparc"])


def test_ready_means_quick(tree, installed):
    """What the script itself costs: well below what a verb costs."""
    fake_python(tree, "exit 0")
    told = subprocess.run(
        [sys.executable, "-S", "-X", "importtime", str(tree / "lab"), "rows"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert imported.isdisjoint({"tomllib", "json", "venv", "argparse", "asyncio", "polib", "rmqlab_tools.cli.cli"})


def test_an_option_may_need_more_than_its_verb():
    """The report of `reproduce` runs notebooks on Spark; its table alone must not wait for that."""
    verb = VERBS["reproduce"]
    assert verb.needs([]) == verb.needs(["--only", "A"]) == set()
    assert verb.needs(["--report", "out"]) == verb.needs(["--report=out"]) == {"notebook", "spark", "java"}
