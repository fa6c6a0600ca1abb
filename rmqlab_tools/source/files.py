"""The files of a code base: which are read, in which encoding, and what is said of those that cannot be.

Links to folders are not followed, so a loop of them ends nothing; a file is read once, by whatever names it is found.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.files import is_dir, is_file, open_regular, seen
from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE: Final = frozenset({".java", ".kt", ".kts", ".go", ".py"})
YAML: Final = frozenset({".yml", ".yaml"})
READ: Final = CODE | YAML | {".properties", ".xml"}
"""Ends of the names of files that are read."""
PASSED_OVER: Final = frozenset({
    "build", "dist", "node_modules", "out", "site-packages", "target", "third_party", "vendor", "venv", "__pycache__",
})  # fmt: skip
"""Folders of what tools and others made; so is each whose name begins with a dot."""
TEST_FOLDERS: Final = frozenset({"androidTest", "integrationTest", "test", "testFixtures", "testing", "tests"})
_OF_PACKAGES: Final = re.compile(
    r"(?:^|/)src/(?:(?!test|androidTest|integrationTest)\w+/(?:java|kotlin|resources)|com|org|cn|io|net)(?:/|$)"
)
"""Folders below which a folder is a package: `src/main/java/org/test` holds no tests."""
MOST_BYTES: Final = 4 << 20
"""Bytes of a source; what holds more was written by no person."""
MOST_FILES: Final = 200_000
"""Files of all sources together."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: where it lies, and its name from where the reader stands."""

    path: Path
    shown: str

    @property
    def suffix(self) -> str:
        """The end of its name, in small letters."""
        return self.path.suffix.lower()


@dataclass(slots=True)
class Files:
    """The files of one or more sources, and a line for each that could not be read.

    `tests`: files of tests that were left out.
    """

    files: list[SourceFile] = field(default_factory=list)
    troubles: list[tuple[str, str]] = field(default_factory=list)
    tests: int = 0
    _texts: dict[Path, str | None] = field(default_factory=dict)
    _known: set[tuple[int, int]] = field(default_factory=set)

    def of(self, *suffixes: str) -> Iterator[SourceFile]:
        """Those whose names end so."""
        return (file for file in self.files if file.suffix in suffixes)

    def text(self, file: SourceFile) -> str | None:
        """What a file says; None of one that cannot be read, which is noted once."""
        if file.path not in self._texts:
            self._texts[file.path] = self._read(file)
        return self._texts[file.path]

    def _read(self, file: SourceFile) -> str | None:
        try:
            with open_regular(file.path) as stream:
                data = stream.read(MOST_BYTES + 1)
        except OSError as error:
            self._closed(error, file.shown)
            return None
        if len(data) > MOST_BYTES:
            most = f"{MOST_BYTES:,}"
            self.troubles.append((file.shown, _("is not read: it has more than {most} bytes", most=most)))
            return None
        text = decoded(data)
        if text is None:
            self.troubles.append((file.shown, _("is not read: it is no text")))
        return text

    def add(self, source: Path, *, tests: bool) -> None:
        """Take a file, or a folder with what lies in it.

        Raises:
            BadInput: there is no such path, or it is a folder that may not be read.
        """
        if seen(source) is None:
            raise BadInput(_("{path}: there is no such file or folder; give the folder of a code base", path=source))
        if not is_dir(source):
            self._take(source)
            return
        if not os.access(source, os.R_OK | os.X_OK):
            raise BadInput(_("{path}: this folder may not be read; give one that may", path=source))
        for folder, inner, names in os.walk(source, onerror=self._closed):
            here = Path(folder)
            inner[:] = sorted(name for name in inner if not _passed_over(name))
            if not tests and not _OF_PACKAGES.search(here.as_posix()):
                self.tests += sum(
                    1 for name in inner if name in TEST_FOLDERS for each in (here / name).rglob("*") if _is_code(each)
                )
                inner[:] = [name for name in inner if name not in TEST_FOLDERS]
            for name in sorted(names):
                if Path(name).suffix.lower() in READ:
                    if not tests and _is_test(name):
                        self.tests += 1
                    else:
                        self._take(here / name)
            if len(self.files) > MOST_FILES:
                most = f"{MOST_FILES:,}"
                raise BadInput(_("{path}: more than {most} files; give a folder in it", path=source, most=most))

    def _closed(self, error: OSError, shown: str = "") -> None:
        """A file, or a folder in a source, that may not be read: what lies in it is missing."""
        reason = error.strerror or error
        self.troubles.append((shown or Path(error.filename).as_posix(), _("cannot be read ({reason})", reason=reason)))

    def _take(self, path: Path) -> None:
        shown = path.as_posix()
        try:
            about = seen(path)
        except BadInput as error:  # a link to itself; a folder on its way that may not be entered
            reason = getattr(error.__cause__, "strerror", None) or str(error)
            self.troubles.append((shown, _("cannot be read ({reason})", reason=reason)))
            return
        if about is None or not stat.S_ISREG(about.st_mode):
            return  # a link that leads nowhere, a pipe
        if (about.st_dev, about.st_ino) not in self._known:
            self._known.add((about.st_dev, about.st_ino))
            self.files.append(SourceFile(path, shown))


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name in PASSED_OVER


def _is_code(path: Path) -> bool:
    return path.suffix.lower() in READ and is_file(path)


def _is_test(name: str) -> bool:
    return name.endswith("_test.go") or name == "conftest.py" or (name.startswith("test_") and name.endswith(".py"))


def decoded(data: bytes) -> str | None:
    """The text of bytes: UTF-8, UTF-16 by its mark, GB18030 (of which GBK is a part), else ISO 8859-1; None of no text.

    >>> decoded("订单".encode("gbk"))
    '订单'
    """
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def module_of(path: str) -> str:
    """The folder of the application that a file belongs to: what stands before `/src/`, else its own folder.

    >>> module_of("shop/orders/src/main/java/a/B.java"), module_of("shop/config/application.yml")
    ('shop/orders', 'shop')
    """
    *folder, _name = path.replace("\\", "/").split("/")
    sources = [place for place, name in enumerate(folder) if name == "src"]
    if sources:
        of_build = [place for place in sources if folder[place + 1 : place + 2] in (["main"], ["test"])]
        return "/".join(folder[: (of_build or sources)[-1]]) or "."
    return "/".join(folder[:-1] if folder and folder[-1] == "config" else folder) or "."
