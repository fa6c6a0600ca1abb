"""`rmqlab.archive`: the messages of a store's commit log as Parquet files, a file for each topic and day of a range.

Each run reads what was written since the last one. Files get their names from what they have been made of, so a run
that was killed and begun again writes the same files; they count from the moment when `archive.json` names them.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.spark.archived.manifest import (
    ArchivedFile,
    ArchivedStore,
    Contents,
    Place,
    read_contents,
    write_contents,
)
from rmqlab_tools.spark.archived.pivoted_files import write_pivoted
from rmqlab_tools.spark.archived.property_columns import OURS, OWN_COLUMNS, property_columns
from rmqlab_tools.spark.archived.queue_hours import by_queue_and_time
from rmqlab_tools.spark.archived.same_log import SameLog, archived_as, samples
from rmqlab_tools.spark.files.addresses import AddressPath, shown_place
from rmqlab_tools.spark.files.broker_stores import end_of_log
from rmqlab_tools.spark.files.commit_log_files import cut_since, log_ranges
from rmqlab_tools.spark.files.filesystem_failures import reason_at
from rmqlab_tools.spark.files.stored_files import require_bucket
from rmqlab_tools.spark.files.tasks import over_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from rmqlab_tools.spark.files.broker_stores import BrokerStore
    from rmqlab_tools.spark.files.commit_log_files import LogFile, LogRange

RANGE_BYTES: Final = 256 << 20
"""A task reads so much of the log at once: the larger, the fewer files, and the more memory (some 2 GB)."""
DAY_MS: Final = 86_400_000
_READ: Final = (
    "physicalOffset", "size", "topic", "queueId", "queueOffset", "storeTimestamp", "transaction", "properties",
    "corrupt",
)  # fmt: skip
_WRITTEN: Final = pa.schema(
    [("path", pa.string()), ("topic", pa.string())]
    + [(name, pa.int64()) for name in ("messages", "first_ms", "last_ms", "low", "high", "damaged")]
    + [("error", pa.string())]
)


def archive_store(session: SparkSession, store: BrokerStore, out: str | Path) -> tuple[Contents, int, SameLog | None]:
    """Bring the archive at `out` up to what the store has; what it has then, and how many messages are new.

    The next run finds what was read of the store by its path, or by samples of its log: then it says so, unless it is
    the same path.

    Raises:
        BadInput: no archive of this format; a store that is shorter than what was archived of it, or has another log;
            or `out` cannot be written.
    """
    from rmqlab_tools.spark.files.log_reader import log_end

    place = Place.of(out)
    if place.is_local:
        try:
            Path(place.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _no_place(out, error) from error
    else:
        require_bucket(AddressPath.of(place.where))  # Arrow would make one of Azure or Google
    contents = read_contents(place, out, new=True)
    key = hashlib.sha256(store.given.place.encode()).hexdigest()[:12]
    files = store.files
    if contents.stores and not store.end:
        store = store._replace(end=end_of_log(files))
    own, key = key, archived_as(contents.stores, store, key)
    known = contents.stores.get(key)
    same = None
    if known and key != own:
        same = SameLog(store.shown, known.shown, known.broker, known.reached)
        if store.end <= known.reached:
            return contents, 0, same
    begin = known.reached if known else files[0].base if files else 0
    low = max(begin, files[0].base) if files else begin
    high = log_end(files, low) if files else begin
    if known and low == begin and not _ends_at_a_record(files, begin):
        raise BadInput(
            _(
                "{store}: no record ends at offset {begin}, up to which it was archived; this is another store, so "
                "archive it into a new folder",
                store=store.shown,
                begin=begin,
            )
        )
    ranges = [
        part._replace(begin=max(low - part.file.base, part.begin, 0)) if part.file else part
        for part in log_ranges(files, RANGE_BYTES, low, high)
    ]
    rows = _written(session, ranges, place.where, key)
    wrong = cut_since(files) or next((row["error"] for row in rows if row["error"]), "")
    if wrong:
        raise BadInput(wrong)
    new = [
        ArchivedFile(
            row["path"], key, *(row[name] for name in ("topic", "messages", "first_ms", "last_ms", "low", "high"))
        )
        for row in rows
        if row["path"]
    ]
    damaged = (known.damaged_bytes if known else 0) + sum(row["damaged"] for row in rows) + max(low - begin, 0)
    archived = ArchivedStore(
        known.place if known else store.given.place,
        high,
        damaged,
        store.broker or (known.broker if known else ""),
        samples(files, high, known.samples if known else ()),
    )
    stores = contents.stores | {key: archived}
    merged = Contents(stores=stores, files=sorted([*contents.files, *new], key=lambda file: file.path))
    if read_contents(place, out, new=True) != contents:
        raise BadInput(_("{out}: another run wrote to this archive meanwhile; archive once more", out=shown_place(out)))
    try:
        with place.errors():
            write_contents(place, merged)
            _remove_unnamed(place, merged, key)
    except OSError as error:
        raise _no_place(out, error) from error
    return merged, sum(file.messages for file in new), same


def _ends_at_a_record(files: Sequence[LogFile], offset: int) -> bool:
    """Whether records follow each other up to this commit log offset, from the beginning of the file that has it."""
    from rmqlab_tools.spark.files.log_reader import log_end

    bases = [file.base for file in files if file.base <= offset]
    return bool(bases) and (bases[-1] == offset or log_end(files, bases[-1], offset) == offset)


def _no_place(out: str | Path, error: OSError) -> BadInput:
    return BadInput(
        _(
            "{out}: cannot be written ({reason}); the archive is as it was",
            out=shown_place(out),
            reason=reason_at(error),
        )
    )


def _written(session: SparkSession, ranges: Sequence[LogRange], where: str, key: str) -> list[dict[str, Any]]:
    """What the tasks wrote: a row for each file, and one for each range with damage in it."""
    if not ranges:
        return []

    def write(parts: Sequence[LogRange]) -> Iterator[pa.RecordBatch]:
        try:
            with Place.of(where).errors():
                rows = write_ranges(parts, where, key)
        except OSError as error:
            rows = [_row(error=str(_no_place(where, error)))]
        yield pa.RecordBatch.from_pylist(rows, schema=_WRITTEN)

    rows_of_tasks: list[dict[str, Any]] = over_ranges(session, ranges, write, _WRITTEN).toArrow().to_pylist()
    return rows_of_tasks


def write_ranges(parts: Sequence[LogRange], out: str, key: str) -> list[dict[str, Any]]:
    """Write the files of ranges of the log that follow each other; a row for each file.

    Raises:
        OSError: a file cannot be written.
    """
    from rmqlab_tools.spark.files.log_reader import LogReader

    place = Place.of(out)
    low, high = _base(parts[0]) + parts[0].low, _base(parts[-1]) + parts[-1].high
    reader = LogReader(_READ, check_crc=False)
    read = pa.Table.from_batches((batch for part in parts for batch in reader.read(part)), reader.schema())
    sound = pc.is_null(read["corrupt"])
    damaged = pc.sum(pc.filter(read["size"], pc.invert(sound))).as_py() or 0
    # What is prepared or rolled back is in no queue of its topic: nobody can be given it.
    in_queue = pc.is_in(read["transaction"], pa.array(["none", "commit"]))
    messages = read.filter(pc.and_(sound, in_queue))
    messages = messages.append_column("day", pa.array(messages["storeTimestamp"].to_numpy() // DAY_MS))
    groups = messages.group_by(["topic", "day"]).aggregate([("storeTimestamp", "min_max")])
    rows = []
    for group in groups.sort_by([("topic", "ascending"), ("day", "ascending")]).to_pylist():
        topic, day, times = group["topic"], group["day"], group["storeTimestamp_min_max"]
        table = messages.filter(pc.and_(pc.equal(messages["topic"], topic), pc.equal(messages["day"], day)))
        date = datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()
        name = f"topic={quote(topic, safe='')}/day={date}/{key}-{low:020}-{high:020}.parquet"
        _write_file(place, name, table)
        rows.append(
            _row(
                path=name, topic=topic, messages=table.num_rows, first_ms=times["min"], last_ms=times["max"], low=low,
                high=high,
            )
        )  # fmt: skip
    return [*rows, _row(damaged=damaged)]


def _base(part: LogRange) -> int:
    return part.file.base if part.file else 0


def _row(**values: Any) -> dict[str, Any]:
    return dict.fromkeys(_WRITTEN.names) | {"damaged": 0} | values


def _write_file(place: Place, name: str, table: pa.Table) -> None:
    """Write one file of messages of a topic and day; what is half written is taken away."""
    columns = {OURS + column: table[column] for column in OWN_COLUMNS}
    columns |= property_columns(table["properties"].combine_chunks())
    path = place.path(name)
    place.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    try:
        write_pivoted(by_queue_and_time(pa.table(columns)), path, place.filesystem)
    except OSError:
        with suppress(OSError):
            place.filesystem.delete_file(path)
        raise


def _remove_unnamed(place: Place, contents: Contents, key: str) -> None:
    """Remove what a killed run of this store has left; files of other stores are another run's."""
    named = {place.path(file.path) for file in contents.files}
    selector = pafs.FileSelector(place.folder, recursive=True)
    for about in place.filesystem.get_file_info(selector):
        is_ours = about.type == pafs.FileType.File and about.base_name.startswith(f"{key}-")
        if is_ours and about.path not in named and about.base_name.endswith(".parquet"):
            place.filesystem.delete_file(about.path)
