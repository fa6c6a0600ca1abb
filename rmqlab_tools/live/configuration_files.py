"""A broker's files of configuration: broker.conf and plain_acl.yml, read, written anew, watched.

Settings are read as `java.util.Properties` does, the rules of access control as 4.8.0 `AclUtils`, `FileWatchService`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import open_new, read_bytes
from rmqlab.language import _
from rmqlab_tools.live.file_segments import sync_folder

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab_tools.live.extra.plain_access import PlainPermissionManager

logger = logging.getLogger(__name__)

ACL_FILE = "plain_acl.yml"
WATCH_SECONDS = 0.5


def rewrite_properties(path: Path, text: str) -> None:
    """Put other settings into a file; what it held becomes its `.bak`.

    4.8.0 says nothing to whoever changed a setting when its file cannot be written: the change holds, and is logged.
    """
    try:
        string_to_file(path, text.encode())
    except OSError as error:
        logger.warning("%s: a changed setting is in force, but not in its file: %s", path, error.strerror)


def string_to_file(path: Path, data: bytes) -> None:
    """Write a file; what it held becomes its `.bak` (`MixAll.string2File`). At every moment one of the two is whole.

    Raises:
        OSError: the file cannot be written.
    """
    if path.is_file():
        _replace(path.with_name(f"{path.name}.bak"), path.read_bytes())
    _replace(path, data)
    sync_folder(path.parent)


def _replace(path: Path, data: bytes) -> None:
    """Put a file that is on disk in the place of another in one step."""
    temporary = path.with_name(f"{path.name}.tmp")
    with open_new(temporary) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_rules(path: Path) -> object:
    """What the file holds.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    yaml = _yaml()
    try:
        return yaml.safe_load(read_bytes(path).decode())
    except RecursionError:
        raise BadInput(
            _("{path}: lists lie in each other too deep; the rules of access control are wanted", path=path)
        ) from None
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise BadInput(
            _(
                "{path}: {error}; the rules of access control are wanted, as in 4.8.0's {acl_file}",
                path=path,
                error=error,
                acl_file=ACL_FILE,
            )
        ) from error


def rewrite_rules(path: Path, rules: dict[str, Any]) -> None:
    """Put changed rules into their file; what it held becomes its `.bak`. A failure is logged: the change holds."""
    try:
        string_to_file(path, _yaml().safe_dump(rules, sort_keys=False, allow_unicode=True).encode())
    except OSError as error:
        logger.warning("%s: changed rules are in force, but not in their file: %s", path, error.strerror)


async def watch(path: Path, access: PlainPermissionManager) -> None:
    """Take in the rules whenever the file changes; rules that cannot be taken leave those in force."""
    seen = _stamp(path)
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        stamp = _stamp(path)
        if stamp is None or stamp == seen:
            continue
        seen = stamp
        try:
            access.load(read_rules(path))
        except BadInput as error:
            logger.warning("%s: the old rules stay in force: %s", path, error)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ino


def _yaml() -> Any:
    try:
        return import_module("yaml")
    except ImportError as error:
        raise BadInput(_("{acl_file} needs PyYAML: pip install 'rmqlab[acl]'", acl_file=ACL_FILE)) from error
