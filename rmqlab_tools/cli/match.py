"""The verb `match`: how many messages of an archive a subscription gets, and which a changed one would lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.cli.arguments import add_version, store_time
from rmqlab_tools.cli.output import Progress, write_json
from rmqlab_tools.cli.printing import printer

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

LOST = 3


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("archive", metavar="ARCHIVE", help=_("what `rmqlab archive` made: a folder or an address"))
    parser.add_argument("expression", metavar="EXPRESSION", help=_("tags with || between, or a condition (--sql92)"))
    parser.add_argument("--sql92", action="store_true", help=_("EXPRESSION is a SQL92 condition"))
    parser.add_argument("--changed", metavar="EXPRESSION", help=_("a changed subscription: what it loses and gains"))
    parser.add_argument(
        "--changed-sql92", action="store_true", help=_("the changed one is a SQL92 condition (else as the first one)")
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME",
        help=_("only this topic; may be repeated (else all but the system's own, retries and dead letters)"),
    )
    parser.add_argument(
        "--from", dest="since", metavar="TIME", help=_("only messages stored since (ISO 8601 or epoch ms)")
    )
    parser.add_argument("--to", dest="until", metavar="TIME", help=_("only messages stored until then"))
    add_version(parser)
    parser.add_argument(
        "--spark", metavar="ADDRESS", help=_("a master URL or sc://HOST:PORT (RMQLAB_SPARK, else this process alone)")
    )


def run(args: Namespace) -> int:
    """Count and print; return 3 if a changed subscription loses messages.

    Raises:
        BadInput: what cannot be used.
    """
    from rmqlab.protocol.subscription_data import SQL92, TAG
    from rmqlab_tools.spark.match_archive import match, require_order
    from rmqlab_tools.spark.session import is_set, open_session, require_address

    on_spark = is_set(args.spark)
    require_address(args.spark)
    since, until = store_time(args.since), store_time(args.until)
    require_order(since, until)
    kind = SQL92 if args.sql92 else TAG
    changed_kind = SQL92 if args.changed_sql92 else kind
    with Progress("match: Spark starts" if on_spark else "match"):
        result = match(
            args.archive, args.expression, kind, changed=args.changed, changed_kind=changed_kind, topics=args.topic,
            since=since, until=until, version=args.version,
            session=(lambda: open_session(args.spark, quick=True)) if on_spark else None,  # its JVM only hands out work
        )  # fmt: skip
    out = printer(args)
    out.say(*result.lines())
    if result.rows:
        out.table(result.table())
    if any(result.examples.values()):
        out.table(result.examples_table())
    write_json(result.as_json(), args.json)
    return LOST if args.changed is not None and result.total("lost") else 0
