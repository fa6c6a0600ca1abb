"""Stores and archives at an address: the same rows and the same audit as from a disk, without a copy of the log."""

from __future__ import annotations

import gzip
import json
import os
import shutil

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")
pytest.importorskip("moto", reason="moto is not installed: ./lab test installs it")

import pyarrow.fs as pafs

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main
from rmqlab_tools.spark import matching, read_store
from rmqlab_tools.spark.audit.queue_check import QueueCheck
from rmqlab_tools.spark.files import addresses, commit_log_files
from rmqlab_tools.spark.files.addresses import AddressPath, shown_address, store_path
from rmqlab_tools.spark.files.commit_log_files import TYPES, log_files, log_ranges
from rmqlab_tools.spark.files.known_records import known_record
from rmqlab_tools.spark.files.log_reader import LogReader, log_end
from rmqlab_tools.spark.files.store_tables import SCHEMAS
from rmqlab_tools.spark.files.stored_files import RangeReader
from tests.proof import two_brokers
from tests.proof.two_brokers import ADDRESS, RECORDED, unpack, upload


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """A folder with the stores of two brokers and a slave, and the same as a bucket; credentials in the environment."""
    folder = tmp_path_factory.mktemp("bucket")
    unpack(folder)
    shutil.copy(RECORDED / "events.jsonl.gz", folder)
    with two_brokers.bucket() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVER", server)
        upload(folder)
        yield folder
        addresses.filesystem_of.cache_clear()


def rows_of(root, split, columns=tuple(TYPES)):
    """The rows of a store's log, read in ranges of about `split` bytes."""
    reader = LogReader(columns)
    return [
        row for part in log_ranges(log_files(root), split) for batch in reader.read(part) for row in batch.to_pylist()
    ]


def test_ranges_of_a_log_in_a_bucket_have_the_rows_of_the_file(bucket, monkeypatch):
    """They are cut where records begin, so that each byte of records is fetched once; the zeros at the end are not."""
    here, there = bucket / "broker-a", f"{ADDRESS}/broker-a"
    fetched = []
    read = RangeReader.read
    monkeypatch.setattr(RangeReader, "read", lambda self, *span: fetched.append(span) or read(self, *span))
    assert rows_of(there, 2_000) == rows_of(here, 2_000)
    (file,), end = log_files(there), log_end(log_files(here), 0)
    assert (file.size, log_end([file], 0)) == (end, end)
    ranges = log_ranges([file], 2_000)
    assert len(ranges) > 2
    assert all(part.begin == part.low for part in ranges)
    spans = [(part.low, part.high) for part in ranges]
    assert [fetched.count(span) for span in spans] == [1] * len(spans)
    # what somebody asks for begins anywhere, and a record that begins before its end is whole
    low, high = ranges[1].low + 1, ranges[2].low + 1
    part_of_log = log_ranges([file], 1 << 30, low, high)
    offsets = [row["physicalOffset"] for part in part_of_log for batch in LogReader(("physicalOffset",)).read(part)
               for row in batch.to_pylist()]  # fmt: skip
    assert offsets == [row["physicalOffset"] for row in rows_of(here, 1 << 30) if low <= row["physicalOffset"] < high]


def test_a_range_begins_where_a_queue_says(bucket):
    """A body may hold what looks like a record; only what a queue names is taken for one, and without queues none."""
    root = store_path(f"{ADDRESS}/broker-a/store")
    (file,) = log_files(root)
    assert isinstance(file.path, AddressPath)
    offsets = [row["physicalOffset"] for row in rows_of(bucket / "broker-a", 1 << 30, ("physicalOffset",))]
    for offset in (offsets[0], offsets[3], offsets[-1]):
        assert known_record(root, file.path, file.base, file.size, max(offset - 1, 0)) == offset
    unqueued = store_path(f"{ADDRESS}/other/store")
    assert known_record(unqueued, file.path, file.base, file.size, 0) is None


