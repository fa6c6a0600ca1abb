"""`rmqlab doctor`: who is losing messages in a live cluster, now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import N_, _
from rmqlab_tools.cli.arguments import add_parameters, seconds
from rmqlab_tools.cli.check_files import add_check_files, check_targets, give_checks
from rmqlab_tools.cli.output import make_folder, write_json
from rmqlab_tools.cli.printing import printer, warn

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.doctor.diagnosis import Diagnosis
    from rmqlab_tools.doctor.doctor import Doctor


DOCTOR_HELP = N_(
    "The words: a broker keeps one subscription for each group and topic, the one that a member's heartbeat brought "
    "last, and filters every member's messages by it. The owner of a queue is the member that pulls it. Members are "
    "named by client id. Proved: the answers leave no doubt; implied: they fit, but something else may explain them; "
    "unknown: they do not tell. Codes like S-82 name rows of data/mission/rows.tsv, which say why."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Which cluster, which groups, how often, where the answer goes."""
    from rmqlab_tools.doctor.doctor import doctor
    from rmqlab_tools.doctor.snapshot import SnapshotOptions

    parser.epilog = _(DOCTOR_HELP)
    parser.add_argument(
        "--namesrv", metavar="HOST:PORT[;…]", default="127.0.0.1:9876", help=_("its name servers (9876)")
    )
    parser.add_argument(
        "--proxy",
        metavar="HOST:PORT",
        action="append",
        default=[],
        help=_("a 5.x proxy's remoting address (8080), asked for members that brokers do not list; repeatable"),
    )
    parser.add_argument("--group", metavar="G", action="append", default=[], help=_("only this group; repeatable"))
    parser.add_argument("--topic", metavar="T", action="append", default=[], help=_("only this topic; repeatable"))
    parser.add_argument(
        "--looks",
        metavar="N",
        type=int,
        help=_("look so often (1; with --watch: until Ctrl-C); two or more tell losses"),
    )
    add_parameters(parser, doctor, "every", every={"metavar": "SECONDS", "type": seconds})
    parser.add_argument(
        "--watch",
        metavar="SECONDS",
        type=seconds,
        help=_(
            "look again and again, as a table that renews; --json - writes a JSON value a look, a FILE has the last"
        ),
    )
    parser.add_argument(
        "--metrics", metavar="PORT", type=int, help=_("serve what is found for Prometheus, and look again and again")
    )
    parser.add_argument(
        "--metrics-host", metavar="HOST", default="127.0.0.1", help=_("where --metrics listens (127.0.0.1)")
    )
    parser.add_argument("--report", metavar="DIR", type=Path, help=_("write a page with a picture of each group"))
    parser.add_argument("--save", metavar="DIR", type=Path, help=_("keep each look as a file there"))
    parser.add_argument(
        "--recorded",
        metavar="FILE",
        type=Path,
        nargs="+",
        help=_("judge looks that were saved, in their order; ask nobody"),
    )
    parser.add_argument(
        "--look", metavar="N", type=int, default=0, help=_("read so many messages a queue, to say what they are")
    )
    add_parameters(parser, SnapshotOptions, "window", "rate")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, default=3.0, help=_("for one request (3)"))
    add_parameters(parser, doctor, "acl", acl={"type": None})
    parser.add_argument(
        "--tls", metavar="FILE", nargs="?", const=True, default=False, help=_("encrypt; FILE has settings tls.client.*")
    )
    add_check_files(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help=_("every finding of every group, notes too"))


def run(args: Namespace) -> int:
    """Look, say what was found, and return 3 (losing, or about to), 4 (too little is known) or 0.

    Raises:
        BadInput: an address, name, key or number that cannot be.
    """
    from rmqlab_tools.doctor.doctor import Doctor, addresses_of_proxies, doctor
    from rmqlab_tools.doctor.snapshot import SnapshotOptions

    if args.looks is not None and args.looks < 1:
        raise BadInput(_("--looks {looks}: 1 or more are needed", looks=args.looks))
    if args.metrics is not None and args.watch is None:
        args.watch = args.every
    check_targets(args)
    make_folder(args.report, "--report")
    make_folder(args.save, "--save")
    if args.recorded:
        return _tell(args, doctor(recorded=args.recorded, groups=args.group, topics=args.topic))
    options = SnapshotOptions(
        tuple(args.group), tuple(args.topic), args.look, args.window, args.rate, round(args.timeout * 1000),
        proxies=addresses_of_proxies(args.proxy),
    )  # fmt: skip
    with Doctor(args.namesrv, options, acl=args.acl, tls=args.tls) as looking:
        if args.watch is not None:
            return _watch(args, looking)
        try:
            for diagnosis in looking.looks(args.looks or 1, args.every):
                _save(args, diagnosis)
        except BadInput as error:
            if looking.diagnosis is None:
                raise
            warn("doctor", f"no further look, the last one is judged: {error}")
            return _tell(args, looking.diagnosis) or 4
        return _tell(args, diagnosis)


def _tell(args: Namespace, diagnosis: Diagnosis) -> int:
    printer(args, translated=True).say(*diagnosis.lines(verbose=args.verbose))
    write_json(diagnosis.as_json(), args.json)
    _give_checks(args, diagnosis)
    _report(args, diagnosis)
    return diagnosis.status


def _give_checks(args: Namespace, diagnosis: Diagnosis) -> None:
    from rmqlab_tools.doctor.checks import checks_of_diagnosis

    give_checks(args, checks_of_diagnosis(diagnosis), "doctor")


def _watch(args: Namespace, looking: Doctor) -> int:
    from rmqlab_tools.doctor.watch import PIPE_WIDTH, watch

    collector = None
    if args.metrics is not None:
        from rmqlab_tools.doctor.metrics import serve_metrics

        collector, port = serve_metrics(looking, args.metrics, args.metrics_host)
        warn("doctor", f"metrics at http://{args.metrics_host}:{port}/metrics")

    def after(diagnosis: Diagnosis) -> None:
        if collector is not None:
            collector.saw(diagnosis)
        _save(args, diagnosis)
        write_json(diagnosis.as_json(), args.json)

    try:
        return watch(looking, args.watch, args.looks, printer(args, translated=True).console(PIPE_WIDTH), after)
    finally:  # Ctrl-C is how a watch ends
        if looking.diagnosis is not None:
            _give_checks(args, looking.diagnosis)
            _report(args, looking.diagnosis)


def _save(args: Namespace, diagnosis: Diagnosis) -> None:
    """Keep the look of a diagnosis under its time, so that names are in the looks' order."""
    if args.save is not None:
        from rmqlab_tools.doctor.snapshot_json import save_look

        save_look(diagnosis.look, args.save / f"look-{diagnosis.look.at}.json")


def _report(args: Namespace, diagnosis: Diagnosis) -> None:
    if args.report is not None:
        from rmqlab_tools.doctor.report import write_report

        warn("doctor", str(write_report(diagnosis, args.report)))
