"""Spark's classes, read and checked once for all JVMs: an archive (Java's CDS) that each of them maps when it starts.

A driver needs some eight thousand classes before its first job and spends half of its start on them. The archive is for
one Java and one Spark: some 200 MB, where `java_runtime.archive_path` says. `./lab notebook`, `./lab test` and
the benchmark of the notebooks make it. The sessions of lessons use it. Every other JVM that Spark's launcher starts
does where SPARK_SUBMIT_OPTS says so: `use_archive` sets it, and `python -m tests.proof.class_archive` makes the archive
and prints what to set.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab.files import atomic_write
from rmqlab_tools.java_runtime import archive_options, archive_path, find_java, home_from_wheel
from rmqlab_tools.processes import end_child
from rmqlab_tools.spark.session import PACKAGE_FOLDER, QUICK, open_session, provide_java

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

MAKE: Final = "--make"  # the argument of the process that makes it
SETTING: Final = "SPARK_SUBMIT_OPTS"
_LONGEST_S: Final = 300


def with_archive(options: str) -> str:
    """`options` of a JVM of the home that JAVA_HOME names, with those of the archive."""
    return " ".join([options, *archive_options(Path(os.environ["JAVA_HOME"]))]).strip()


def use_archive(environ: MutableMapping[str, str]) -> None:
    """Let every JVM that Spark's launcher starts with `environ` use the archive; without a Java nothing is set."""
    java = find_java(environ) or home_from_wheel(Path(sys.prefix))
    if java is not None:
        environ[SETTING] = " ".join([*environ.get(SETTING, "").split(), *archive_options(java)])


def make_archive() -> Path | None:
    """Make the archive, if there is none, in a process of its own (some 20 s): its path, or None if Java makes none."""
    path = archive_path(provide_java(os.environ))
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    known = [str(PACKAGE_FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with suppress(OSError, subprocess.SubprocessError), atomic_write(path) as part:
        environ = {**os.environ, SETTING: f"-XX:ArchiveClassesAtExit={part} -Xlog:disable"}
        subprocess.run(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "tests.proof.class_archive", MAKE],
            env={**environ, "PYTHONPATH": os.pathsep.join(known)},
            capture_output=True, check=True, timeout=_LONGEST_S, cwd=PACKAGE_FOLDER.parent,
        )  # fmt: skip
    return path if path.is_file() else None


@contextmanager
def made_meanwhile(*names: str) -> Iterator[None]:
    """Make what Spark sessions use beside what goes on: `class_archive`, and the `compiled_loops` of the reader."""
    nowhere = subprocess.DEVNULL
    makers = [
        subprocess.Popen([sys.executable, "-m", f"tests.proof.{name}"], stdout=nowhere, stderr=nowhere)  # noqa: S603
        for name in names
    ]
    try:
        yield
    finally:
        # each has a process of its own below it, which would go on for minutes
        for maker in makers:
            end_child(maker)


def _each(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _train() -> None:
    """Do what audits, sweeps and views do, small, so that their classes are loaded; wait until the JVM has ended."""
    from pyspark.sql import functions as F  # noqa: N812

    # As in a quick session, but without an archive: a JVM that has one makes none.
    spark = open_session("local[2]", {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": QUICK})
    gateway = spark.sparkContext._gateway  # noqa: SLF001
    numbers = spark.range(0, 8, 1, 2)
    rows = numbers.mapInArrow(_each, "id long").withColumn("name", F.concat(F.lit("n"), F.col("id"))).persist()
    rows.groupBy("name").agg(F.sum("id").alias("sum"), F.count(F.lit(1)).alias("n")).orderBy("name").toArrow()
    rows.where(F.col("name").isin("n1", "n2")).join(numbers, "id", "left").orderBy("id").collect()
    given = spark.createDataFrame(rows.toArrow())
    with tempfile.TemporaryDirectory(prefix="rmqlab-classes-") as folder:
        given.unionByName(rows).write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").createOrReplaceTempView("rows")
        spark.sql("SELECT name, max(id) OVER (PARTITION BY name ORDER BY id) AS m FROM rows").toArrow()
    # Masters, workers and executors are JVMs of their own.
    for name in ("deploy.master.Master", "deploy.worker.Worker", "executor.CoarseGrainedExecutorBackend"):
        spark._jvm.java.lang.Class.forName(f"org.apache.spark.{name}")  # type: ignore[union-attr]  # noqa: SLF001
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()  # what the JVM waits for
        gateway.proc.wait(_LONGEST_S)


if __name__ == "__main__":
    if MAKE in sys.argv:
        _train()
    else:
        made = make_archive()
        sys.stdout.write(f"{SETTING}='{with_archive('')}'\n" if made else "this Java makes no archive\n")