def test_damage_in_a_bucket_is_damage(bucket):
    """A record whose magic code is gone, and one that says it is longer, in the middle of ranges."""
    data = bytearray(next((bucket / "broker-b" / "store" / "commitlog").iterdir()).read_bytes())
    offsets = [row["physicalOffset"] for row in rows_of(bucket / "broker-b", 1 << 30, ("physicalOffset",))]
    data[offsets[5] + 4 : offsets[5] + 8] = b"\0\0\0\1"
    data[offsets[11] : offsets[11] + 4] = (1 << 20).to_bytes(4)
    damaged = bucket / "damaged" / "store"
    shutil.copytree(bucket / "broker-b" / "store" / "consumequeue", damaged / "consumequeue")
    (damaged / "commitlog").mkdir()
    (damaged / "commitlog" / f"{0:020}").write_bytes(data)
    there, _ = pafs.FileSystem.from_uri(f"{ADDRESS}/x")
    pafs.copy_files(str(bucket / "damaged"), "bucket/damaged", destination_filesystem=there)
    rows = rows_of(f"{ADDRESS}/damaged", 1_500)
    assert rows == rows_of(damaged, 1 << 30)
    assert sum(row["corrupt"] is not None for row in rows) == 2


def test_entries_of_queues_are_looked_up_in_the_bucket(bucket):
    for split in (2_500, 1 << 30):
        files = zip(log_files(f"{ADDRESS}/broker-b"), log_files(bucket / "broker-b"), strict=True)
        for there, here in files:
            for part in log_ranges([there], split):
                same = part._replace(file=here, high=here.size if part.high == there.size else part.high)
                mine = QueueCheck(f"{ADDRESS}/broker-b/store", part)
                other = QueueCheck(bucket / "broker-b" / "store", same)
                assert mine._topics == other._topics
                assert mine._entries.tolist() == other._entries.tolist()


def test_an_audit_of_a_cluster_in_a_bucket_is_that_of_the_disk(bucket):
    names, log = ("broker-b", "broker-a-slave", "broker-a"), bucket / "events.jsonl.gz"
    there = rmqlab.audit([f"{ADDRESS}/{name}" for name in names], subscriptions=log, delivered=log)
    here = rmqlab.audit([bucket / name for name in names], subscriptions=log, delivered=log)
    assert there.groups == here.groups
    assert there.total("lost") == 48
    assert there.brokers == here.brokers == ["broker-a", "broker-b"]
    assert [copy.shown for copy in there.copies] == [f"{ADDRESS}/broker-a-slave"]
    for result in (there, here):
        result.close()


