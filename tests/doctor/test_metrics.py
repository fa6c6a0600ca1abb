"""What Prometheus is given: the last look's numbers, and nothing where nothing is known."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from rmqlab.errors import BadInput
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.history import SnapshotHistory
from rmqlab_tools.doctor.metrics import GroupCollector, serve_metrics
from tests.doctor.conftest import NOW, M, look, passed

MEMBERS = [M("A", {"T": "tagA"}), M("B", {"T": "tagB"})]


def samples(port):
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return {
        (sample.name, sample.labels.get("group")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_numbers_of_the_last_look():
    doctor, history = SimpleNamespace(diagnosis=None), SnapshotHistory()
    collector, port = serve_metrics(doctor, 0)
    assert samples(port) == {}
    for number, holder in enumerate(["A", "B"]):
        seen = passed(look(MEMBERS, at=NOW + number * 30_000, slot=holder, end=110), ["tagA", "tagB"])
        seen.since = NOW if number else None
        history.saw(seen)
        doctor.diagnosis = diagnose(seen, None, history)
        collector.saw(doctor.diagnosis)
    found = samples(port)
    assert found["rmqlab_group_members", "G"] == 2
    assert found["rmqlab_group_raw_lag", "G"] == 40
    assert found["rmqlab_group_slot_flips_per_minute", "G"] == 2
    assert found["rmqlab_group_disagreeing_topics", "G"] == 1
    assert found["rmqlab_group_state", "G"] >= 3
    assert found["rmqlab_look_time_seconds", None] == (NOW + 30_000) / 1000


def test_a_broadcasting_group_has_no_lag_that_a_broker_knows():
    seen = look([M("A", mode="BROADCASTING")])
    seen.groups["G"].offsets.clear()  # its members keep their offsets themselves
    collector = GroupCollector(SimpleNamespace(diagnosis=diagnose(seen)))
    values = {family.name: [sample.value for sample in family.samples] for family in collector.collect()}
    assert values["rmqlab_group_members"] == [1]
    assert values["rmqlab_group_raw_lag"] == values["rmqlab_group_filtered_lag"] == []


def test_a_port_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"--metrics {port}: .*; give a free port"):
            serve_metrics(SimpleNamespace(diagnosis=None), port)
    with pytest.raises(BadInput, match="--metrics 70000"):
        serve_metrics(SimpleNamespace(diagnosis=None), 70_000)


DATA = Path(__file__).resolve().parents[2] / "data" / "doctor"


def test_dashboard_and_alerts_ask_for_metrics_that_there_are():
    doctor = SimpleNamespace(diagnosis=diagnose(look(MEMBERS)))
    served = {family.name for family in GroupCollector(doctor).collect()}
    served |= {f"{name}_total" for name in served if name.endswith("losses")}
    panels = json.loads((DATA / "dashboard.json").read_text("utf-8"))["panels"]
    rules = [
        rule for group in yaml.safe_load((DATA / "alerts.yml").read_text("utf-8"))["groups"] for rule in group["rules"]
    ]
    asked = [target["expr"] for panel in panels for target in panel["targets"]] + [rule["expr"] for rule in rules]
    named = {name for text in asked for name in re.findall(r"rmqlab_\w+", text)}
    assert named <= served
    assert {
        f"{name}_total" if name.endswith("losses") else name for name in served if not name.endswith("_total")
    } <= named
