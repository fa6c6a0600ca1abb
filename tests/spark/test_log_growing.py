"""A commit log that a broker writes to while it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.subscriptions import ClientSubscription, Subscriptions
from rmqlab_tools.spark.files import record_columns
from rmqlab_tools.spark.files import record_kernel as kernel
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader, log_end
from tests.proof.log_maker import LogMaker


@pytest.mark.parametrize("half", [0, 40])
def test_what_is_written_between_two_looks_is_a_record_and_no_damage(tmp_path, monkeypatch, half):
    """The reader comes to the end, maybe to half a record; the next it sees are two more (so a real broker showed)."""
    log = LogMaker(8192)
    for number in range(4):
        log.add(queue_offset=number, body=b"x" * 50)
    log.write(tmp_path)
    (path,) = (tmp_path / "commitlog").iterdir()
    whole = path.read_bytes()
    end = log.offsets[2] + half
    path.write_bytes(whole[:end] + bytes(len(whole) - end))
    walk, looks = record_columns.RecordWalk.__call__, []

    def look(*arguments):
        found = walk(*arguments)
        looks.append(found[2])
        if len(looks) == 1:
            with path.open("r+b") as stream:
                stream.write(whole)
        return found

    monkeypatch.setattr(record_columns.RecordWalk, "__call__", look)
    (part,) = log_ranges(log_files(tmp_path), 1 << 40)
    rows = [row for batch in LogReader(("physicalOffset", "corrupt")).read(part) for row in batch.to_pylist()]
    assert rows == [{"physicalOffset": offset, "corrupt": None} for offset in log.offsets]
    assert looks[0] in {kernel.EMPTY, kernel.BAD_RECORD}


@pytest.fixture
def live(tmp_path):
    """A log as a broker has it while it runs: one file full, one begun, and two that it made for later."""
    log = LogMaker(1000)
    for number in range(9):
        log.add(queue_offset=number, body=b"x" * 50)
    log.write(tmp_path)
    (*_, last) = sorted((tmp_path / "commitlog").iterdir())
    for later in (1, 2):
        (tmp_path / "commitlog" / f"{int(last.name) + 1000 * later:020}").write_bytes(bytes(1000))
    return tmp_path, log


def read(files, split=1 << 40):
    reader = LogReader(("physicalOffset", "corrupt"))
    return [row for part in log_ranges(files, split) for batch in reader.read(part) for row in batch.to_pylist()]


def test_files_that_a_broker_made_for_later_are_no_damage(live):
    """So they lie there while a real broker runs, and after it was killed."""
    root, log = live
    files = log_files(root)
    assert [file.last for file in files] == [False] * (len(files) - 3) + [True] * 3
    for split in (1 << 40, 333):
        assert read(files, split) == [{"physicalOffset": offset, "corrupt": None} for offset in log.offsets]
    # What a stream reads next begins behind the last record, and not in a file where nothing is.
    end = log_end(files, 0)
    assert log.offsets[-1] < end < log.offsets[-1] + 400
    assert log_end(files, end) == end


def test_a_file_for_later_that_goes_when_the_broker_ends_is_not_missed(live):
    root, log = live
    files = log_files(root)
    for file in files[-2:]:
        Path(file.path).unlink()
    assert read(files) == [{"physicalOffset": offset, "corrupt": None} for offset in log.offsets]
    Path(files[0].path).unlink()
    first, *rest = read(files)
    assert first == {"physicalOffset": 0, "corrupt": "the file was deleted meanwhile"}
    assert [row["physicalOffset"] for row in rest] == [offset for offset in log.offsets if offset >= files[1].base]


def test_a_begun_file_whose_first_bytes_are_gone_is_damaged(live):
    root, _ = live
    files = log_files(root)
    with Path(files[-3].path).open("r+b") as stream:
        stream.write(bytes(8))
    rows = read(log_files(root))
    assert [row["physicalOffset"] for row in rows if row["corrupt"]] == [files[-3].base]
    assert log_end(log_files(root), 0) > rows[-1]["physicalOffset"]
    assert log_end(log_files(root), 0) == log_end(files, 0)


def test_an_audit_judges_what_was_stored_when_it_began(live):
    """What is committed and traced later says nothing of it: a running broker would seem to lose messages."""
    root, log = live
    (root / "config").mkdir()
    offsets = root / "config" / "consumerOffset.json"
    offsets.write_text('{"offsetTable": {"T@G": {"0": 3}}}')
    given = Subscriptions({("G", "T"): [ClientSubscription("", "TAG", "*")]}, {}, frozenset({("G", "T")}), {})
    (*_, path) = (path for path in sorted((root / "commitlog").iterdir()) if any(path.read_bytes()))
    whole = path.read_bytes()
    at = log.offsets[-1] - int(path.name)
    path.write_bytes(whole[:at] + bytes(len(whole) - at))
    audit = Audit(None, root, AuditOptions(subscriptions=given))
    path.write_bytes(whole)
    offsets.write_text('{"offsetTable": {"T@G": {"0": 9}}}')
    rows = [
        row
        for batch in audit.stores[0].scan(audit.cluster, audit._evidence).run(audit.stores[0].ranges)
        for row in batch.to_pylist()
    ]
    assert sum(row["messages"] for row in rows if row["fate"] == "delivered") == 3
    assert sum(row["messages"] for row in rows if row["fate"] == "waiting") == 5
