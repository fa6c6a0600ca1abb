"""The verb `explain`: whatever people have of a cluster, what each of it is, and what all say together."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from rmqlab.language import N_, _
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.doctor.evidence.door import explain, explain_pipe

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXPLAIN_EPILOG = N_("""\
what is recognised, by its content:
  codes, exception texts, lines of logs (.gz too); output of mqadmin: consumerConnection, producerConnection,
  consumerStatus, consumerProgress, topicRoute, topicStatus, queryMsgById and its kin, brokerStatus, getBrokerConfig,
  clusterList, statsAll; JSON of brokers, members and routes, also as fastjson and the dashboard write it; heartbeats;
  broker.conf; files of a store's config folder, damaged ones too; a config or store folder; members, scenarios,
  recordings and looks of rmqlab
What is not recognised is said, and nothing is claimed of it.
""")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _(EXPLAIN_EPILOG)
    parser.add_argument(
        "what",
        nargs="+",
        metavar="CODE|TEXT|FILE|FOLDER",
        help=_("a code (24, SUBSCRIPTION_NOT_EXIST), a text in quotes, files or folders; - reads a pipe"),
    )


def run(args: Namespace) -> int:
    """Print what each thing is, and what they say together; return 0, 3 or 4 as the table of verbs says.

    Raises:
        BadInput: a code that there is not, and a file that cannot be read.
    """
    evidence = explain_pipe(sys.stdin.buffer) if args.what == ["-"] else explain(*args.what)
    printer(args, translated=True).say(str(evidence))
    write_json(evidence.as_json(), args.json)
    return evidence.status
