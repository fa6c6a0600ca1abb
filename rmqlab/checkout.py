"""The source tree around this package: some verbs need what lies there, and a wheel brings a few of its files."""

from __future__ import annotations

from pathlib import Path

from rmqlab.errors import BadInput

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent


def is_checkout() -> bool:
    """Whether the source tree is there."""
    return (ROOT / "pyproject.toml").is_file()


def folder(name: str) -> Path:
    """Return the folder `name` (data, tests, notebooks) of the source tree.

    Raise `BadInput` if it is not there, as in a package installed without its tree.
    """
    path = ROOT / name
    if not is_checkout() or not path.is_dir():
        raise BadInput(f"this needs {name}/ of the source tree, which a wheel lacks: run it by ./lab of a checkout")
    return path


def carried(name: str) -> Path:
    """Return the path of a file or folder of data/ that a wheel brings too (pyproject.toml lists them)."""
    return (ROOT if is_checkout() else PACKAGE) / "data" / name
