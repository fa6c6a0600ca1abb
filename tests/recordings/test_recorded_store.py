"""A store directory is found where somebody would name it, and what is none is told apart in words."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.recordings.store import open_store
from tests.proof.recorded_store import RecordedStore


@pytest.fixture
def store(tmp_path):
    """A folder as a recorder leaves it: the store, and a file of events for each scenario."""
    (tmp_path / "set" / "store" / "commitlog").mkdir(parents=True)
    (tmp_path / "set" / "store" / "commitlog" / f"{0:020}").write_bytes(b"log")
    (tmp_path / "set" / "events").mkdir()
    return tmp_path / "set" / "store"


def opened(path):
    """The log that is found, and the name of the events beside it."""
    with open_store(path) as (found, events, _):
        return (found / "commitlog" / f"{0:020}").read_bytes(), events and events.name


def test_a_store_directory_is_taken_alone_and_its_folder_with_the_events(store):
    assert opened(store) == (b"log", None)
    assert opened(store.parent) == (b"log", "events")


@pytest.mark.parametrize("form", ["gztar", "tar", "zip"])
def test_a_packed_store_is_unpacked_and_removed_again(store, tmp_path, form):
    packed = shutil.make_archive(str(tmp_path / "some"), form, store.parent, "store")
    assert opened(tmp_path / packed) == (b"log", None)
    with open_store(tmp_path / packed) as (found, _, _):
        pass
    assert not found.exists()


def test_a_recorded_set_has_its_store_packed_beside_the_events(golden):
    audit = golden / "broker-4.8.0" / "audit"
    with open_store(audit) as (found, events, conf):
        assert conf == audit / "broker.conf"
        assert (found / "config" / "consumerOffset.json").is_file()
        assert events == audit / "events.jsonl.gz"
    with open_store(audit / "store.tar.gz") as (_, events, _):
        assert events is None


def test_the_settings_lie_beside_the_store(store, tmp_path):
    (store.parent / "broker.conf").write_text("")
    for path in (store, store.parent, tmp_path / shutil.make_archive(str(tmp_path / "all"), "tar", tmp_path, "set")):
        with open_store(path) as (_, _, conf):
            assert conf is not None
            assert conf.name == "broker.conf"


def test_a_whole_set_in_one_archive_brings_its_events(store, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "whole"), "gztar", tmp_path, "set")
    assert opened(tmp_path / packed) == (b"log", "events")


def test_what_is_no_store_is_told_with_what_would_be_right(store, tmp_path):
    def told(path):
        with pytest.raises(BadInput) as error, open_store(path):
            pass
        return str(error.value)

    assert f"name its store directory, the folder it lies in: {store}" in told(store / "commitlog")
    assert "in it are some: set; name one of them" in told(tmp_path)
    assert "no store directory, since it has no folder 'commitlog'" in told(store.parent / "events")
    assert "there is no such file or folder" in told(tmp_path / "nowhere")
    assert "neither a folder nor a file" in told(Path(os.devnull))
    assert "no archive; a store directory, or one packed as .tar.gz or .zip" in told(store / "commitlog" / f"{0:020}")
    (tmp_path / "empty").mkdir()
    packed = shutil.make_archive(str(tmp_path / "none"), "tar", tmp_path / "empty")
    assert "no store directory is packed there" in told(tmp_path / packed)
    with pytest.raises(BadInput):
        RecordedStore(tmp_path)


@pytest.mark.parametrize("form", ["gztar", "zip"])
@pytest.mark.parametrize("limit", ["MOST_UNPACKED", "MOST_FILES"])
def test_an_archive_unpacks_to_no_more_than_is_stated(store, tmp_path, monkeypatch, form, limit):
    """A bomb is refused before the byte that would be one too many is written, and nothing is left."""
    monkeypatch.setattr(f"rmqlab_tools.recordings.store.{limit}", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "unpacked"))
    (tmp_path / "unpacked").mkdir()
    (store / "commitlog" / f"{0:020}").write_bytes(bytes(10))
    packed = shutil.make_archive(str(tmp_path / "bomb"), form, store.parent, "store")
    with pytest.raises(BadInput, match="unpacks to more than"), open_store(Path(packed)):
        pass
    assert list((tmp_path / "unpacked").iterdir()) == []
