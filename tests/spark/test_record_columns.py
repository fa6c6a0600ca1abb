"""Commit log files as Arrow columns: the same as reading record by record, however the files are cut or damaged."""

from __future__ import annotations

import json
import tarfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.message.message import Host
from rmqlab.message.properties import string_to_properties
from rmqlab.message.record import MESSAGE_MAGIC_CODE, read_record
from rmqlab.message.sysflag import COMPRESSED_FLAG, compress
from rmqlab_tools.spark.files.commit_log_files import TYPES, RecordFilter, log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader, log_end
from tests.proof.log_maker import LogMaker, record

ALL = tuple(TYPES)
WHOLE = 1 << 40
V6 = Host("fe80:0:0:0:1:2:3:4", 10911)


def table(folder, split=WHOLE, columns=ALL, low=0, high=None, **more):
    reader = LogReader(columns, **more)
    parts = log_ranges(log_files(folder), split, low, high)
    return pa.Table.from_batches([batch for part in parts for batch in reader.read(part)], reader.schema())


def rows(folder, *columns, **more):
    return table(folder, columns=columns, **more).to_pylist()


@pytest.fixture(scope="session")
def recorded(golden, tmp_path_factory):
    """The store directory of the recorded set for audits."""
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(golden / "broker-4.8.0" / "audit" / "store.tar.gz") as archive:
        members = [one for one in archive.getmembers() if "/index/" not in one.name]  # 400 MB of zeros
        archive.extractall(folder, members, filter="data")
    return folder / "store"


@pytest.mark.row("S-27")
def test_every_field_of_a_recorded_store_is_what_the_decoder_reads(recorded):
    found = iter(table(recorded).to_pylist())
    count = 0
    for file in sorted((recorded / "commitlog").iterdir()):
        data, place = file.read_bytes(), 0
        while int.from_bytes(data[place + 4 : place + 8], signed=True) == MESSAGE_MAGIC_CODE:
            one, row = read_record(data, place).message, next(found)
            assert row["physicalOffset"] == one.commit_log_offset == int(file.name) + place
            assert (row["topic"], row["queueId"], row["queueOffset"]) == (one.topic, one.queue_id, one.queue_offset)
            assert (row["body"], row["bodyCrc"], row["size"]) == (one.body, one.body_crc, one.store_size)
            assert (row["bornTimestamp"], row["storeTimestamp"]) == (one.born_timestamp, one.store_timestamp)
            assert (row["bornHost"], row["storeHost"]) == (one.born_host.text, one.store_host.text)
            assert (row["flag"], row["sysFlag"], row["reconsumeTimes"]) == (one.flag, one.sys_flag, one.reconsume_times)
            assert dict(row["properties"]) == one.properties
            assert (row["tags"], row["keys"], row["uniqKey"]) == (one.tags, one.keys, one.unique_id)
            assert row["offsetMsgId"] == one.msg_id
            assert row["corrupt"] is None
            place += one.store_size
            count += 1
    assert next(found, None) is None
    assert count == 4326


@pytest.mark.parametrize("split", [777, 50_000, 1 << 20])
def test_rows_do_not_depend_on_the_split(recorded, split):
    columns = ("physicalOffset", "topic", "uniqKey", "corrupt")
    assert table(recorded, split, columns).equals(table(recorded, WHOLE, columns))


def test_batches_of_one_row_are_the_same_rows(recorded):
    columns = ("physicalOffset", "properties", "body")
    part = {"low": 0, "high": 20_000}
    assert table(recorded, columns=columns, batch_rows=1, **part).equals(table(recorded, columns=columns, **part))


def test_properties_are_split_as_java_splits_them(golden, tmp_path):
    log = LogMaker(1 << 20)
    expected = []
    for line in (golden / "vectors" / "properties.jsonl").read_text().splitlines():
        text = next((value for name, value in json.loads(line).items() if name == "string"), None)
        if isinstance(text, str) and len(text.encode("utf-8", "replace")) < 30_000:
            data = text.encode("utf-8", "replace")
            made = record(log.end, properties={"x": "1"})
            made = made[: -len(b"x\x011\x02") - 2] + len(data).to_bytes(2) + data
            log.offsets.append(log.end)
            log.files[-1] += len(made).to_bytes(4) + made[4:]
            expected.append(string_to_properties(data.decode()))
    found = rows(log.write(tmp_path), "properties", "tags", "property:a", "propertiesText")
    assert len(found) == len(expected) > 100
    for row, properties in zip(found, expected, strict=True):
        assert dict(row["properties"]) == properties
        assert len(row["properties"]) == len(properties)
        assert (row["tags"], row["property:a"]) == (properties.get("TAGS"), properties.get("a"))


