"""The store directory of a broker as a Spark data source: every table, filters, columns, streams."""

from __future__ import annotations

import shutil

import pytest

from rmqlab.errors import BadInput
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab_tools.spark.files.commit_log_files import together
from rmqlab_tools.spark.files.store_tables import StoreConfig
from tests.proof.log_maker import LogMaker

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from pyspark.errors import StreamingQueryException

from rmqlab_tools.spark import read_store
from rmqlab_tools.spark.store_source import LogStream, LogTable, Options, PlainTable, RocketMQStore, register


@pytest.fixture(scope="session")
def recorded(golden, tmp_path_factory):
    """A recorded store with bitmaps: every table has rows."""
    folder = tmp_path_factory.mktemp("bitmap")
    shutil.unpack_archive(golden / "broker-4.8.0" / "bitmap" / "store.tar.gz", folder, filter="data")
    return folder / "store"


def test_queues_lead_to_the_records_of_the_log(spark, recorded):
    log = read_store(spark, recorded, columns=["physicalOffset", "size", "topic", "queueId", "queueOffset"])
    queues = read_store(spark, recorded, "consumequeue").drop("tagsCode", "extAddress", "corrupt")
    count = log.count()
    assert queues.count() == count == 64
    assert log.unionByName(queues).distinct().count() == count


def test_extension_units_are_those_the_queues_name(spark, recorded):
    units = {row.address: row for row in read_store(spark, recorded, "ext").collect()}
    named = read_store(spark, recorded, "consumequeue").where("extAddress is not null").collect()
    assert {(row.topic, row.queueId, row.extAddress) for row in named} == {
        (row.topic, row.queueId, row.address) for row in read_store(spark, recorded, "ext").collect()
    }
    assert named
    assert all(row.bitmap is None or len(row.bitmap) for row in units.values())


def test_index_entries_name_records_of_the_log(spark, recorded):
    offsets = {row[0] for row in read_store(spark, recorded, columns=["physicalOffset"]).collect()}
    entries = read_store(spark, recorded, "index").collect()
    assert entries
    assert {row.physicalOffset for row in entries} <= offsets


def test_config_tables(spark, recorded):
    config = StoreConfig(recorded)
    offsets = {
        (row.group, row.topic, row.queueId): row.offset for row in read_store(spark, recorded, "offsets").collect()
    }
    assert offsets == {
        (group, topic, queue): offset
        for (group, topic), queues in config.offsets().items()
        for queue, offset in queues.items()
    }
    assert {row.group for row in read_store(spark, recorded, "subscriptions").collect()} == set(config.groups())
    assert {row.topic for row in read_store(spark, recorded, "topics").collect()} == set(config.topics())
    assert all(row.expressionType == "SQL92" for row in read_store(spark, recorded, "filters").collect())


def test_filters_and_columns_give_the_same_rows_as_spark_alone(spark, recorded):
    wanted = "topic like 'T%' and queueId in (0, 1) and physicalOffset >= 5000 and storeTimestamp > 0"
    columns = ["physicalOffset", "topic", "queueId", "storeTimestamp", "properties"]
    pruned = read_store(spark, recorded, columns=columns, splitBytes=20_000).where(wanted)
    whole = read_store(spark, recorded).select(*columns).where(wanted)
    assert sorted(pruned.collect(), key=str) == sorted(whole.collect(), key=str)
    assert pruned.count() > 0


def test_properties_are_a_map_and_columns_of_their_own(spark, recorded):
    frame = read_store(spark, recorded, columns=["tags", "properties", f"property:{PROPERTY_TAGS}"])
    row = frame.where("tags is not null").first()
    assert row["tags"] == row["properties"]["TAGS"] == row["property:TAGS"]


