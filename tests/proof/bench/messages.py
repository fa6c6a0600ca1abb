"""Messages for benchmarks, the same in every run: pivoted files for Spark, property texts for the real filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqlab.message.java import string_hash
from rmqlab.message.properties import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR
from rmqlab_tools.spark.archived.pivoted_files import write_pivoted
from rmqlab_tools.spark.archived.queue_hours import QUEUE, STORED, by_queue_and_time

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

# In the order of the property text. Per mille of the messages that lack it.
ABSENT: Final = {"KEYS": 50, "UNIQ_KEY": 0, "WAIT": 0, "region": 50, "TAGS": 30, "a": 100, "price": 100}
TAGS_CODE: Final = "tagsCode"
IN_A_FILE: Final = 1_000_000
QUEUES: Final = 16
BEGIN_MS: Final = 1_767_225_600_000  # a midnight
DAY_MS: Final = 86_400_000
_NAMED_TAGS: Final = ("TagA", "TagB", "TagC")
_NUMBERED_TAGS: Final = 256
# What stands in `a` instead of a digit in 2 messages of 1000: most of it is no Integer for Java.
_ODD: Final = ("x7", "1.5", " 3", "3 ", "99999999999", "+2", "007", "-1", "2147483648", "٣", "NaN", "1\u0663", "0x1")
_REGIONS: Final = ("hz", "sh", "bj", "sz", "qd")


class BenchFile(NamedTuple):
    """A pivoted file, and the property text of each of its messages in their order."""

    path: str
    encoded: list[bytes]


def make_file(folder: Path, number: int, messages: int) -> BenchFile:
    """Write the `number`-th file: columns as in an archive, and `tagsCode` as the consume queue has it."""
    columns = _columns(np.random.default_rng((7, number)), messages, number * messages)
    path = str(folder / f"messages-{number}.parquet")
    table = pa.table({**columns, TAGS_CODE: _tags_codes(columns["TAGS"]), **_places(messages)})
    write_pivoted(by_queue_and_time(table), path)
    return BenchFile(path, pc.cast(_property_texts(columns), pa.binary()).to_pylist())


def _places(rows: int) -> dict[str, pa.Array]:
    """Queue and store time of each message, in the order of an archive: 16 queues, a day each."""
    numbers = np.arange(rows, dtype=np.int64)
    in_queue = max(-(-rows // QUEUES), 1)
    return {
        QUEUE: pa.array((numbers // in_queue).astype(np.int32)),
        STORED: pa.array(BEGIN_MS + numbers % in_queue * DAY_MS // in_queue),
    }


def _columns(rng: np.random.Generator, rows: int, first: int) -> dict[str, pa.Array]:
    tags = [*_NAMED_TAGS, *(f"TAG{number}" for number in range(1, _NUMBERED_TAGS + 1))]
    shares = [0.2, 0.1, 0.1, *([0.6 / _NUMBERED_TAGS] * _NUMBERED_TAGS)]
    digits = rng.integers(0, 10, rows)
    odd = rng.random(rows) < 0.002
    digits[odd] = 10 + rng.integers(0, len(_ODD), int(odd.sum()))
    columns = {
        "KEYS": pa.array([f"order_{number:08d}" for number in range(first, first + rows)]),
        "UNIQ_KEY": pa.array(_ids(rng, rows)),
        "WAIT": pa.array(["true"]).take(pa.array(np.zeros(rows, np.int64))),
        "region": _pick(_REGIONS, rng.integers(0, len(_REGIONS), rows)),
        "TAGS": _pick(tags, rng.choice(len(tags), rows, p=shares)),
        "a": _pick([*map(str, range(10)), *_ODD], digits),
        "price": _pick([repr(cents / 100) for cents in range(5000)], rng.integers(0, 5000, rows)),
    }
    return {
        name: pc.if_else(pa.array(rng.random(rows) >= absent / 1000), columns[name], pa.scalar(None, pa.string()))
        for name, absent in ABSENT.items()
    }


def _ids(rng: np.random.Generator, rows: int) -> list[str]:
    text = rng.bytes(16 * rows).hex().upper()
    return [text[place : place + 32] for place in range(0, 32 * rows, 32)]


def _pick(values: list[str] | tuple[str, ...], places: NDArray[np.int64]) -> pa.Array:
    return pa.array(values).take(pa.array(places))


def _tags_codes(tags: pa.Array) -> pa.Array:
    """Compute what the consume queue stores: the tag's hash code as a long, 0 without a tag."""
    coded = tags.dictionary_encode()
    hashes = pa.array(map(string_hash, coded.dictionary.to_pylist()), pa.int64())
    return pc.fill_null(hashes.take(coded.indices), 0)


def _property_texts(columns: dict[str, pa.Array]) -> pa.Array:
    items = [
        pc.fill_null(pc.binary_join_element_wise(name, NAME_VALUE_SEPARATOR, column, PROPERTY_SEPARATOR, ""), "")
        for name, column in columns.items()
    ]
    return pc.binary_join_element_wise(*items, "")
