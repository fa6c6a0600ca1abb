"""The verb `audit`: which messages of a store directory did which group lose, and by which stage."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import N_, _, joined
from rmqlab_tools.cli.arguments import add_version, store_time
from rmqlab_tools.cli.output import Progress, make_folder, write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.gc_tuning import no_collecting

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.spark.audit_store import AuditResult

AUDIT_LOST, AUDIT_NOT_KNOWN = 3, 4
AUDIT_EPILOG = N_("""\
keys of --json:
  groups     {GROUP: {TOPIC: {sent, delivered, lost, unknown, by_fate: {FATE: n}, by_certainty: {CERTAINTY: {FATE: n}},
             lost_ids: [offsetMsgId...], may_be_lost, unknown_because, asked_for, lost_by_tag, lost_by_queue,
             first_lost, last_lost}}}
  damage     [{physicalOffset, size, reason, topic, queueId, queueOffset}...]
  witnessed  {GROUP: [client...]}: groups with evidence of deliveries, and the clients that wrote a trace
  version, written_by  by whose rules the store is judged; {versions, marks}: who wrote it, and what shows that
  config_damage  [sentence...], where files of config/ are damaged; without offsets every fate is unknown
Lost is what was dropped or skipped and some member asked for. Certainty: proved (by a trace, a log, a record sent
back, check points and acks of pops), implied (by offsets and subscriptions, if nobody set offsets by hand and no member
of a group that pops pulls), unknown. delivered and lost count what is proved or implied. The fate passed: an offset
went past the message, and nothing else is known of it. Times: epoch ms.
""")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _(AUDIT_EPILOG)
    parser.add_argument(
        "stores",
        nargs="+",
        metavar="STORE",
        help=_(
            "a store directory (it has a folder commitlog), also packed as .tar.gz or .zip; or a "
            "folder with one as store/ or store.tar.gz: if events lie there too (events.jsonl.gz, "
            "events/), they give subscriptions and deliveries; or an address such as s3://BUCKET/FOLDER. "
            "Of a cluster, a store of each broker (NAME=STORE where it does not tell its broker); "
            "a slave's copy is not counted twice"
        ),
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=_("write a report (index.html), Parquet tables and the resend plan there"),
    )
    parser.add_argument(
        "--group", action="append", default=[], metavar="NAME", help=_("only this group; may be repeated")
    )
    parser.add_argument(
        "--subscriptions",
        type=Path,
        metavar="FILE",
        help=_(
            'who asked for what, one object a line: {"group", "topic", "type", "expr", "client", '
            '"from", "until"}, with "post": true if it comes with every pull '
            '(postSubscriptionWhenPull, lite pull); {"group", "topic", "type", "expr", "held": true, '
            '"from"}: what the broker held; {"group", "clients", "from", "strategy"}: who was there; '
            '{"group", "topic", "reset"}: when offsets were set by hand; or scenarios, or their '
            "events in a file or a folder; or the folder of `rmqlab tap`: then what was stored "
            "meanwhile is audited. A store has only subscriptions of SQL92"
        ),
    )
    parser.add_argument(
        "--delivered",
        action="append",
        default=[],
        metavar="FILE",
        help=_('what consumers got, one object a line: {"group", "msgId"}; taken to be complete for its groups'),
    )
    parser.add_argument(
        "--from", dest="since", metavar="TIME", help=_("only messages stored since (ISO 8601 or epoch ms)")
    )
    parser.add_argument("--to", dest="until", metavar="TIME", help=_("only messages stored until then"))
    parser.add_argument(
        "--trace-topic", metavar="NAME", help=_("where consumers write their trace (RMQ_SYS_TRACE_TOPIC)")
    )
    parser.add_argument(
        "-c",
        "--conf",
        type=Path,
        metavar="FILE",
        help=_(
            "the broker's settings, if they are not in broker.conf beside the store: "
            "accessMessageInMemoryMaxRatio decides where a new group begins, "
            "notifyConsumerIdsChangedEnable how soon members know of each other"
        ),
    )
    add_version(parser, _("that which the store shows"))
    parser.add_argument("--no-crc", action="store_true", help=_("do not compare bodies with their checksums"))
    parser.add_argument(
        "--spark",
        metavar="ADDRESS",
        help=_("a master URL or sc://HOST:PORT (RMQLAB_SPARK, else this process alone)"),
    )


def run(args: Namespace) -> int:
    """Audit and print; return 0, 3 or 4 as `AUDIT_EPILOG` says.

    Raises:
        BadInput: what cannot be used.
    """
    with no_collecting():
        from rmqlab.message.topics import TRACE_TOPIC
        from rmqlab_tools.spark.audit_store import open_audit
        from rmqlab_tools.spark.session import is_set, open_session, require_address

    require_address(args.spark)
    with no_collecting():
        audit = open_audit(
            args.stores,
            subscriptions=args.subscriptions,
            delivered=args.delivered,
            groups=args.group,
            session=(lambda: open_session(args.spark)) if is_set(args.spark) else None,
            each_message=False,
            conf=args.conf,
            since=store_time(args.since),
            until=store_time(args.until),
            trace_topic=args.trace_topic or TRACE_TOPIC,
            check_crc=not args.no_crc,
            version=args.version,
        )
    try:
        make_folder(args.out, "--out")
        with Progress("audit: Spark starts" if is_set(args.spark) else "audit") as progress:

            def report(done: int, tasks: int) -> None:
                progress.now(f"audit: {done} of {tasks} tasks")

            with audit.reporting(report):
                audit.compute()
        printer(args).say(*audit.lines())
        if args.out:
            _write(audit, args.out, joined(", ", map(_page_name, args.stores)))
        write_json(audit.as_json(), args.json)
    except Exception:
        audit.close()
        raise
    audit.close()  # not after Ctrl-C: Spark would wait for what was interrupted
    if audit.total("lost"):
        return AUDIT_LOST
    return AUDIT_NOT_KNOWN if audit.total("may_be_lost") or not audit.total("sent") else 0


def _page_name(store: str) -> str:
    """What a page calls a store: the last part of its path."""
    from rmqlab_tools.spark.files.addresses import is_address, shown_address

    return Path(shown_address(store)).name if is_address(store) else Path(store).resolve().name


def _write(audit: AuditResult, folder: Path, name: str) -> None:
    import pyarrow.parquet as pq

    from rmqlab.files import atomic_write
    from rmqlab_tools.spark.audit.page import audit_page

    plan = audit.plans()
    page = audit_page(name, audit.groups, audit.counts.to_pylist(), audit.damage, plan, audit.scope())

    try:
        for table_name, table in (("counts", audit.counts), ("lost", audit.lost_table)):
            with atomic_write(folder / f"{table_name}.parquet") as part:
                pq.write_table(table, part)
        with atomic_write(folder / "index.html") as part:
            part.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            _(
                "--out {folder}: {strerror}; name a folder that can be written",
                folder=folder,
                strerror=error.strerror or error,
            )
        ) from error
    write_json(plan, str(folder / "resend.json"))
    write_json(audit.damage, str(folder / "damage.json"))
