"""The verb `catalogue`: the catalogues of words, brought up to date or checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT, checkout_path
from rmqlab.language import LANGUAGES
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.catalogue.catalogues import problems, state, update, wanted
from tests.proof.catalogue.outputs import names, renew

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--check", action="store_true", help="change nothing; name what is missing, stale or at odds")
    parser.add_argument(
        "--run", metavar="NAME", help="run the lessons and tasks whose name has NAME in it in each other language"
    )
    parser.add_argument(
        "--only", metavar="NAME", default="", help="of the report: catalogues whose path has NAME in it"
    )


def run(args: Namespace) -> int:
    """Bring the catalogues up to date and say how far they are; or, with `--check`, return 1 if anything is wrong."""
    checkout_path("notebooks")
    out = printer(args)
    for name in names() if args.run is not None else ():
        if args.run in name:
            for language in LANGUAGES[1:]:
                renew(name, language)
                out.say(f"{name}: run in {language}")
    changed = [] if args.check else [path.relative_to(ROOT).as_posix() for path in update(ROOT)]
    catalogues = wanted(ROOT)
    wrong = [problem for problem in problems(ROOT, catalogues) if args.only in problem.catalogue]
    counts = {name: count for name, count in state(wrong, catalogues).items() if args.only in name}
    for name, (done, count) in counts.items():
        out.say(f"{name}: {done} of {count} entries are translated{'; changed' * (name in changed)}")
    if args.check:
        for problem in wrong:
            out.say(str(problem))
    write_json(
        {"changed": changed, "catalogues": counts, "problems": [problem._asdict() for problem in wrong]}, args.json
    )
    return 1 if args.check and wrong else 0
