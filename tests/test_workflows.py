"""What strangers start from: workflows, forms and hooks. Each command in them exists, each file, each option."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import rmqlab
from rmqlab_tools.cli import VERBS
from rmqlab_tools.cli.cli import parser_of

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What the machines of the workflows have, or an earlier step brings.
TOOLS = {"git", "python", "pip", "papermill"}


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands():
    """Every line that a workflow runs: the workflow's name and the words."""
    for path in WORKFLOWS:
        for job in read(path)["jobs"].values():
            for step in job["steps"]:
                for line in step.get("run", "").splitlines():
                    if line.strip():
                        yield path.name, shlex.split(line)


@pytest.mark.parametrize(("workflow", "words"), list(commands()), ids=lambda value: str(value)[:40])
def test_each_command_of_a_workflow_exists(workflow, words):
    program, *arguments = words
    if program in TOOLS:
        assert program != "python" or arguments[:2] == ["-m", "pip"]
    else:
        assert os.access(ROOT / program, os.X_OK), f"{workflow}: {program}"
    if program == "./lab":
        assert arguments[0] in VERBS
        known = {option for action in parser_of(arguments[0])._actions for option in action.option_strings}
        assert {one for one in arguments[1:] if one.startswith("--")} <= known
    for before, name in pairwise(words):
        if before == "--requirement":
            assert (ROOT / name).is_file()


def test_checks_run_on_each_python_that_is_promised():
    (matrix,) = (
        job["strategy"]["matrix"]["python"] for job in read(ROOT / ".github/workflows/checks.yml")["jobs"].values()
    )
    promised = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d", one)]
    assert matrix[0] == PROJECT["requires-python"].removeprefix(">=")
    assert set(promised) <= set(matrix)
    assert len(matrix) >= 3


def test_paths_that_start_a_workflow_exist():
    for path in WORKFLOWS:
        when = read(path)[True]  # "on" is a boolean of YAML 1.1
        for one in (when.get("pull_request") or {}).get("paths", ()):
            assert list(ROOT.glob(one)), f"{path.name}: {one}"


def test_every_lesson_is_run_and_what_came_out_is_kept(tmp_path):
    """The script, with a papermill that only says what it is given."""
    (tmp_path / "papermill").write_text('#!/bin/sh\necho "$3" >> "$LOG"\ncase "$3" in *03_*) exit 1;; esac\n: > "$4"\n')
    (tmp_path / "papermill").chmod(0o755)
    environ = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOG": str(tmp_path / "log")}
    run = [ROOT / ".ci/lessons", tmp_path / "out"]
    told = subprocess.run(run, env=environ, capture_output=True, text=True, check=False)
    lessons = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
    assert (tmp_path / "log").read_text().split() == [f"notebooks/{name}" for name in lessons]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [one for one in lessons if one[:2] != "03"]
    (failed,) = (one for one in lessons if one.startswith("03"))
    assert (told.returncode, told.stderr.strip()) == (1, f"failed: notebooks/{failed}")
    one = subprocess.run([*run, "01"], env=environ, capture_output=True, text=True, check=False)
    assert one.returncode == 0
    assert subprocess.run([*run, "99"], env=environ, capture_output=True, check=False).returncode == 2


def test_hooks_use_what_requirements_pin():
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    (hooks,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert hooks["repo"] == "local"
    for hook in hooks["hooks"]:
        for package in hook.get("additional_dependencies", ()):
            assert re.search(rf"^{re.escape(package)}\b", pins, re.MULTILINE)
        for word in shlex.split(hook["entry"]) if hook["language"] == "system" else ():
            assert not word.endswith(".py") or (ROOT / word).is_file()


def test_forms_are_whole():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = read(path)
        if path.name != "config.yml":
            ids = [one["id"] for one in form["body"]]
            assert form["name"]
            assert form["description"]
            assert len(set(ids)) == len(ids)


def test_links_of_the_papers_lead_somewhere():
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"
        assert f"]({name})" in (ROOT / "README.md").read_text(encoding="utf-8")
        assert f"]({name})" in (ROOT / "README.zh.md").read_text(encoding="utf-8")


def test_paths_and_verbs_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:rmqlab|rmqlab_tools|tests|data|notebooks|\.ci)/[\w./]*)`", text):
        assert (ROOT / path).exists(), path
    for verb in re.findall(r"`\./lab (\w+)", text):
        assert verb in VERBS


def test_the_changelog_has_the_release_of_the_package():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    citation = read(ROOT / "CITATION.cff")
    assert released[0] == (citation["version"], citation["date-released"])
    assert text.index("## Unreleased") < text.index(f"## {released[0][0]}")
    section = text.partition(f"## {released[0][0]}")[2].partition("\n## ")[0]
    assert len(section.splitlines()) <= 120


