"""The verb `notebook`: JupyterLab on a learner's copy of the lessons; also runs notebooks anew and makes exercises."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from rmqlab.checkout import checkout_path, is_checkout, lessons, part
from rmqlab.errors import BadInput
from rmqlab.language import LANGUAGES, SETTING, _, language
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import Printer, printer
from rmqlab_tools.course.learner_copy import (
    COPY_FOLDER,
    first_to_open,
    folder_in,
    install_kernels,
    learner_folder,
    make_copy,
)
from rmqlab_tools.processes import run_until_ended

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PASSES_ON = True
# JupyterLab fetches no news, nor does it look for a newer version of itself; `_no_question` keeps it from asking.
QUIET = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb: those it does not know go to JupyterLab."""
    parser.add_argument(
        "--folder",
        default=COPY_FOLDER,
        metavar="DIR",
        help=_("of your copy ({folder}; in a checkout beside notebooks/)", folder=COPY_FOLDER),
    )
    parser.add_argument(
        "--copy", nargs="?", const="", metavar="DIR", help=_("make your copy and its kernels, and open nothing")
    )
    parser.add_argument(
        "--read", action="store_true", help=_("open the lessons as they ran, in notebooks/, to read them")
    )
    parser.add_argument(
        "--execute", nargs="+", type=Path, metavar="FILE", help=_("of a checkout: run these, write them clean")
    )
    parser.add_argument(
        "--exercises",
        action="store_true",
        help=_("in a checkout: generate notebooks/exercises from notebooks/solutions"),
    )
    parser.epilog = _(
        "Your copy, {folder}/, has no outputs and asks for a guess first; what you have there is never written over.\n"
        "Lesson 01 opens until you have run a cell of it, and from then on the list of lessons, 00_index.ipynb.\n"
        "Every other argument goes to JupyterLab: --no-browser, --port 8899, --allow-root, ...",
        folder=COPY_FOLDER,
    )


def run(args: Namespace) -> int:
    """Run JupyterLab until it is stopped and return its exit status; or write notebooks: 0, or 1 if a cell failed.

    The notebooks that it opens are marked as trusted first: who runs this code trusts them too, and JupyterLab shows no
    picture of an untrusted one until it has been run. Its root is the folder around them, with the copies in all
    languages. The list of files is folded at first, so that pictures have the whole width of a window of 1280 pixels.
    """
    if args.execute or args.exercises:
        return _write(args, checkout_path("notebooks"))
    notebooks = lessons()
    opened = next(iter(sorted(notebooks.glob("*.ipynb"))), notebooks) if args.read else _copy(args, notebooks)
    if args.copy is not None:
        write_json({"copy": str(opened.parent)}, args.json)
        return 0
    _trust(opened.parent)
    _no_question()
    root = opened.parent.parent
    command = [
        sys.executable, "-P", "-m", "jupyterlab", f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{quote(opened.relative_to(root).as_posix())}",
        f"--LabApp.workspaces_dir={_workspaces(Path(sys.prefix))}", *QUIET, *args.rest,
    ]  # fmt: skip
    with _archive():
        status = run_until_ended(command, without=SETTING)  # each copy's kernel knows its language
    write_json({"command": command[1:], "status": status}, args.json)
    return status


def _archive() -> AbstractContextManager[None]:
    """Make the archive of Spark's classes meanwhile, in a checkout with Spark."""
    if not is_checkout() or find_spec("pyspark") is None:
        return nullcontext()
    made: AbstractContextManager[None] = part("class_archive").made_meanwhile("class_archive")
    return made


def _copy(args: Namespace, notebooks: Path) -> Path:
    """Make the copies of all languages and their kernels; return what to open first in the reader's language."""
    first = language()
    around = notebooks.parent if is_checkout() and not args.copy else Path.cwd()
    folders = {
        of_copy: folder_in(of_copy, learner_folder(around, args.copy or args.folder))
        for of_copy in sorted(LANGUAGES, key=first.__ne__)
    }
    for of_copy, folder_of in folders.items():
        mine = learner_folder(folder_of.parent, folder_of.name)
        try:
            copied = make_copy(notebooks, mine, of_copy)
            _trust(copied.folder)
        except BadInput as error:  # a file of the learner's that is broken
            raise BadInput(_("{error}; rename it or delete it, and you get it anew", error=error)) from error
        except OSError as error:
            raise BadInput(
                _(
                    "{mine}: cannot be written ({strerror}); name a --folder that can be",
                    mine=mine,
                    strerror=error.strerror,
                )
            ) from error
        if of_copy == first:
            printer(args).say(f"your lessons: {copied.folder} ({len(copied.written)} new files)")
    install_kernels(Path(sys.prefix))
    return first_to_open(folders[first])


def _write(args: Namespace, notebooks: Path) -> int:
    from nbclient.exceptions import CellExecutionError

    # of a checkout, and `folder` has said that it is there
    generate = part("exercises").generate
    renew = part("notebook_files").renew
    written: list[Path] = []
    for path in args.execute or ():
        try:
            renew(path)
        except CellExecutionError as error:
            Printer.on(sys.stderr).say(f"{path}: a cell failed, so nothing was written\n{error}")
            return 1
        written.append(path)
    if args.exercises:
        written += generate(notebooks)
    for path in written:
        printer(args).say(str(path))
    write_json({"written": [str(path) for path in written]}, args.json)
    return 0


def _workspaces(prefix: Path) -> Path:
    """The folder in which JupyterLab keeps how it was left; the first time the list of files is folded there."""
    from jupyterlab_server.workspaces_handler import WorkspacesManager

    path = prefix / "share" / "jupyter" / "rmqlab-workspaces"
    manager = WorkspacesManager(str(path))
    if not path.is_dir():
        folded = {"main": {"dock": None}, "left": {"collapsed": True, "visible": True, "widgets": []}}
        manager.save("default", json.dumps({"data": {"layout-restorer:data": folded}, "metadata": {"id": "default"}}))
    return path


def _no_question() -> Path:
    """Answer JupyterLab's question for news beforehand: where the page's own setting says nothing, it asks.

    In a file of our own, before which the settings of a person and of a machine's owner go.
    """
    from jupyterlab.commands import get_app_dir

    path = Path(get_app_dir()) / "settings" / "overrides.d" / "rmqlab.json"
    with suppress(OSError):  # who may not write there is asked
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}))
    return path


def _trust(notebooks: Path) -> None:
    """Mark the notebooks as trusted, where Jupyter is: it keeps that in a list of its own."""
    if find_spec("nbformat") is None:
        return
    import nbformat
    from nbformat.sign import NotebookNotary

    from rmqlab_tools.course.notebooks import read

    notary = NotebookNotary()
    for path in sorted(notebooks.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            notary.sign(nbformat.from_dict(read(path)))
