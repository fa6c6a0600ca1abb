"""The verb `notebook`: JupyterLab on the folder notebooks/; also runs notebooks anew and generates the exercises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import folder
from rmqlab.commands.output import text_stream, write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb: those it does not know go to JupyterLab."""
    parser.add_argument("--execute", nargs="+", type=Path, metavar="FILE", help="run these notebooks, write them clean")
    parser.add_argument(
        "--exercises", action="store_true", help="generate notebooks/exercises from notebooks/solutions"
    )
    parser.epilog = "Every other argument goes to JupyterLab: --no-browser, --port 8899, --allow-root, ..."


def run(args: Namespace) -> int:
    """Run JupyterLab until it is stopped and return its exit status; or write notebooks: 0, or 1 if a cell failed.

    The notebooks of this tree are marked as trusted first: who runs its code trusts them too, and JupyterLab shows no
    picture of an untrusted one until it has been run.
    """
    notebooks = folder("notebooks")
    if args.execute or args.exercises:
        return _write(args, notebooks)
    _trust(notebooks)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={notebooks}", *args.rest]
    status = subprocess.call(command)  # noqa: S603 - our own interpreter, arguments of the person at the terminal
    write_json({"command": command[1:], "status": status}, args.json)
    return status


def _write(args: Namespace, notebooks: Path) -> int:
    from nbclient.exceptions import CellExecutionError

    from rmqlab.lessons.notebooks import renew
    from tests.proof.exercises import generate

    written: list[Path] = []
    for path in args.execute or ():
        try:
            renew(path)
        except CellExecutionError as error:
            print(f"{path}: a cell failed, so nothing was written\n{error}", file=sys.stderr)
            return 1
        written.append(path)
    if args.exercises:
        written += generate(notebooks)
    for path in written:
        print(path, file=text_stream(args))
    write_json({"written": [str(path) for path in written]}, args.json)
    return 0


def _trust(notebooks: Path) -> None:
    from nbformat.sign import NotebookNotary

    from rmqlab.lessons.notebooks import read

    notary = NotebookNotary()
    for path in sorted(notebooks.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            notary.sign(read(path))
