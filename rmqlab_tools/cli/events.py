"""The verb `events`: what scenarios did, simulated or recorded, as Parquet tables, and views of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import is_dir, read_properties
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import rules_of
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import Unplaced
from rmqlab_tools.cli.arguments import add_version
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.program import program
from rmqlab_tools.recordings.frames import frames_folder
from rmqlab_tools.recordings.recording_reader import read_runs, tap_account
from rmqlab_tools.show.tables import table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rmqlab.run.run import Run
    from rmqlab_tools.cli.printing import Printer

VIEW_NAMES = ("funnel", "losses", "rebalances", "heartbeats")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help=_(
            "the folder of a recorded set or of `rmqlab tap`, or scenarios to simulate (.jsonl); several, as of a "
            "cluster's brokers, are merged in the order of time, with a column source (NAME=SOURCE names one); each is "
            "a path, or an address such as s3://BUCKET/FOLDER"
        ),
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=_("write the tables there, one NAME.parquet each"))
    parser.add_argument(
        "--id", action="append", default=[], metavar="ID", help=_("only this scenario; may be repeated")
    )
    add_version(parser)
    parser.add_argument("--seed", type=int, metavar="N", help=_("of scenarios: draw delays and wake-ups from seed N"))
    parser.add_argument(
        "--view",
        action="append",
        default=[],
        choices=VIEW_NAMES,
        help=_("print this view of the tables; may be repeated"),
    )
    parser.add_argument(
        "--spark", metavar="ADDRESS", help=_("for --view: a master URL or sc://HOST:PORT (RMQLAB_SPARK, else local[*])")
    )


def run(args: Namespace) -> int:
    """Write tables, print views.

    Raises:
        BadInput: what cannot be used.
    """
    from rmqlab_tools.spark.files.addresses import store_path
    from rmqlab_tools.spark.files.broker_stores import given_name
    from rmqlab_tools.spark.files.fetched_recordings import fetched_recordings

    if args.out is None and not args.view:
        raise BadInput(_("nothing to do: give --out DIR for the tables, or --view NAME, or both"))
    if args.view:
        from rmqlab_tools.spark.session import require_address

        require_address(args.spark)
    given = [given_name(text) for text in args.sources]
    with fetched_recordings([store_path(path) for _name, path in given]) as paths:
        _write(args, {name: _accounts(args, path) for name, path in _named(given, paths).items()})
    return 0


def _write(args: Namespace, sources: Mapping[str, Iterable[Run]]) -> None:
    """Write the tables of the sources, and print the views."""
    from rmqlab_tools.spark.events import write_events, write_merged

    out = printer(args)
    rows_of: dict[str, list[dict[str, Any]]] = {}
    with TemporaryDirectory(prefix="rmqlab-events-") as temporary:
        folder = args.out or Path(temporary)
        (first, *others) = sources.values()
        counts = write_merged(sources, folder) if others else write_events(first, folder)
        rows_of_tables = joined(", ", (f"{name} {number}" for name, number in counts.items()))
        out.say(_("rows of the tables: {rows_of_tables}", rows_of_tables=rows_of_tables))
        for accounts in sources.values():
            if isinstance(accounts, list):
                _print_unknown(accounts[0], out)
        if args.view:
            from rmqlab_tools.spark.events import views
            from rmqlab_tools.spark.session import open_session

            frames = views(open_session(args.spark), folder)
            rows_of = {name: [row.asDict() for row in frames[name].collect()] for name in args.view}
    for name, rows in rows_of.items():
        out.say("")
        if rows:
            out.table(table(name, rows))
        else:
            out.say(_("{name}: no row", name=name))
    several = {"sources": list(sources)} if len(sources) > 1 else {}
    write_json({"tables": counts, "views": rows_of} | several, args.json)


def _named(given: Sequence[tuple[str, str]], paths: Sequence[Path]) -> dict[str, Path]:
    """The sources' paths by names: NAME=SOURCE, else the broker's if each has one of its own, else what was given."""
    from rmqlab_tools.spark.files.addresses import is_address, shown_address

    brokers = [_broker(path) for path in paths]
    have_own = all(brokers) and len({*brokers}) == len(brokers)
    shown = [shown_address(text) if is_address(text) else text for _name, text in given]
    names = [name or (brokers if have_own else shown)[index] for index, (name, _text) in enumerate(given)]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(_("two sources are called {name}; name them: NAME=SOURCE", name=f"{name!r}"))
    return dict(zip(names, paths, strict=True))


def _broker(path: Path) -> str:
    """The name of a recording's broker, "" where nothing says it."""
    try:
        return read_properties(path / "broker.conf").get("brokerName", "").strip()
    except BadInput:
        return ""


def _accounts(args: Namespace, source: Path) -> Iterable[Run]:
    """The runs of a source; a list of one, of a tap."""
    recording = frames_folder(source)
    is_recorded = recording is not None or is_dir(source)
    if is_recorded and args.seed is not None:
        raise BadInput(_("--seed is for scenarios; a recording has happened"))
    if recording is not None:
        return [_tapped(args, recording)]
    return read_runs(source, args.id) if is_recorded else _simulated(args, source)


def _tapped(args: Namespace, folder: Path) -> Run:
    account = tap_account(folder)
    if set(args.id) - {account.scenario.id}:
        raise BadInput(
            _("--id: a recording of frames has no scenarios; all of it is {id}", id=f"{account.scenario.id!r}")
        )
    return account


def _print_unknown(account: Run, out: Printer) -> None:
    """Say what frames do not tell."""
    passed = sum(fate.fate is Fate.PASSED for fate in account.fates)
    unplaced = len(list(account.recorded(Unplaced)))
    if passed:
        out.say(
            ngettext(
                "{passed} message was passed: frames do not tell what a listener got; a store tells more ({command})",
                "{passed} messages were passed: frames do not tell what a listener got; a store tells more ({command})",
                passed,
                passed=passed,
                command=f"{program()} audit STORE --subscriptions FOLDER",
            )
        )
    if unplaced:
        out.say(
            ngettext(
                "{unplaced} message is left out: no answer tells its place (delayed, half, one-way)",
                "{unplaced} messages are left out: no answer tells their place (delayed, half, one-way)",
                unplaced,
                unplaced=unplaced,
            )
        )


def _simulated(args: Namespace, source: Path) -> Iterator[Run]:
    from rmqlab.sim.cluster import settings_beside
    from rmqlab.sim.scenario_inputs import named_scenarios
    from rmqlab.sim.simulate import simulate
    from rmqlab_tools.search.explorer.timings import chosen_times

    cluster = replace(settings_beside(source.parent), rules=rules_of(args.version))
    for scenario in named_scenarios(source, args.id).values():
        yield simulate(scenario, cluster=cluster, **chosen_times(scenario, seed=args.seed))