def test_a_schema_prunes_columns_too(spark, recorded):
    register(spark)
    frame = spark.read.format("rocketmq").schema("tags string, topic string").load(str(recorded))
    assert frame.columns == ["tags", "topic"]
    assert frame.count() > 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"table": "queues"}, "no table 'queues'; there are commitlog, consumequeue"),
        ({"columns": "topic,colour"}, "no column 'colour'"),
        ({"columns": "property:"}, "no column 'property:'"),
        ({"columns": "property:a\x01b"}, "no column 'property:a"),
        ({"splitBytes": "0"}, "splitBytes '0': a number above 0"),
        ({"queues": "a"}, "queues 'a': numbers of queues"),
        ({"since": "-1"}, "since '-1': a number from 0 on"),
        ({"startingOffset": "now"}, "startingOffset 'now': earliest, latest"),
    ],
)
def test_options_that_cannot_be_used_are_told(recorded, options, problem):
    with pytest.raises(BadInput, match=problem):
        Options({"path": str(recorded), **options})


COLUMNS = "topic,queueId,storeTimestamp,physicalOffset"


@pytest.fixture
def mixed(tmp_path):
    """A log of two topics with two queues each, stored in 120 milliseconds."""
    log = LogMaker(4096)
    for number in range(120):
        log.add("AB"[number % 2], queue=number % 4, stored=1_000 + number)
    return log.write(tmp_path), log


