"""Topic and tags as numbers of texts are the same texts; rows that are read later are the ones that were there."""

from __future__ import annotations

import shutil
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import pyarrow as pa

from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.log_rows import OF_ROWS, ReadAgain
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.files import log_reader
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader
from tests.proof.log_maker import LogMaker, record

PLAIN, CODED = ("topic", "tags"), ("codedTopic", "codedTags")


def texts(folder, columns, **more):
    """The texts of columns, row by row."""
    parts = log_ranges(log_files(folder), 1 << 40)
    batches = [batch for part in parts for batch in LogReader(columns, **more).read(part)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.fixture(scope="module")
def recorded(golden, tmp_path_factory):
    """The recorded store for audits, and the events of its making."""
    folder = tmp_path_factory.mktemp("recorded")
    shutil.unpack_archive(golden / "broker-4.8.0" / "audit" / "store.tar.gz", folder, filter="data")
    return folder / "store", golden / "broker-4.8.0" / "audit" / "events.jsonl.gz"


@pytest.mark.parametrize("batch_rows", [1, 700, 1 << 17])
def test_coded_texts_are_the_texts_of_a_real_store(recorded, monkeypatch, batch_rows):
    plain = texts(recorded[0], PLAIN)
    assert len(plain) > 4_000
    # a stretch that ends inside many records, so that columns are filled by many walks
    monkeypatch.setattr(log_reader, "_STRETCH", 5_000)
    assert texts(recorded[0], CODED, batch_rows=batch_rows) == plain
    assert texts(recorded[0], (*CODED, "keys", "property:WAIT"), batch_rows=batch_rows) == texts(
        recorded[0], (*PLAIN, "keys", "property:WAIT")
    )


def test_every_column_is_filled_on_over_the_end_of_a_stretch(recorded, monkeypatch):
    columns = ("topic", "properties", "body", "storeHost", "bornHost", "propertiesText", "corrupt")
    whole = texts(recorded[0], columns)
    monkeypatch.setattr(log_reader, "_STRETCH", 5_000)
    assert texts(recorded[0], columns) == whole


PARTS = [
    "a",
    "TAGS",
    "TAGS\x01",
    "TAGS\x01tag",
    "\x02",
    "\x02TAGS\x01" + "x" * 70,
    "\x01",
    "b" * 61,
    "\x02TA",
    "TAGSX\x01",
]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=8), min_size=1, max_size=4))
def test_tags_of_any_property_text_are_found(tmp_path_factory, records):
    log = LogMaker(1 << 14)
    for parts in records:
        data = "".join(parts).encode()
        made = record(log.end)
        made = made[:-2] + len(data).to_bytes(2) + data
        log.offsets.append(log.end)
        log.files[-1] += len(made).to_bytes(4) + made[4:]
    folder = log.write(tmp_path_factory.mktemp("tags"), pad=False)
    # the last record has nothing behind it, so that its bytes are looked at one by one
    assert texts(folder, ("codedTags",)) == texts(folder, ("tags",))


def test_texts_that_read_the_same_are_one_text(tmp_path):
    log = LogMaker().add(topic="T!").add(topic="T?").add(topic="T!").add(topic="U")
    log.files[-1] = log.files[-1].replace(b"\x02T!", b"\x02T\xff").replace(b"\x02T?", b"\x02T\xfe")
    batch = next(LogReader(("codedTopic",)).read(log_ranges(log_files(log.write(tmp_path)), 1 << 40)[0]))
    assert batch["codedTopic"].dictionary.to_pylist() == ["T\ufffd", "U"]
    assert batch["codedTopic"].to_pylist() == ["T\ufffd", "T\ufffd", "T\ufffd", "U"]


def scanned(root, options):
    """All rows of a scan, in their order."""
    audit = Audit(None, root, options)
    (store,) = audit.stores
    scan = store.scan(audit.cluster, audit._evidence)
    for inference in chain.from_iterable(scan.inferences.values()):
        inference.has_evidence = False  # rows of groups with evidence are all read at once
    batches = [batch for part in store.ranges for batch in scan.run([part])]
    audit.close()
    return pa.Table.from_batches(batches).to_pylist()


@pytest.mark.parametrize("is_damaged", [False, True])
def test_rows_read_later_are_those_read_at_once(recorded, monkeypatch, tmp_path, is_damaged):
    root = tmp_path / "store"
    shutil.copytree(recorded[0], root)
    if is_damaged:
        with Path(log_files(root)[0].path).open("r+b") as file:
            for place in range(5_000, 400_000, 40_000):
                file.seek(place)
                file.write(b"\xff" * 20)
    subscriptions = read_subscriptions(recorded[1])
    options = AuditOptions(subscriptions=subscriptions, split_bytes=300_000)
    later = scanned(root, options)
    assert sum(row["kind"] == audit_scan.LOST_ROW for row in later) > 10
    monkeypatch.setattr(audit_scan.Scan, "_read_again", lambda *_: None)
    assert scanned(root, options) == later


def test_what_is_deleted_meanwhile_can_be_read_later(tmp_path):
    log = LogMaker()
    for number in range(5):
        log.add(properties={"KEYS": f"k{number}", "UNIQ_KEY": f"u{number}"})
    (part,) = log_ranges(log_files(log.write(tmp_path)), 1 << 40)
    path = Path(part.file.path)
    with path.open("rb") as stream:
        path.unlink()
        table = ReadAgain(part, stream).between(log.offsets[1], log.offsets[3])
    assert table.column_names == ["physicalOffset", *OF_ROWS]
    assert table.select(["physicalOffset", "keys", "uniqKey"]).to_pylist() == [
        {"physicalOffset": log.offsets[number], "keys": f"k{number}", "uniqKey": f"u{number}"} for number in (1, 2, 3)
    ]
