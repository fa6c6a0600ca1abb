"""The source tree around this package, and its data: some verbs need the tree, and a wheel brings what lessons read."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent


def is_checkout() -> bool:
    """Whether the source tree is there."""
    return (ROOT / "pyproject.toml").is_file()


def checkout_path(name: str) -> Path:
    """The folder `name` (data, tests, notebooks) of the source tree.

    Raises:
        BadInput: if it is not there, as in a package installed without its tree.
    """
    path = ROOT / name
    if not is_checkout() or not path.is_dir():
        raise _lacking(name)
    return path


def _lacking(name: str) -> BadInput:
    """The error that a folder of the source tree is not there."""
    return BadInput(
        _("this needs {name}/ of the source tree, which a wheel lacks: run it by ./lab of a checkout", name=name)
    )


@cache
def additions(root: Path = ROOT) -> ModuleType | None:
    """The table of what the source tree adds to the packages, `VERBS` and `PARTS`; None where there is no tree.

    It is found by its place beside the package, and read before anything is installed.
    """
    spec = PathFinder.find_spec("commands", [str(root / "tests" / "proof")])
    if spec is None or spec.loader is None:
        return None
    table = ModuleType(spec.name)
    spec.loader.exec_module(table)
    return table


def part(name: str) -> ModuleType:
    """A module that the source tree has and a wheel lacks, by its name in `PARTS` of that tree's table.

    Raises:
        BadInput: if it is not there.
    """
    table = additions()
    if table is None:
        raise _lacking("tests")
    return import_module(table.PARTS[name])


def data_path(name: str) -> Path:
    """The path of a file or folder of data/ that a wheel brings too (pyproject.toml lists them)."""
    return (ROOT if is_checkout() else PACKAGE) / "data" / name


def lessons() -> Path:
    """The folder of the lessons, with those of tasks and catalogues of words in it; a wheel has it too."""
    return (ROOT if is_checkout() else PACKAGE) / "notebooks"


def data(name: str) -> Path:
    """The path of a recording or a stored result, a file or a folder: the same one from any working folder.

    >>> data("articles/E1.json").name
    'E1.json'

    Raises:
        BadInput: there is none of that name; the text says what there is.
    """
    path = data_path(name)
    if path.exists():
        return path
    near = next(parent for parent in path.parents if parent.is_dir())
    there = sorted(entry.name for entry in near.iterdir())
    missing = path.relative_to(near).parts[0]
    where = near.relative_to(data_path(".").resolve()).as_posix()
    here = "data" if where == "." else f"data/{where}"
    raise BadInput(
        _(
            "no {missing} in {here}{near}",
            missing=f"{missing!r}",
            here=here,
            near=did_you_mean(missing, there) or _("; there are {known}", known=joined(", ", there)),
        )
    )
