"""What the page on audits shows of the pipeline runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.proof.recorded_store import RecordedStore

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_tables_of_a_store(spark, golden, capsys, monkeypatch):
    text = (ROOT / "docs/how-to/audit-a-store.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```py\n(.*?)```", text, re.DOTALL) if "store_source" in block]
    monkeypatch.setenv("RMQLAB_SPARK", "local[2]")
    recorded = RecordedStore(golden / "broker-4.8.0" / "audit")
    try:
        names = {"STORE": str(recorded.store)}
        exec(compile(code, "audit-a-store.md", "exec"), names)  # noqa: S102 - our own text
        assert "|T_p-audit-0" in capsys.readouterr().out
        assert names["queues"].count() == names["log"].count() > 0  # nothing is stored that no queue tells of
    finally:
        recorded.cleanup()
