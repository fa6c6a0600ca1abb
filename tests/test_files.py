"""A file is replaced whole, or stays as it was."""

from __future__ import annotations

import pytest

from rmqlab.files import atomic_write, end_of_data


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


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ([], 0),
        ([(0, b"\0" * 10)], 0),
        ([(0, b"one\0")], 3),
        ([(5 << 20, b"two\0\0"), (8 << 20, b"\0" * 100)], (5 << 20) + 3),
        ([(0, b"a" + b"\0" * (3 << 20))], 1),
    ],
)
def test_the_end_of_the_data_is_found_behind_holes_and_written_zeros(tmp_path, parts, end):
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        for at, data in parts:
            file.seek(at)
            file.write(data)
    with path.open("rb") as file:
        assert end_of_data(file.fileno(), 1 << 30) == end
