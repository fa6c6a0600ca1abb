"""The verb `agree`: the same filters on the same odd messages by every way there is, compared row by row."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.agree.adversarial import EXPRESSIONS, rows

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tests.proof.agree.exactness import Agreement

_ROWS = 100_000
TAG_SUBSCRIPTIONS = ("*", "TagA || TagB", "Aa || AaAa", "5", "五")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "expressions", nargs="*", metavar="EXPR", help=f"SQL92 filters ({len(EXPRESSIONS)} that are easily got wrong)"
    )
    parser.add_argument("--rows", type=int, default=_ROWS, metavar="N", help=f"messages to make ({_ROWS})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="other messages for another number (0)")
    parser.add_argument("--spark", metavar="ADDRESS", help="session to use (RMQLAB_SPARK, else local[*])")
    parser.add_argument("--no-jar", action="store_true", help="leave out the real filter, which needs a JDK and Maven")


def run(args: Namespace) -> int:
    """Print how often each value came and each way differed; return 0 if none ever did, else 1.

    Raise `BadInput` for a filter that the broker refuses, and where Spark or the real filter is missing.
    """
    if args.rows < 1:
        raise BadInput(_("--rows {rows}: at least one is needed", rows=args.rows))
    from rmqlab.filter.sql92.errors import MQFilterException
    from rmqlab_tools.spark.session import open_session
    from tests.proof.agree.exactness import compare, compare_tags
    from tests.proof.real.filter import RealFilter

    out = printer(args)
    agreements: list[Agreement] = []
    with ExitStack() as stack:
        real = None if args.no_jar else stack.enter_context(RealFilter())
        session = open_session(args.spark)
        try:
            for agreements in compare(rows(args.rows, args.seed), args.expressions or EXPRESSIONS, session, real):
                differing = sum(sum(agreement.differing.values()) for agreement in agreements)
                out.say(f"{agreements[0].rows:,} messages, {differing} answers differ")
        except MQFilterException as error:
            raise BadInput(_("the broker refuses this filter: {error}", error=error)) from error
        ways = list(agreements[0].differing)
        if not args.expressions:
            agreements = [*agreements, *compare_tags(rows(args.rows, args.seed), TAG_SUBSCRIPTIONS, session)]
    for agreement in agreements:
        values = ", ".join(f"{count:,} {value}" for value, count in agreement.outcomes.items())
        out.say(agreement.expression, f"    {values}; {_differing(agreement)}")
        for example in agreement.examples:
            out.say(f"    {example}")
    record = {
        "seed": args.seed,
        "rows": args.rows,
        "ways": ways,
        "differing": sum(sum(agreement.differing.values()) for agreement in agreements),
        "expressions": {agreement.expression: agreement.as_json() for agreement in agreements},
    }
    write_json(record, args.json)
    return 1 if record["differing"] else 0


def _differing(agreement: Agreement) -> str:
    wrong = {way: count for way, count in agreement.differing.items() if count}
    if not wrong:
        return f"the same by {', '.join(agreement.differing)}"
    return "differs: " + ", ".join(f"{way} {count:,} times" for way, count in wrong.items())
