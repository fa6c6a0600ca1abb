"""Machine code of loops that were shipped in a zip: kept by what the loops say, not by where the zip lies.

Each job of a cluster gets the package under a new path, and numba looks for machine code by path: so every Python
worker of every job would compile anew, some ten seconds each, and leave a folder behind.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, Final

_FOLDER: Final = "rmqlab"


def digest_of(archive: str, module: str) -> str:
    """Return a digest of the modules beside `module` (a path inside `archive`): loops call their neighbours."""
    folder = PurePosixPath(module).parent
    with zipfile.ZipFile(archive) as whole:
        found = sorted((one.filename, one.CRC) for one in whole.infolist())
    told = [f"{name} {crc}" for name, crc in found if PurePosixPath(name).parent == folder]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:32]


def keep_compiled() -> None:
    """From now on numba keeps what it compiles from a zip in the user's cache. Harmless where numba cannot."""
    try:
        from numba.core.caching import CacheImpl, ZipCacheLocator
    except ImportError:  # before 0.61 it knew of no zips
        return

    class ShippedCodeLocator(ZipCacheLocator):
        """Where the machine code of a function in a zip is kept."""

        def __init__(self, py_func: Any, py_file: str) -> None:
            super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]
            self._digest = digest_of(self._zip_path, self._internal_path)
            self._cache_path = str(Path(self._cache_path).with_name(f"{_FOLDER}_{self._digest}"))

        def get_source_stamp(self) -> str:
            """What must be the same for the code to be used."""
            return self._digest

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            """Return the place for a function of our package in a zip; None for others, and where nobody may write."""
            if ".zip/rmqlab/" not in py_file:
                return None
            try:
                found = cls(py_func, py_file)
                found.ensure_cache_path()  # type: ignore[no-untyped-call]
            except (OSError, zipfile.BadZipFile):
                return None
            return found

    CacheImpl._locator_classes.insert(0, ShippedCodeLocator)  # noqa: SLF001 - its setting would need every worker's start