@given(st.lists(st.sampled_from(["a", "TAGS", "\x01", "\x02", "b", "\x01\x02", "KEYS\x01"]), max_size=12))
def test_any_property_text_is_read_as_the_decoder_reads_it(tmp_path_factory, parts):
    data = "".join(parts).encode()
    made = record(0)
    made = made[:-2] + len(data).to_bytes(2) + data
    log = LogMaker()
    log.files[-1] += len(made).to_bytes(4) + made[4:]
    row = rows(log.write(tmp_path_factory.mktemp("text")), "properties", "tags", "keys", "propertiesText")[0]
    properties = string_to_properties(data.decode())
    assert dict(row["properties"]) == properties
    assert (row["tags"], row["keys"]) == (properties.get("TAGS"), properties.get("KEYS"))
    assert row["propertiesText"] == data.decode()


@given(
    st.lists(
        st.tuples(st.text("abTAGS_", min_size=1, max_size=12), st.integers(0, 150), st.sampled_from(["=", "\x01", ""])),
        max_size=9,
    ),
    st.booleans(),
)
def test_long_properties_and_names_of_any_length_are_found(tmp_path_factory, items, last):
    """Names about as long as what is compared at once; values longer; in a file's last record and before it."""
    text = "".join(f"{name}\x01{'v' * length}{extra}\x02" for name, length, extra in items)
    made = record(0)
    made = made[:-2] + len(text).to_bytes(2) + text.encode()
    log = LogMaker(1 << 14)
    log.files[-1] += len(made).to_bytes(4) + made[4:]
    if not last:
        log.add()
    names = sorted({name for name, _, _ in items} | {"TAGS", "bTAGS_ab", "TAGS_aTAGS"})
    columns = ("properties", *(f"property:{name}" for name in names))
    row = rows(log.write(tmp_path_factory.mktemp("long"), pad=False), *columns)[0]
    properties = string_to_properties(text)
    assert dict(row["properties"]) == properties
    assert len(row["properties"]) == len(properties)
    assert [row[f"property:{name}"] for name in names] == [properties.get(name) for name in names]


def test_a_log_whose_old_files_are_deleted_begins_where_it_does(tmp_path):
    log = LogMaker(1024)
    for number in range(30):
        log.add(body=b"x" * 100, queue_offset=number)
    log.write(tmp_path)
    for path in sorted((tmp_path / "commitlog").iterdir())[:2]:
        path.unlink()
    kept = [offset for offset in log.offsets if offset >= 2048]
    for split in (300, WHOLE):
        found = rows(tmp_path, "physicalOffset", "corrupt", split=split)
        assert [(row["physicalOffset"], row["corrupt"]) for row in found] == [(offset, None) for offset in kept]


def test_delayed_messages_keep_their_topic_and_transactions_their_kind(tmp_path):
    log = LogMaker().add(topic="SCHEDULE_TOPIC_XXXX", queue=2, properties={"REAL_TOPIC": "T", "REAL_QID": "1"})
    for kind in (4, 8, 12):
        log.add(topic="RMQ_SYS_TRANS_HALF_TOPIC", flags=kind)
    found = rows(log.write(tmp_path), "topic", "property:REAL_TOPIC", "property:REAL_QID", "transaction")
    assert [tuple(row.values()) for row in found] == [
        ("SCHEDULE_TOPIC_XXXX", "T", "1", "none"),
        ("RMQ_SYS_TRANS_HALF_TOPIC", None, None, "prepared"),
        ("RMQ_SYS_TRANS_HALF_TOPIC", None, None, "commit"),
        ("RMQ_SYS_TRANS_HALF_TOPIC", None, None, "rollback"),
    ]


