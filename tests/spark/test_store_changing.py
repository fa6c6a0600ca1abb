"""A store that changes while it is read: files are cut, deleted, replaced; nothing is claimed of what is not there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab import files
from rmqlab.errors import BadInput
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.subscriptions import ClientSubscription, Subscriptions
from rmqlab_tools.spark.audit_store import AuditResult
from rmqlab_tools.spark.files.commit_log_files import cut_since, log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader, log_end
from rmqlab_tools.spark.files.store_tables import SCHEMAS, StoreConfig, pieces, read_piece
from tests.proof.log_maker import LogMaker

GIVEN = Subscriptions({("G", "T"): [ClientSubscription("", "TAG", "*")]}, {}, frozenset({("G", "T")}), {})
MESSAGES = 12
COMMITTED = 9


@pytest.fixture
def store(tmp_path):
    """Three files of a log, a queue of three files, and the offsets of a group that is past nine of twelve messages."""
    log = LogMaker(700)
    for number in range(MESSAGES):
        log.add(queue_offset=number, body=b"x" * 50)
    log.write(tmp_path)
    for folder in ("config", "consumequeue/T/0"):
        (tmp_path / folder).mkdir(parents=True)
    size = log.offsets[1] - log.offsets[0]
    entries = [offset.to_bytes(8) + size.to_bytes(4) + bytes(8) for offset in log.offsets]
    for first in range(0, MESSAGES, 4):
        (tmp_path / "consumequeue" / "T" / "0" / f"{20 * first:020}").write_bytes(b"".join(entries[first : first + 4]))
    commit(tmp_path, COMMITTED)
    return tmp_path, log


def commit(root, offset):
    (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": {"T@G": {"0": offset}}}))


def read(files, split):
    reader = LogReader(("physicalOffset", "size", "corrupt"))
    return [row for part in log_ranges(files, split) for batch in reader.read(part) for row in batch.to_pylist()]


def fates(audit):
    """Messages by fate and certainty, and the reasons of what is damaged; as the tasks tell, without Spark."""
    rows = [
        row
        for batch in audit.stores[0].scan(audit.cluster, audit._evidence).run(audit.stores[0].ranges)
        for row in batch.to_pylist()
    ]
    told = {}
    for row in rows:
        if row["kind"] == "count":
            key = row["fate"], row["certainty"]
            told[key] = told.get(key, 0) + row["messages"]
    return told, {row["reason"] for row in rows if row["kind"] == "damage"}


@pytest.mark.parametrize("split", [1 << 40, 333])
@pytest.mark.parametrize("which", [0, 1, -1])
@pytest.mark.parametrize("left", [0, 1, 150, 300, 500])
def test_what_is_left_of_a_file_that_was_cut_is_read_and_the_rest_is_damage(store, split, which, left):
    root, log = store
    files = log_files(root)
    file = files[which]
    os.truncate(file.path, left)
    rows = read(files, split)
    sound = [row["physicalOffset"] for row in rows if row["corrupt"] is None]
    size = log.offsets[1] - log.offsets[0]
    gone = [at for at in log.offsets if file.base + left - size < at < file.base + file.size]
    assert gone
    assert sound == [at for at in log.offsets if at not in gone]
    (cut,) = [row for row in rows if row["corrupt"] == "the file was cut meanwhile"]
    assert (cut["physicalOffset"], cut["size"]) == (file.base + left, file.size - left)
    assert log_end(files, 0) == max(max(sound) + size, files[-1].base)
    assert cut_since(files).startswith(f"{file.path}: it was cut from 700 to {left} bytes while it was read")


def test_a_file_that_grows_or_goes_is_not_cut(store):
    root, _ = store
    files = log_files(root)
    with Path(files[0].path).open("ab") as stream:
        stream.write(bytes(100))
    Path(files[1].path).unlink()
    assert cut_since(files) == ""


def test_what_the_cleaner_deletes_under_an_audit_is_damage_and_proves_nothing(store):
    root, _ = store
    options = AuditOptions(subscriptions=GIVEN)
    whole, none = fates(Audit(None, root, options))
    assert whole == {("delivered", "implied"): COMMITTED, ("waiting", "unknown"): MESSAGES - COMMITTED}
    assert none == set()
    audit = Audit(None, root, options)
    files = log_files(root)
    Path(files[0].path).unlink()
    found, damage = fates(audit)
    assert damage == {"the file was deleted meanwhile", "the record is gone: only its queue names it"}
    assert sum(found.values()) < MESSAGES
    assert all(count <= whole[key] for key, count in found.items())
    audit.require_whole()


def test_an_audit_of_a_log_that_is_cut_under_it_is_refused(store):
    root, _ = store
    audit = Audit(None, root, AuditOptions(subscriptions=GIVEN))
    file = log_files(root)[1]
    os.truncate(file.path, 300)
    with pytest.raises(BadInput, match=r"it was cut from 700 to 300 bytes while it was read, so nothing is known"):
        AuditResult(audit, "", _nothing()).compute()


def test_a_worker_that_was_killed_by_a_cut_is_told_as_the_cut(store, monkeypatch):
    """The system ends a process that reads behind the new end of a file."""
    root, _ = store
    audit = Audit(None, root, AuditOptions(subscriptions=GIVEN))

    class Killed(AuditResult):
        @property
        def groups(self):
            os.truncate(log_files(root)[0].path, 10)
            raise RuntimeError("Python worker exited unexpectedly (crashed)")

    with pytest.raises(BadInput, match="it was cut from 700 to 10 bytes"):
        Killed(audit, "", _nothing()).compute()


def _nothing():
    from contextlib import ExitStack

    return ExitStack()


def test_a_file_of_config_is_read_once_so_that_two_looks_agree(store, monkeypatch):
    """A running broker writes it anew every five seconds."""
    root, _ = store
    config = StoreConfig(root)
    first = config.offsets()
    (root / "config" / "consumerOffset.json").write_bytes(b"")
    assert not config.offsets_lost
    assert config.offsets() == first == {("G", "T"): {0: COMMITTED}}
    assert config.damage == []
    lost = StoreConfig(root)
    assert lost.offsets_lost
    (root / "config" / "consumerOffset.json").unlink()
    assert lost.named_offsets() == set()


def test_a_file_that_is_replaced_in_the_middle_is_the_old_one_and_that_is_said(store, monkeypatch):
    """4.8.0 writes FILE.tmp, copies FILE to FILE.bak, deletes FILE and renames: for a moment there is none."""
    root, _ = store
    path = root / "config" / "consumerOffset.json"
    path.with_name(f"{path.name}.bak").write_bytes(path.read_bytes())
    commit(root, MESSAGES)
    read_bytes = files.read_bytes

    def replacing(wanted):
        if wanted == path:
            raise FileNotFoundError(wanted)
        return read_bytes(wanted)

    monkeypatch.setattr(files, "read_bytes", replacing)
    audit = Audit(None, root, AuditOptions(subscriptions=GIVEN))
    (says,) = audit.config_damage
    assert says == "consumerOffset.json is missing; 4.8.0 takes consumerOffset.json.bak instead, which is older"
    assert fates(audit)[0]["delivered", "implied"] == COMMITTED


@pytest.mark.parametrize("change", ["deleted", "cut", "grown"])
def test_a_queue_that_changes_between_listing_and_reading(store, change):
    root, _ = store
    ((*paths,),) = pieces(root, "consumequeue", 1 << 30)
    path = Path(paths[0])
    data = path.read_bytes()
    if change == "deleted":
        path.unlink()
    else:
        path.write_bytes(data[:50] if change == "cut" else data * 2)
    rows = [row for batch in read_piece(root, "consumequeue", paths, None) for row in batch.to_pylist()]
    first = [row for row in rows if row["queueOffset"] is None or row["queueOffset"] < 4]
    if change == "deleted":
        assert [(row["topic"], row["queueId"], row["corrupt"]) for row in first] == [
            ("T", 0, "the file was deleted meanwhile")
        ]
    else:
        assert len(first) == {"cut": 2, "grown": 4}[change]
    assert [row["queueOffset"] for row in rows if row not in first][-8:] == list(range(4, 12))


@pytest.mark.parametrize("table", ["ext", "index"])
def test_a_file_of_another_table_that_is_deleted_is_a_row(tmp_path, table):
    path = tmp_path / "T" / "0" / f"{0:020}"
    (row,) = [row for batch in read_piece(tmp_path, table, [str(path)], None) for row in batch.to_pylist()]
    assert row["corrupt"] == "the file was deleted meanwhile"
    assert row[SCHEMAS[table].names[0]] == {"ext": "T", "index": path.name}[table]