def test_tables_archive_and_match_take_stores_of_a_bucket(spark, bucket):
    """Spark's workers were started without the environment, so the addresses say all; nobody is shown the key."""
    base = f"s3://tester:secret@bucket/{{}}?scheme=http&region=us-east-1&endpoint_override={os.environ['SERVER']}"
    stores, out = [base.format(name) for name in ("broker-a", "broker-b", "broker-a-slave")], base.format("archive")
    columns = ["broker", "topic", "queueId", "queueOffset", "tags"]
    rows = {tuple(row) for row in read_store(spark, stores, columns=columns).collect()}
    here = {
        (name, *row.values())
        for name in ("broker-a", "broker-b")
        for row in rows_of(bucket / name, 1 << 30, ("topic", "queueId", "queueOffset", "tags"))
    }
    assert rows == here
    assert read_store(spark, stores, columns=["broker"]).count() == len(rows)
    for table in ("consumequeue", "offsets"):
        frame = read_store(spark, stores, table)
        assert frame.columns == ["broker", *SCHEMAS[table].names]
        assert {row.broker for row in frame.select("broker").distinct().collect()} == {"broker-a", "broker-b"}
    kept = rmqlab.archive(stores, out, session=spark)
    assert (kept.new, [copy.broker for copy in kept.copies]) == (len(rows), ["broker-a"])
    assert "secret" not in f"{kept}{kept.as_json()}"
    assert rmqlab.archive(stores, out, session=spark).new == 0
    tagged = sum(row[-1] == "tagA" and not row[1].startswith("%") for row in rows)
    assert rmqlab.match(out, "tagA").total("matched") == tagged
    assert matching(spark, out, "tagA").count() == tagged


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("s3://nobucket/store", "there is no such bucket"),
        ("s3://bucket/none", "no store directory, since it has no folder 'commitlog'"),
        ("s3://", "it names no bucket"),
        ("ftp://host/store", "right is a folder, or an address such as s3://BUCKET/FOLDER"),
    ],
)
def test_what_is_not_there_is_one_line(bucket, address, says, capsys):
    assert main(["audit", address]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line


def test_denied_is_one_line_and_no_secret_is_shown(bucket, monkeypatch):
    def denied(*_):
        raise OSError(
            "When listing objects under key 'store/' in bucket 'bucket': AWS Error ACCESS_DENIED during ListObjectsV2 "
            "operation: Access Denied (Request ID: 4AB)"
        )

    assert shown_address("s3://key:secret@bucket/store?region=eu") == "s3://bucket/store"
    monkeypatch.setattr(AddressPath, "filesystem", type("Denied", (), {"get_file_info": denied, "type_name": "s3"})())
    with pytest.raises(BadInput) as error:
        commit_log_files.store_directory("s3://key:secret@bucket/store?region=us-east-1")
    assert "access is denied" in str(error.value)
    assert "secret" not in str(error.value)


def tables_of(folder):
    """The tables that `events` wrote, by name."""
    parquet = pytest.importorskip("pyarrow.parquet")
    return {path.stem: parquet.read_table(path).to_pylist() for path in sorted(folder.iterdir())}


@pytest.mark.usefixtures("bucket")
def test_events_of_a_bucket_are_those_of_the_folder(golden, tmp_path):
    """A recorded set with its events, the frames of one alone (as of a tap), and scenarios with their broker.conf."""
    recorded = golden / "broker-4.8.0" / "lite"
    (tmp_path / "tap").mkdir()
    for name in ("broker.conf", "frames.jsonl.gz"):
        shutil.copy(recorded / name, tmp_path / "tap")
    (tmp_path / "split" / "events").mkdir(parents=True)
    for name in ("broker.conf", "frames.jsonl.gz"):
        shutil.copy(recorded / name, tmp_path / "split")
    with gzip.open(recorded / "events.jsonl.gz", "rt") as stream:
        for line in stream:
            with (tmp_path / "split" / "events" / f"{json.loads(line)['id']}.jsonl").open("a") as file:
                file.write(line)
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "broker.conf").write_text("enablePropertyFilter=true\n")
    shutil.copy(recorded / "scenarios.jsonl", tmp_path / "made" / "two.jsonl")
    for source in (recorded, tmp_path / "tap", tmp_path / "split", tmp_path / "made" / "two.jsonl"):
        folder = source.parent if source.is_file() else source
        address = f"{ADDRESS}/{folder.name}"
        upload(folder, address)
        given = f"{address}/{source.name}" if source.is_file() else address
        assert main(["events", str(source), "--out", str(tmp_path / "here")]) == 0
        assert main(["events", given, "--out", str(tmp_path / "there")]) == 0
        assert tables_of(tmp_path / "there") == tables_of(tmp_path / "here")


@pytest.mark.usefixtures("bucket")
def test_events_of_a_bucket_are_called_by_their_address(golden, tmp_path, capsys):
    address, wrong = f"{ADDRESS}/named", f"{ADDRESS}/wrong"
    upload(golden / "broker-4.8.0" / "lite", address)
    assert main(["events", f"{address}/?region=us-east-1", f"b={address}", "--out", str(tmp_path / "out")]) == 0
    assert {row["source"] for row in tables_of(tmp_path / "out")["messages"]} == {address, "b"}
    for given, text in {
        f"{address}/nothing": f"{address}/nothing: there is no such file or folder",
        f"{address}/events.jsonl.gz": f"{address}/events.jsonl.gz",
        wrong: f"{wrong}: there is no such file or folder",
        f"{ADDRESS}x/y": f"{ADDRESS}x/y",
    }.items():
        assert main(["events", given, "--out", str(tmp_path / "none")]) == 2
        err = capsys.readouterr().err
        assert text in err
        assert "rmqlab-recordings" not in err
    assert not (tmp_path / "none").exists() or not list((tmp_path / "none").iterdir())
