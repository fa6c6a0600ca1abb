"""Notebooks as files of the tree: read, run, written clean of what differs between machines, and made into pages."""

from __future__ import annotations

import base64
import html
import os
import re
import tempfile
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write
from rmqlab_tools.course.notebooks import KERNEL, WIDGET_MIME, Notebook, clean, tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbclient import NotebookClient

TIMEOUT_S = 600
# On a telephone what is wide scrolls in its own cell, a picture so that its letters can be read (`show.figure`'s
# LEGIBLE_PX), and the cells' numbers make room.
NARROW = """
.jp-RenderedHTMLCommon table { display: block; overflow-x: auto }
.jp-OutputArea-output, .jp-RenderedHTMLCommon, .jp-Cell-inputWrapper { overflow-x: auto; min-width: 0 }
.jp-RenderedHTMLCommon { overflow-wrap: break-word }
.jp-RenderedSVG svg { max-width: max(100%, 900px) !important }
@media (max-width: 700px) {
  .jp-InputPrompt, .jp-OutputPrompt, .jp-InputCollapser, .jp-OutputCollapser { display: none }
  body, .jp-Notebook { padding: 4px; margin: 0 }
}
"""
__all__ = ["KERNEL", "WIDGET_MIME", "Notebook", "clean", "tags"]  # what others take from here too
_IMAGE = re.compile(r'<img [^>]*src="data:image/svg\+xml;base64,(?P<data>[\w+/=]+)"[^>]*>')


def read(path: Path) -> Notebook:
    """A notebook in format 4.

    Raises:
        BadInput: the file is none; the text says why.
    """
    import nbformat

    try:
        notebook: Notebook = nbformat.read(path, as_version=4)
    except Exception as error:
        raise BadInput(f"{path}: not a notebook ({error})") from error
    return notebook


@contextmanager
def kernel_environment() -> Iterator[dict[str, str]]:
    """The environment for kernels that we start: no module comes from the notebook's folder, no start-up file runs.

    IPython puts the current folder before the installed packages, and runs what lies in the user's profile.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-kernels-") as folder:
        profile = Path(folder) / "profile_default"
        profile.mkdir()
        settings = "c = get_config()\nc.InteractiveShellApp.ignore_cwd = True\n"
        (profile / "ipython_kernel_config.py").write_text(settings, encoding="utf-8")
        yield {**os.environ, "IPYTHONDIR": folder, "PYTHONSAFEPATH": "1"}


def execute(notebook: Notebook, folder: Path, **options: Any) -> Notebook:
    """Run all cells of a copy in a new kernel whose current folder is ``folder``.

    `options` go to nbclient (`allow_errors=True`). Raises nbclient's `CellExecutionError` for a cell that fails.
    """
    import nbformat
    from nbclient import NotebookClient

    client = NotebookClient(
        nbformat.from_dict(notebook), kernel_name="python3", timeout=TIMEOUT_S, store_widget_state=False,
        record_timing=False, resources={"metadata": {"path": str(folder)}}, extra_arguments=["--log-level=ERROR"],
        **options,
    )  # fmt: skip
    return run_all(client)


def run_all(client: NotebookClient) -> Notebook:
    """Run the cells of nbclient's client, beside this thread: there it takes no signal, so one ends the verb."""
    outcome: Future[Notebook] = Future()

    def work() -> None:
        try:
            with kernel_environment() as environ:
                outcome.set_result(client.execute(env=environ))
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            outcome.set_exception(error)

    Thread(target=work, daemon=True).start()
    return outcome.result()


def write(path: Path, notebook: Notebook) -> None:
    """Write it as Jupyter does; a reader never sees half of it."""
    import nbformat

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        nbformat.write(nbformat.from_dict(notebook), part)


def renew(path: Path) -> None:
    """Run a notebook where it lies and write it back, clean."""
    write(path, clean(execute(read(path), path.parent)))


def page(notebook: Notebook, title: str) -> str:
    """The notebook as one HTML page that needs no kernel; pictures are part of it, with their descriptions.

    nbconvert wraps SVG into `img` elements: there nothing under the pointer says what it is, and no description counts.
    """
    import logging

    import nbformat
    from nbconvert import HTMLExporter

    quiet = logging.getLogger(f"{__name__}.page")
    quiet.setLevel(logging.ERROR)
    exporter = HTMLExporter(log=quiet, embed_images=True)
    # Pages are read where no network is, and the notebooks have no formulas.
    exporter.mathjax_url = exporter.require_js_url = exporter.jquery_url = ""
    about = {"metadata": {"name": html.escape(title)}}
    text, _ = exporter.from_notebook_node(nbformat.from_dict(notebook), about)
    return _IMAGE.sub(_inline, text).replace("</head>", f"<style>{NARROW}</style></head>", 1)


def _inline(image: re.Match[str]) -> str:
    return base64.b64decode(image["data"]).decode()
