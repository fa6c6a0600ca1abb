"""Which packages of this installation are missing, how to get them, and how a lesson gets them by itself."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab_tools.java_runtime import find_java, home_from_wheel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""; extra == ["']([\w-]+)["']$""")  # further conditions mean: not everywhere
_JAVA = "java"
_RUNNING: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}  # what is being installed, and what it says


def require(*extras: str) -> None:
    """Raise `BadInput` if a package that pyproject.toml lists for these extras is missing."""
    for extra in extras:
        _finish(extra)
        missing = [name for name in _packages(extra) if not _is_there(name)]
        if missing:
            raise BadInput(advice(missing, extra))


def need(extra: str, *, wait: bool = False) -> None:
    """Install what an extra needs into this environment, beside what goes on, and say so in a line.

    What is there is not installed again. Whatever asks for those packages later waits for them: `rmqlab.spark()` does,
    and so does this function with `wait`. In an environment that `./lab` made it is `./lab --install` that does it, in
    the pinned versions, elsewhere pip. The extra `spark` brings a Java along where the machine has none.

    >>> need("acl")
    The packages of acl are here.

    Raises:
        BadInput: there is no such extra, nothing here can install it, or what was waited for failed.
    """
    if sys.platform == "emscripten":
        _tell(_("The packages of {extra} cannot be installed in a browser.", extra=extra))
        return
    known = _extras()
    if known and extra not in known:
        raise BadInput(
            _(
                "no extra {extra}{near}",
                extra=f"{extra!r}",
                near=did_you_mean(extra, known) or _("; there are {known}", known=joined(", ", known)),
            )
        )
    wanted = [extra] if any(not _is_there(name) for name in _packages(extra)) else []
    if extra == "spark" and "JAVA_HOME" not in os.environ and not _has_java():
        wanted.append(_JAVA)
    if not wanted and not wait:
        _tell(_("The packages of {extra} are here.", extra=extra))
    elif wanted and extra not in _RUNNING:
        _RUNNING[extra] = _start(wanted)
        _tell(_("The packages of {extra} are being installed. Read on: a cell that needs them waits.", extra=extra))
    if wait:
        _finish(extra)


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _by_lab() -> bool:
    """Whether `./lab` made this environment; then it installs further extras there."""
    return (Path(sys.prefix) / "lab-stamp").is_file()


def _has_java() -> bool:
    return find_java(os.environ) is not None or home_from_wheel(Path(sys.prefix)) is not None


def _start(extras: list[str]) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Begin to install the extras, in a process of its own."""
    if _by_lab():
        command = [sys.executable, str(ROOT / "lab"), "--install", *extras]
    elif find_spec("pip") is not None:
        packages = [text for extra in extras for text in _requirements(extra)]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    else:
        raise BadInput(
            _(
                "this Python has no pip: install rmqlab[{extras}] with what made it ({prefix})",
                extras=",".join(extras),
                prefix=sys.prefix,
            )
        )
    said = tempfile.TemporaryFile()  # noqa: SIM115 - open until the process has ended
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # noqa: S603 - our own tools
    return process, said


def _finish(extra: str) -> None:
    """Wait for an installation that `need` began.

    Raises:
        BadInput: it failed; the text has its last line.
    """
    if extra not in _RUNNING:
        return
    process, said = _RUNNING[extra]
    process.wait()
    del _RUNNING[extra]
    importlib.invalidate_caches()
    with said:
        said.seek(0)
        lines = said.read().decode(errors="replace").split("\n")
    if process.returncode:
        why = next(
            (line.strip() for line in reversed(lines) if line.strip()),
            _("status {returncode}", returncode=process.returncode),
        )
        raise BadInput(_("the packages of {extra} could not be installed: {why}", extra=extra, why=why))


def advice(missing: Iterable[str], extra: str = "") -> str:
    """Say how to get these packages, those of an extra or of the core."""
    names = joined(", ", missing)
    if _by_lab():
        if extra:
            return _(
                "missing from {prefix}: {names}; ./lab --install {extra} brings them",
                prefix=sys.prefix,
                names=names,
                extra=extra,
            )
        return _(
            "missing from {prefix}: {names}; delete that folder, and the next ./lab makes it anew",
            prefix=sys.prefix,
            names=names,
        )
    what = f"rmqlab[{extra}]" if extra else "rmqlab"
    return _("the packages of {what} are needed: pip install '{what}' (missing here: {names})", what=what, names=names)


def _packages(extra: str) -> Iterator[str]:
    """The names of what an extra lists."""
    for text in _requirements(extra):
        name = _NAME.match(text)
        if name and name[0] != "rmqlab":
            yield name[0]


def _requirements(extra: str) -> Iterator[str]:
    """What the installed rmqlab lists; nothing if it is not installed but lies on the path, as on a cluster."""
    try:
        listed = requires("rmqlab") or []
    except PackageNotFoundError:
        return
    for text in listed:
        condition = _EXTRA.search(text)
        if condition and condition[1] == extra:
            yield text[: condition.start()]


def _extras() -> list[str]:
    """The extras of the installed rmqlab."""
    try:
        return distribution("rmqlab").metadata.get_all("Provides-Extra") or []
    except PackageNotFoundError:
        return []


_MODULES = {"ipython": "IPython", "pyyaml": "yaml", "prometheus-client": "prometheus_client"}
"""Modules of packages whose name is another one."""


def _is_there(name: str) -> bool:
    """Whether a package is installed, or lies on the path as PySpark does under spark-submit."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return find_spec(_MODULES.get(name, name.replace("-", "_"))) is not None
    return True