def test_the_release_is_the_version_of_the_package():
    assert read(ROOT / "CITATION.cff")["version"] == rmqlab.__version__


@pytest.mark.slow
def test_a_release_has_a_bill_of_what_it_is_made_of(tmp_path):
    """Every pin is a component of the bill, with its version and the hashes that pip checks."""
    import json

    from tests.proof.pins import pinned

    done = subprocess.run([str(ROOT / ".ci" / "release"), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version = rmqlab.__version__
    names = {f"rmqlab-{version}-py3-none-any.whl", f"rmqlab-{version}.tar.gz", f"rmqlab-{version}.cdx.json"}
    assert {path.name for path in tmp_path.iterdir()} == {*names, "SHA256SUMS"}
    assert {line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()} == names
    bill = json.loads((tmp_path / f"rmqlab-{version}.cdx.json").read_text())
    listed = {component["name"].lower(): component for component in bill["components"]}
    pins = pinned((ROOT / "requirements.txt").read_text())
    assert {name: listed[name]["version"] for name in pins} == pins
    assert all(listed[name]["externalReferences"][0]["hashes"] for name in pins)


def test_subjects_of_commits_are_short():
    """As the hook asks for, seen also where it is not installed; of a shallow clone the last commit counts."""
    if not (ROOT / ".git").exists():
        pytest.skip("no repository: an sdist")
    since = "8b0b051029"  # older ones are as they are
    known = subprocess.run(["git", "cat-file", "-e", since], cwd=ROOT, capture_output=True, check=False).returncode == 0
    span = [f"{since}..HEAD"] if known else ["-1"]
    subjects = subprocess.check_output(["git", "log", "--no-merges", "--format=%s", *span], cwd=ROOT, text=True)
    assert [subject for subject in subjects.splitlines() if len(subject) > 60] == []


ACTION = read(ROOT / "action.yml")
(HOOK,) = read(ROOT / ".pre-commit-hooks.yaml")
JOB = read(ROOT / "data" / "ci" / "gitlab-lint.yml")["rmqlab-lint"]
CODE = '@RocketMQMessageListener(topic = "T", consumerGroup = "g", selectorExpression = "{0}") class {0} {{}}'


@pytest.mark.parametrize("line", [f"{HOOK['entry']} {' '.join(HOOK['args'])}", JOB["script"][1]])
def test_hooks_for_others_call_what_there_is(line):
    program, verb, *arguments = shlex.split(line)
    assert (program, verb) == ("rmqlab", "lint")
    args = parser_of("lint").parse_args(arguments)
    assert (args.file, args.allow_gaps) == (["."], True)


def test_hooks_for_others_install_the_extra():
    assert HOOK["additional_dependencies"] == [".[source]"]
    assert JOB["variables"]["RMQLAB"] == "rmqlab[source]"
    assert JOB["artifacts"]["reports"]["junit"] in JOB["script"][1]
    assert "rmqlab[source] @ file://$ACTION_PATH" in ACTION["runs"]["steps"][1]["run"]


@pytest.mark.skipif(os.name == "nt", reason="the action runs in bash")
@pytest.mark.parametrize(
    ("sources", "profile", "status", "said"),
    [(".", "", 1, "::error file=one/A.java,line=1,title=g::"), ("one\n", "", 0, ""), ("one\nnone", "", 2, "none"),
     ("one", "prod\n", 2, "--profile prod")],
)  # fmt: skip
def test_the_action_runs_lint_with_what_it_is_given(tmp_path, sources, profile, status, said):
    pytest.importorskip("tree_sitter_java", reason="the extra `source` is not installed: ./lab test installs it")
    for folder, name in (("one", "A"), ("two", "B")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.java").write_text(CODE.format(name), encoding="ascii")
    program = tmp_path / "temp" / "rmqlab" / "bin" / "rmqlab"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rmqlab "$@"\n', encoding="ascii")
    program.chmod(0o755)
    environ = {
        **os.environ, "PYTHONPATH": str(ROOT), "RUNNER_TEMP": str(tmp_path / "temp"), "SOURCES": sources,
        "GITHUB_OUTPUT": str(tmp_path / "output"), "PROFILES": profile, "ALLOW_GAPS": "true", "SARIF": "a.sarif",
    }  # fmt: skip
    script = ACTION["runs"]["steps"][-1]["run"]
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert (tmp_path / "output").read_text(encoding="ascii") == f"status={status}\n"
    assert (tmp_path / "a.sarif").exists() == (status < 2)
