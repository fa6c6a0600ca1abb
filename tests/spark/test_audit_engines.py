"""An audit in this process and the same on Spark: row by row what the other says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

import pyarrow as pa

from rmqlab_tools.cli.cli import main
from rmqlab_tools.spark import audit_store
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.engine import LocalEngine
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.files.commit_log_files import log_files


@pytest.fixture(scope="module")
def recordings(golden, tmp_path_factory):
    """Store directories of real brokers, and the events beside each, by version."""
    unpacked = {}
    for name in ("broker-4.8.0/audit", "broker-5.5.0/pop-store"):
        folder = tmp_path_factory.mktemp("engines")
        shutil.unpack_archive(golden / name / "store.tar.gz", folder, filter="data")
        unpacked[name[7:12]] = folder / "store", golden / name / "events.jsonl.gz"
    return unpacked


def answers(session, root, options):
    """All that an audit says, as lists."""
    audit = Audit(session, root, options)
    try:
        tables = audit.counts, audit.lost_table, audit.engine.table(audit.messages)
        rows = [sorted(map(json.dumps, table.to_pylist())) for table in tables]
        types = [[(field.name, field.type) for field in table.schema] for table in tables]
        return audit.summary, audit.damage, dict(audit.groups_with_evidence), rows, types
    finally:
        audit.close()


@pytest.mark.parametrize(
    ("version", "given", "options"),
    [
        ("4.8.0", "subscriptions", {}),
        ("4.8.0", "log", {"each_message": True}),
        ("4.8.0", "", {"groups": ("G_p-audit-004", "H_p-audit-004")}),
        ("5.5.0", "subscriptions", {"each_message": True}),
        ("5.5.0", "", {}),
    ],
)
def test_both_say_the_same_of_real_stores(spark, recordings, version, given, options):
    root, events = recordings[version]
    if given:
        options = {**options, "subscriptions": read_subscriptions(events)}
    if given == "log":
        options["delivered"] = (str(events),)
    # ranges that begin anywhere, so that several threads, and several tasks, have some
    chosen = AuditOptions(**options, split_bytes=300_000)
    here, there = answers(None, root, chosen), answers(spark, root, chosen)
    assert here[0]
    assert here[3][0]
    assert here == there


def test_both_say_the_same_of_damage(spark, recordings, tmp_path):
    root = tmp_path / "store"
    shutil.copytree(recordings["4.8.0"][0], root)
    with Path(log_files(root)[0].path).open("r+b") as file:
        for place in range(5_000, 400_000, 40_000):
            file.seek(place)
            file.write(b"\xff" * 20)
    options = AuditOptions(subscriptions=read_subscriptions(recordings["4.8.0"][1]))
    here, there = answers(None, root, options), answers(spark, root, options)
    assert len(here[1]) > 3
    assert here == there


def test_without_a_spark_that_is_set_the_verb_needs_no_java(recordings, monkeypatch, capsys):
    """It prints its table although a session cannot be opened, and again as RMQLAB_SPARK says."""
    root, events = recordings["4.8.0"]

    def refuse(*_args, **_kwargs):
        raise AssertionError("Spark was asked for")

    monkeypatch.delenv("RMQLAB_SPARK", raising=False)
    monkeypatch.setattr("rmqlab_tools.spark.session.open_session", refuse)
    command = ["audit", str(root), "--subscriptions", str(events), "--group", "G_p-audit-006"]
    assert main(command) == 3
    assert "G_p-audit-006" in capsys.readouterr().out
    monkeypatch.setenv("RMQLAB_SPARK", "local[2]")
    with pytest.raises(AssertionError, match="Spark was asked for"):
        main(command)


def test_rows_of_a_lost_message_become_a_frame_when_they_are_asked_for(spark, recordings):
    root, events = recordings["4.8.0"]
    result = audit_store.open_audit(root, subscriptions=events, session=LocalEngine(lambda: spark))
    assert result.lost.count() == result.total("lost") > 0
    assert result.messages.where("certainty = 'unknown' AND asked <> 'no'").count() >= result.total("may_be_lost")
    result.close()


def test_a_table_of_this_process_is_kept_without_a_copy():
    engine = LocalEngine(lambda: None)
    table = engine.given(pa.table({"number": [1, 2]}))
    assert engine.kept(table) == table
    view = engine.query("SELECT t.number FROM {rows} t WHERE t.number > 1", rows=table)
    kept = engine.kept(view)
    engine.release(engine.kept(kept))
    assert engine.table(view).to_pylist() == [{"number": 2}]
    engine.close()


def test_a_task_that_fails_ends_the_others(recordings):
    root, _ = recordings["4.8.0"]
    engine = LocalEngine(lambda: None)
    audit = Audit(engine, root, AuditOptions(split_bytes=100_000))

    def work(parts):
        raise RuntimeError(parts[0].low)
        yield

    with pytest.raises(RuntimeError):
        engine.read(audit.stores[0].ranges, work, audit.counts.schema)
    audit.close()
