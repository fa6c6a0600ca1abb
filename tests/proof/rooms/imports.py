"""Which room imports which, as the source says; `tests/test_wall.py` holds what is allowed."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from rmqlab.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGES: Final = ("rmqlab", "rmqlab_tools")
MODULES: Final = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
ROOMS: Final = frozenset(path.parent.name for package in PACKAGES for path in (ROOT / package).glob("*/__init__.py"))
# An exploration draws itself when it is asked for that: inside functions, and for annotations, it looks up to `show`.
LOOKS_UP: Final = {"rmqlab_tools/search/explorer/exploration.py"}


def name_of(path: Path) -> str:
    """A module's path in the tree."""
    return path.relative_to(ROOT).as_posix()


@cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Every import of a module, those for annotations and inside functions included: line and dotted name.

    Raises:
        ValueError: an import is relative.
    """
    return tuple(_imports_of(path))


def _imports_of(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in tree.body if name_of(path) in LOOKS_UP else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                raise ValueError(f"{path}:{node.lineno}: imports are absolute here")
            if node.module in PACKAGES:
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module


def room_of(name: str) -> str | None:
    """The room of a dotted name, or of a module's path; None beside the rooms."""
    _, room, *_ = [*re.split(r"[./]", name), ""]
    return room if room in ROOMS else None


@cache
def graph() -> dict[str, set[str]]:
    """Each room to the rooms that it imports."""
    arrows: dict[str, set[str]] = {room: set() for room in ROOMS}
    for path in MODULES:
        room = room_of(name_of(path))
        for _, name in imports_of(path) if room else ():
            target = room_of(name) if name.partition(".")[0] in PACKAGES else None
            if room and target and target != room:
                arrows[room].add(target)
    return arrows


def package_of(room: str) -> str:
    """The package that a room is in."""
    return next(package for package in PACKAGES if (ROOT / package / room).is_dir())


def below(arrows: dict[str, set[str]], room: str) -> set[str]:
    """All rooms that a room needs, directly or by others."""
    return {deeper for target in arrows[room] for deeper in {target} | below(arrows, target)}


def essential(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that do not follow from others: a room that needs `store` needs what `store` needs."""
    return {
        room: {
            target
            for target in targets
            if not any(target in below(arrows, other) for other in targets if other != target)
        }
        for room, targets in arrows.items()
    }
