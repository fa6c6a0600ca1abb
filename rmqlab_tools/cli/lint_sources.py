"""`lint SOURCE...`: the code bases among its arguments, read and judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput, there_are
from rmqlab.files import is_dir, is_file
from rmqlab.language import _
from rmqlab_tools.cli.check_files import give_checks
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.doctor.evidence.config_folder import config_root
from rmqlab_tools.recordings.frames import FRAMES_NAMES
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.source.files import READ

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Collection

LINT_NOT_KNOWN = 4


def add_source_arguments(parser: ArgumentParser) -> None:
    """Declare the options that only code bases have."""
    group = parser.add_argument_group(_("for code bases"))
    group.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="NAME",
        help=_("a profile of Spring that is active (those that spring.profiles.active names); repeatable"),
    )
    group.add_argument("--tests", action="store_true", help=_("read the code of tests too"))
    group.add_argument(
        "--allow-gaps",
        action="store_true",
        help=_("exit with 0, not 4, where nothing is inconsistent and something is not known"),
    )
    group.add_argument("-v", "--verbose", action="store_true", help=_("print groups whose members agree in full, too"))


def is_source(name: str) -> bool:
    """Whether an argument is a code base: a file of code or configuration, or a folder that is nothing else.

    Raises:
        BadInput: a folder on its way may not be entered.
    """
    path = Path(name)
    if is_dir(path):
        return not any(is_file(path / frames) for frames in FRAMES_NAMES) and config_root(path) is None
    return path.suffix.lower() in READ


def require_group(args: Namespace, names: Collection[str]) -> None:
    """See to it that the group is there that `--group` names.

    Raises:
        BadInput: it is not.
    """
    if args.group not in names:
        where, near = " ".join(args.file), there_are(args.group, sorted(names))
        raise BadInput(_("--group {group}: {file} has no such group{near}", group=args.group, file=where, near=near))


def run_sources(args: Namespace) -> int:
    """Print what was found for each group; return 1 if one is inconsistent or refused, 4 if too little is known.

    Raises:
        BadInput: a path, a profile or a group that is not there, or code without a consumer.
    """
    from rmqlab_tools.extras import require

    require("source")
    from rmqlab_tools.source.checks import checks_of
    from rmqlab_tools.source.consumers import read_code_base
    from rmqlab_tools.source.groups import lint_sources
    from rmqlab_tools.source.source_text import source_lines

    base = read_code_base(map(Path, args.file), args.profile, tests=args.tests)
    result = lint_sources(base, args.version, args.queues)
    if args.group is not None:
        require_group(args, [group.group for group in result.groups])
        result.groups = [group for group in result.groups if group.group == args.group]
        result.gaps = [gap for gap in result.gaps if gap.group in {"", args.group}]
    printer(args).say(*source_lines(result, verbose=args.verbose))
    write_json(result.as_json(), args.json)
    give_checks(args, checks_of(result), "lint")
    if result.verdict is LintVerdict.INCONSISTENT or result.refused:
        return 1
    return LINT_NOT_KNOWN if result.is_open and not args.allow_gaps else 0
