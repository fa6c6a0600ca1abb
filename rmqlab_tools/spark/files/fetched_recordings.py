"""Recordings and scenarios at an address: their few files are read whole, so they are fetched, and the store is not."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.files import open_new
from rmqlab.language import _
from rmqlab.run.run import OUTCOME_EVENTS
from rmqlab.sim.cluster import FILE_NAME
from rmqlab_tools.recordings.frames import FRAMES_NAMES
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath
from rmqlab_tools.spark.files.stored_files import RangeReader, contents, is_dir, is_file, size_of, unreadable

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence


@contextmanager
def fetched_recordings(sources: Sequence[StorePath]) -> Iterator[list[Path]]:
    """The sources as paths of this machine, in their order: copies of those at an address, as long as the block runs.

    Raises:
        BadInput: nothing lies at an address, or it cannot be read; an error of the block names the address.
    """
    with TemporaryDirectory(prefix="rmqlab-recordings-") as temporary:
        copies: dict[Path, StorePath] = {}
        paths: list[Path] = []
        for number, source in enumerate(sources):
            if isinstance(source, AddressPath):
                folder = Path(temporary) / str(number)
                paths.append(_fetch(source, folder))
                copies[folder] = source.parent
            else:
                paths.append(source)
        try:
            yield paths
        except BadInput as error:
            text = str(error)
            for folder, source in copies.items():
                text = text.replace(str(folder), str(source))
            raise BadInput(text) from error


def _fetch(source: AddressPath, into: Path) -> Path:
    """Copy what a recorded set has, or one file and what is read with it; where the copy of `source` is."""
    copy = into / source.name
    if is_dir(source):
        *names, split = OUTCOME_EVENTS
        _copy_files(source, copy, {FILE_NAME, *FRAMES_NAMES, *names})
        _copy_files(source / split, copy / split, None)
    elif is_file(source):
        beside = FRAMES_NAMES if source.name in FRAMES_NAMES else ()
        _copy_files(source.parent, into, {FILE_NAME, source.name, *beside})
    else:
        raise BadInput(_("{path}: there is no such file or folder", path=source))
    return copy


def _copy_files(source: AddressPath, folder: Path, names: Container[str] | None) -> None:
    """Copy the files of these names that lie in a folder, or all; nothing is made where there is none."""
    for path in contents(source):
        size = size_of(path) if names is None or path.name in names else None
        if size is not None and isinstance(path, AddressPath):
            folder.mkdir(parents=True, exist_ok=True)
            _copy(path, size, folder / path.name)


def _copy(source: AddressPath, size: int, path: Path) -> None:
    try:
        with RangeReader(source) as reader, open_new(path) as file:
            file.writelines(data for _place, data in reader.pieces(0, size))
    except OSError as error:
        raise unreadable(source, error) from error
