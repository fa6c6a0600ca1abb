"""Damage that no checksum covers is seen by the consume queues: what was changed, and what is gone."""

from __future__ import annotations

import random
import shutil

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab_tools.spark.audit.fate_inference import FateInference
from rmqlab_tools.spark.audit.owners import Owners
from rmqlab_tools.spark.audit.queue_check import GONE
from rmqlab_tools.spark.audit.scan import DAMAGE, Scan
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader

COLUMNS = ("physicalOffset", "size", "topic", "queueId", "queueOffset", "tags")


@pytest.fixture(scope="module")
def store(golden, tmp_path_factory):
    """A recorded store, to be damaged; tests put back what they change."""
    folder = tmp_path_factory.mktemp("queues")
    shutil.unpack_archive(golden / "broker-4.8.0" / "audit" / "store.tar.gz", folder, filter="data")
    shutil.rmtree(folder / "store" / "index")
    return folder / "store"


@pytest.fixture(scope="module")
def records(store):
    """The records of the store by where they begin."""
    parts = log_ranges(log_files(store), 1 << 40)
    rows = [row for part in parts for batch in LogReader(COLUMNS).read(part) for row in batch.to_pylist()]
    return {row["physicalOffset"]: row for row in rows}


@pytest.fixture
def log(store):
    """The files of the log, restored afterwards."""
    files = sorted((store / "commitlog").iterdir())
    before = [file.read_bytes() for file in files]
    yield files
    for file, data in zip(files, before, strict=True):
        file.write_bytes(data)


def damage(store, split=1 << 40, **window):
    scan = Scan({}, window.get("since", LONG_MIN), window.get("until", LONG_MAX), True, str(store))
    batches = list(scan.run(log_ranges(log_files(store), split)))
    rows = [row for batch in batches for row in batch.to_pylist() if row["kind"] == DAMAGE]
    return sorted(rows, key=lambda row: (row["physicalOffset"], row["reason"]))


def overwrite(file, place, data):
    whole = bytearray(file.read_bytes())
    whole[place : place + len(data)] = data
    file.write_bytes(whole)


def test_a_sound_store_has_no_damage_however_it_is_cut(store):
    assert damage(store) == damage(store, 50_000) == []


def test_a_tag_and_a_queue_that_were_changed_are_told(store, log, records):
    first, second, third = [one for one in records.values() if one["tags"] == "tagA"][:3]
    data = log[0].read_bytes()
    place = data.index(b"TAGS\x01tagA", first["physicalOffset"])
    overwrite(log[0], place + 8, b"Z")
    overwrite(log[0], second["physicalOffset"] + 15, b"\x63")
    overwrite(log[0], third["physicalOffset"] + 4, b"\0")
    told = damage(store)
    assert [row["physicalOffset"] for row in told] == [one["physicalOffset"] for one in (first, second, third)]
    assert told[0]["reason"] == "its queue says another tag"
    assert told[1]["reason"] == f"its queue says {second['size']} bytes and this place"
    assert told[2]["reason"] == "no record begins here"
    # the queue knows which message it was
    for row, was in zip(told, (first, second, third), strict=True):
        assert [row[name] for name in COLUMNS[:5]] == [was[name] for name in COLUMNS[:5]]


def test_every_record_behind_a_cut_is_named(store, log, records):
    keep = 600_000
    log[-1].write_bytes(log[-1].read_bytes()[:keep])
    end = int(log[-1].name) + keep
    lost = {place for place, one in records.items() if place + one["size"] > end}
    told = damage(store)
    assert {row["physicalOffset"] for row in told} == lost
    assert {row["reason"] for row in told} == {GONE, "the record is cut off"}
    assert damage(store, 70_000) == told
    # With a window of time nothing is known of what was not read.
    assert {row["reason"] for row in damage(store, since=0)} == {"the record is cut off"}


@pytest.mark.parametrize("seed", range(8))
def test_no_record_that_was_hit_is_passed_over_in_silence(store, log, records, seed):
    rng = random.Random(seed)
    place, data = rng.choice(sorted(records)), rng.randbytes(rng.randint(1, 40))
    # what a record's header and a queue's entry both say, or a checksum covers
    file, at = log[place // (1 << 20)], place % (1 << 20) + rng.choice([0, 4, 12, 20, 28, 88])
    overwrite(file, at, data)
    told = {row["physicalOffset"] for row in damage(store)}
    assert place in told
    assert damage(store) == damage(store, 100_000)


def test_a_judge_sees_the_same_messages_with_and_without_the_check(store):
    group, topic = "G_p-audit-006", "T_p-audit-006"
    owners = Owners(group, topic, 0, [], [])
    inference = FateInference(
        group=group,
        topic=topic,
        committed={},
        client_subscriptions=[],
        broker_subscriptions=[],
        complete=False,
        owners=owners,
        has_evidence=False,
    )
    found = []
    for root in (None, str(store)):
        scan = Scan({inference.topic: [inference]}, LONG_MIN, LONG_MAX, True, root)
        found.append(list(scan.run(log_ranges(log_files(store), 1 << 40))))
    assert found[0] == found[1] != []
