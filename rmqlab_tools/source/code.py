"""The code of a code base: files as units, read when they are asked for, and types found by their names."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab_tools.source.bean_settings import Beans
from rmqlab_tools.source.files import CODE
from rmqlab_tools.source.go import read_go
from rmqlab_tools.source.java import read_java
from rmqlab_tools.source.kotlin import read_kotlin
from rmqlab_tools.source.python import read_python
from rmqlab_tools.source.syntax import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.files import Files, SourceFile
    from rmqlab_tools.source.terms import TypeOfCode, Unit

_DECLARED: Final = re.compile(r"\b(?:class|interface|enum|object|record)\s+(\w+)")
_READERS: Final = {"java": read_java, "kotlin": read_kotlin, "go": read_go, "python": read_python}
JVM: Final = (".java", ".kt", ".kts")


class Code:
    """Units by file, and types by name. A file is parsed once, and only if something in it is wanted."""

    def __init__(self, files: Files) -> None:
        """`files` gives the texts, and takes what is said of a file that cannot be parsed."""
        self.files = files
        self.beans = Beans(files)
        self._units: dict[str, Unit | None] = {}

    def unit(self, file: SourceFile) -> Unit | None:
        """A file as terms; None where it cannot be read."""
        if file.shown not in self._units:
            self._units[file.shown] = self._parse(file)
        return self._units[file.shown]

    @property
    def known_units(self) -> list[Unit]:
        """The units that were read so far."""
        return [unit for unit in self._units.values() if unit is not None]

    def _parse(self, file: SourceFile) -> Unit | None:
        source = self.files.text(file)
        if source is None:
            return None
        try:
            return _READERS[LANGUAGES[file.suffix]](source, file.shown)
        except RecursionError:
            self.files.troubles.append((file.shown, _("is not read: what it says is nested too deep")))
            return None

    def with_words(self, words: re.Pattern[str], *suffixes: str) -> Iterator[tuple[SourceFile, Unit]]:
        """The units of files in whose text a pattern is found."""
        for file in self.files.of(*(suffixes or CODE)):
            text = self.files.text(file)
            if text is not None and words.search(text):
                unit = self.unit(file)
                if unit is not None:
                    yield file, unit

    @cached_property
    def _declaring(self) -> dict[str, list[SourceFile]]:
        """Files of the JVM's languages by the names of types that they declare."""
        by_name: defaultdict[str, list[SourceFile]] = defaultdict(list)
        for file in self.files.of(*JVM):
            for name in dict.fromkeys(_DECLARED.findall(self.files.text(file) or "")):
                by_name[name].append(file)
        return by_name

    def type_named(self, parts: tuple[str, ...], unit: Unit, around: str = "") -> tuple[Unit, TypeOfCode] | None:
        """The type that a name means in a unit, inside a type `around`; None where no source has it."""
        written = ".".join(parts)
        while around:
            if f"{around}.{written}" in unit.types:
                return unit, unit.types[f"{around}.{written}"]
            around = around.rpartition(".")[0]
        if written in unit.types and written:
            return unit, unit.types[written]
        head, *rest = parts
        full = ".".join((unit.imports[head], *rest)) if head in unit.imports else written
        candidates = [
            (other, other.types[inner])
            for other in self._units_declaring(full)
            for inner in other.types
            if inner and _means(full, other, inner, unit)
        ]
        if not candidates:
            return None
        # of two that are called alike, as in modules that are copies of each other, the nearest is meant
        return max(candidates, key=lambda candidate: _shared(candidate[0].file, unit.file))

    def _units_declaring(self, name: str) -> Iterator[Unit]:
        for file in self._declaring.get(name.rpartition(".")[2], ()):
            unit = self.unit(file)
            if unit is not None:
                yield unit

    def siblings(self, unit: Unit, suffix: str) -> Iterator[Unit]:
        """The units of the same folder: a package of Go is all of them."""
        yield from self.in_folder(unit.file.rpartition("/")[0], suffix)

    def in_folder(self, folder: str, suffix: str) -> Iterator[Unit]:
        """The units of a folder."""
        for file in self._folders.get((folder, suffix), ()):
            unit = self.unit(file)
            if unit is not None:
                yield unit

    @cached_property
    def _folders(self) -> dict[tuple[str, str], list[SourceFile]]:
        by_folder: defaultdict[tuple[str, str], list[SourceFile]] = defaultdict(list)
        for file in self.files.of(*CODE):
            by_folder[file.shown.rpartition("/")[0], file.suffix].append(file)
        return by_folder

    def declaring_outside(self, name: str) -> Iterator[Unit]:
        """Files of Kotlin that declare a name outside of all types."""
        for file in self.files.of(".kt", ".kts"):
            if re.search(rf"\b(?:va[lr]|fun)\s+{re.escape(name)}\b", self.files.text(file) or ""):
                unit = self.unit(file)
                if unit is not None and "" in unit.types and name in unit.types[""].fields:
                    yield unit

    def python_module(self, name: str, unit: Unit) -> Unit | None:
        """The module of Python that an import of a unit means: beside it, or in a folder around it."""
        path = name.strip(".").replace(".", "/")
        folder = unit.file.rpartition("/")[0]
        for _level in range(len(name) - len(name.lstrip(".")) - 1):
            folder = folder.rpartition("/")[0]
        while path:
            for end in (".py", "/__init__.py"):
                file = self._by_name.get(f"{folder}/{path}{end}" if folder else f"{path}{end}")
                if file is not None:
                    return self.unit(file)
            if not folder or name.startswith("."):
                return None
            folder = folder.rpartition("/")[0]
        return None

    @cached_property
    def _by_name(self) -> dict[str, SourceFile]:
        return {file.shown: file for file in self.files.of(".py")}

    def folders(self, suffix: str) -> Iterator[str]:
        """The folders with files whose names end so."""
        return (folder for folder, end in self._folders if end == suffix)


def _shared(first: str, second: str) -> int:
    """How many folders two paths have in common, from the left."""
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), len(first))


def _means(full: str, other: Unit, inner: str, unit: Unit) -> bool:
    """Whether a name, full as far as its imports say, means a type of another unit."""
    qualified = f"{other.package}.{inner}" if other.package else inner
    if full == qualified:
        return True
    in_reach = other.package == unit.package or any(
        qualified.rpartition(".")[0] == wildcard or other.package == wildcard for wildcard in unit.wildcards
    )
    return in_reach and (full == inner or qualified.endswith(f".{full}"))
