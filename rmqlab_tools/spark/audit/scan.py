"""One range of the commit log inside a Spark task: counts of fates leave it, and rows only of what may be lost."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqlab.files import open_regular
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.message.sysflag import TRANSACTION_PREPARED_TYPE, TRANSACTION_ROLLBACK_TYPE
from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit.batch import Batch, BatchNumbers
from rmqlab_tools.spark.audit.fate_codes import (
    ASKED_WORDS,
    CERTAINTIES,
    CODE_OF_FATE,
    FATES_IN_ORDER,
    LOST_CODES,
    WHY,
    Answer,
)
from rmqlab_tools.spark.audit.fate_inference import FateInference
from rmqlab_tools.spark.audit.log_rows import OF_ROWS, LogRows, ReadAgain
from rmqlab_tools.spark.audit.queue_check import QueueCheck
from rmqlab_tools.spark.audit.subscriptions import NEVER
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath
from rmqlab_tools.spark.files.commit_log_files import (
    CODED_TAGS,
    CODED_TOPIC,
    PROPERTY_PREFIX,
    STORE_HOST_BYTES,
    RecordFilter,
)
from rmqlab_tools.spark.files.log_reader import LogReader
from rmqlab_tools.spark.files.record_columns import message_ids
from rmqlab_tools.spark.files.store_tables import filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rmqlab_tools.spark.audit.engine import Engine, Rows
    from rmqlab_tools.spark.audit.fate_codes import InferredFates
    from rmqlab_tools.spark.files.commit_log_files import LogRange

COUNT, DETAIL, LOST_ROW, DAMAGE = "count", "detail", "lost", "damage"
"""Kinds of rows: so many messages; a message to be looked up in the evidence; a lost one; a damaged part of the log."""
_LONG, _TEXT = pa.int64(), pa.string()
SCAN_SCHEMA: Final = pa.schema(
    [
        ("kind", _TEXT),
        ("group", _TEXT),
        ("topic", _TEXT),
        ("queueId", pa.int32()),
        ("tag", _TEXT),
        ("minute", _LONG),
        ("fate", _TEXT),
        ("certainty", _TEXT),
        ("asked", _TEXT),
        ("messages", _LONG),
        ("elsewhere", _LONG),
        ("queueOffset", _LONG),
        ("physicalOffset", _LONG),
        ("size", _LONG),
        ("offsetMsgId", _TEXT),
        ("key", _TEXT),
        ("keys", _TEXT),
        ("storeTimestamp", _LONG),
        ("subscription", _TEXT),
        ("reason", _TEXT),
        ("covered", _TEXT),
    ]
)


def columns_of(table: str, other: Mapping[str, str] = MappingProxyType({})) -> str:
    """The columns of a scan for a query over `table`; `other` has an expression where one is not as it was."""
    return ", ".join(f"{other.get(name, f'{table}.{name}')} AS {name}" for name in SCAN_SCHEMA.names)


def with_decided(engine: Engine, rows: Rows, details: Rows, decided: Mapping[str, str]) -> Rows:
    """The rows of a scan, `details` in the place of its own; `decided` has expressions over `d`, by columns."""
    return engine.query(
        f"SELECT {columns_of('r')} FROM {{rows}} r WHERE r.kind <> '{DETAIL}' UNION ALL"  # noqa: S608 - all our own
        f" SELECT {columns_of('d', decided)} FROM {{details}} d",
        rows=rows,
        details=details,
    )


MINUTE_OF_COUNTS_MS: Final = 60_000
_COLUMNS: Final = {
    name: {CODED_TOPIC: "topic", CODED_TAGS: "tags"}.get(name, name)
    for name in (
        "physicalOffset", "size", CODED_TOPIC, "queueId", "queueOffset", CODED_TAGS, "storeTimestamp", "sysFlag",
        "corrupt",
    )
}  # fmt: skip
"""What is read of every record, and what it is called here."""
_DAMAGED: Final = ["physicalOffset", "size", "topic", "queueId", "queueOffset", "corrupt"]
_DAMAGED_ROWS: Final = 10_000
# So many are judged together: what nobody kept waits for what comes behind it, and across that border it is unknown.
_MAX_ROWS: Final = 1 << 17
_UNQUEUED: Final = (TRANSACTION_PREPARED_TYPE, TRANSACTION_ROLLBACK_TYPE)
_Cell = tuple[str, str, int, str | None, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a task needs to know: the inferences by topic, store times, whether to check bodies.

    With `root` the consume queues of that store directory are compared with the records. What is stored at commit log
    offset `end` or after it came after the audit began, and is left out. With `each_message` every message and group
    has a row of its own.
    """

    inferences: dict[str, list[FateInference]]
    since: int
    until: int
    check_crc: bool
    root: StorePath | None = None
    end: int = LONG_MAX
    each_message: bool = False

    def run(self, parts: Sequence[LogRange]) -> Iterator[pa.RecordBatch]:
        """The rows of ranges that follow each other."""
        with ExitStack() as opened:
            yield from self._run(parts, self._read_again(parts, opened))

    def _read_again(self, parts: Sequence[LogRange], opened: ExitStack) -> ReadAgain | None:
        """How columns that few rows need are read later; None where all of them are read at once."""
        part = parts[0]
        each = any(map(self._is_each, chain.from_iterable(self.inferences.values())))
        if each or len(parts) > 1 or part.file is None or isinstance(part.file.path, AddressPath):
            return None
        try:
            return ReadAgain(part, opened.enter_context(open_regular(Path(part.file.path))))
        except OSError:  # whoever reads it says so
            return None

    def _run(self, parts: Sequence[LogRange], again: ReadAgain | None) -> Iterator[pa.RecordBatch]:
        cells: Counter[_Cell] = Counter()
        each = chain.from_iterable(self.inferences.values())
        names = sorted(PROPERTY_PREFIX + name for name in {name for fates in each for name in fates.property_names()})
        more = [*names, *(() if again else OF_ROWS)]
        wanted = RecordFilter(since=self.since, until=self.until)
        reader = LogReader((*_COLUMNS, *more), wanted, self.check_crc, batch_rows=_MAX_ROWS + 1)
        together: list[pa.RecordBatch] = []
        for part in parts:
            check = QueueCheck(self.root, part) if self.root else None
            for columns in reader.read(part):
                batch = columns.rename_columns([*_COLUMNS.values(), *more])
                yield from _damage(batch, check)
                together.append(batch)
                if sum(map(len, together)) > _MAX_ROWS:
                    yield from self._of_rows(pa.concat_batches(together), cells, again)
                    together.clear()
            if check and (self.since, self.until) == (LONG_MIN, LONG_MAX):
                yield from _damaged(check.gone())
        if together:
            yield from self._of_rows(pa.concat_batches(together), cells, again)
        if cells:
            yield _counts(cells)

    def _of_rows(
        self, batch: pa.RecordBatch, cells: Counter[_Cell], again: ReadAgain | None
    ) -> Iterator[pa.RecordBatch]:
        rows, numbers = LogRows(batch, again), BatchNumbers(batch)
        topics = batch["topic"].dictionary_encode()
        codes = topics.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        counts = batch["physicalOffset"].to_numpy() < self.end
        known_until = self._known_until(batch)
        counts &= ~np.isin(batch["sysFlag"].fill_null(0).to_numpy(zero_copy_only=False) & 12, _UNQUEUED)
        for code, topic in enumerate(topics.dictionary.to_pylist()):
            mine = np.flatnonzero((codes == code) & counts)
            if topic in self.inferences and len(mine):
                yield from self._infer(topic, rows, mine, Batch(numbers, mine, known_until), cells)
        if len(cells) > 1 << 17:
            yield _counts(cells)
            cells.clear()

    def _known_until(self, batch: pa.RecordBatch) -> int:
        """Until when (epoch ms) all that was stored is in this batch or before it."""
        ends = batch["physicalOffset"][-1].as_py() + batch["size"][-1].as_py()
        if ends >= self.end and self.until == LONG_MAX:
            return NEVER
        return int(pc.max(batch["storeTimestamp"]).as_py() or 0)

    def _infer(
        self, topic: str, rows: LogRows, mine: NDArray[np.int64], batch: Batch, cells: Counter[_Cell]
    ) -> Iterator[pa.RecordBatch]:
        inferences = self.inferences[topic]
        inferred_fates = [inference.infer(batch) for inference in inferences]
        delivered = [
            np.zeros(len(batch), np.bool_)
            if self._is_each(inference)
            else inferred.fate == CODE_OF_FATE[Fate.DELIVERED]
            for inference, inferred in zip(inferences, inferred_fates, strict=True)
        ]
        everywhere = np.sum(delivered, axis=0)
        for inference, inferred, got in zip(inferences, inferred_fates, delivered, strict=True):
            if self._is_each(inference):
                yield _details(DETAIL, inference, rows, mine, inferred, np.arange(len(batch)), everywhere - got)
                continue
            _count(cells, inference, batch, inferred)
            # A store alone knows nothing of most: of what nobody is known to have asked for, the counts will do.
            passed = (inferred.fate == CODE_OF_FATE[Fate.PASSED]) & (inferred.asked == Answer.YES)
            lost = np.flatnonzero((LOST_CODES[inferred.fate] & (inferred.asked != Answer.NO)) | passed)
            if len(lost):
                yield _details(LOST_ROW, inference, rows, mine, inferred, lost, everywhere - got)

    def _is_each(self, inference: FateInference) -> bool:
        """Whether the rows of a group travel one by one: what they are may be looked up, or asked for."""
        return inference.has_evidence or self.each_message


