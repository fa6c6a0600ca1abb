"""The verb `notebook`: JupyterLab on the folder notebooks/."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from rmqlab.checkout import folder
from rmqlab.commands.output import write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb: all but --json go to JupyterLab."""
    parser.epilog = "Every other argument goes to JupyterLab: --no-browser, --port 8899, --allow-root, ..."


def run(args: Namespace) -> int:
    """Run JupyterLab until it is stopped; return its exit status."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder('notebooks')}", *args.rest]
    status = subprocess.call(command)  # noqa: S603 - our own interpreter, arguments of the person at the terminal
    write_json({"command": command[1:], "status": status}, args.json)
    return status