def test_addresses_of_both_kinds_compressed_bodies_and_transactions(tmp_path):
    log = LogMaker().add(host=V6).add(body=compress(b"x" * 500), flags=COMPRESSED_FLAG).add(flags=4).add(flags=12)
    found = rows(log.write(tmp_path), "storeHost", "offsetMsgId", "body", "bodyLength", "compressed", "transaction")
    assert found[0]["storeHost"] == f"[{V6.ip}]:10911"
    assert len(found[0]["offsetMsgId"]) == 56
    assert found[1]["body"] == b"x" * 500
    assert found[1]["bodyLength"] < 50
    assert [row["compressed"] for row in found] == [False, True, False, False]
    assert [row["transaction"] for row in found] == ["none", "none", "prepared", "rollback"]


def test_texts_that_are_no_utf8_are_read_as_java_reads_them(tmp_path):
    log = LogMaker().add(topic="TT")
    log.files[-1] = log.files[-1].replace(b"\x02TT", b"\x02T\xff")
    assert rows(log.write(tmp_path), "topic") == [{"topic": "T\ufffd"}]


def test_a_wrong_body_is_told_and_the_record_kept(tmp_path):
    log = LogMaker().add(body=b"good").add(body=b"evil").add()
    log.files[-1] = log.files[-1].replace(b"evil", b"EVIL")
    found = rows(log.write(tmp_path), "physicalOffset", "queueId", "corrupt")
    assert [row["corrupt"] for row in found] == [None, "the body does not fit its checksum", None]
    assert found[1]["queueId"] == 0
    assert all(row["corrupt"] is None for row in rows(tmp_path, "corrupt", check_crc=False))


def test_a_compressed_body_that_cannot_be_restored_is_told(tmp_path):
    log = LogMaker().add(body=b"no zlib stream", flags=COMPRESSED_FLAG)
    assert rows(log.write(tmp_path), "body", "corrupt") == [
        {"body": None, "corrupt": "the compressed body cannot be restored"}
    ]


def damaged(log, number, place, value=b"\xee"):
    """Overwrite one byte of the record with that number."""
    at = log.offsets[number] % log.size + place
    file = log.files[log.offsets[number] // log.size]
    file[at : at + len(value)] = value


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (3, "the lengths of its parts do not make its size"),
        (0, "the record is cut off"),
        (4, "no record begins here"),
        (35, "the record names another offset"),
        (84, "the lengths of its parts do not make its size"),
    ],
)
def test_a_damaged_record_is_one_row_and_the_next_one_is_found(tmp_path, place, reason):
    log = LogMaker()
    for number in range(4):
        log.add(queue_offset=number)
    damaged(log, 1, place, b"\x7f")
    found = rows(log.write(tmp_path), "physicalOffset", "queueOffset", "size", "corrupt")
    assert [row["queueOffset"] for row in found] == [0, None, 2, 3]
    assert found[1]["physicalOffset"] == log.offsets[1]
    assert found[1]["size"] == log.offsets[2] - log.offsets[1]
    assert found[1]["corrupt"] == reason


def test_a_record_inside_a_body_is_no_record_wherever_the_file_is_cut(tmp_path):
    log = LogMaker()
    log.add()
    # The body is a record with the very offset at which it will stand.
    log.add(body=record(log.end + 88, topic="FAKE")).add()
    for split in (1, 50, 120, 170, WHOLE):
        assert [row["topic"] for row in rows(log.write(tmp_path), "topic", split=split)] == ["T", "T", "T"]


def test_a_file_being_written_a_cut_file_and_a_missing_one(tmp_path):
    log = LogMaker(1024)
    for _ in range(30):
        log.add(body=b"x" * 100)
    log.write(tmp_path)
    files = sorted((tmp_path / "commitlog").iterdir())
    whole = rows(tmp_path, "physicalOffset", "corrupt")
    assert [row["physicalOffset"] for row in whole] == log.offsets
    assert {row["corrupt"] for row in whole} == {None}
    files[1].unlink()
    files[-1].write_bytes(files[-1].read_bytes()[: log.end - 10 - (len(log.files) - 1) * 1024])
    files[2].write_bytes(files[2].read_bytes()[:-10])
    for split in (200, WHOLE):
        told = [row for row in rows(tmp_path, "physicalOffset", "size", "corrupt", split=split) if row["corrupt"]]
        assert [(row["physicalOffset"], row["corrupt"]) for row in told] == [
            (1024, "a file is missing"),
            (3072 - 10, "the file is cut off"),
            (log.offsets[-1], "the record is cut off"),
        ]


