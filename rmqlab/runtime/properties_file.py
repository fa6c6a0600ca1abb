"""Settings files such as broker.conf: read as `java.util.Properties` does, and written anew when a setting changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.message.java_properties import MalformedEscapeError, load_properties

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)


class PropertiesFileError(BadInput):
    """A settings file that cannot be read."""


def read_properties(path: Path) -> dict[str, str]:
    """Return names and values of a settings file, by the rules of `load_properties`. Raises PropertiesFileError."""
    try:
        return load_properties(path.read_bytes())
    except OSError as error:
        raise PropertiesFileError(
            f"{path}: cannot be read ({error.strerror}); give a file of lines name=value"
        ) from error
    except MalformedEscapeError as error:
        raise PropertiesFileError(f"{path}: {error}") from error


def rewrite_properties(path: Path, text: str) -> None:
    """Put other settings into a file; what it held becomes its `.bak` (4.8.0 `MixAll.string2File`).

    4.8.0 says nothing to whoever changed a setting when its file cannot be written: the change holds, and is logged.
    """
    part = path.with_name(f"{path.name}.tmp")
    try:
        if path.is_file():
            path.with_name(f"{path.name}.bak").write_bytes(path.read_bytes())
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        logger.warning("%s: a changed setting is in force, but not in its file: %s", path, error.strerror)
