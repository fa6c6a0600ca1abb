"""Audits handed over as plain rows: beside the simulation that made the store, and beside the frames on the wire."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.groups.incident import EVENTS, GROUP, STORE, Incident
from rmqlab.lab.recorded.accounts import recorded_accounts
from rmqlab.lab.recorded.store import RecordedStore

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.spark.audit.lesson import audited, plan
from rmqlab.spark.session import notebook_session


def test_the_audit_of_a_simulated_store_finds_what_the_simulation_knows(spark, tmp_path):
    run = Incident(change={"B": "tagB"}).run(tmp_path)
    found = audited(spark, tmp_path / STORE, "given", subscriptions=tmp_path / EVENTS)
    group = f"{GROUP}_incident"
    lost = {(fate.queue, fate.offset): str(fate.fate) for fate in run.fates if fate.lost}
    assert {(row["queueId"], row["queueOffset"]): row["fate"] for row in found.lost_of(group)} == lost
    assert found.lag == {(group, "order_incident"): 0}
    assert len(found.messages_of(group, "order_incident")) == len(run.fates)
    assert [slot.text for slot in found.slots[group, "order_incident"]] == ["tagA || tagB", "tagB"]
    entry = plan(found, group)
    assert len(entry["messages"]) == len(lost)
    with pytest.raises(BadInput, match="group 'X' is not in this audit"):
        plan(found, "X")


def test_the_audit_of_the_recording_agrees_with_the_frames_on_the_wire(spark, golden):
    """Two ways that share nothing but the rules: the files of the broker, and what went over its connections."""
    recording = RecordedStore("audit")
    try:
        given = {"subscriptions": recording.events, "delivered": recording.events}
        found = audited(spark, recording.store, "given", **given)
    finally:
        recording.cleanup()
    told = Counter(
        f"{fate.group}_{one.scenario.id}"
        for one in recorded_accounts(golden / "broker-4.8.0" / "audit")
        for fate in one.fates
        if fate.lost
    )
    assert {group: one["lost"] for group, _, one in found.rows() if one["lost"]} == dict(told)
    with pytest.raises(BadInput, match="lost nothing"):
        plan(found, "G_p-audit-011")


def test_a_session_for_a_notebook_is_silent_and_the_running_one(spark, capfd):
    assert notebook_session("local[2]") is spark
    assert capfd.readouterr().err == ""
    os.write(2, b"heard again")
    assert capfd.readouterr().err == "heard again"
