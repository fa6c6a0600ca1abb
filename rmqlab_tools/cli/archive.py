"""The verb `archive`: the messages of a store directory kept as Parquet files, which `match` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.cli.output import Progress, write_json
from rmqlab_tools.cli.printing import printer

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "stores",
        nargs="+",
        metavar="STORE",
        help=_(
            "a store directory (it has a folder commitlog), also packed as .tar.gz or .zip; or an address such as "
            "s3://BUCKET/FOLDER. Of a cluster, a store of each broker; a slave's copy is not archived twice"
        ),
    )
    parser.add_argument(
        "out",
        metavar="ARCHIVE",
        help=_(
            "a folder, or an address such as s3://BUCKET/FOLDER; what was archived of this store before is kept, and "
            "only what was written since is added"
        ),
    )
    parser.add_argument(
        "--spark", metavar="ADDRESS", help=_("a master URL or sc://HOST:PORT (RMQLAB_SPARK, else local[*])")
    )


def run(args: Namespace) -> int:
    """Archive, and say what is there.

    Raises:
        BadInput: what cannot be used.
    """
    from rmqlab_tools.spark.archive_store import archive
    from rmqlab_tools.spark.files.tasks import reporting_tasks
    from rmqlab_tools.spark.session import open_session, require_address

    require_address(args.spark)
    with Progress("archive: Spark starts") as progress:
        session = open_session(args.spark)
        with reporting_tasks(session, lambda done, tasks: progress.now(f"archive: {done} of {tasks} tasks")):
            result = archive(args.stores, args.out, session=session)
    out = printer(args)
    out.say(*result.lines())
    out.table(result.table())
    write_json(result.as_json(), args.json)
    return 0
