"""The verb `reproduce`: run the articles' experiments and print each article figure beside the one reproduced here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rmqlab.commands.output import text_stream, write_json
from rmqlab.lab.experiments import Result, chosen, read_manifest, reproduce

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.lab.article_e1 import Figure

WIDTH = 34
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--only", nargs="+", metavar="ID", help="only these (E2 stands for all that begin with it)")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write an HTML report with the executed notebooks")


def run(args: Namespace) -> int:
    """Print the tables; return 0 when every figure agrees, else 1. Raise `BadInput` for an unknown experiment."""
    out = text_stream(args)
    results = []
    for experiment in chosen(args.only, read_manifest()):
        result = reproduce(experiment)
        results.append(result)
        _print(result, out)
    agreeing = sum(result.agrees for result in results)
    figures = sum(len(group) for result in results for group in result.figures.values())
    print(f"{agreeing} of {len(results)} experiments agree, {figures} figures compared", file=out)
    write_json([result.as_json() for result in results], args.json)
    if args.report is not None:
        from rmqlab.lab.report import write_report

        index = write_report(args.report, results)
        print(f"report: {index}", file=out)
    return 0 if agreeing == len(results) else 1


def _print(result: Result, out: TextIO) -> None:
    one = result.experiment
    print(f"{one.id}  {one.title}", file=out)
    print(f"    article: {one.article}; what must come out: {one.verdict}", file=out)
    for name, figures in result.figures.items():
        if not figures:
            continue
        column = max(len(figure.what) for figure in figures)
        print(f"\n    {name:<{column}}  {'article':<{WIDTH}}  here", file=out)
        for figure in figures:
            print(f"    {_row(figure, column, out)}", file=out)
    print(f"\n    {_coloured('agrees' if result.agrees else 'DIFFERS', result.agrees, out)}\n", file=out)


def _row(figure: Figure, column: int, out: TextIO) -> str:
    mark = _coloured("=" if figure.equal else "DIFFERS", figure.equal, out)
    return f"{figure.what:<{column}}  {_short(figure.article):<{WIDTH}}  {_short(figure.here):<{WIDTH}}  {mark}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _coloured(text: str, good: bool, out: TextIO) -> str:
    if out.isatty() and out is sys.stdout:
        return f"{GREEN if good else RED}{text}{PLAIN}"
    return text
