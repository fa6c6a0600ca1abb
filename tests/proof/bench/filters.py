"""Filters against the real ones of 4.8.0: the same messages, in turns, in CPU seconds of everything that works.

A Spark rate is per core: messages by the CPU time of the driver, the JVM and the Python workers together. The real
filter works on one thread, on a million property texts in memory; for Spark, reading the Parquet files is part of the
work. Before anything is timed the real filter has looked at every message of every file; Spark must let as many pass,
each time, or the benchmark fails.
"""

from __future__ import annotations

import tempfile
import weakref
from functools import cached_property, partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.message.properties import string_to_properties
from rmqlab.protocol.subscription_data import build_subscription_data
from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.databases import by_duckdb, by_polars
from tests.proof.bench.spark_job import SparkJob, matched
from tests.proof.real.filter import RealFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

E0: Final = "(TAGS is not null and TAGS in ('TagA','TagB')) and (a is not null and a between 0 and 3)"
IN_128: Final = f"TAGS in ({','.join(repr(f'TAG{number}') for number in range(1, 129))})"
E2: Final = "(region = 'hz' OR NOT (a < 5)) AND (price > 10.5 OR KEYS is null) AND TAGS <> 'TagC'"
EXPRESSIONS: Final = {"e0": E0, "in128": IN_128, "e2": E2}
SUBSCRIPTION: Final = "TagA || TagB"
_WARM_JOBS: Final = 40
TOPIC: Final = "Orders"
# How many messages Spark filters in one turn unless told; starting its job counts for less the more there are.
MESSAGES: Final = 4_000_000
_TAG_ROUNDS: Final = 20
_FEW: Final = 50_000
_COMPILE_ROUNDS: Final = 300
_JAVA_COMPILE_ROUNDS: Final = 10_000


class CountsDifferError(AssertionError):
    """Spark and the real filter let different numbers of messages pass."""


