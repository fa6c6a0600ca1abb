"""The verb `profile`: the article's bloom measurement again, stage by stage, and the map of where the switch pays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rmqlab.commands.output import text_stream, write_json
from rmqlab.commands.progress import Progress
from rmqlab.errors import BadInput
from rmqlab.lab.bloom.java import measured
from rmqlab.lab.bloom.profile import LOAD_TEST, PULL, RUNS, profile
from rmqlab.lab.bloom.sampler import REST
from rmqlab.lab.bloom.stored_map import MAP, PROFILE, SIDES, BloomMap, Cell, write_map, write_profile
from rmqlab.lab.bloom.workload import EXPRESSIONS, BloomBroker, Workload
from rmqlab.lab.real.filter import RealFilterMissingError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import TextIO

    from rmqlab.lab.bloom.java import RealStages
    from rmqlab.lab.bloom.profile import Profile


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    one = LOAD_TEST
    parser.add_argument("--messages", type=int, default=one.messages, metavar="N", help=f"messages ({one.messages})")
    parser.add_argument("--groups", type=int, default=one.groups, metavar="N", help=f"groups ({one.groups})")
    parser.add_argument(
        "--selectivity", type=float, default=one.selectivity, metavar="S", help="share of messages that match (1)"
    )
    parser.add_argument(
        "--expression", choices=EXPRESSIONS, default=one.expression, help=f"what groups ask for ({one.expression})"
    )
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"turns that count ({RUNS})")
    parser.add_argument("--no-java", action="store_true", help="leave out the real classes (they need JDK and Maven)")
    parser.add_argument("--map", action="store_true", help="measure the whole map, as a sweep on Spark: many minutes")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the sweep keeps its rows: run again with it to go on"
    )
    parser.add_argument("--store", type=Path, metavar="DIR", help=f"write {PROFILE} or {MAP} into this folder")


def run(args: Namespace) -> int:
    """Measure, print, store; return 0, or 1 if cells of the map failed. Raise BadInput for a wrong setting."""
    if args.runs < 1:
        raise BadInput(f"--runs {args.runs}: at least one is needed")
    out = text_stream(args)
    if args.map:
        return _map(args, out)
    workload = replace(
        LOAD_TEST, messages=args.messages, groups=args.groups, selectivity=args.selectivity, expression=args.expression
    )
    ours = profile(workload, args.runs)
    java = [] if args.no_java else _java(workload, out)
    print("\n".join(_lines(ours, java)), file=out)
    if args.store:
        write_profile(args.store / PROFILE, ours, java)
    told = {"ours": ours.as_json(), "java": [{**one.as_json(), "ratios": _java_ratios(one)} for one in java]}
    write_json(told, args.json)
    return 0


def _java(workload: Workload, out: TextIO) -> list[RealStages]:
    broker = BloomBroker(workload, switch=False)
    broker.dispatch()
    try:
        return measured(workload, broker.records())
    except RealFilterMissingError as error:
        print(f"Without the real classes: {error}", file=out)
        return []


def _java_ratios(java: RealStages) -> dict[str, float]:
    return {
        "as_the_article": round(java.as_the_article(), 3),
        "as_the_article_decode_charged": round(java.as_the_article(decode=True), 3),
        "all_stages": round(java.ratio(), 3),
        "all_stages_decode_charged": round(java.ratio(decode=True), 3),
    }


def _lines(ours: Profile, java: list[RealStages]) -> list[str]:
    one = ours.workload
    setting = f"{one.messages} messages, {one.groups} groups, selectivity {one.selectivity:g}, {one.expression}"
    lines = [
        f"{setting}; µs of CPU for a message, {ours.runs} turns",
        "",
        f"{'phase':<10}{'stage':<20}{'without':>9}{'with':>9}",
    ]
    for (phase, switch), without in ours.phases.items():
        if switch:
            continue
        with_it = ours.phases[phase, True]
        stages = dict.fromkeys([*without.ticks, *with_it.ticks])
        for stage in sorted(stages, key=[*with_it.ticks, *without.ticks].index):
            shown = "everything else" if stage == REST else stage
            lines.append(f"{phase:<10}{shown:<20}{without.stage_us(stage):>9.2f}{with_it.stage_us(stage):>9.2f}")
        lines.append(f"{phase:<10}{'whole phase':<20}{without.us:>9.2f}{with_it.us:>9.2f}")
    told = ours.ratios()
    lines += ["", f"{'cost with / without':<42}{'article':>9}{'ours':>9}{'4.8.0 (spread of processes)':>32}"]
    real = [_java_ratios(one) for one in java]
    names = {
        "as_the_article": "bitmap + layer 2",
        "as_the_article_decode_charged": "the same, decoding charged to the bitmap",
        "all_stages": "with extension and check of bits",
        "whole": "dispatch and pulls, everything",
    }
    for name, text in names.items():
        article = f"{told['article']:.2f}" if name == "as_the_article" else ""
        values = [one[name] for one in real if name in one]
        there = f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else ""
        lines.append(f"{text:<42}{article:>9}{told[name]:>9.2f}{there:>32}")
    evaluations = ours.calls[PULL, True]["CompiledSql92.evaluate"]
    lines += ["", f"Layer 2 still evaluates {evaluations:g} expressions a message with the switch on."]
    return lines


def _map(args: Namespace, out: TextIO) -> int:
    from rmqlab.spark.session import open_session
    from rmqlab.spark.sweeps.bloom_map import bloom_map
    from rmqlab.spark.sweeps.running import run_sweep

    sweep = bloom_map(real=not args.no_java)
    with TemporaryDirectory() as made, Progress(sweep.name, len(sweep.parameters), unit="rows") as progress:
        result = run_sweep(sweep, args.folder or made, session=open_session(), progress=progress.rows)
    for record in result.failed:
        print(f"{record['row']}: {record['error']}", file=out)
    if args.store:
        write_map(args.store / MAP, result.good)
    cells = BloomMap(tuple(map(Cell.from_record, result.good)))
    for side, words in SIDES.items():
        if any(side in cell.sides for cell in cells.cells):
            print(f"Share of matching messages below which the switch pays, by {words}:", file=out)
            for expression in cells.axis("expression"):
                found = {groups: cells.crossover(groups, expression, side) for groups in cells.axis("groups")}
                shown = [f"{groups}: {'never' if at is None else f'{at:.2f}'}" for groups, at in found.items()]
                print(f"  {expression}, by groups  {', '.join(shown)}", file=out)
    write_json({"cells": result.good, "failed": result.failed}, args.json)
    return 1 if result.failed else 0
