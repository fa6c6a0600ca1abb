"""The options of a read of a store directory; `store_source` describes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type

from rmqlab.errors import BadInput
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.spark.files.commit_log_files import LogReader, store_directory
from rmqlab.spark.files.record_columns import PROPERTY_PREFIX, TYPES, RecordFilter
from rmqlab.spark.files.store_tables import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql.types import StructType

COMMIT_LOG: Final = "commitlog"
TABLES: Final = (COMMIT_LOG, *SCHEMAS)
_PROPERTY_COLUMN: Final = re.compile(re.escape(PROPERTY_PREFIX) + "[^\x01\x02]+", re.DOTALL)
_MIN_SPLIT: Final = 64 << 20
_MIN_PARTITIONS: Final = 4


class Options:
    """The options of one read, checked."""

    def __init__(self, given: Mapping[str, str]) -> None:
        known = {name.lower(): value for name, value in given.items()}
        if "path" not in known:
            raise BadInput("the store directory is missing: load(PATH)")
        self.root = store_directory(known["path"])
        self.table = known.get("table", COMMIT_LOG).lower()
        if self.table not in TABLES:
            raise BadInput(f"no table {self.table!r}; there are {', '.join(TABLES)}")
        self.columns = _list(known, "columns") or tuple(
            TYPES if self.table == COMMIT_LOG else SCHEMAS[self.table].names
        )
        self.split_bytes = _number(known, "splitBytes")
        self.hash_slots = _number(known, "hashSlotNum")
        self.max_bytes = _number(known, "maxBytesPerTrigger")
        self.check_crc = known.get("crc", "true").lower() != "false"
        self.wanted = _wanted(known)
        self.low = _limit(known, "fromOffset") or 0
        last = _limit(known, "untilOffset")
        self.high = None if last is None else last + 1
        self.starting = known.get("startingoffset", "earliest").lower()
        if self.starting not in {"earliest", "latest"} and not self.starting.isdecimal():
            raise BadInput(f"startingOffset {self.starting!r}: earliest, latest or a commit log offset")
        self._check(self.columns)

    def _check(self, columns: Sequence[str]) -> None:
        known = TYPES if self.table == COMMIT_LOG else SCHEMAS[self.table].names
        for name in columns:
            # No property has an empty name, or one with a separator in it.
            is_property = bool(_PROPERTY_COLUMN.fullmatch(name))
            if name not in known and not (self.table == COMMIT_LOG and is_property):
                hint = f", and {PROPERTY_PREFIX}NAME for a property" if self.table == COMMIT_LOG else ""
                raise BadInput(f"{self.table} has no column {name!r}; there are {', '.join(known)}{hint}")

    def schema(self) -> pa.Schema:
        """Return the columns and their types."""
        if self.table != COMMIT_LOG:
            whole = SCHEMAS[self.table]
            return pa.schema([whole.field(name) for name in self.columns])
        return pa.schema([(name, TYPES.get(name, pa.string())) for name in self.columns])

    def with_schema(self, schema: StructType) -> Options:
        """Return these options for the columns of a schema that Spark was given; raise `BadInput`."""
        self._check([one.name for one in schema])
        self.columns = tuple(one.name for one in schema)
        for one, ours in zip(schema, self.schema(), strict=True):
            if to_arrow_type(one.dataType) != ours.type:
                raise BadInput(f"column {one.name!r} is {ours.type}, not {one.dataType.simpleString()}")
        return self

    def split_size(self, total: int) -> int:
        """Return about how many bytes a task should read of `total`."""
        return self.split_bytes or max(_MIN_SPLIT, -(-total // _MIN_PARTITIONS))

    def log_reader(self) -> LogReader:
        """Return what reads the commit log."""
        return LogReader(self.columns, self.wanted, self.check_crc)


def _number(known: Mapping[str, str], name: str) -> int | None:
    text = known.get(name.lower())
    if text is None:
        return None
    if not (text.isdecimal() and int(text) > 0):
        raise BadInput(f"{name} {text!r}: a number above 0 is needed")
    return int(text)


def _list(known: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in known.get(name, "").split(",") if one.strip())


def _limit(known: Mapping[str, str], name: str) -> int | None:
    text = known.get(name.lower())
    if text is None:
        return None
    if not text.isdecimal():
        raise BadInput(f"{name} {text!r}: a number from 0 on is needed")
    return int(text)


def _wanted(known: Mapping[str, str]) -> RecordFilter:
    """Return the records that the options ask for."""
    queues = _list(known, "queues")
    if not all(one.isdecimal() for one in queues):
        raise BadInput(f"queues {known['queues']!r}: numbers of queues with commas between are needed")
    since, until = _limit(known, "since"), _limit(known, "until")
    return RecordFilter(
        _list(known, "topics"),
        tuple(map(int, queues)),
        LONG_MIN if since is None else since,
        LONG_MAX if until is None else until,
    )
