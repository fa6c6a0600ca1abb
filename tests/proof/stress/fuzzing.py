"""Gives changed examples to readers: in this process, or in batches that each have a process of their own.

A batch is a reader, a seed and a number of inputs; the three decide every byte. What a reader must not do is a finding:
an exception that is no refusal, an input that takes longer than ``SLOWEST_S`` or waits for ``STUCK_S``, a process that
ends or takes more than ``MOST_MB``.
"""

from __future__ import annotations

import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import ROOT
from tests.proof.stress.readers import READERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SLOWEST_S: Final = 5.0
"""Of a processor, for one input."""
STUCK_S: Final = 60.0
"""Of the clock, for one input: what waits takes no processor."""
MOST_MB: Final = 3_000
"""Of a process that reads, Python, Arrow and compiled loops included: what it may map."""
SHOWN: Final = 120
IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one


class TookTooLongError(Exception):
    """An input took more than ``SLOWEST_S`` of a processor, or waited for ``STUCK_S``."""


@dataclass(slots=True)
class Batch:
    """What came of some inputs: how many, how many were refused, the slowest, memory (MB), and findings.

    `slowest_ms` is time of a processor. `peak_mb` is the most that its process had, `grown_mb` what of it came after
    the first input. `wrong` is empty when all is well: what and where -> how often, the number of the first such input,
    and what it said.
    """

    reader: str
    seed: int
    inputs: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    peak_mb: float = 0.0
    grown_mb: float = 0.0
    seconds: float = 0.0
    wrong: dict[str, list[Any]] = field(default_factory=dict)

    def add_finding(self, what: str, says: str) -> None:
        """Count what was wrong with the input at hand."""
        finding = self.wrong.setdefault(what, [0, self.inputs, says[:SHOWN]])
        finding[0] += 1


def inputs(name: str, count: int, seed: int) -> Iterator[Any]:
    """The inputs of a batch."""
    reader, choose = READERS[name], random.Random(f"{name} {seed}")
    examples = reader.examples()
    for _ in range(count):
        yield reader.change(choose.choice(examples), choose, examples)


def fuzz_reader(name: str, count: int, seed: int) -> Batch:
    """Give so many inputs to a reader in this process; what it must not do is in `wrong`."""
    reader, batch = READERS[name], Batch(name, seed)
    began_all, first = perf_counter(), 0.0
    where = IN_MEMORY if IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as scratch, _silent(), _clock() as watch:
        path = Path(scratch) / "given"
        with suppress(*reader.refusals):
            reader.read(reader.examples()[0], path)  # what is imported and compiled is no input's time
        for given in inputs(name, count, seed):
            began = process_time()
            watch.begin()
            try:
                reader.read(given, path)
            except reader.refusals:
                batch.refused += 1
            except Exception as error:  # noqa: BLE001 - this is what is looked for
                batch.add_finding(_place(error), f"{error!s:.{SHOWN}}")
            watch.end()
            took = process_time() - began
            if took > SLOWEST_S and not any("TookTooLong" in what for what in batch.wrong):
                batch.add_finding(f"longer than {SLOWEST_S} s", f"{took:.1f} s")
            batch.inputs += 1
            batch.slowest_ms = max(batch.slowest_ms, took * 1_000)
            first = first or _peak_mb()
    batch.peak_mb = _peak_mb()
    batch.grown_mb = batch.peak_mb - first
    batch.seconds = perf_counter() - began_all
    return batch


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _place(error: Exception) -> str:
    """What was raised, and the innermost line of the package that it went through."""
    packages = tuple(f"{ROOT / package}{os.sep}" for package in ("rmqlab", "rmqlab_tools"))
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(packages)]
    if not ours:
        return type(error).__name__
    last = ours[-1]
    return f"{type(error).__name__} in {Path(last.filename).relative_to(ROOT).as_posix()}, {last.name}"


