"""What an archive has: `archive.json` names its files and how far each store was read.

A file that it does not name does not count. So a run that was killed leaves nothing half done: the next one begins
where the last whole one ended.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pyarrow.fs as pafs

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write, json_value
from rmqlab.language import _
from rmqlab.message.topics import is_users_topic
from rmqlab_tools.spark.files.addresses import filesystem_of, is_address, shown_address, shown_place
from rmqlab_tools.spark.files.filesystem_failures import reason_at
from rmqlab_tools.spark.files.filesystems import errors_at

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

FORMAT: Final = "rmqlab-archive/1"
MANIFEST: Final = "archive.json"
_NEXT: Final = f"{MANIFEST}.next"
_AT_CLOSE: Final = {"s3", "gcs"}
"""They have a file when it is closed. Others have an empty one when it is opened, so a whole one lies beside it."""


class ArchivedFile(msgspec.Struct, frozen=True):
    """One Parquet file: its path below the archive, messages of one topic and one day (UTC), store times in epoch ms.

    `store` is the store's key; `low` and `high` are the commit log offsets of the range that it was made from.
    """

    path: str
    store: str
    topic: str
    messages: int
    first_ms: int
    last_ms: int
    low: int
    high: int


class Sample(msgspec.Struct, frozen=True):
    """Bytes of a commit log, from its offset on: their number and their SHA-256."""

    offset: int
    size: int
    sha256: str


class ArchivedStore(msgspec.Struct, frozen=True):
    """A store: where it lay, the commit log offset up to which it was read, and bytes of it that were no records.

    `broker` is its broker's name, "" where it is not known. `samples` are bytes of the log that tell it from others:
    its first record when it was archived first, and the last ones up to `reached`. An archive of an older rmqlab has
    neither.
    """

    place: str
    reached: int
    damaged_bytes: int = 0
    broker: str = ""
    samples: list[Sample] = []

    @property
    def shown(self) -> str:
        """Where it lay, as people may see it."""
        return shown_address(self.place) if is_address(self.place) else self.place

    @property
    def label(self) -> str:
        """What sets its queues apart from others': the broker's name, else where the store lay."""
        return self.broker or self.shown


class Contents(msgspec.Struct):
    """`archive.json`."""

    format: str = FORMAT
    stores: dict[str, ArchivedStore] = {}
    files: list[ArchivedFile] = []

    def messages_by_topic(self) -> dict[str, int]:
        """How many messages the archive has of each topic."""
        messages: Counter[str] = Counter()
        for file in self.files:
            messages[file.topic] += file.messages
        return dict(messages)

    def labels(self) -> dict[str, str]:
        """Whose the files are, by the store's key."""
        return {file.store: self.stores[file.store].label for file in self.files if file.store in self.stores}


class Place(NamedTuple):
    """A folder on some file system that Arrow knows: a path of this machine, or s3://, hdfs://, gs://, abfs://."""

    filesystem: Any
    folder: str
    where: str
    is_local: bool

    @classmethod
    def of(cls, where: str | Path) -> Place:
        """Find the file system of a path or address.

        Raises:
            BadInput: Arrow knows no such address.
        """
        text = str(where)
        if not is_address(text):
            folder = str(Path(text).absolute())
            return cls(pafs.LocalFileSystem(), folder, folder, is_local=True)
        filesystem, folder = filesystem_of(text)
        return cls(filesystem, folder.rstrip("/"), text, isinstance(filesystem, pafs.LocalFileSystem))

    def path(self, name: str) -> str:
        """The path of a file below the folder, as the file system wants it."""
        return str(PurePosixPath(self.folder) / name)

    def errors(self) -> AbstractContextManager[None]:
        """Within, whatever the file system cannot do is an OSError."""
        return errors_at(self.where)

    def address(self, name: str) -> str:
        """What a worker opens: a path that all of them see, or an address with the options that were given."""
        if self.is_local:
            return self.path(name)
        base, mark, options = self.where.partition("?")
        return f"{base.rstrip('/')}/{name}{mark}{options}"


def read_contents(place: Place, where: str | Path, *, new: bool = False) -> Contents:
    """What an archive has; with `new` an empty one where there is none.

    Raises:
        BadInput: there is no archive, or it is damaged or of another format.
    """
    where = shown_place(where)
    try:
        data = _stored(place)
    except FileNotFoundError as error:
        if new:
            return Contents()
        raise BadInput(
            _("{where}: no archive, since it has no {manifest}; rmqlab archive STORE {where} makes one",
              where=where, manifest=MANIFEST)
        ) from error  # fmt: skip
    except OSError as error:
        raise BadInput(_("{where}: cannot be read ({reason})", where=where, reason=reason_at(error))) from error
    try:
        value = json_value(data)
        made_by = value["format"]
        if made_by != FORMAT:
            raise BadInput(
                _(
                    "{where}: the archive has the format {format}, and this version reads {ours}; archive the store "
                    "again into a new folder",
                    where=where,
                    format=f"{made_by!r}",
                    ours=FORMAT,
                )
            )
        return msgspec.convert(value, Contents)
    except (ValueError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise BadInput(
            _(
                "{where}: {manifest} is damaged ({error}); archive the store again into a new folder",
                where=where,
                manifest=MANIFEST,
                error=str(error).splitlines()[0],
            )
        ) from error


def write_contents(place: Place, contents: Contents) -> None:
    """Put a new `archive.json` in the place of the old one, whole or not at all.

    Raises:
        OSError: the place cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(contents), indent=1)
    if place.is_local:
        with atomic_write(Path(place.path(MANIFEST))) as part:
            part.write_bytes(data)
        return
    is_there_at_once = place.filesystem.type_name not in _AT_CLOSE
    for name in (*([_NEXT] if is_there_at_once else []), MANIFEST):
        with place.filesystem.open_output_stream(place.path(name)) as stream:
            stream.write(data)
    if is_there_at_once:
        place.filesystem.delete_file(place.path(_NEXT))


def _stored(place: Place) -> bytes:
    """The bytes of `archive.json`, or of the one that a killed run was about to put in its place.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
    """

    def stored(name: str) -> bytes:
        with place.errors():
            # libhdfs prints that a file is not there, if it is opened
            if place.filesystem.get_file_info(place.path(name)).type == pafs.FileType.NotFound:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            with place.filesystem.open_input_stream(place.path(name)) as stream:
                return bytes(stream.read())

    data = stored(MANIFEST)
    if not data.endswith(b"}"):
        with suppress(FileNotFoundError):
            return stored(_NEXT)
    return data


def chosen(
    contents: Contents, topics: Iterable[str] = (), since: int | None = None, until: int | None = None
) -> list[ArchivedFile]:
    """The files that can have messages of these topics and store times, both ends included.

    Without topics: of all but the system's own, retries and dead letters, which no subscription that is asked about is
    to get.

    Raises:
        BadInput: the archive has no such topic.
    """
    known = sorted({file.topic for file in contents.files})
    for topic in topics:
        if topic not in known:
            raise BadInput(
                _("the archive has no topic {topic}; it has {known}", topic=f"{topic!r}", known=", ".join(known) or "-")
            )
    wanted = set(topics) or set(filter(is_users_topic, known))
    return [
        file
        for file in contents.files
        if file.topic in wanted
        and (since is None or file.last_ms >= since)
        and (until is None or file.first_ms <= until)
    ]
