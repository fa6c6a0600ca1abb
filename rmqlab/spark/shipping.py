"""This package in a zip, for workers of a cluster that do not have it installed."""

from __future__ import annotations

import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE: Final = Path(__file__).resolve().parent.parent
ARCHIVE: Final = "rmqlab.zip"


def package_archive(folder: Path) -> Path:
    """Write this package's modules and views into `folder`/rmqlab.zip and return its path."""
    path = folder / ARCHIVE
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.sql")]):
            archive.write(module, module.relative_to(PACKAGE.parent))
    return path


def ship(session: SparkSession) -> None:
    """Give the workers of a cluster this package.

    Over Connect it is sent at once. A driver of its own hands the file out while it runs: executors start when they
    like, and each fetches it then.
    """
    session.addArtifacts(str(Path(_shipped().name) / ARCHIVE), pyfile=True)


@cache
def _shipped() -> tempfile.TemporaryDirectory[str]:
    """The folder of the archive: there is one driver in a process, and it lives as long as that."""
    folder = tempfile.TemporaryDirectory(prefix="rmqlab-ship-")
    package_archive(Path(folder.name))
    return folder
