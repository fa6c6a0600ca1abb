"""The archive of Spark's classes: used where it is, done without where it is not, and never half written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab_tools.java_runtime import archive_options, archive_path
from rmqlab_tools.spark.session import provide_java
from tests.proof import class_archive as module
from tests.proof.class_archive import SETTING, make_archive, use_archive, with_archive


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of this test's own, and a Java home."""
    monkeypatch.setenv("RMQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def test_a_jvm_is_told_where_the_archive_is(cache, monkeypatch):
    java = Path(os.environ["JAVA_HOME"])
    options = f"-XX:SharedArchiveFile={archive_path(java)} -Xlog:cds*=off"
    assert with_archive("-Xmx1g") == f"-Xmx1g {options}"
    monkeypatch.setattr(module, "find_java", lambda environ: java)
    environ = {SETTING: "-Da=b"}
    use_archive(environ)
    assert environ == {SETTING: f"-Da=b {options}"}
    monkeypatch.setenv("RMQLAB_CACHE", f"{cache} two")
    assert archive_options(java) == [], "Spark splits options at spaces"


def test_without_a_java_nothing_is_set(monkeypatch):
    monkeypatch.setattr(module, "find_java", lambda environ: None)
    monkeypatch.setattr(module, "home_from_wheel", lambda prefix: None)
    environ = {}
    use_archive(environ)
    assert environ == {}


def test_it_goes_with_the_virtual_environment_that_has_this_spark(tmp_path, cache, monkeypatch):
    monkeypatch.delenv("RMQLAB_CACHE")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "environment"))
    assert archive_path(tmp_path).is_relative_to(tmp_path / "environment")
    monkeypatch.setattr("sys.base_prefix", str(tmp_path / "environment"))
    assert not archive_path(tmp_path).is_relative_to(tmp_path)


def test_another_java_has_another_archive(tmp_path, cache):
    homes = [tmp_path / name for name in ("a", "b")]
    for home in homes:
        (home / "lib").mkdir(parents=True)
        (home / "lib" / "modules").write_text("x")
    before = [archive_path(home) for home in homes]
    assert before[0] != before[1]
    assert {path.parent for path in before} == {cache}
    (homes[0] / "lib" / "modules").write_text("an update")
    assert archive_path(homes[0]) != before[0]


def made_at(environ):
    """Where a JVM of this environment would leave the archive."""
    option = environ[SETTING].split()[0]
    return Path(option.removeprefix("-XX:ArchiveClassesAtExit="))


def test_what_cannot_be_made_leaves_nothing_behind(cache, monkeypatch):
    def fails(command, *, env, **_):
        made_at(env).write_text("half")
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(module, "provide_java", lambda environ: Path(environ["JAVA_HOME"]))
    monkeypatch.setattr(subprocess, "run", fails)
    assert make_archive() is None
    assert list(cache.iterdir()) == []
    monkeypatch.setattr(subprocess, "run", lambda command, *, env, **_: made_at(env).write_text("whole"))
    made = make_archive()
    assert made is not None
    assert made.read_text() == "whole"
    assert make_archive() == made
    assert list(cache.iterdir()) == [made]


@pytest.mark.parametrize("there", [True, False])
def test_a_jvm_passes_over_what_is_no_archive_without_a_word(cache, there):
    java = provide_java({"PATH": os.environ["PATH"]})
    if there:
        archive_path(java).write_text("no archive")
    options = archive_options(java)
    assert len(options) == 2
    ran = subprocess.run(
        [java / "bin" / "java", *options, "-XshowSettings:none", "-version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    assert "archive" not in ran.stderr
