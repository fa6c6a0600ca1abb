"""A store whose committed offsets cannot be read: the audit says so and goes on, and claims nothing that they tell."""

from __future__ import annotations

import json
import tarfile

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab import audit
from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main

WISHES = [{"group": "G_p-npmix-001", "topic": "T_p-npmix-001", "expr": "tagA"}]
OLD_BYTES = '\t\t"Old@G":{0:1\n\t\t}\n\t}\n}'


@pytest.fixture
def store(golden, tmp_path):
    with tarfile.open(golden / "broker-4.8.0" / "noprop" / "store.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    found = next(one.parent for one in tmp_path.rglob("commitlog"))
    (found / "config" / "consumerOffset.json.bak").unlink(missing_ok=True)
    return found


def test_offsets_with_old_bytes_behind_them_are_not_believed(store):
    whole = audit(store, subscriptions=WISHES)
    assert sum(sum(row["by_certainty"].get("implied", {}).values()) for row in rows(whole)) > 0
    assert whole.config_damage == []
    path = store / "config" / "consumerOffset.json"
    path.write_text(path.read_text("utf-8") + OLD_BYTES, "utf-8")
    found = audit(store, subscriptions=WISHES)
    (says,) = found.config_damage
    assert "consumerOffset.json is damaged at line " in says
    assert says.endswith("consumerOffset.json.bak is missing: 4.8.0 starts with an empty table")
    assert found.lines()[0] == says == found.as_json()["config_damage"][0]
    assert set(found.groups) == set(whole.groups)
    assert found.total("sent") == whole.total("sent") > 0
    assert found.total("unknown") == found.total("sent")
    assert found.total("lost") == found.total("delivered") == 0
    because = {reason for row in rows(found) for reason in row["unknown_because"]}
    assert because == {"the committed offsets cannot be read: nobody knows whether one is past it"}


def rows(found):
    return [row for topics in found.groups.values() for row in topics.values()]


def test_where_nothing_is_named_any_more_it_is_said_what_is_damaged(store, capsys):
    (store / "config" / "consumerOffset.json").write_bytes(bytes(100))
    (store / "config" / "consumerFilter.json").unlink()  # it names groups of SQL92
    (store / "config" / "consumerFilter.json.bak").unlink(missing_ok=True)
    assert main(["audit", str(store)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "consumerOffset.json is damaged at line 1, column 1: nothing but zero bytes" in line
    assert "give --subscriptions" in line


def test_with_subscriptions_it_goes_on_and_the_status_is_that_too_little_is_known(store, tmp_path, capsys):
    whole = json.loads((store / "config" / "topics.json").read_text("utf-8"))["topicConfigTable"]
    topic = next(name for name in whole if name.startswith("T_"))
    (store / "config" / "consumerOffset.json").write_bytes(bytes(100))
    told = tmp_path / "told.jsonl"
    told.write_text(json.dumps({"group": "G", "topic": topic, "expr": "tagA"}) + "\n", "utf-8")
    assert main(["audit", str(store), "--subscriptions", str(told), "--json", "-"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["groups"]["G"][topic]["may_be_lost"] > 0
    assert found["config_damage"]


def test_where_4_8_0_would_not_start_the_audit_goes_on_too(store):
    for name in ("consumerOffset.json", "consumerOffset.json.bak"):
        (store / "config" / name).write_text('{"offsetTable":{"TopicOfOld@G":{0:', "utf-8")
    with pytest.raises(BadInput, match="does not start"):
        audit(store, groups=["Nobody"])