def _count(cells: Counter[_Cell], inference: FateInference, batch: Batch, inferred: InferredFates) -> None:
    """Add the messages to the cell of their queue, tag, minute, fate, certainty, if they were asked for, and why."""
    minutes = batch.times // MINUTE_OF_COUNTS_MS
    first = int(minutes.min())
    sizes = (
        int(batch.queues.max()) + 1, len(batch.tag_names), int(minutes.max()) - first + 1,
        len(FATES_IN_ORDER), len(CERTAINTIES), len(ASKED_WORDS), len(WHY),
    )  # fmt: skip
    parts: tuple[Any, ...] = (
        batch.queues, batch.tag_codes, minutes - first, inferred.fate, inferred.certainty, inferred.asked, inferred.why
    )  # fmt: skip
    cell = np.zeros(len(batch), np.int64)
    for part, size in zip(parts, sizes, strict=True):
        cell = cell * size + part
    used, numbers = np.unique(cell, return_counts=True)
    places = np.unravel_index(used, sizes)
    for queue, tag, minute, fate, certainty, is_asked, why, number in zip(
        *(column.tolist() for column in (*places, numbers)), strict=True
    ):
        name = batch.tag_names[tag]
        cells[inference.group, inference.topic, queue, name, first + minute, fate, certainty, is_asked, why] += number


