"""Files of a version: from a git directory at a tag, or from a jar of sources as Maven Central has it."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def files_of_tag(repository: Path, tag: str) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file at a tag of a git directory; raise `BadInput` if there is none."""
    command = ["git", f"--git-dir={repository}", "archive", "--format=tar", tag]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        raise BadInput(f"{repository}: {done.stderr.decode().strip()}; give a git directory that has the tag {tag}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def files_of_jar(jar: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file in a jar of sources."""
    with zipfile.ZipFile(jar) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith("/"):
                yield name, archive.read(name)
