"""A file is replaced whole, or stays as it was."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rmqlab import files
from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.files import atomic_write, end_of_data, json_value, read_bytes, read_text
from rmqlab_tools.cli import cli


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "found.json"
    path.write_text("old")
    with atomic_write(path) as part:
        part.write_text("ne")
        assert path.read_text() == "old"
        part.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def half_written(path):
    with atomic_write(path) as part:
        part.write_text("half")
        raise KeyError


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "found.json"
    path.write_text("old")
    with pytest.raises(KeyError):
        half_written(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ([], 0),
        ([(0, b"\0" * 10)], 0),
        ([(0, b"one\0")], 3),
        ([(5 << 20, b"two\0\0"), (8 << 20, b"\0" * 100)], (5 << 20) + 3),
        ([(0, b"a" + b"\0" * (3 << 20))], 1),
    ],
)
def test_the_end_of_the_data_is_found_behind_holes_and_written_zeros(tmp_path, parts, end):
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        for at, data in parts:
            file.seek(at)
            file.write(data)
    with path.open("rb") as file:
        assert end_of_data(file.fileno(), 1 << 30) == end


DEEP = ["[" * 100_000, '{"a":' * 100_000, "[" * 950 + "]" * 950, '{"a": ' * 950 + "1" + "}" * 950]


@pytest.mark.parametrize("text", DEEP[:2])
def test_what_is_too_deep_is_no_json(text):
    with pytest.raises(ValueError, match="too deep"):
        json_value(text)


@pytest.mark.parametrize("text", DEEP)
@pytest.mark.parametrize(
    "arguments",
    [["lint", "{}"], ["simulate", "{}"], ["explore", "{}"], ["doctor", "--recorded", "{}"], ["replay", "{}"]],
    ids=lambda arguments: arguments[0],
)
def test_deep_json_is_bad_input_of_every_verb_that_reads_a_file(tmp_path, capsys, arguments, text):
    path = tmp_path / "deep.json"
    path.write_text(text)
    if arguments[0] == "replay":
        (tmp_path / "frames.jsonl").write_text(text)
        path = tmp_path
    assert cli.main([argument.format(path) for argument in arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) < 4


def test_json_from_outside_is_read_in_one_way():
    """`json.loads` stands where the text is our own; what comes from outside goes through `json_value`."""
    ours = {
        "rmqlab/files.py", "rmqlab_tools/spark/audit_store.py", "rmqlab_tools/course/check.py",
        "rmqlab_tools/spark/archived/pivoted_files.py", "rmqlab_tools/spark/archived/queue_hours.py",
        "rmqlab_tools/course/articles/experiments.py",
        "rmqlab_tools/course/articles/e1_expected.py", "rmqlab_tools/search/explorer/exploration.py",
        "rmqlab_tools/search/plan/results.py", "rmqlab_tools/spark/matrix/recorded.py",
        "rmqlab_tools/spark/matrix/stored.py",
        "rmqlab_tools/spark/sweeps/runner.py", "rmqlab_tools/spark/sweeps/sweep.py", "rmqlab_tools/show/link.py",
    }  # fmt: skip
    reading = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("rmqlab*/**/*.py")
        if "json.loads(" in path.read_text(encoding="utf-8")
    }
    assert reading <= ours


def test_what_has_no_end_is_not_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in ((pipe, "it is a pipe"), (Path("/dev/zero"), "it is a device"), (tmp_path, "Is a directory")):
        with pytest.raises(BadInput, match=words):
            read_text(path, "a text")
        with pytest.raises(OSError, match=words):
            read_bytes(path)


def test_standard_input_is_read_by_its_name(tmp_path):
    program = "from pathlib import Path; from rmqlab.files import read_text; print(read_text(Path('/dev/stdin'), 'x'))"
    ended = subprocess.run([sys.executable, "-c", program], input=b"a line", capture_output=True, check=True)
    assert ended.stdout == b"a line\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_has_a_largest_size(tmp_path, monkeypatch, packed):
    monkeypatch.setattr(files, "MOST_TEXT_BYTES", 1_000)
    path = tmp_path / "text"
    for size in (1_000, 1_001):
        data = b"x" * size
        path.write_bytes(gzip.compress(data) if packed else data)
        if size == 1_000:
            assert len(read_text(path, "a text")) == size
        else:
            with pytest.raises(BadInput, match="more than 1,000 bytes; give a text"):
                read_text(path, "a text")
