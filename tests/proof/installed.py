"""Environments for a verb alone: a virtual environment with the packages of some extras, and with no others.

They are made of the files that are installed here, linked and not copied: what pip would install for those extras in
the versions that are here. So one is there in a second or two, and asks no registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable

PROJECT = "rmqlab"


def closure(extras: Iterable[str]) -> dict[str, Distribution]:
    """The packages that rmqlab with these extras brings, itself among them, with all that they need in turn.

    Raises:
        PackageNotFoundError: one of them is not installed here.
    """
    packages: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    left = [(PROJECT, extra) for extra in ("", *extras)]
    while left:
        name, extra = left.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        packages[name] = distribution(name)
        for text in packages[name].requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                inner = canonicalize_name(requirement.name)
                left += [(inner, extra_name) for extra_name in ("", *requirement.extras)]
    return packages


def make_environment(folder: Path, extras: Iterable[str]) -> Path:
    """Make the environment in a new folder and return its Python.

    Raises:
        PackageNotFoundError: a package of these extras is not installed here.
    """
    packages = closure(extras)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)  # noqa: S603 - our Python
    here, there = Path(sys.prefix), folder
    for package in packages.values():
        for file in package.files or ():
            source = Path(os.path.normpath(str(file.locate())))
            if source.is_relative_to(here) and source.is_file() and "__pycache__" not in source.parts:
                target = there / source.relative_to(here)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    _link(source, target)
    return folder / "bin" / "python"


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it where the disk is another one."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


def missing(extras: Iterable[str]) -> str | None:
    """The package of these extras that is not installed here, if there is one."""
    try:
        closure(extras)
    except PackageNotFoundError as error:
        return error.name
    return None
