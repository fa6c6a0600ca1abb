"""The verb `bench`: the benchmarks, each beside a reference that is measured in the same run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.bench.audits import audit_benchmarks
from tests.proof.bench.benchmark import RUNS, chosen, run_benchmark
from tests.proof.bench.entries import benchmarks
from tests.proof.bench.filters import MESSAGES, filter_benchmarks
from tests.proof.bench.notebooks import NOTEBOOK_BENCHMARKS
from tests.proof.bench.store import STORE_BYTES, store_benchmarks
from tests.proof.bench.sweeps import SWEEP_BENCHMARKS
from tests.proof.class_archive import use_archive

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tests.proof.bench.benchmark import BenchResult


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which benchmarks, or how their names begin (all but those that take minutes); --list names them",
    )
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"turns of each that count ({RUNS})")
    parser.add_argument(
        "--messages",
        type=int,
        default=MESSAGES,
        metavar="N",
        help=f"messages a turn for filters on Spark ({MESSAGES})",
    )
    parser.add_argument(
        "--store-bytes",
        type=int,
        default=STORE_BYTES,
        metavar="N",
        help=f"bytes of the commit logs that store_scan and audit read ({STORE_BYTES})",
    )
    parser.add_argument("--list", action="store_true", help="name the benchmarks and what each measures, run none")


def run(args: Namespace) -> int:
    """Run the benchmarks and print value, spread and ratio; return 0. Raise `BadInput` for a name that is none."""
    if args.runs < 1:
        raise BadInput(_("--runs {runs}: at least one is needed", runs=args.runs))
    out = printer(args)
    on_spark = (
        *filter_benchmarks(args.messages),
        *store_benchmarks(args.store_bytes),
        *audit_benchmarks(args.store_bytes),
        *SWEEP_BENCHMARKS,
        *NOTEBOOK_BENCHMARKS,
    )
    known = {**benchmarks(), **{entry.name: entry for entry in on_spark}}
    selected = list(known.values()) if args.list and not args.names else chosen(args.names, known)
    if args.list:
        width = max(len(entry.name) for entry in selected)
        for entry in selected:
            out.say(f"{entry.name:<{width}}  {entry.about} ({entry.unit}{'; only by name' if entry.heavy else ''})")
        write_json(
            {entry.name: {"about": entry.about, "unit": entry.unit} for entry in selected},
            args.json,
        )
        return 0
    if any(entry in on_spark for entry in selected):
        use_archive(os.environ)
    results: list[BenchResult] = []
    for benchmark in selected:
        result = run_benchmark(benchmark, args.runs)
        results.append(result)
        out.say(_text(result))
    write_json({result.benchmark.name: result.as_json() for result in results}, args.json)
    return 0


def _text(result: BenchResult) -> str:
    benchmark = result.benchmark
    return (
        f"{benchmark.name}: {_number(result.value)} {benchmark.unit} ({_number(result.low)} to {_number(result.high)},"
        f" median of {result.runs}): {benchmark.about}\n"
        f"    {result.ratio:.3g} times ({result.ratio_low:.3g} to {result.ratio_high:.3g}) the reference,"
        f" {benchmark.reference_name}: {_number(result.reference)} {benchmark.unit}"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
