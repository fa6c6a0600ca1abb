"""How a broker takes in a file of `config/`: the file, else its `.bak`, else nothing (4.8.0 `ConfigManager.load`)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar

from rmqlab.files import read_bytes
from rmqlab.language import N_, _
from rmqlab.message.java import to_utf8
from rmqlab.protocol import fastjson
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.wire import lenient_json

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class FilePath(Protocol):
    """What names a file: a `Path`, or what is like one."""

    @property
    def name(self) -> str:
        """The last part."""
        ...

    def with_name(self, name: str, /) -> Self:
        """What lies beside it."""
        ...


class FileState(StrEnum):
    """What is wrong with a file, if anything is."""

    GOOD = "good"
    MISSING = "missing"
    EMPTY = N_("empty")
    DAMAGED = "damaged"


class ConfigFile(NamedTuple):
    """A file of `config/`, and where it is damaged: line and column from 1, the bytes before it, and how."""

    path: Any  # a `FilePath`
    state: FileState
    line: int = 0
    column: int = 0
    offset: int = 0
    reason: str = ""

    def says(self) -> str:
        """The file and its state, in words."""
        name = self.path.name
        if self.state is not FileState.DAMAGED:
            return _(_STATES[self.state], name=name)
        reason = _(_DAMAGE.get(self.reason, "{reason}"), reason=self.reason)
        if not self.line:
            return _("{name} is damaged: {reason}", name=name, reason=reason)
        place = {"line": self.line, "column": self.column}
        return _("{name} is damaged at line {line}, column {column}: {reason}", name=name, reason=reason, **place)


_STATES = {
    FileState.GOOD: N_("{name} is whole"),
    FileState.MISSING: N_("{name} is missing"),
    FileState.EMPTY: N_("{name} is empty"),
}
_DAMAGE = {
    lenient_json.Damage.ZEROS.value: N_("nothing but zero bytes"),
    lenient_json.Damage.CUT.value: N_("it ends in the middle"),
    lenient_json.Damage.MORE.value: N_("more text stands behind its end"),
    lenient_json.Damage.OTHER.value: N_("no JSON"),
}


class ConfigLoad(NamedTuple, Generic[T]):
    """What a broker has of a table after its start.

    `value` is None where it begins with an empty table. `backup` was looked at only where `file` is not good.
    """

    value: T | None
    file: ConfigFile
    backup: ConfigFile | None = None

    @property
    def starts(self) -> bool:
        """Whether 4.8.0 starts: it does not when the file is no use and its `.bak` is damaged."""
        return self.backup is None or self.backup.state is not FileState.DAMAGED

    @property
    def from_backup(self) -> bool:
        """Whether the `.bak` was taken."""
        return self.backup is not None and self.backup.state is FileState.GOOD

    @property
    def is_lost(self) -> bool:
        """Whether there was a table that cannot be read any more."""
        states = {self.file.state} | ({self.backup.state} if self.backup else set())
        return FileState.GOOD not in states and states != {FileState.MISSING}

    def says(self) -> str:
        """What is wrong, and what 4.8.0 makes of it; nothing where all is well, or where no file was ever written."""
        if self.backup is None or (self.file.state is FileState.MISSING and not (self.from_backup or self.is_lost)):
            return ""
        file, backup = self.file.says(), self.backup.says()
        if self.from_backup:
            name = self.backup.path.name
            return _("{file}; 4.8.0 takes {name} instead, which is older", file=file, name=name)
        if self.starts:
            return _("{file}, and {backup}: 4.8.0 starts with an empty table", file=file, backup=backup)
        return _("{file}, and {backup}: 4.8.0 does not start", file=file, backup=backup)


def load_config(path: FilePath, decode: Callable[[str], T], read: Callable[[Any], bytes] = read_bytes) -> ConfigLoad[T]:
    """Take in a table's file, or its `.bak` when it is missing, empty or damaged; `decode` refuses with `FrameError`.

    A text that is blank, `null` or `[]` is no damage and changes nothing. Bytes that are no UTF-8 are none either: Java
    puts U+FFFD in their place. Example::

        load_config(store / "config" / "consumerOffset.json", json.loads).says()

    Source: `ConfigManager.load`, `loadBak`, `MixAll.file2String`; each kind of damage was tried on the jar of 4.8.0. A
    comma that is missing or doubled is judged otherwise here.
    """
    file, value = _read(path, decode, read)
    if file.state is FileState.GOOD:
        return ConfigLoad(value, file)
    backup, value = _read(path.with_name(f"{path.name}.bak"), decode, read)
    return ConfigLoad(value, file, backup)


def _read(path: FilePath, decode: Callable[[str], T], read: Callable[[Any], bytes]) -> tuple[ConfigFile, T | None]:
    try:
        data = read(path)
    except FileNotFoundError:
        return ConfigFile(path, FileState.MISSING), None
    except OSError as error:
        return ConfigFile(path, FileState.DAMAGED, reason=error.strerror or str(error)), None
    return check_config(path, data, decode)


def check_config(path: FilePath, data: bytes, decode: Callable[[str], T]) -> tuple[ConfigFile, T | None]:
    """What a file with these bytes is worth, and its table; nothing is read from `path`."""
    if not data:
        return ConfigFile(path, FileState.EMPTY), None
    text = data.decode("utf-8", "replace")
    try:
        value: Any = lenient_json.read_file_text(text)
        if value is None or value == []:
            return ConfigFile(path, FileState.GOOD), None
        return ConfigFile(path, FileState.GOOD), decode(fastjson.text(value))
    except lenient_json.TextDamage as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return ConfigFile(path, FileState.DAMAGED, line, column, len(to_utf8(before)), error.damage.value), None
    except (FrameError, ValueError) as error:
        return ConfigFile(path, FileState.DAMAGED, reason=str(error)), None
