"""The page of the reading edition: what `python -m tests.proof.reading` prints in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def write(target: Path, language: str) -> None:
    """Run the eight messages and write the page: the source stays English, as the Chinese page says."""
    command = [sys.executable, "-m", "tests.proof.reading", "--language", language]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout  # noqa: S603
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
