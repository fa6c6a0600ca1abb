"""A file is replaced whole, or stays as it was."""

from __future__ import annotations

import pytest

from rmqlab.files import atomic_write


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "found.json"
    path.write_text("old")
    with atomic_write(path) as part:
        part.write_text("ne")
        assert path.read_text() == "old"
        part.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def half_written(path):
    with atomic_write(path) as part:
        part.write_text("half")
        raise KeyError


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "found.json"
    path.write_text("old")
    with pytest.raises(KeyError):
        half_written(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
