"""Running a sweep: in this process, or in Spark tasks; finished rows are kept on disk, and what is there is not run.

Rows go to Spark in waves, two of them under way at a time so that no core waits for the slowest row of a wave. After
each wave its rows are on disk. A row whose function raises is a row with an error. A task that dies (out of memory, a
crash in native code) takes its wave with it: the wave is cut in halves until the row is found that kills, and only
that row is lost.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.extras import require
from rmqlab_tools.spark.sweeps.sweep import ERROR_COLUMN, SEED, RowOutcome, Sweep, SweepRow, run_row, takes_seed
from rmqlab_tools.spark.sweeps.sweep import grid as every_combination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rmqlab_tools.spark.sweeps.results import SweepResult
    from rmqlab_tools.spark.sweeps.sweep import Run, Scalar

TASKS_A_WAVE_AND_CORE: Final = 2
UNDER_WAY: Final = 2
FEW_ROWS: Final = 16
_SCHEMA: Final = "row string, figures string, error string"


def sweep(
    function: Run,
    grid: Mapping[str, Iterable[Scalar]] | Sequence[Mapping[str, Scalar]],
    *,
    folder: Path | str | None = None,
    seed: int = 0,
    session: SparkSession | None = None,
    name: str | None = None,
    version: int | str | None = None,
    rows_a_task: int = 1,
) -> SweepResult:
    """Call a function for every row of a grid, and keep the rows: `records`, `failed`, `rerun` of the answer.

    `function` takes the parameters of a row by name, and `seed` if it draws by chance; it returns figures by name, as a
    dict or a struct. `grid` maps each parameter to its values, or is a list of rows. Up to 16 rows run in this process,
    more on Spark: in `session`, else in `rmqlab.spark()`. With a `folder` finished rows are kept there, and what is
    there is not run again. A row has its id, seed, parameters, figures and error; its seed comes from `seed` and its
    parameters. `name` and `version` say whose rows a folder holds: the function's name, and a digest of its source
    unless given, so that rows of a function that was changed do not mix. `rows_a_task`: quick rows should share one.

    >>> import rmqlab
    >>> def stored(tags, queues):
    ...     lab = rmqlab.Lab(topics={"T": queues})
    ...     lab.send("T", ["tag"] * tags)
    ...     return {"messages": len(lab.messages())}
    >>> result = sweep(stored, {"tags": [1, 5], "queues": [4]})
    >>> [(record["tags"], record["messages"]) for record in result.records]
    [(1, 1), (5, 5)]
    >>> [figure.same for figure in result.rerun(0)]
    [True]

    Raises:
        BadInput: a grid without rows, parameters that the function does not take, a folder of another sweep, or the
            packages of the extra `spark` are missing. A row whose function raises is a row with an error.
    """
    require("spark")
    name = name or str(getattr(function, "__name__", "sweep"))
    rows = every_combination(**_axes(grid, name)) if isinstance(grid, Mapping) else list(grid)
    wanted = Sweep(name, function, rows, seed, _code_of(function) if version is None else version)
    wanted.rows()
    _require_takes(function, rows, name)
    if session is None and len(rows) > FEW_ROWS:
        from rmqlab_tools.spark import open_here

        session = open_here()
    if folder is not None:
        return run_sweep(wanted, folder, session=session, rows_a_task=rows_a_task)
    with TemporaryDirectory(prefix="rmqlab-sweep-") as passing:
        return run_sweep(wanted, passing, session=session, rows_a_task=rows_a_task)


def _axes(grid: Mapping[str, Iterable[Scalar]], name: str) -> dict[str, list[Scalar]]:
    for axis, values in grid.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise BadInput(
                _(
                    "sweep {name}: {axis} is {values}; right is a list of its values: [{values}]",
                    name=f"{name!r}",
                    axis=axis,
                    values=f"{values!r}",
                )
            )
    return {axis: list(values) for axis, values in grid.items()}


def _require_takes(function: Run, rows: Sequence[Mapping[str, Scalar]], name: str) -> None:
    """Raise `BadInput` unless the function can be called with the parameters of a row."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # it does not say what it takes
        return
    try:
        signature.bind(**({SEED: 0} if takes_seed(function) else {}), **rows[0])
    except TypeError as error:
        raise BadInput(
            _(
                "sweep {name}: {error}; the rows have {names}, the function takes {takes}",
                name=f"{name!r}",
                error=error,
                names=joined(", ", rows[0]) or _("nothing"),
                takes=joined(", ", signature.parameters) or _("nothing"),
            )
        ) from error


def _code_of(function: Run) -> int | str:
    """What distinguishes a function from what it was before a change: a digest of its source, 1 where there is none."""
    try:
        return blake2b(inspect.getsource(function).encode(), digest_size=8).hexdigest()
    except (OSError, TypeError):
        return 1


