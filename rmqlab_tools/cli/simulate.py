"""The verb `simulate`: run scenarios in virtual time and write their events and the fate of every message."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import part
from rmqlab.errors import BadInput
from rmqlab.language import N_, _, sentences
from rmqlab.rules import rules_of
from rmqlab.run.recorded_events import Refused
from rmqlab.run.run import run_lines
from rmqlab.scenario.scenario import refusal_of
from rmqlab.sim.cluster import FILE_NAME, read_cluster_config, settings_beside
from rmqlab.sim.scenario_inputs import named_scenarios, read_schedules
from rmqlab.sim.simulate import simulate
from rmqlab_tools import verbs
from rmqlab_tools.cli.arguments import add_parameters, add_version
from rmqlab_tools.cli.doubts import print_doubts
from rmqlab_tools.cli.output import check_target, replace_file, write_result
from rmqlab_tools.cli.printing import Printer, warn
from rmqlab_tools.live.gauges import GaugeSampler
from rmqlab_tools.search.explorer.timings import chosen_times
from rmqlab_tools.search.expressions.scenario_doubts import doubtful
from rmqlab_tools.show.film.film import film_page, films_of
from rmqlab_tools.show.link import Link, digest
from rmqlab_tools.show.run_tables import message_table, run_table
from rmqlab_tools.styled import BAD, GOOD, Line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.run.run import Run


ENDS_HELP = N_(
    "A scenario whose last step asks (alloc, offsets) ends there, as the recorded ones do. Any other runs on until"
    " nothing more can change what was delivered, committed or lost; what has not come to rest after 240 s is said."
)
FAULTS_HELP = N_(
    "Faults are steps too (at: ms): cut, freeze [forMs], kill [silent], pause forMs, slow ms [forMs], clock byMs,"
    " loseHeartbeat [times], each with who; restartBroker downMs [crash], namesrvDown, namesrvUp. With within (ms) the"
    " moment is a choice. docs/how-to/scenarios.md tells what each one does."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "scenarios", nargs="?", type=Path, metavar="SCENARIOS.jsonl", help=_("one scenario a line (.gz: packed)")
    )
    parser.add_argument(
        "--link",
        metavar="LINK",
        help=_("instead: the run in a link of a playground (the address, or what stands behind its #)"),
    )
    parser.add_argument(
        "--id", action="append", metavar="ID", help=_("only this scenario (may be given several times)")
    )
    parser.add_argument("--out", type=Path, metavar="EVENTS.jsonl", help=_("write the events there (else to a pipe)"))
    parser.add_argument(
        "--conf",
        type=Path,
        metavar=FILE_NAME,
        help=_(
            "the broker's settings (the broker.conf beside the scenarios, else 4.8.0's defaults with "
            "enablePropertyFilter=true, as the recordings were made)"
        ),
    )
    choices = parser.add_mutually_exclusive_group()
    choices.add_argument("--schedule", type=Path, metavar="FILE", help=_("repeat the choices of runs that were saved"))
    add_parameters(choices, verbs.simulate, "seed")
    parser.add_argument("--schedule-out", type=Path, metavar="FILE", help=_("save the choices, one schedule a line"))
    parser.add_argument(
        "--film",
        type=Path,
        metavar="FILE.html",
        help=_("write the run as a film: a page to play, stop and step through"),
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="DIR",
        help=_("instead: compare each scenario (of the set) with the recorded set DIR; 1 if an outcome is not reached"),
    )
    add_version(parser)
    parser.add_argument("--seeds", type=int, default=40, metavar="K", help=_("seeded runs to compare with (40)"))
    parser.add_argument(
        "--gauges",
        type=int,
        metavar="MS",
        help=_(
            "every MS of virtual time an event 'gauge' for each group: age of the heartbeats, raw "
            "and filtered lag, flips of the subscription in the last minute"
        ),
    )
    parser.epilog = sentences(
        _(ENDS_HELP),
        _(FAULTS_HELP),
        _(
            "A terminal gets a table of the messages. The events are one JSON object a line: in the file of --out or"
            " --json, or on standard output where that is a pipe or a file; --json - writes them as one JSON array, an"
            " object a line. With --compare, --json gets the comparison."
        ),
    )


def run(args: Namespace) -> int:
    """Run the scenarios; return 0, 1 if `--compare` finds an outcome that is not reached, 2 if one was refused.

    A scenario that cannot be simulated is named on standard error and has the one event `refused`; the others run.
    Nothing is written when none runs.

    Raises:
        BadInput: a file that is malformed.
    """
    if args.compare is not None:
        # a recorded set with events is a proof, and so is what compares it: both lie in a checkout
        status: int = part("outcomes").run(args)
        return status
    if args.scenarios is None and args.link is None:
        raise BadInput(_("name a file of scenarios, a playground's link with --link, or a recorded set with --compare"))
    if args.gauges is not None and args.gauges < 1:
        raise BadInput(_("--gauges {gauges}: give the ms between two readings, 1 or more", gauges=args.gauges))
    check_target(args.out, "--out")
    check_target(args.schedule_out, "--schedule-out")
    check_target(args.film, "--film")
    if args.link is not None:
        return _linked(args)
    numbered = named_scenarios(args.scenarios, args.id)
    rules = rules_of(args.version)
    settings = read_cluster_config(args.conf) if args.conf else settings_beside(args.scenarios.parent)
    cluster = replace(settings, rules=rules)
    schedules = read_schedules(args.schedule, [each.id for each in numbered.values()]) if args.schedule else {}
    observers = [] if args.gauges is None else [partial(GaugeSampler, every_ms=args.gauges)]
    texts, saved, refused, runs = [], [], 0, []
    for number, scenario in numbered.items():
        refusal = refusal_of(scenario, rules)
        if refusal is not None:
            refused += 1
            where = f"{args.scenarios.name}, line {number}"
            warn("simulate", f"{where}: scenario {scenario.id!r}: {refusal}")
            texts.append(json.dumps(Refused(refusal).as_json(scenario.id, 0)) + "\n")
            continue
        times = chosen_times(scenario, seed=args.seed, schedule=schedules.get(scenario.id))
        print_doubts("simulate", doubtful(scenario, rules.sql92))
        result = simulate(scenario, cluster=cluster, observers=observers, **times)
        texts.append(result.lines())
        saved.append(result.schedule.to_json() + "\n")
        runs.append(result)
    if not saved:
        return 2
    _film(args, runs)
    _tell(args, runs)
    _write(args, "".join(texts), "".join(saved))
    return 2 if refused else 0


def _write(args: Namespace, events: str, schedules: str) -> None:
    """Write the events, and the choices, where the arguments say."""
    for target in (args.out, args.json):
        if target is not None and str(target) != "-":
            replace_file(Path(target), events)
    if args.schedule_out is not None:
        replace_file(args.schedule_out, schedules)
    if args.json == "-":
        write_result(f"[\n{','.join(events.splitlines(keepends=True))}]\n")
    elif _events_alone(args):
        write_result(events)


def _film(args: Namespace, runs: list[Run]) -> None:
    """Write the film of the run where the arguments say; with a schedule, its unusual choices are steps of it."""
    if args.film is None:
        return
    if len(runs) > 1:
        raise BadInput(_("--film is of one run, and here are {runs}: name one with --id", runs=len(runs)))
    unusual = args.schedule is not None or args.link is not None
    replace_file(args.film, film_page(films_of(runs[0], unusual=unusual)), "utf-8")


def _events_alone(args: Namespace) -> bool:
    """Whether standard output is for events alone: asked so, or a pipe or a file without another place given."""
    return args.json == "-" or (args.out is args.json is None and not sys.stdout.isatty())


def _tell(args: Namespace, runs: list[Run]) -> Printer:
    """A line a run and what was refused in it; on a terminal a table before it: of messages, or of several runs."""
    out = Printer.on(sys.stderr if _events_alone(args) else sys.stdout)
    if out.stream.isatty():
        out.table(message_table(runs[0]) if len(runs) == 1 else run_table(runs))
    for run in runs:
        lines = list(run_lines(run))
        if len(runs) == 1 or len(lines) > 1 or not out.stream.isatty():
            first, *others = lines
            lost = any(fate.lost for fate in run.fates)
            out.say(Line((first, BAD if lost else GOOD)), *(f"  {line}" for line in others))
    return out


def _linked(args: Namespace) -> int:
    """Run what a link holds: with its own choices, rules and settings."""
    for name in ("scenarios", "id", "conf", "schedule", "seed", "gauges", "version"):
        if getattr(args, name) is not None:
            raise BadInput(
                _(
                    "--link has the whole run in it: no {name} with it",
                    name="file" if name == "scenarios" else f"--{name}",
                )
            )
    link = Link.read(args.link, "--link")
    print_doubts("simulate", doubtful(link.scenario, link.cluster().rules.sql92))
    result = link.run()
    _film(args, [result])
    out = _tell(args, [result])
    out.say(_("events: {digest}, as the page says if it shows the same", digest=digest(result)))
    _write(args, result.lines(), result.schedule.to_json() + "\n")
    return 0
