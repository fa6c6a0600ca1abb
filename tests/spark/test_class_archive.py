"""The archive of Spark's classes: used where it is, done without where it is not, and never half written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab.spark import class_archive as module
from rmqlab.spark.class_archive import archive_options, archive_path, make_archive, with_archive
from rmqlab.spark.session import provide_java


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of this test's own, and a Java home."""
    monkeypatch.setenv("RMQLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.delenv(module.MAKE, raising=False)
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def test_a_jvm_uses_the_archive_if_there_is_one(cache, monkeypatch):
    java = Path(os.environ["JAVA_HOME"])
    assert archive_options(os.environ) == []
    assert with_archive("-Xmx1g") == "-Xmx1g"
    archive_path(java).touch()
    assert with_archive("-Xmx1g") == f"-Xmx1g -XX:SharedArchiveFile={archive_path(java)} -Xlog:cds*=off"
    assert archive_options({}) == []
    monkeypatch.setenv("RMQLAB_CACHE", f"{cache} two")
    Path(f"{cache} two").mkdir()
    archive_path(java).touch()
    assert archive_options(os.environ) == [], "Spark splits options at spaces"


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


def test_what_cannot_be_made_leaves_nothing_behind(cache, monkeypatch):
    def fails(command, *, env, **_):
        Path(env[module.MAKE]).write_text("half")
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr("rmqlab.spark.session.provide_java", lambda environ: Path(environ["JAVA_HOME"]))
    monkeypatch.setattr(subprocess, "run", fails)
    assert make_archive() is None
    assert list(cache.iterdir()) == []
    monkeypatch.setattr(subprocess, "run", lambda command, *, env, **_: Path(env[module.MAKE]).write_text("whole"))
    made = make_archive()
    assert made is not None
    assert made.read_text() == "whole"
    assert make_archive() == made
    assert list(cache.iterdir()) == [made]


def test_a_jvm_passes_over_what_is_no_archive_without_a_word(tmp_path, cache):
    java = provide_java({"PATH": os.environ["PATH"]})
    archive_path(java).write_text("no archive")
    options = archive_options({"JAVA_HOME": str(java)})
    assert len(options) == 2
    told = subprocess.run(
        [java / "bin" / "java", *options, "-XshowSettings:none", "-version"], capture_output=True, text=True, check=True
    )
    assert told.stdout == ""
    assert "archive" not in told.stderr