def test_a_frame_gives_each_query_its_own_rows(spark, mixed):
    """Spark 4.3 keeps filters that a Python source takes with the frame, for its next query too: ours takes none."""
    store, _ = mixed
    frame = read_store(spark, store, columns=COLUMNS.split(","))
    first = frame.where("topic = 'A' and queueId = 0")
    assert first.count() == 30
    assert frame.count() == 120
    assert frame.where("topic = 'B'").count() == 60
    assert first.unionByName(frame.where("topic = 'B'")).count() == 90


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({"topics": "A"}, range(0, 120, 2)),
        ({"topics": "A, B", "queues": "1,2"}, [one for one in range(120) if one % 4 in (1, 2)]),
        ({"since": "1005", "until": "1010"}, range(5, 11)),
        ({"topics": "C"}, []),
    ],
)
def test_options_leave_out_what_is_not_wanted(mixed, options, numbers):
    store, log = mixed
    given = {"path": str(store), "columns": "physicalOffset", **options}
    table, stream = LogTable(Options(given)), LogStream(Options(given))
    for reader, parts in (
        (table, table.partitions()),
        (stream, stream.partitions(stream.initialOffset(), stream.latestOffset())),
    ):
        offsets = [row["physicalOffset"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
        assert offsets == [log.offsets[number] for number in numbers]


def test_small_ranges_are_one_task_and_no_task_has_more_than_it_may():
    sizes = (4, 4, 2, 12, 3, 8, 0)
    assert together(zip("abcdefg", sizes, strict=True), 10) == [("a", "b", "c"), ("d",), ("e",), ("f", "g")]
    assert together([], 10) == []


def test_offsets_as_options_cut_what_tasks_read(mixed):
    store, log = mixed
    given = {"path": str(store), "columns": "physicalOffset", "fromOffset": str(log.offsets[10] - 1)}
    options = Options({**given, "untilOffset": str(log.offsets[20])})
    table = LogTable(options)
    parts = table.partitions()
    ranges = [log_range for part in parts for log_range in part.value[1]]
    assert sum(log_range.high - log_range.low for log_range in ranges) == log.offsets[20] - log.offsets[10] + 2
    offsets = [row["physicalOffset"] for part in parts for batch in table.read(part) for row in batch.to_pylist()]
    assert offsets == log.offsets[10:21]
    with pytest.raises(BadInput, match="a stream begins at startingOffset"):
        RocketMQStore(given).streamReader(RocketMQStore(given).schema())


def test_a_stream_reads_what_is_written_while_it_runs_and_nothing_twice(spark, tmp_path):
    log = LogMaker(4096)
    for number in range(20):
        log.add(body=b"x" * 100, queue_offset=number)
    store = log.write(tmp_path / "store")
    register(spark)
    frame = spark.readStream.format("rocketmq").option("maxBytesPerTrigger", 1500).load(str(store))

    def run():
        rows = []
        for _ in range(6):
            query = (
                frame.select("queueOffset", "corrupt").writeStream.format("parquet")
                .option("checkpointLocation", str(tmp_path / "checkpoint")).option("path", str(tmp_path / "out"))
                .trigger(availableNow=True).start()
            )  # fmt: skip
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                # Spark gives its Python worker 10 s to start; where that was too little, a new query goes on.
                if "failed to connect back" not in str(error):
                    raise
            else:
                return rows + [one["numInputRows"] for one in query.recentProgress if one["numInputRows"]]
            rows += [one["numInputRows"] for one in query.recentProgress if one["numInputRows"]]
        raise AssertionError("Spark could not start a Python worker in 10 s, six times")

    assert len(run()) > 1
    for number in range(20, 30):
        log.add(body=b"x" * 100, queue_offset=number)
    half = bytes(log.add(queue_offset=30).files[-1][-40:])
    log.files[-1][-40:] = bytes(40)
    log.write(store)
    run()
    read = spark.read.parquet(str(tmp_path / "out")).orderBy("queueOffset").collect()
    assert [(row.queueOffset, row.corrupt) for row in read] == [(number, None) for number in range(30)]
    log.files[-1][-40:] = half
    log.write(store)
    assert sum(run()) == 1


def test_a_stream_may_begin_at_the_end_or_at_an_offset(tmp_path):
    log = LogMaker()
    for _ in range(5):
        log.add()
    store = str(log.write(tmp_path))

    def begin(starting):
        return LogStream(Options({"path": store, "startingOffset": starting})).initialOffset()["offset"]

    assert begin("earliest") == 0
    assert begin("latest") == log.end
    assert begin(str(log.offsets[2] - 1)) == log.offsets[2]


def test_a_stream_tells_of_files_that_were_deleted_before_it_read_them(tmp_path):
    log = LogMaker(1024)
    for _ in range(20):
        log.add(body=b"x" * 100)
    stream = LogStream(Options({"path": str(log.write(tmp_path)), "columns": "physicalOffset,size,corrupt"}))
    start, end = stream.initialOffset(), stream.latestOffset()
    gone, *_ = sorted((tmp_path / "commitlog").iterdir())
    gone.unlink()

    def read(start, end):
        parts = stream.partitions(start, end)
        return [tuple(row.values()) for part in parts for batch in stream.read(part) for row in batch.to_pylist()]

    first, *others = read(start, end)
    assert first == (0, 1024, "a file is missing")
    assert [row[0] for row in others] == [offset for offset in log.offsets if offset >= 1024]
    assert {row[2] for row in others} == {None}
    assert read({"offset": 1024}, end) == others
    for path in (tmp_path / "commitlog").iterdir():
        path.unlink()
    assert read(start, end) == [(0, log.end, "a file is missing")]


def test_a_store_without_queues_and_index_has_a_commit_log_all_the_same(tmp_path):
    root = LogMaker().add().write(tmp_path)
    for table in ("consumequeue", "ext", "index"):
        plain = PlainTable(Options({"path": str(root), "table": table}))
        assert [list(plain.read(part)) for part in plain.partitions()] == [[]]
    whole = LogTable(Options({"path": str(root)}))
    assert sum(batch.num_rows for part in whole.partitions() for batch in whole.read(part)) == 1


def test_a_copy_that_stands_in_for_a_file_of_config_is_said(spark, recorded, tmp_path):
    folder = shutil.copytree(recorded, tmp_path / "store")
    offsets = folder / "config" / "consumerOffset.json"
    offsets.rename(f"{offsets}.bak")
    with pytest.warns(UserWarning, match=r"consumerOffset\.json is missing; 4\.8\.0 takes consumerOffset\.json\.bak"):
        read_store(spark, folder, "offsets")
    rows = spark.read.format("rocketmq").option("table", "offsets").load(str(folder)).collect()
    whole = read_store(spark, recorded, "offsets").collect()
    assert len(rows) == len(whole) > 0
    assert {row.damage for row in whole} == {None}
    assert {row.damage for row in rows} == {
        "consumerOffset.json is missing; 4.8.0 takes consumerOffset.json.bak instead, which is older"
    }