@contextmanager
def _silent() -> Iterator[None]:
    """What a broker logs of a damaged store is no finding, and would fill the screen."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class _Watch:
    """Raises in the middle of an input that takes too long; looks once a second, so it costs an input nothing."""

    def __init__(self) -> None:
        self._began: tuple[float, float] | None = None

    def begin(self) -> None:
        self._began = process_time(), perf_counter()

    def end(self) -> None:
        self._began = None

    def look(self, *_: object) -> None:
        if self._began is None:
            return
        worked, waited = process_time() - self._began[0], perf_counter() - self._began[1]
        if worked > SLOWEST_S or waited > STUCK_S:
            self._began = None
            raise TookTooLongError(f"{worked:.1f} s of a processor, {waited:.1f} s of the clock")


@contextmanager
def _clock() -> Iterator[_Watch]:
    watch = _Watch()
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield watch
        return
    before = signal.signal(signal.SIGALRM, watch.look)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        yield watch
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_batches(
    names: Iterable[str],
    count: int,
    seeds: Iterable[int],
    *,
    jobs: int = 1,
    log: Path | None = None,
    on_batch: Callable[[Batch], None] = lambda _: None,
) -> list[Batch]:
    """Run a batch of `count` inputs for each seed and reader, `jobs` at once, each in a process of its own.

    `log` gets a line of JSON for each; what stands there already is not run again, and is in what is returned.
    """
    done = _logged(log, count)
    if log is not None and log.exists() and not log.read_bytes().endswith(b"\n"):
        with log.open("a") as stream:
            stream.write("\n")  # behind the line of a run that was ended
    wanted = [(name, seed) for seed in seeds for name in names]
    batches = [done[key] for key in wanted if key in done]
    lock = threading.Lock()

    def run(key: tuple[str, int]) -> Batch:
        batch = _in_a_process(key[0], count, key[1])
        with lock:
            if log is not None:
                with log.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({**asdict(batch), "asked": count}) + "\n")
            on_batch(batch)
        return batch

    with ThreadPoolExecutor(jobs) as pool:
        batches += pool.map(run, [key for key in wanted if key not in done])
    return batches


def batch_table(batches: Iterable[Batch]) -> list[Batch]:
    """One row for each reader: sums of inputs, refusals, seconds and findings, and the worst of the rest."""
    rows: dict[str, Batch] = {}
    for batch in batches:
        row = rows.setdefault(batch.reader, Batch(batch.reader, batch.seed))
        row.inputs += batch.inputs
        row.refused += batch.refused
        row.seconds += batch.seconds
        for name in ("slowest_ms", "peak_mb", "grown_mb"):
            setattr(row, name, max(getattr(row, name), getattr(batch, name)))
        for what, (times, number, says) in batch.wrong.items():
            finding = row.wrong.setdefault(what, [0, number, f"seed {batch.seed}, input {number}: {says}"])
            finding[0] += times
    return list(rows.values())


def _logged(log: Path | None, count: int) -> dict[tuple[str, int], Batch]:
    lines = log.read_text("utf-8").splitlines() if log is not None and log.exists() else []
    batches = {}
    for line in lines:
        with suppress(ValueError):  # the last line of a run that was ended
            fields = json.loads(line)
            if fields.pop("asked") == count:
                batches[fields["reader"], fields["seed"]] = Batch(**fields)
    return batches


def _in_a_process(name: str, count: int, seed: int) -> Batch:
    program = [sys.executable, "-P", "-m", __name__, name, str(count), str(seed)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(program, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)  # noqa: S603
    with suppress(ValueError, IndexError):
        return Batch(**json.loads(ran.stdout.splitlines()[-1]))
    batch = Batch(name, seed, inputs=0)
    batch.add_finding(f"its process ended with {ran.returncode}", (ran.stderr.splitlines() or [""])[-1])
    return batch


def main() -> None:
    """Run the batch of the arguments, and print it."""
    name, count, seed = sys.argv[1:]
    most = MOST_MB << 20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    print(json.dumps(asdict(fuzz_reader(name, int(count), int(seed)))))  # noqa: T201 - for the process that asked


if __name__ == "__main__":
    main()
