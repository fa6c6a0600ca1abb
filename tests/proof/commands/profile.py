"""The verb `profile`: what filtering costs with the bloom filter's switch and without, stage by stage, and the map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.cli.output import Progress, write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.bloom.map import MAP, SIDES, BloomMap, write_map
from tests.proof.bloom.measure import PROCESSES, map_workloads, measure
from tests.proof.bloom.stages import ARTICLE_RATIO, STAGES, Stages
from tests.proof.bloom.workload import ARTICLE, EXPRESSIONS
from tests.proof.real.filter import RealFilterMissingError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from tests.proof.bloom.map import ProfileCell
    from tests.proof.bloom.workload import Workload

RATIOS: dict[str, Callable[[Stages], float]] = {
    "bitmap + layer 2": Stages.as_the_article,
    "and extension, check of bits": Stages.ratio,
    "and decoding, were it charged": Stages.ratio_charged,
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    usual = ARTICLE
    parser.add_argument(
        "--messages", type=int, default=usual.messages, metavar="N", help=f"messages ({usual.messages})"
    )
    parser.add_argument("--groups", type=int, default=usual.groups, metavar="N", help=f"groups ({usual.groups})")
    parser.add_argument(
        "--selectivity", type=float, default=usual.selectivity, metavar="S", help="share of messages that match (1)"
    )
    parser.add_argument(
        "--expression", choices=EXPRESSIONS, default=usual.expression, help=f"what groups ask for ({usual.expression})"
    )
    parser.add_argument("--user-properties", action="store_true", help="give each message five more properties")
    parser.add_argument(
        "--processes", type=int, default=PROCESSES, metavar="N", help=f"processes of each side ({PROCESSES})"
    )
    parser.add_argument("--no-java", action="store_true", help="leave out the real classes (they need JDK and Maven)")
    parser.add_argument("--map", action="store_true", help="measure the whole map instead: ten minutes or more")
    parser.add_argument("--store", type=Path, metavar="DIR", help=f"with --map: write {MAP} into this folder")


def run(args: Namespace) -> int:
    """Measure, print, store; return 0. Raise BadInput for a wrong setting."""
    if args.processes < 1:
        raise BadInput(_("--processes {processes}: at least one is needed", processes=args.processes))
    if args.store and not args.map:
        raise BadInput(_("--store keeps the map: give --map with it"))
    workload = replace(
        ARTICLE, messages=args.messages, groups=args.groups, selectivity=args.selectivity, expression=args.expression,
        user_properties=args.user_properties,
    )  # fmt: skip
    cells = _measured(map_workloads() if args.map else [workload], args)
    lines = _turns(BloomMap.of(cells)) if args.map else _lines(cells[0])
    printer(args).say(*lines)
    if args.store:
        write_map(args.store / MAP, cells)
    write_json({"cells": [cell.as_json() for cell in cells]}, args.json)
    return 0


def _measured(workloads: Sequence[Workload], args: Namespace) -> list[ProfileCell]:
    try:
        with Progress("profile") as progress:
            return measure(workloads, args.processes, real=not args.no_java, announce=progress.now)
    except RealFilterMissingError as error:
        raise BadInput(_("{error}; --no-java leaves the real classes out", error=error)) from error


def _lines(cell: ProfileCell) -> list[str]:
    workload, sides = cell.workload, cell.sides
    filtering = f"selectivity {workload.selectivity:g}, {workload.expression}"
    lines = [
        f"{workload.messages} messages, {workload.groups} groups, {filtering}",
        f"CPU ns for a message, all groups together: median of {len(cell.processes['ours'])} processes (both ends)",
        "",
        f"{'stage':<32}" + "".join(f"{SIDES[side]:>28}" for side in sides),
    ]
    for stage in STAGES:
        intervals = [cell.interval(side, lambda stages, stage=stage: getattr(stages, stage)) for side in sides]  # type: ignore[misc]
        shown = [f"{each.median:.0f} ({each.low:.0f} to {each.high:.0f})" for each in intervals]
        lines.append(f"{stage.replace('_', ' '):<32}" + "".join(f"{text:>28}" for text in shown))
    lines += ["", f"cost with / without; the article's figures make {ARTICLE_RATIO:.2f} of the first"]
    for name, figure in RATIOS.items():
        lines.append(f"{name:<32}" + "".join(f"{cell.interval(side, figure)!s:>28}" for side in sides))
    return lines


def _turns(bloom_map: BloomMap) -> list[str]:
    lines = []
    for side in bloom_map.sides:
        lines.append(
            f"The switch turns from a gain into a loss at these shares of matching messages, by {SIDES[side]}:"
        )
        for expression in bloom_map.axis("expression"):
            shown = [f"{groups}: {bloom_map.turn(groups, expression, side)}" for groups in bloom_map.axis("groups")]
            lines.append(f"  {expression}, by groups  {', '.join(shown)}")
    return lines
