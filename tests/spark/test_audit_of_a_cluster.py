"""Stores of several brokers: a group's loss is the sum, members share the queues of all, a slave's copy is no store.

The recording is of two real brokers of 4.8.0, a slave of one, and clients that knew both (`two-brokers`).
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.run.fates import Fate
from rmqlab_tools.cli.cli import main
from rmqlab_tools.spark.audit.audit import Audit, BrokerAudit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.scan import DETAIL, Scan
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.audit_store import open_audit
from rmqlab_tools.spark.files.broker_stores import broker_stores, given_stores
from tests.proof.log_maker import LogMaker
from tests.proof.two_brokers import RECORDED, unpack

BROKERS = ("broker-a", "broker-b")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of the stores, unpacked, each in a folder of its own beside the settings; and the events."""
    folder = tmp_path_factory.mktemp("two-brokers")
    unpack(folder)
    shutil.copy(RECORDED / "events.jsonl.gz", folder)
    with gzip.open(folder / "events.jsonl.gz", "rt") as stream:
        return folder, [json.loads(line) for line in stream]


def judged(folder, brokers, *, names_known=True):
    """The fate and certainty of each message by its id, from stores and subscriptions alone."""
    options = AuditOptions(subscriptions=read_subscriptions(folder / "events.jsonl.gz"))
    stores = [BrokerAudit(folder / broker / "store", broker, options) for broker in brokers]
    audit = Audit(None, stores, options, names_known=names_known)
    said = {}
    for store in audit.stores:
        inferences = store.inferences(audit.cluster)
        scan = Scan(inferences, LONG_MIN, LONG_MAX, check_crc=False, end=store.end, each_message=True)
        rows = [row for batch in scan.run(store.ranges) for row in batch.to_pylist() if row["kind"] == DETAIL]
        said |= {row["key"]: (row["fate"], row["certainty"]) for row in rows}
    return said


@pytest.mark.row("S-79")
def test_owners_follow_from_the_queues_of_all_brokers(recorded):
    """Each message that a real listener got, and no other, is delivered for certain."""
    folder, events = recorded
    said = judged(folder, BROKERS)
    sent = {event["msgId"] for event in events if event["ev"] == "sent"}
    got = {event["msgId"] for event in events if event["ev"] == "consume"}
    assert set(said) == sent
    assert {key for key, (fate, _) in said.items() if fate == Fate.DELIVERED} == got
    assert {certainty for _, certainty in said.values()} == {"implied"}
    lost = Counter(event["id"] for event in events if event["ev"] == "sent" and event["msgId"] not in got)
    assert lost == {"two-brokers-000": 18, "two-brokers-001": 30}


def test_without_the_brokers_names_nobody_knows_their_order(recorded):
    folder, events = recorded
    said = judged(folder, BROKERS, names_known=False)
    differ = {event["msgId"] for event in events if event["ev"] == "sent" and event["id"] != "two-brokers-002"}
    dropped = {Fate.DROPPED_BY_BROKER_TAG}
    assert {said[key] for key in differ if said[key][0] not in dropped} == {(Fate.PASSED, "unknown")}


def test_a_groups_loss_is_the_sum_and_a_slaves_copy_is_not_counted(spark, recorded):
    folder, _ = recorded
    stores = [str(folder / name) for name in ("broker-a-slave", "broker-b", "broker-a")]
    log = str(folder / "events.jsonl.gz")
    result = rmqlab.audit(stores, subscriptions=log, delivered=log, session=spark)
    figures = result.groups["G_two-brokers-001"]["T_two-brokers-001"]
    assert (figures["sent"], figures["lost"]) == (36, 30)
    assert figures["by_certainty"]["proved"] == {"delivered": 6}
    assert figures["by_broker"] == {
        "broker-a": {"sent": 18, "delivered": 3, "lost": 15, "unknown": 0},
        "broker-b": {"sent": 18, "delivered": 3, "lost": 15, "unknown": 0},
    }
    assert sum(figures["lost_by_queue"].values()) == 30
    assert figures["lost_by_queue"]["broker-b:1"] == 6
    assert result.lost.columns[0] == result.messages.columns[0] == "broker"
    assert {row.broker for row in result.lost.collect()} == set(BROKERS)
    (copy,) = result.as_json()["copies"]
    assert (copy["shown"], copy["of"], copy["broker"]) == (stores[0], stores[2], "broker-a")
    assert copy["low"] == copy["before"] == copy["behind"] == 0
    assert result.lines()[0].startswith(f"{stores[0]} is a copy of {stores[2]}, as a slave has one")
    assert [broker["broker"] for broker in result.as_json()["brokers"]] == list(BROKERS)
    assert any(line.startswith("The figures are of 2 brokers: broker-a, broker-b. If other") for line in result.lines())
    result.close()
    # A slave alone is its broker's store.
    alone = open_audit([stores[0], stores[1]], session=lambda: spark, subscriptions=log)
    assert (alone.brokers, alone.copies) == (list(BROKERS), [])