class SparkBench:
    """Files, session and the Java process, each made when first needed and gone with the object or the program.

    `BadInput` and `RealFilterMissingError` come from the first measurement.
    """

    def __init__(self, messages: int = MESSAGES) -> None:
        """Set the number of messages that Spark filters in one turn. Raises `BadInput` for less than one."""
        if messages < 1:
            raise BadInput(f"{messages} messages: at least one is needed")
        self.messages = messages
        self._few_loaded = False

    @cached_property
    def session(self) -> SparkSession:
        """A local session with as few tasks as it has cores, for rows that go through its JVM."""
        from rmqlab_tools.spark.session import open_session

        session = open_session("local[*]", {"spark.driver.memory": "2g", "spark.sql.files.maxPartitionBytes": "1g"})
        # A JVM that has just started compiles its own scheduler for tens of jobs: more work than a filter is.
        for _ in range(_WARM_JOBS):
            matched(session, self.paths[:1], TOPIC, E0)
        return session

    @cached_property
    def _job(self) -> SparkJob:
        return SparkJob(self.paths, TOPIC, E0)

    @cached_property
    def _java(self) -> RealFilter:
        java = RealFilter("3g")
        weakref.finalize(self, java.close)
        return java

    @cached_property
    def paths(self) -> list[str]:
        """The files. Making them lets the real filter see every message."""
        from rmqlab_tools.spark.archived.manifest import ArchivedFile, Contents, Place, write_contents
        from tests.proof.bench.messages import BEGIN_MS, DAY_MS, IN_A_FILE, make_file

        files: list[ArchivedFile] = []
        folder = tempfile.TemporaryDirectory(prefix="rmqlab-bench-")
        weakref.finalize(self, folder.cleanup)
        self._matched = dict.fromkeys((*EXPRESSIONS.values(), SUBSCRIPTION), 0)
        paths = []
        for number in range(-(-self.messages // IN_A_FILE)):
            made = make_file(Path(folder.name), number, min(IN_A_FILE, self.messages - number * IN_A_FILE))
            paths.append(made.path)
            files.append(
                ArchivedFile(Path(made.path).name, "bench", TOPIC, len(made.encoded), BEGIN_MS, BEGIN_MS + DAY_MS, 0, 1)
            )
            self._encoded = made.encoded
            self._java.load(made.encoded)
            for expression in EXPRESSIONS.values():
                self._matched[expression] += self._java.decode_and_evaluate(expression).matched
            self._matched[SUBSCRIPTION] += self._java.match_tags(SUBSCRIPTION).matched
        write_contents(Place.of(folder.name), Contents(files=files))
        return paths

    def real(self, *, few: bool = False) -> RealFilter:
        """The Java process with the messages of the last file loaded, or with some of them."""
        if self.paths and few != self._few_loaded:
            self._java.load(self._encoded[:_FEW] if few else self._encoded)
            self._few_loaded = few
        return self._java

    def few(self) -> list[bytes]:
        """The property texts of some messages."""
        return self._encoded[:_FEW] if self.paths else []

    def timed(
        self, wanted: str, work: Callable[[], tuple[int, int]], *, here: bool = False, root: int | None = None
    ) -> Measurement:
        """Run `work`, which tells messages and matches, in CPU seconds; check both against the real filter.

        Of this process alone with `here`, else of Spark's processes too; of those from `root` on, if it is given.
        """
        from tests.proof.bench.cpu_time import cpu_seconds

        java = self._java.pid
        # The kernel counts another process in hundredths of a second, this one more finely.
        clock = process_time if here else partial(cpu_seconds, java, root)
        begin = clock()
        counts = work()
        seconds = clock() - begin
        if counts != (self.messages, self._matched[wanted]):
            raise CountsDifferError(
                f"{counts[1]} of {counts[0]} messages pass on Spark, {self._matched[wanted]} of {self.messages} "
                f"the real filter: {wanted}"
            )
        return self.messages, seconds

    def on_files(self, expression: str) -> Measurement:
        """Filter as `rmqlab match --spark` does: workers get file names, and count by queue and hour."""
        paths, job = self.paths, self._job
        return self.timed(expression, lambda: job.matched(paths, expression), root=job.pid)

    def in_process(self, expression: str) -> Measurement:
        """Filter as `rmqlab.match` does: threads of this process count by queue and hour."""
        paths = self.paths
        return self.timed(expression, lambda: matched(None, paths, TOPIC, expression), here=True)

    def by_database(self, query: Callable[[Sequence[str], str], tuple[int, int]], name: str) -> Measurement:
        """Ask DuckDB or Polars on one thread. Its answer is not compared: it is another one."""
        paths = self.paths
        begin = process_time()
        messages, _ = query(paths, name)
        return messages, process_time() - begin

    def on_flags(self, expression: str) -> Measurement:
        """Have every message with a column that says whether it matches, as `rmqlab.spark.matching` makes it."""
        from pyspark.sql import functions as F  # noqa: N812

        from rmqlab_tools.spark import matching

        archive, session = Path(self.paths[0]).parent, self.session

        def count() -> tuple[int, int]:
            frame = matching(session, archive, expression, "SQL92", columns=(), everything=True)
            return _count(frame, F.col("wanted"))

        return self.timed(expression, count)

    def on_columns(self, expression: str) -> Measurement:
        """Filter by a Spark column on pivoted columns."""
        from pyspark.sql import functions as F  # noqa: N812

        from rmqlab_tools.spark.filters.sql92_dictionary import PRESENCE, DictionaryFilter
        from rmqlab_tools.spark.filters.subscription_columns import wants

        frame = self.session.read.parquet(*self.paths)
        only_there = DictionaryFilter(expression).presence_names

        def column(name: str) -> Column:
            """The property's own column, or the boolean one that the files have beside it."""
            beside = name + PRESENCE
            return F.when(F.col(beside), "") if name in only_there and beside in frame.columns else F.col(name)

        return self.timed(expression, lambda: _count(frame, wants(expression, "SQL92", properties=column)))

    def on_tags_codes(self) -> Measurement:
        """Filter by tags codes, as the broker's first layer does."""
        from pyspark.sql import functions as F  # noqa: N812

        from tests.proof.agree.spark_columns import broker_keeps
        from tests.proof.bench.messages import TAGS_CODE

        frame = self.session.read.parquet(*self.paths)
        subscription = build_subscription_data("group", "topic", SUBSCRIPTION)
        return self.timed(SUBSCRIPTION, lambda: _count(frame, broker_keeps(subscription, F.col(TAGS_CODE))))

    def java_filters(self, expression: str) -> Measurement:
        """Decode and evaluate by the real filter."""
        work = self.real().decode_and_evaluate(expression)
        return work.messages, work.seconds

    def java_matches_tags(self) -> Measurement:
        """Match tags codes by the real filter."""
        work = self.real().match_tags(SUBSCRIPTION, _TAG_ROUNDS)
        return work.messages, work.seconds

    def evaluated_in_python(self) -> Measurement:
        """Evaluate one message after the other."""
        compiled = compile_sql92(E0)
        messages = [string_to_properties(text.decode()) for text in self.few()]
        begin = process_time()
        for properties in messages:
            compiled.matches(properties)
        return len(messages), process_time() - begin

    def evaluated_in_java(self) -> Measurement:
        """Evaluate by the real filter, properties decoded before."""
        work = self.real(few=True).evaluate(E0, 10)
        return work.messages, work.seconds

    def compiled_in_java(self) -> Measurement:
        """Compile by the real compiler."""
        work = self._java.compile(E0, _JAVA_COMPILE_ROUNDS)
        return work.messages, work.seconds


def _count(frame: DataFrame, passes: Column) -> tuple[int, int]:
    from pyspark.sql import functions as F  # noqa: N812

    row = frame.agg(F.count(F.lit(1)), F.count_if(passes)).collect()[0]
    return row[0], row[1]


def _compiled_in_python() -> Measurement:
    begin = process_time()
    for _ in range(_COMPILE_ROUNDS):
        compile_sql92(E0)
    return _COMPILE_ROUNDS, process_time() - begin


def filter_benchmarks(messages: int = MESSAGES) -> tuple[Benchmark, ...]:
    """Make the benchmarks; Spark filters so many messages in one turn. They share session, files and Java process."""
    bench = SparkBench(messages)
    real = "the real filter: decode the properties, evaluate, one thread"

    def one(way: Callable[[str], Measurement], expression: str) -> Callable[[], Measurement]:
        return lambda: way(expression)

    return (
        *(
            Benchmark(
                f"match-{name}", f"SQL92 {name} by rmqlab.match over dictionary-coded Parquet files, a core",
                "messages/s", real, one(bench.in_process, expression), one(bench.java_filters, expression),
            )
            for name, expression in EXPRESSIONS.items()
        ),
        *(
            Benchmark(
                f"spark-filter-{name}", f"SQL92 {name} on Spark over dictionary-coded Parquet files, a core",
                "messages/s", real, one(bench.on_files, expression), one(bench.java_filters, expression),
            )
            for name, expression in EXPRESSIONS.items()
        ),
        *(
            Benchmark(
                f"match-{database}-{name}", f"SQL92 {name} by rmqlab.match over dictionary-coded Parquet files, a core",
                "messages/s", f"{words} over the same files, one thread; not RocketMQ's answers",
                one(bench.in_process, expression), partial(bench.by_database, query, name),
            )
            for database, words, query in (
                ("duckdb", "DuckDB with try_cast", by_duckdb), ("polars", "Polars with strict=False", by_polars),
            )
            for name, expression in EXPRESSIONS.items()
        ),
        *(
            Benchmark(
                f"spark-flags-{name}", f"SQL92 {name} as a column of rmqlab.spark.matching over the same files, a core",
                "messages/s", real, one(bench.on_flags, expression), one(bench.java_filters, expression),
            )
            for name, expression in EXPRESSIONS.items()
        ),
        *(
            Benchmark(
                f"spark-columns-{name}", f"SQL92 {name} as a Spark column over the same files, a core",
                "messages/s", real, one(bench.on_columns, expression), one(bench.java_filters, expression),
            )
            for name, expression in EXPRESSIONS.items()
        ),
        Benchmark(
            "spark-tag", f"TAG {SUBSCRIPTION} as a Spark column on tags codes, a core", "messages/s",
            "the real filter on tags codes in memory, one thread", bench.on_tags_codes, bench.java_matches_tags,
        ),
        Benchmark(
            "sql92-evaluate", "SQL92 e0 on one message after the other in Python", "messages/s",
            "the real evaluation of decoded properties", bench.evaluated_in_python, bench.evaluated_in_java,
        ),
        Benchmark(
            "sql92-compile", "compiling SQL92 e0 in Python", "ms", "the real compiler", _compiled_in_python,
            bench.compiled_in_java,
        ),
    )  # fmt: skip
