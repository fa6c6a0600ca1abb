"""A file that is written whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; it takes the place of `path` when all went well, else it is removed.

    Readers see the old file until the new one is complete. Its name begins with a dot: Parquet's readers pass it over.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
