"""`rmqlab.audit`: what it is given in each form, what it answers, and that the verb says the same."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import subprocess
import sys
from collections import Counter

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab_tools.cli.cli import main
from rmqlab_tools.java_runtime import find_java
from rmqlab_tools.recordings.recording_reader import read_runs


@pytest.fixture(scope="module")
def incident(tmp_path_factory):
    """Two members want both tags; then B is changed to tagB. The lab's result, and the store that it left."""
    lab = rmqlab.Lab(topics={"T": 4})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "tagA || tagB"})
    lab.run(seconds=30)
    lab.send("T", ["tagA", "tagB"] * 8)
    lab.run(seconds=60)
    lab.subscribe("B", "T", "tagB")
    lab.run(seconds=60)
    lab.send("T", ["tagA", "tagB"] * 8)
    lab.run(seconds=30)
    store = lab.write_store(tmp_path_factory.mktemp("incident") / "store")
    return lab.finish(), store


@pytest.fixture(scope="module")
def found(incident):
    result, store = incident
    audited = rmqlab.audit(store, subscriptions=result)
    yield audited
    audited.close()


def ids_of(result, **values):
    sent = {(one.topic, one.queue, one.offset): one.offset_msg_id for one in result.messages()}
    return sorted(sent[one.topic, one.queue, one.offset] for one in result.fates().where(**values))


@pytest.mark.usefixtures("spark")  # it makes the session that frames take
def test_it_finds_what_the_lab_knows(found, incident):
    result, _ = incident
    figures = found.groups["G"]["T"]
    lost = ids_of(result, lost=True)
    assert lost
    assert sorted(figures["lost_ids"]) == lost
    assert sorted(row["offsetMsgId"] for row in found.lost.collect()) == lost
    assert (figures["sent"], found.total("lost")) == (32, len(lost))
    assert found.messages.count() == 32
    assert found.messages.where("fate = 'delivered' AND certainty != 'unknown'").count() == figures["delivered"]


def test_tables_and_pictures(found):
    assert [row[:3] for row in found.table().rows] == [("G", "T", 32)]
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("The audit")
    assert "tag tagA, group G" in found.by_tag().alt
    assert "lost" in found.by_second("G").alt
    assert found.plan("G")["messages"] == found.groups["G"]["T"]["lost_ids"]
    with pytest.raises(BadInput, match="group 'X' is not in this audit; there are G"):
        found.by_second("X")


def test_the_verb_says_the_same(found, incident, tmp_path, capsys):
    result, store = incident
    (tmp_path / "events.jsonl").write_text(result.lines())
    arguments = ["audit", str(store), "--subscriptions", str(tmp_path / "events.jsonl"), "--json"]
    assert main([*arguments, str(tmp_path / "told.json")]) == 3
    assert json.loads((tmp_path / "told.json").read_text()) == json.loads(json.dumps(found.as_json()))
    assert capsys.readouterr().out.splitlines() == found.lines()


def test_subscriptions_and_deliveries_in_each_form(spark, incident, tmp_path):
    result, store = incident
    wishes = [{"group": "G", "topic": "T", "expr": "tagA || tagB", "client": who} for who in "AB"]
    (tmp_path / "wishes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in wishes))
    told = [
        rmqlab.audit(store, subscriptions=given).groups
        for given in (wishes, tmp_path / "wishes.jsonl", spark.createDataFrame(wishes))
    ]
    assert told[0] == told[1] == told[2]
    group_of = {"A": "G", "B": "G"}
    log = [{"group": group_of[one.who], "msgId": one.msg_id} for one in result.consumed()]
    with_log = rmqlab.audit(store, subscriptions=wishes, delivered=log)
    assert with_log.total("delivered") == len(ids_of(result, fate=str(Fate.DELIVERED)))
    assert with_log.known == "subscriptions and deliveries"
    of_result = rmqlab.audit(store, subscriptions=result, delivered=result)
    assert of_result.groups["G"]["T"]["lost_ids"] == with_log.groups["G"]["T"]["lost_ids"]


def test_messages_of_a_big_log_are_read_when_they_are_asked_for(spark, incident, monkeypatch):
    result, store = incident
    monkeypatch.setattr("rmqlab_tools.spark.audit_store.KEPT_BYTES", 1)
    found = rmqlab.audit(store, subscriptions=result)
    assert not found._audit.options.each_message
    assert found.messages.count() == 32


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"subscriptions": {"G": "tagA"}}, "rows are wanted"),
        ({"subscriptions": [{"group": "G"}]}, "subscriptions, row 0: it has no 'topic'"),
        ({"groups": ["X"]}, "group 'X': neither offsets nor subscriptions of it; there are G"),
        ({"delivered": [{"group": "G"}]}, "it has no 'msgId'"),
    ],
)
def test_what_cannot_be_used_is_told(incident, arguments, said):
    with pytest.raises(BadInput, match=said):
        rmqlab.audit(incident[1], **arguments)


def test_no_store_is_told(tmp_path):
    with pytest.raises(BadInput, match="no store directory"):
        rmqlab.audit(tmp_path)
    (tmp_path / "something").touch()
    with pytest.raises(BadInput, match="name a new folder"):
        rmqlab.Lab(topics={"T": 1}).write_store(tmp_path)


@pytest.mark.parametrize("module", ["rmqlab_tools.spark.audit_store", "rmqlab_tools.spark"])
@pytest.mark.usefixtures("spark")
def test_the_examples(module):
    tried = doctest.testmod(importlib.import_module(module))
    assert tried.attempted > 5
    assert tried.failed == 0


def test_the_audit_of_the_recording_agrees_with_the_frames_on_the_wire(golden):
    """Two ways that share nothing but the rules: the files of the broker, and what went over its connections."""
    recording = golden / "broker-4.8.0" / "audit"
    found = rmqlab.audit(recording)
    told = Counter(f"{fate.group}_{one.scenario.id}" for one in read_runs(recording) for fate in one.fates if fate.lost)
    lost = {group: one["lost"] for group, topics in found.groups.items() for one in topics.values() if one["lost"]}
    assert lost == dict(told)
    with pytest.raises(BadInput, match="lost nothing"):
        found.plan("G_p-audit-011")
    found.close()


def test_a_session_is_silent_and_the_running_one(spark, capfd):
    assert rmqlab.spark() is spark
    assert capfd.readouterr().err == ""
    os.write(2, b"heard again")
    assert capfd.readouterr().err == "heard again"


ALONE = """
import doctest, rmqlab, rmqlab_tools.spark.audit_store
from rmqlab_tools.spark.audit.kept_frames import has_ended, release

assert doctest.testmod(rmqlab_tools.spark.audit_store).failed == 0
session = rmqlab.spark()
found = rmqlab.audit("data/golden/broker-4.8.0/audit", groups=["G_p-audit-006"], session=session)
kept = session.range(1).persist()
assert found.groups and found._audit.rows.storageLevel.useDisk
release(kept)
assert not kept.storageLevel.useDisk and not has_ended(session)
session.sparkContext._jsc.sc().stop()  # Spark itself, which PySpark is not told of
assert has_ended(session)
found.close()
session.stop()
release(kept)
"""


def test_the_example_runs_in_a_process_that_has_no_session_yet_and_closes_after_its_end(root):
    if "JAVA_HOME" not in os.environ and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
