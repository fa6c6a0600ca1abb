"""The command line: finds the verb's module, reads its arguments, runs it.

Only the module of the verb that was asked for is imported. Exit status: what the verb returns (its entry in the
table of verbs says what it means), 2 for bad input, 130 after Ctrl-C, 143 after SIGTERM.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined, language
from rmqlab_tools.cli import VERBS, listing
from rmqlab_tools.processes import StoppedBySignal, ended_by_signals
from rmqlab_tools.program import PROGRAM, called, program
from rmqlab_tools.visible import visible_streams
from rmqlab_tools.wrapping import wrapped

WIDEST_HELP = 118
OF_A_CHECKOUT = (
    "conform", "agree", "replay", "profile", "bench", "stress", "rows", "catalogue", "site", "bundle", "workshop",
    "test",
)  # fmt: skip
SPARK_ENDED = 5
# A folder that may not be entered, a full or broken disk, a name too long: no fault of ours, so no traceback.
OF_THE_MACHINE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENAMETOOLONG,
    errno.EMFILE, errno.ENFILE, errno.ELOOP,
}  # fmt: skip
STATUSES = {2: _("bad input, nothing was done"), 130: _("stopped by Ctrl-C"), 143: _("ended by SIGTERM")}


def start() -> int:
    """The command line of a process: it takes the name that it was called by, then does as `main`."""
    called()
    status = main()
    gc.freeze()  # the process ends: Python would look through all that is left for garbage, several times
    return status


def main(arguments: list[str] | None = None) -> int:
    """Run `rmqlab VERB ARGUMENTS` (default: those of this process) and return the exit status."""
    with visible_streams():
        return _main(sys.argv[1:] if arguments is None else arguments)


def _main(arguments: list[str]) -> int:
    from rmqlab_tools.cli.printing import Printer, warn

    if not arguments or arguments[0] in {"-h", "--help"}:
        Printer.on(sys.stdout).say(listing(program()).rstrip("\n"))
        return 0
    if arguments[0] == "--version":
        from rmqlab import __version__

        Printer.on(sys.stdout).say(f"rmqlab {__version__}")
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        Printer.on(sys.stderr).say(_no_verb(verb))
        return 2
    try:
        with ended_by_signals():
            status = _run(verb, rest)
        sys.stdout.flush()
        return status
    except BadInput as error:
        if behind := _interrupt(error):
            return _interrupted(verb, behind)
        warn(verb, str(error))
        return 2
    except ModuleNotFoundError as error:
        missing = (error.name or "rmqlab").partition(".")[0]
        if missing in {"rmqlab", "rmqlab_tools"}:
            raise
        from rmqlab_tools.extras import advice

        warn(verb, advice([missing]))
        return 2
    except KeyboardInterrupt as stop:
        return _interrupted(verb, stop)
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough: the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:  # asyncio's CancelledError is no Exception
        if (behind := _interrupt(error)) is not None:
            return _interrupted(verb, behind)
        if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
            warn(verb, _machine_says(error))
            return 2
        if (ended := _spark_ended(error)) is not None:
            warn(verb, ended)
            return SPARK_ENDED
        raise


def _machine_says(error: OSError) -> str:
    """What the machine would not do, in a sentence."""
    reason = error.strerror or str(error)
    if isinstance(error.filename, str | bytes):
        path = os.fsdecode(error.filename)
        if path == "<stdout>":  # what is left must not be written once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _("standard output cannot be written: {reason}", reason=reason)
        return _("{path}: {reason}; name another place, or make this one usable", path=path, reason=reason)
    return _("this machine gives no more: {reason}", reason=reason)


def _spark_ended(error: BaseException) -> str | None:
    """What of Spark ended, where that is why the verb failed; without a session nothing is imported to ask."""
    if "pyspark" not in sys.modules:
        return None
    from rmqlab_tools.spark.ended import how_spark_ended

    return how_spark_ended(error)


def _no_verb(verb: str) -> str:
    if verb in OF_A_CHECKOUT:
        return _(
            "{program} {verb}: a verb of a checkout, not of an installed package: clone the repository, or unpack its "
            "sdist, and run ./lab {verb} there",
            program=program(),
            verb=verb,
        )
    near = did_you_mean(verb, VERBS) or _("; there are: {verbs}", verbs=joined(", ", VERBS))
    return _("{program}: no verb {verb}{near}", program=program(), verb=repr(verb), near=near)


def _interrupted(verb: str, stop: KeyboardInterrupt) -> int:
    """Say in a line what ended the verb; the exit status is what shells give to a signal."""
    from rmqlab_tools.cli.printing import warn

    status = 128 + stop.number if isinstance(stop, StoppedBySignal) else 130
    with suppress(OSError):  # the terminal may be gone
        warn(verb, {129: _("its terminal was closed"), 143: _("ended by SIGTERM")}.get(status, _("interrupted")))
    return status


def _interrupt(error: BaseException | None) -> KeyboardInterrupt | None:
    """The signal that caused an error, if there is one: what Spark does on its way out fails, too, and hides that."""
    return error if error is None or isinstance(error, KeyboardInterrupt) else _interrupt(error.__context__)


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser of a verb's arguments, with its help as `--help` prints it."""
    from rmqlab_tools.cli.argparse_texts import translate_argparse

    translate_argparse()
    parser = argparse.ArgumentParser(
        prog=f"{program()} {verb}",
        description=str(_(VERBS[verb].help)),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_arguments(parser, verb)
    parser.epilog = _ending(verb, parser.epilog)
    return parser


def parser_of_all() -> argparse.ArgumentParser:
    """One parser with every verb, for completion; a verb whose packages are missing has no options there."""
    parser = argparse.ArgumentParser(prog=PROGRAM, allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb")
    for verb, entry in VERBS.items():
        with suppress(ModuleNotFoundError):
            _add_arguments(verbs.add_parser(verb, help=entry.help, allow_abbrev=False), verb)
    return parser


def _add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    from rmqlab_tools.cli.arguments import FORMATS, add_example

    module = import_module(f"{VERBS[verb].package}.{verb}")
    parser.add_argument(
        "--json",
        metavar="FILE",
        help=_("write the result as JSON to FILE ('-': to standard output, all text goes to standard error then)"),
    )
    module.add_arguments(parser)
    if verb in FORMATS:
        add_example(parser, verb)


def _run(verb: str, rest: list[str]) -> int:
    """Parse the verb's own arguments and call it; a verb with PASSES_ON gets those it does not know in `args.rest`."""
    from rmqlab_tools.cli.output import check_target, only_json

    language()
    module = import_module(f"{VERBS[verb].package}.{verb}")
    parser = parser_of(verb)
    args, unknown = parser.parse_known_args(rest)
    args.rest = unknown
    if unknown and not getattr(module, "PASSES_ON", False):
        parser.error(str(_("unknown arguments: {arguments}", arguments=" ".join(unknown))))
    _check_packages(verb, rest)
    check_target(None if args.json in {None, "-"} else Path(args.json), "--json")
    with only_json(args.json):
        status: int = module.run(args)
    return status


def _ending(verb: str, before: str | None) -> str:
    """The text at the end of a verb's help: its exit statuses and an example, after what the verb itself says there."""
    import shutil

    width = min(shutil.get_terminal_size((WIDEST_HELP, 24)).columns, WIDEST_HELP)
    lines = []
    of_spark = {SPARK_ENDED: _("Spark ended in the middle: a worker or the JVM was killed")}
    more = of_spark if "spark" in VERBS[verb].extras else {}
    for number, meaning in sorted({**STATUSES, **more, **VERBS[verb].statuses}.items()):
        lines += wrapped(str(_(meaning)), width, f"{number:>5}  ", " " * 7)
    parts = [str(_("exit status:")), *lines, "", str(_("example:")), f"  {program()} {VERBS[verb].example}", ""]
    if before is not None:
        text = str(before)
        parts = [*([text.rstrip()] if "\n" in text else wrapped(text, width)), "", *parts]
    return "\n".join(parts)


def _check_packages(verb: str, arguments: list[str]) -> None:
    """Raise `BadInput` before any work if the verb needs packages that are not there."""
    # who reads the file of the extra acl or makes a certificate says so, and Java is looked for on the machine too
    packages = set(VERBS[verb].extras) & VERBS[verb].needs(arguments) - {"acl", "java", "tls"}
    if packages:
        from rmqlab_tools.extras import require

        require(*sorted(packages))