def test_a_hole_of_zeros_between_records_is_told(tmp_path):
    log = LogMaker().add().add().add()
    size = log.offsets[2] - log.offsets[1]
    damaged(log, 1, 0, bytes(size))
    found = rows(log.write(tmp_path), "physicalOffset", "size", "corrupt")
    assert found[1] == {"physicalOffset": log.offsets[1], "size": size, "corrupt": "nothing is written here"}
    assert len(found) == 3


@given(
    st.lists(st.tuples(st.integers(0, 1500), st.binary(min_size=1, max_size=3)), max_size=4),
    st.integers(1, 700),
    st.booleans(),
)
def test_damage_never_changes_rows_by_the_split_and_hides_no_byte(tmp_path_factory, damage, split, pad):
    log = LogMaker(600)
    for number in range(12):
        log.add(body=bytes(number), queue_offset=number)
    for place, data in damage:
        file = log.files[min(place // 600, len(log.files) - 1)]
        at = place % 600
        if at + len(data) <= len(file):
            file[at : at + len(data)] = data
    folder = log.write(tmp_path_factory.mktemp("damage"), pad=pad)
    columns = ("physicalOffset", "size", "queueOffset", "corrupt")
    whole = rows(folder, *columns)
    assert rows(folder, *columns, split=split) == whole
    # Every byte up to the last one that is not zero lies in a row, or behind a blank record.
    covered = 0
    for row in whole:
        assert row["physicalOffset"] >= covered
        between = bytes(log.files[covered // 600][covered % 600 : covered % 600 + row["physicalOffset"] - covered])
        assert between[4:8] in {b"", b"\xcb\xd4\x31\x94"}
        covered = row["physicalOffset"] + row["size"]
    assert covered >= (len(log.files) - 1) * 600 or not any(log.files[-1])


def test_filters_while_decoding(tmp_path):
    log = LogMaker()
    for number in range(12):
        log.add(topic="AB"[number % 2], queue=number % 3, stored=1_000 + number, queue_offset=number)
    log.write(tmp_path)

    def kept(**wanted):
        return [row["queueOffset"] for row in rows(tmp_path, "queueOffset", wanted=RecordFilter(**wanted))]

    assert kept(topics=("A",)) == [0, 2, 4, 6, 8, 10]
    assert kept(topics=("A", "B"), queues=(1,)) == [1, 4, 7, 10]
    assert kept(since=1_003, until=1_005) == [3, 4, 5]
    assert [row["queueOffset"] for row in rows(tmp_path, "queueOffset", low=log.offsets[3], high=log.offsets[5])] == [
        3,
        4,
    ]


def test_the_end_of_a_log_that_is_being_written(tmp_path):
    log = LogMaker(1024)
    for _ in range(9):
        log.add(body=b"x" * 100)
    log.write(tmp_path)
    assert log_end(log_files(tmp_path), 0) == log.end
    assert log_end(log_files(tmp_path), log.offsets[4]) == log.end
    assert log_end(log_files(tmp_path), 0, log.offsets[2] + 1) == log.offsets[3]
    half = record(log.end, body=b"y" * 50)[:90]
    log.files[-1] += half
    log.write(tmp_path)
    assert log_end(log_files(tmp_path), 0) == log.end - len(half)


def test_a_folder_without_a_commit_log_is_refused_and_a_store_in_it_is_taken(tmp_path):
    with pytest.raises(BadInput, match="no store directory, since it has no folder 'commitlog'"):
        log_files(tmp_path)
    (tmp_path / "store.tar.gz").write_bytes(b"")
    with pytest.raises(BadInput, match=r"store\.tar\.gz is a packed store, and tables are read from a folder"):
        log_files(tmp_path)
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    assert log_files(tmp_path) == []