def _counts(cells: Counter[_Cell]) -> pa.RecordBatch:
    group, topic, queue, tag, minute, fate, certainty, is_asked, why = zip(*cells, strict=True)
    return filled(
        SCAN_SCHEMA,
        len(cells),
        kind=COUNT,
        group=group,
        topic=topic,
        queueId=queue,
        tag=tag,
        minute=minute,
        fate=[FATES_IN_ORDER[code] for code in fate],
        certainty=[CERTAINTIES[code] for code in certainty],
        asked=[ASKED_WORDS[code] for code in is_asked],
        reason=[WHY[code] for code in why],
        messages=list(cells.values()),
    )


def _details(
    kind: str,
    inference: FateInference,
    rows: LogRows,
    mine: NDArray[np.int64],
    inferred: InferredFates,
    chosen: NDArray[np.int64],
    elsewhere: Any,
) -> pa.RecordBatch:
    """Rows for `chosen` of the rows inferred, which are at the places `mine` of `rows`."""
    picked, more = rows.take(mine[chosen])
    times = picked["storeTimestamp"].to_numpy()
    ids = message_ids(more[STORE_HOST_BYTES], picked["physicalOffset"].to_numpy())
    return filled(
        SCAN_SCHEMA,
        len(chosen),
        kind=kind,
        group=inference.group,
        topic=inference.topic,
        queueId=picked["queueId"],
        tag=picked["tags"].cast(_TEXT),
        minute=times // MINUTE_OF_COUNTS_MS,
        fate=_FATE_NAMES.take(pa.array(inferred.fate[chosen])),
        certainty=_CERTAINTY_NAMES.take(pa.array(inferred.certainty[chosen])),
        asked=_ASKED_NAMES.take(pa.array(inferred.asked[chosen])),
        messages=1,
        elsewhere=elsewhere[chosen].astype(np.int64),
        queueOffset=picked["queueOffset"],
        physicalOffset=picked["physicalOffset"],
        size=picked["size"].cast(_LONG),
        offsetMsgId=ids,
        key=pc.coalesce(more["uniqKey"], ids),
        keys=more["keys"],
        storeTimestamp=times,
        covered=_ASKED_NAMES.take(pa.array(inferred.covered[chosen])),
        subscription=inference.subscriptions_at(times),
        reason=_WHY_NAMES.take(pa.array(inferred.why[chosen])),
    )


def _damage(batch: pa.RecordBatch, check: QueueCheck | None) -> Iterator[pa.RecordBatch]:
    wrong = batch.filter(pc.is_valid(batch["corrupt"])) if batch["corrupt"].null_count < len(batch) else batch[:0]
    records = wrong.select(_DAMAGED).rename_columns([*_DAMAGED[:-1], "reason"]).to_pylist()
    if check:
        records = [
            record if record["topic"] else {**record, **check.named(record["physicalOffset"])} for record in records
        ]
        records += check.differing(batch)
    yield from _damaged(records)


def _damaged(records: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    rest = iter(records)
    while rows := list(islice(rest, _DAMAGED_ROWS)):
        yield filled(
            SCAN_SCHEMA, len(rows), kind=DAMAGE, **{name: [record[name] for record in rows] for name in rows[0]}
        )


_FATE_NAMES: Final = pa.array([str(fate) for fate in FATES_IN_ORDER])
_CERTAINTY_NAMES: Final = pa.array(CERTAINTIES)
_ASKED_NAMES: Final = pa.array(ASKED_WORDS)
_WHY_NAMES: Final = pa.array(WHY)
