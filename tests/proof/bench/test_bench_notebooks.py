"""The suite on the clock: every lesson runs, the first ones need no Connect server, one that is too slow is told."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from rmqlab.checkout import checkout_path
from tests.proof.bench import notebooks


def test_every_lesson_runs_and_none_that_connects_comes_before_the_server():
    paths = notebooks.lessons()
    assert sorted(paths) == sorted(checkout_path("notebooks").glob("*.ipynb"))
    numbers = list(dict.fromkeys(path.name[:2] for path in paths))
    assert numbers[: len(notebooks.FIRST)] == list(notebooks.FIRST)
    first = "".join(path.read_text(encoding="utf-8") for path in paths[: notebooks.AT_ONCE])
    sessions = re.compile(r"rmqlab\.spark\((spark_at)?\)")  # another address is the lesson's own
    assert not sessions.search(first)
    assert sessions.search(paths[notebooks.AT_ONCE].read_text(encoding="utf-8"))


def test_a_suite_that_is_too_slow_is_told(monkeypatch, tmp_path):
    class Server:
        address = "sc://nowhere:1"

        def __init__(self, master):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    monkeypatch.setattr("tests.proof.spark_servers.ConnectServer", Server)
    monkeypatch.setattr(notebooks, "make_archive", lambda: None)
    monkeypatch.setattr(notebooks, "checkout_path", lambda name: tmp_path)
    (tmp_path / "told.ipynb").write_text(
        nbformat.writes(new_notebook(cells=[new_code_cell("open('ran', 'x').close()")])), encoding="utf-8"
    )
    assert notebooks.notebook_suite()[0] == 1.0
    assert (tmp_path / "ran").exists()
    (tmp_path / "told.ipynb").unlink()
    with pytest.raises(notebooks.SuiteTooSlowError, match=r"0 notebooks took [0-9]+ s; -1 s are allowed"):
        notebooks.notebook_suite(-1)