def run_sweep(
    sweep: Sweep,
    folder: Path | str,
    *,
    session: SparkSession | None = None,
    rows_a_task: int = 1,
    progress: Callable[[int, int, int], None] | None = None,
) -> SweepResult:
    """Run the rows of `sweep` that are not in `folder` yet, and give all of them in the sweep's order.

    Without a `session` they run in this process, one after the other; the figures are the same. `rows_a_task`: a task
    costs Spark some 30 ms, and a file of finished rows some ms, so quick rows should share one. Rows that failed before
    are tried again. `progress` hears, at the beginning and after each wave, how many
    rows are done, how many of them `folder` had before, and how many failed in this run.

    Raises:
        BadInput: a wrong row, a folder of another sweep, `rows_a_task` below 1; the session has ended, or its workers
            cannot run Python as they must.
    """
    from rmqlab_tools.spark.sweeps.results import SweepResult, add_rows, open_folder, read_folder

    if rows_a_task < 1:
        raise BadInput(_("rows_a_task is {rows_a_task}: at least one row a task", rows_a_task=rows_a_task))
    rows = sweep.rows()
    folder = Path(folder)
    open_folder(folder, sweep)
    kept = read_folder(folder)
    left = [row for row in rows if row.id not in kept or kept[row.id][ERROR_COLUMN] is not None]
    there, failed = len(rows) - len(left), 0
    done = there
    if progress is not None:
        progress(done, there, failed)
    for outcomes in (
        _here(sweep, left, rows_a_task) if session is None else _in_spark(sweep, left, session, rows_a_task)
    ):
        add_rows(folder, outcomes)
        done += len(outcomes)
        failed += sum(outcome.error is not None for outcome in outcomes)
        if progress is not None:
            progress(done, there, failed)
    kept = read_folder(folder)
    return SweepResult((kept[row.id] for row in rows if row.id in kept), sweep)


def _here(sweep: Sweep, rows: Sequence[SweepRow], rows_a_file: int) -> Iterator[list[RowOutcome]]:
    for start in range(0, len(rows), rows_a_file):
        yield [run_row(sweep.run, row) for row in rows[start : start + rows_a_file]]


def _in_spark(
    sweep: Sweep, rows: Sequence[SweepRow], session: SparkSession, rows_a_task: int
) -> Iterator[list[RowOutcome]]:
    size = _parallelism(session) * TASKS_A_WAVE_AND_CORE * rows_a_task
    waves = [rows[start : start + size] for start in range(0, len(rows), size)]
    over = Event()
    with ThreadPoolExecutor(UNDER_WAY, "sweep") as pool:
        try:
            under_way = [pool.submit(_wave, session, sweep.run, wave, rows_a_task, over) for wave in waves]
            for wave in as_completed(under_way):
                yield wave.result()
        except BaseException:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
            _cancel(session)
            raise


def _cancel(session: SparkSession) -> None:
    """End the jobs under way: no caller waits for their rows any more."""
    with suppress(Exception):  # the session may be what was lost
        if type(session).__module__.startswith("pyspark.sql.connect"):
            session.interruptAll()
        else:
            session.sparkContext.cancelAllJobs()


def _parallelism(session: SparkSession) -> int:
    """How many tasks run at a time; Connect does not tell, so the shuffle's setting stands in."""
    try:
        return max(1, session.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Connect has no context; the kind of error differs between its versions
        return max(1, int(session.conf.get("spark.sql.shuffle.partitions") or 1))


def _wave(session: SparkSession, run: Run, rows: Sequence[SweepRow], rows_a_task: int, over: Event) -> list[RowOutcome]:
    tasks = [list(rows[start : start + rows_a_task]) for start in range(0, len(rows), rows_a_task)]
    frame = session.range(0, len(tasks), 1, len(tasks)).mapInArrow(partial(_task, run, tasks), _SCHEMA)
    try:
        answers = frame.collect()
    except Exception as error:
        if over.is_set():
            raise
        _require_alive(session, error)
        if len(rows) == 1:
            return [RowOutcome(rows[0], {}, f"the task died: {_reason(error)}")]
        half = len(rows) // 2
        parts = (rows[:half], rows[half:])
        return [outcome for part in parts for outcome in _wave(session, run, part, rows_a_task, over)]
    by_row = {answer["row"]: answer for answer in answers}
    return [RowOutcome(row, json.loads(by_row[row.id]["figures"]), by_row[row.id]["error"]) for row in rows]


def _task(run: Run, tasks: list[list[SweepRow]], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the rows of each task whose number comes in; this is what a worker does."""
    import pyarrow as pa

    for batch in batches:
        for number in batch.column(0).to_pylist():
            outcomes = [run_row(run, SweepRow(*row)) for row in tasks[number]]
            rows = [
                {"row": outcome.row.id, "figures": json.dumps(outcome.figures), "error": outcome.error}
                for outcome in outcomes
            ]
            yield pa.RecordBatch.from_pylist(rows, pa.schema([(name, pa.string()) for name in rows[0]]))


def _require_alive(session: SparkSession, error: Exception) -> None:
    """Raise `BadInput` if no task can do anything any more: then no row is to blame."""
    try:
        session.range(1).collect()
    except Exception as lost:
        raise BadInput(
            _(
                "the Spark session does not answer any more ({reason}); run the sweep again to go on",
                reason=_reason(error),
            )
        ) from lost
    try:
        session.range(1).mapInArrow(_idle, "id long").collect()
    except Exception as broken:
        raise BadInput(
            _(
                "Spark's workers cannot run a task of Python ({reason}): docs/how-to/spark.md says what "
                "they need, and running the sweep again goes on",
                reason=_reason(broken),
            )
        ) from broken


def _idle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that does nothing but needs all that a task needs."""
    import pyarrow  # noqa: F401, ICN001 - what each worker must have

    yield from batches


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error:" in line or "Exception:" in line or "exited" in line]
    return (telling or lines or [type(error).__name__])[-1 if telling else 0][:300]
