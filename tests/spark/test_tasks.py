"""Workers do not walk what they have loaded after each task."""

from __future__ import annotations

import gc

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab_tools.spark.files import tasks
from rmqlab_tools.spark.store_source import LogTable, Options
from tests.proof.log_maker import LogMaker


def test_a_process_freezes_what_it_loaded_once_at_the_end_of_its_first_task(tmp_path, monkeypatch):
    table = LogTable(Options({"path": str(LogMaker().add().write(tmp_path))}))
    frozen = []
    monkeypatch.setattr(tasks, "_frozen", False)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    rows = table.read(table.partitions()[0])
    next(rows)
    assert not frozen
    assert not list(rows)
    assert frozen == [True]
    list(table.read(table.partitions()[0]))
    assert frozen == [True]
