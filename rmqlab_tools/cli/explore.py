"""The verb `explore`: every outcome a scenario can have, its share, its shortest schedule, and who is to blame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import rules_of
from rmqlab.sim.cluster import FILE_NAME, read_cluster_config, settings_beside
from rmqlab.sim.scenario_inputs import chosen_scenario
from rmqlab_tools import verbs
from rmqlab_tools.cli.arguments import add_parameters, add_version
from rmqlab_tools.cli.doubts import print_doubts
from rmqlab_tools.cli.output import Progress, check_target, make_folder, replace_file, write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.search.explorer.exploration_text import exploration_lines
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.properties import BUILT_IN, RECEIVES, property_named
from rmqlab_tools.search.explorer.timings import ASSUMED
from rmqlab_tools.search.expressions.scenario_doubts import doubtful

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.search.explorer.exploration import Exploration

SVG_SUFFIX = ".svg"
PICTURES = (SVG_SUFFIX, ".txt")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        help=_("a scenario file, one scenario a line; FILE#ID or FILE#LINE chooses one; not needed when there is one"),
    )
    add_parameters(
        parser,
        verbs.explore,
        "budget",
        "seconds",
        "seed",
        "samples",
        "shortening",
        shortening={"flags": ("--shorten",)},
    )
    parser.add_argument(
        "--vary",
        metavar="NAMES",
        help=_(
            "what the search opens beside the order of frames, with commas: {assumed} (nothing at first; more when a "
            "run by chance shows that the order of frames is not all)",
            assumed=", ".join(ASSUMED),
        ),
    )
    add_version(parser)
    parser.add_argument("--conf", type=Path, metavar=FILE_NAME, help=_("the broker's settings, as for simulate"))
    parser.add_argument(
        "--property",
        action="append",
        metavar="NAME",
        help=_(
            "check this one: {built_in}, {receives}WHO (all of them); may be given several times",
            built_in=joined(", ", BUILT_IN),
            receives=RECEIVES,
        ),
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help=_("show schedules, offsets, what was varied and what assumed")
    )
    parser.add_argument(
        "--schedules",
        type=Path,
        metavar="DIR",
        help=_("write the schedule of each outcome there, for simulate --schedule"),
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help=_("draw the shortest schedule of the first property that fails (else of the first outcome): .svg or .txt"),
    )


def run(args: Namespace) -> int:
    """Explore one scenario and print what was found; return 0, or 1 if a property asked for does not hold.

    Raises:
        BadInput: a file, a scenario or a setting that cannot be used.
    """
    if args.picture is not None:
        if args.picture.suffix not in PICTURES:
            raise BadInput(
                _(
                    "--picture {picture}: a picture ends in {pictures}",
                    picture=args.picture,
                    pictures=joined(" or ", PICTURES),
                )
            )
        check_target(args.picture, "--picture")
    path, scenario = chosen_scenario(args.scenario)
    if not scenario.groups():
        raise BadInput(_("{id}: no consumer is started in it, so there is nothing to explore", id=scenario.id))
    rules = rules_of(args.version)
    settings = read_cluster_config(args.conf) if args.conf else settings_beside(path.parent)
    properties = None if args.property is None else [property_named(name, scenario) for name in args.property]
    explorer = Explorer(
        scenario,
        budget=args.budget,
        seconds=args.seconds,
        seed=args.seed,
        samples=args.samples,
        shortening=args.shorten,
        vary=() if args.vary is None else args.vary.split(","),
        cluster=replace(settings, rules=rules),
        properties=properties,
        helpers=True,
    )
    make_folder(args.schedules, "--schedules")
    with Progress("exploring", unit="runs") as progress:
        explored = explorer.explore(progress.to)
    print_doubts("explore", doubtful(scenario, rules.sql92))
    out = printer(args)
    out.say(*exploration_lines(explored, verbose=args.verbose))
    unmet = sum(not verdict.holds for verdict in explored.verdicts)
    failing = sum(not verdict.holds and verdict.proved for verdict in explored.verdicts)
    if failing and not args.property:
        out.say(
            ngettext(
                "{count} property FAILS: a finding, so the exit status is 0; for one asked for with --property it is 1",
                "{count} properties FAIL: a finding, so the exit status is 0; for one asked for with --property"
                " it is 1",
                failing,
            )
        )
    if args.schedules is not None:
        _save(explored, args.schedules)
    if args.picture is not None:
        _draw(explored, args.picture)
    write_json(explored.as_json(), args.json)
    return 1 if args.property and unmet else 0


def _save(explored: Exploration, folder: Path) -> None:
    for number, outcome in enumerate(explored.outcomes, 1):
        replace_file(folder / f"{explored.scenario.id}-{number}.json", outcome.schedule.to_json() + "\n")


def _draw(explored: Exploration, path: Path) -> None:
    from rmqlab_tools.show.swimlane import story_picture, story_text

    shown = next((verdict for verdict in explored.verdicts if not verdict.holds and verdict.run is not None), None)
    run = explored.outcomes[0].run if shown is None or shown.run is None else shown.run
    title = "The most frequent outcome" if shown is None else f"{shown.property.name.capitalize()}: fails"
    if path.suffix == SVG_SUFFIX:
        # the file stands alone, so characters beyond ASCII are written as XML has them
        text = story_picture(run, title).svg.encode("ascii", "xmlcharrefreplace").decode("ascii")
    else:
        text = story_text(run, title).encode("ascii", "backslashreplace").decode("ascii")
    replace_file(path, text)
