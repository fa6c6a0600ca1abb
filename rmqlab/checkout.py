"""The source tree around this package: verbs that read data, tests or notebooks need it."""

from __future__ import annotations

from pathlib import Path

from rmqlab.errors import BadInput

ROOT = Path(__file__).resolve().parent.parent


class NotACheckout(BadInput):
    """The package runs without the source tree that belongs to it."""


def folder(name: str) -> Path:
    """Return the folder `name` (data, tests, notebooks) of the source tree.

    Raise `NotACheckout` if it is not there, as in a package installed without its tree.
    """
    path = ROOT / name
    if not path.is_dir():
        raise NotACheckout(f"no folder {name}/ in {ROOT}: run this from a clone of the repository, with ./lab")
    return path
