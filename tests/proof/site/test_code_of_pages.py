"""The code of tutorials and how-tos runs as it stands there, and every command line is one that its verb takes."""

from __future__ import annotations

import re
import shlex

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.cli import VERBS, cli

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "tutorials").glob("*.md"), *(DOCS / "how-to").glob("*.md"), DOCS / "start" / "index.md"])
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Placeholders that a reader fills in; a line without one is run if its verb is quick.
PLACEHOLDER = re.compile(r"\b(?:HOST|STORE|SCENARIOS|FILE|OUT|DIR)\b|~/")
QUICK = {"simulate", "explore", "lint", "sql92", "explain", "replay"}
EXAMPLES = (
    "store/config",
    "consumerConnection.txt",
    "members.jsonl",
    "mine.jsonl",
    "my-recording",
    "file.log",
    "broker.log",
)  # what the reader has


def names(pages):
    return [page.relative_to(DOCS).as_posix() for page in pages]


def commands(page):
    """Each command line of a page: the words after ./lab or rmqlab."""
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words = words[1:]
            if line.startswith("$ ") and words[0] in {"./lab", "rmqlab"}:
                yield line, words[1:]


WITH_PYTHON = [page for page in PAGES if PYTHON.search(page.read_text(encoding="utf-8"))]
LINES = [(page, line, words) for page in PAGES for line, words in commands(page)]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=names(WITH_PYTHON))
def test_python_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for code in PYTHON.findall(page.read_text(encoding="utf-8")):
        exec(compile(code, page.name, "exec"), scope)  # noqa: S102 - our own pages
    assert len(scope) > 2
    if (tmp_path / "mine.jsonl").exists():
        assert cli.main(["simulate", "mine.jsonl"]) == 0
        assert '"ev":' in capsys.readouterr().out


def test_pages_have_command_lines():
    assert len(LINES) > 30
    assert len(WITH_PYTHON) >= 4


@pytest.mark.parametrize(("line", "words"), [pytest.param(line, words, id=line[2:60]) for _, line, words in LINES])
def test_a_command_line_is_one_that_its_verb_takes(line, words, capsys):
    verb, *rest = words
    assert verb in VERBS, line
    if "--example" in rest:
        return
    parser = cli.parser_of(verb)
    _, unknown = parser.parse_known_args(rest)  # ends with SystemExit if one does not fit
    assert verb in {"test", "notebook"} or unknown == [], line


RUN = [
    (line, words)
    for _, line, words in LINES
    if words[0] in QUICK and not PLACEHOLDER.search(line) and not any(name in line for name in EXAMPLES)
]


@pytest.mark.parametrize(("line", "words"), [pytest.param(*line, id=line[0][2:60]) for line in RUN])
def test_a_quick_command_line_runs(line, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    try:
        status = cli.main(words)
    except SystemExit as end:  # --example and --help end so
        status = end.code
    assert status in {0, 1, 3, 4, None}, capsys.readouterr().err
