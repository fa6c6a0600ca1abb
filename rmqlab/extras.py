"""Which packages of this installation are missing, and how to get them."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""; extra == ["']([\w-]+)["']$""")  # further conditions mean: not everywhere


def require(*extras: str) -> None:
    """Raise `BadInput` if a package that pyproject.toml lists for these extras is missing."""
    for extra in extras:
        missing = [name for name in _packages(extra) if not _is_there(name)]
        if missing:
            raise BadInput(advice(missing, extra))


def advice(missing: Iterable[str], extra: str = "") -> str:
    """Say how to get these packages, those of an extra or of the core."""
    names = ", ".join(missing)
    if (Path(sys.prefix) / "lab-stamp").is_file():
        return f"missing from {sys.prefix}: {names}; delete that folder, and the next ./lab makes it anew"
    what = f"rmqlab[{extra}]" if extra else "rmqlab"
    return f"the packages of {what} are needed: pip install '{what}' (missing here: {names})"


def _packages(extra: str) -> Iterator[str]:
    """The names that the installed rmqlab lists; none if it is not installed but lies on the path, as on a cluster."""
    try:
        listed = requires("rmqlab") or []
    except PackageNotFoundError:
        return
    for text in listed:
        condition = _EXTRA.search(text)
        if condition and condition[1] == extra:
            name = _NAME.match(text)
            if name and name[0] != "rmqlab":
                yield name[0]


def _is_there(name: str) -> bool:
    """Whether a package is installed, or lies on the path as PySpark does under spark-submit."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return find_spec(name.replace("-", "_")) is not None
    return True
