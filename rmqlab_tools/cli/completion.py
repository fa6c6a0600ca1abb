"""The verb `completion`: a script by which bash or zsh complete verbs, options, their values and file names.

The shell reads it once; afterwards a TAB starts no Python.
"""

from __future__ import annotations

from argparse import Action, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.cli.output import write_json, write_result
from rmqlab_tools.program import PROGRAM, program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SHELLS = ("bash", "zsh")
SCRIPT = "lab"  # of a checkout; a shell finds `./lab` by its name, too
FOLDERS = ("DIR", "STORE", "FOLDER")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("shell", choices=SHELLS, help=_("for which shell"))
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _(
        "bash, in this shell or in ~/.bashrc:\n"
        '  eval "$({program} completion bash)"\n'
        "zsh, behind compinit in ~/.zshrc:\n"
        '  eval "$({program} completion zsh)"\n'
        "It completes rmqlab, and ./lab of a checkout. Start times stay as they are: the script has all it needs.",
        program=program(),
    )


def run(args: Namespace) -> int:
    """Write the script to standard output; return 0."""
    script = script_for(args.shell)
    if args.json != "-":
        write_result(script)
    write_json({"shell": args.shell, "script": script}, args.json)
    return 0


def script_for(shell: str) -> str:
    """The script for one of `SHELLS`."""
    import shtab

    from rmqlab_tools.cli.cli import parser_of_all

    parser = parser_of_all()
    for each_parser in (parser, *parsers_below(parser)):
        for action in each_parser._actions:  # noqa: SLF001 - shtab reads them there, too
            _name_files(action)
    script = shtab.complete(parser, shell=shell, root_prefix=PROGRAM)
    function = f"_shtab_{PROGRAM}"
    if shell == "bash":
        return f"{script}\ncomplete -o filenames -F {function} {SCRIPT}\n"
    return f"{script}\ncompdef {function} {SCRIPT}\n"


def parsers_below(parser: ArgumentParser) -> list[ArgumentParser]:
    """The parsers of the verbs."""
    actions = parser._actions  # noqa: SLF001 - as above
    return [below for action in actions if isinstance(action.choices, dict) for below in action.choices.values()]


def _name_files(action: Action) -> None:
    """An argument that is a path, or is called like one, is completed by the names of files or folders."""
    import shtab

    name = str(action.metavar or "")
    if name in FOLDERS:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif action.type is Path or "FILE" in name or name in {"SCENARIO", "SOURCE"}:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
