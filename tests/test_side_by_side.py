"""Tasks side by side: real helpers, whose answers come in the order of the tasks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools import side_by_side as module
from rmqlab_tools.side_by_side import side_by_side


def process_of(number, progress):
    progress(f"task {number}")
    if number == 13:
        raise ValueError("no thirteen")
    return number, os.getpid()


def test_tasks_are_done_by_other_processes_and_come_in_order(monkeypatch):
    monkeypatch.setattr(module, "processors", lambda: 2)
    heard = []
    found = side_by_side(process_of, [3, 1, 2], heard.append)
    assert [number for number, _ in found] == [3, 1, 2]
    assert os.getpid() not in {process for _, process in found}
    assert sorted(heard) == ["task 1", "task 2", "task 3"]
    for process in {process for _, process in found}:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    with pytest.raises(ValueError, match="no thirteen"):
        side_by_side(process_of, [13], heard.append)


def test_helper_ends_when_who_started_it_has_gone():
    command = [sys.executable, "-m", "rmqlab_tools.side_by_side"]
    assert subprocess.run(command, cwd=ROOT, input=b"", check=False, timeout=60).returncode == 0