def store_of(folder, name, count=3, **first):
    """A store that says it is of broker `name`, with so many messages."""
    log = LogMaker(**first)
    for number in range(count):
        log.add("T", queue=0, properties={"TAGS": f"tag{number}"}, stored=number)
    store = log.write(folder / "store")
    if name:
        (folder / "broker.conf").write_text(f"brokerName={name}\nbrokerId=0\n")
    return store


def told_apart(*stores):
    return broker_stores(given_stores([str(store) for store in stores]))


def test_what_a_copy_has_alone_is_said(tmp_path):
    """One that was taken later has more; the one that has most of the log counts, whichever comes first."""
    older, newer = store_of(tmp_path / "older", "b", 3), store_of(tmp_path / "newer", "b", 5)
    stores = told_apart(older, newer)
    assert [store.shown for store in stores.counted] == [str(newer)]
    (copy,) = stores.copies
    assert (copy.shown, copy.of, copy.behind) == (str(older), str(newer), 0)
    nameless = told_apart(older, store_of(tmp_path / "nameless", "", 5))
    assert [copy.broker for copy in nameless.copies] == ["b"]


def test_two_masters_that_cannot_be_told_apart_are_refused(tmp_path, capsys):
    first, other = store_of(tmp_path / "one", "b", 3), store_of(tmp_path / "other", "b", 4)
    file = next((other / "commitlog").iterdir())
    file.write_bytes(file.read_bytes().replace(b"tag0", b"tagX", 1))
    with pytest.raises(
        BadInput, match=r"both of broker b, and their logs differ at offset 0: .* name them: NAME=STORE"
    ):
        told_apart(first, other)
    assert main(["audit", str(first), str(other)]) == 2
    assert "cannot be told apart" in capsys.readouterr().err
    assert [store.broker for store in told_apart(f"x={first}", f"y={other}").counted] == ["x", "y"]
    data = file.read_bytes().replace(b"tagX", b"tag0", 1).replace(b"tag2", b"tagX", 1)
    file.write_bytes(data)
    with pytest.raises(BadInput, match="went apart when a slave became master"):
        told_apart(first, other)


@pytest.mark.parametrize("again", ["store", "./store", "b=store"])
def test_a_store_named_twice_is_refused(tmp_path, monkeypatch, again):
    (tmp_path / "store").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="store is named twice: name each store once"):
        given_stores(["store", again])


def test_stores_of_one_broker_with_nothing_in_common_are_refused(tmp_path):
    earlier, later = store_of(tmp_path / "one", "b", 30, size=1_000), store_of(tmp_path / "later", "b", 30, size=1_000)
    files = sorted((earlier / "commitlog").iterdir())
    for number, file in enumerate(files):
        ((later / "commitlog" / file.name) if number < 2 else file).unlink()
    with pytest.raises(BadInput, match="no offset in common"):
        told_apart(earlier, later)
    with pytest.raises(BadInput, match="no store: name one"):
        rmqlab.audit([])


@pytest.mark.parametrize("version", ["4.8.0", "5.3.3"])
def test_a_broker_is_named_by_the_topic_that_it_made(golden, tmp_path, version):
    shutil.unpack_archive(golden / f"broker-{version}" / "base" / "store.tar.gz", tmp_path, filter="data")
    (store,) = told_apart(tmp_path / "store").counted
    assert store.broker == "broker-a"
    lab = rmqlab.Lab(topics={"T": 1}, brokerName="broker-z")
    lab.send("T", "tagA")
    (made,) = told_apart(lab.write_store(tmp_path / "lab" / "store")).counted
    assert made.broker == "broker-z"


def test_an_audit_says_whose_store_it_had(tmp_path):
    """What other brokers have of a topic no store tells: neither the count of its queues nor that there are any."""
    lab = rmqlab.Lab(topics={"T": 1}, brokerName="broker-z")
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=30)
    lab.send("T", "tagA")
    store = lab.write_store(tmp_path / "store")
    log = tmp_path / "subscriptions.json"
    log.write_text(json.dumps({"group": "G", "topic": "T", "expr": "tagA"}))
    assert main(["audit", str(store), "--subscriptions", str(log), "--out", str(tmp_path / "out")]) in {0, 4}
    says = "The figures are of one broker: broker-z. If other brokers have queues of these topics too, nothing of them"
    assert says in (tmp_path / "out" / "index.html").read_text()
    result = open_audit(store, subscriptions=log)
    assert any(line.startswith(says) for line in result.lines())
    assert result.as_json()["broker_names"] == ["broker-z"]
    result.close()
