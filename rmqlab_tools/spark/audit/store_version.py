"""Which version wrote a store, as far as the form of its `config/` shows it: nothing is said without evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.language import _, joined
from rmqlab.message.java import to_utf8
from rmqlab.protocol import fastjson
from rmqlab.protocol.wire import ANY_CONFIG, ConfigMark
from rmqlab.rules import DEFAULT_RULES, RULES
from rmqlab_tools.live.config_load import load_config
from rmqlab_tools.spark.files.addresses import StorePath, store_path
from rmqlab_tools.spark.files.stored_files import read_bytes

if TYPE_CHECKING:
    from rmqlab.rules import Rules

# Files that every broker writes, and those of whose fields it depends on the version whether they are there.
_FILES: Final = ("consumerOffset.json", "topics.json", "subscriptionGroup.json")


class WrittenBy(NamedTuple):
    """The versions, of those with rules, whose form a store has; `marks` are the fields that show it, with their file.

    Without marks nothing is known, and no version is named: tools and this project write the oldest form too.
    """

    versions: tuple[str, ...]
    marks: tuple[str, ...]

    def says(self) -> str:
        """A sentence, empty where nothing is known."""
        if not self.versions:
            return ""
        versions = joined(_(" or "), self.versions)
        return _("{versions} wrote this store: {marks}.", versions=versions, marks=joined(", ", self.marks))

    def rules(self) -> Rules:
        """The rules of the newest of `versions`, the usual ones where nothing is known."""
        return RULES[self.versions[-1]] if self.versions else DEFAULT_RULES


UNKNOWN_WRITER: Final = WrittenBy((), ())


def written_by(root: str | StorePath) -> WrittenBy:
    """Look at the fields of the files in `config/` (5.5.0 `ConsumerOffsetManager`, 5.3.3 `DataVersion`).

    A store whose files are of a version that no rules are known of has the form of the one nearest to it.
    """
    files = {name: _fields(store_path(root) / "config" / name) for name in _FILES}
    read = {name: fields for name, fields in files.items() if fields}
    marks = sorted({mark for rules in RULES.values() for mark in rules.wire.config_marks})
    seen = {mark for mark in marks if _place(mark, read)}
    if not seen:
        return UNKNOWN_WRITER
    # What stands in a file that cannot be read may be there or not.
    open_marks = {mark for mark in marks if mark.file not in {ANY_CONFIG, *read}}
    versions = tuple(
        version
        for version, rules in RULES.items()
        if seen <= set(rules.wire.config_marks) and set(rules.wire.config_marks) - seen <= open_marks
    )
    return WrittenBy(versions, tuple(f"{mark.field} in config/{_place(mark, read)}" for mark in sorted(seen)))


def _fields(path: StorePath) -> set[str]:
    """The names of a file's fields, and of those of its `dataVersion`; none of a file that cannot be read."""
    value: Any = load_config(path, lambda text: fastjson.read(to_utf8(text)), read_bytes).value
    if not isinstance(value, dict):
        return set()
    version = value.get("dataVersion")
    return {str(name) for name in (*value, *(version if isinstance(version, dict) else ()))}


def _place(mark: ConfigMark, read: dict[str, set[str]]) -> str:
    """The file in which a field is, "" if it is in none of its own."""
    return next((name for name, fields in read.items() if mark.file in {ANY_CONFIG, name} and mark.field in fields), "")
