"""The verb `reproduce`: run the articles' experiments and print each article figure beside the one reproduced here."""

from __future__ import annotations

import json
import sys
import textwrap
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rmqlab.commands.output import text_stream, write_json
from rmqlab.lab.articles.experiments import VERDICT, Result, chosen, read_manifest, reproduce

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from rmqlab.lab.articles.printed_e1 import Figure

LABEL = 26
SCREEN = 100
WIDTH = 32  # of a value: an id has 32 digits; what is longer goes on in the next line
MARKS = {True: "=", False: "DIFFERS"}
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
    figures = [figure for result in results for group in result.figures.values() for figure in group]
    compared = sum(figure.compared for figure in figures)
    equal = sum(figure.compared and figure.equal for figure in figures)
    print(f"{agreeing} of {len(results)} experiments agree; {equal} of {compared} figures are equal", file=out)
    write_json([result.as_json() for result in results], args.json)
    if args.report is not None:
        from rmqlab.lab.lessons.report import write_report

        index = write_report(args.report, results)
        print(f"report: {index}", file=out)
    return 0 if agreeing == len(results) else 1


def _print(result: Result, out: TextIO) -> None:
    one = result.experiment
    about = f"article: {one.article}; what must come out: {one.verdict}"
    print(f"{one.id}  {one.title}", file=out)
    print(textwrap.fill(about, SCREEN, initial_indent="  ", subsequent_indent="    "), file=out)
    for name, figures in result.figures.items():
        if not figures:
            continue
        column = min(LABEL, max(len(name), *(len(figure.what) for figure in figures)))
        theirs = "expected" if name == VERDICT else "article"
        print(f"\n  {name:<{column}}  {theirs:<{WIDTH}}  here", file=out)
        for figure in figures:
            for line in _rows(figure, column, out):
                print(f"  {line}", file=out)
    print(f"\n  {one.id} {_coloured('agrees' if result.agrees else 'DIFFERS', result.agrees, out)}\n", file=out)


def _rows(figure: Figure, column: int, out: TextIO) -> Iterator[str]:
    columns = textwrap.wrap(figure.what, column), _lines(figure.article), _lines(figure.here)
    mark = _coloured(MARKS[figure.equal], figure.equal, out) if figure.compared else "ours"
    for number, (what, theirs, ours) in enumerate(zip_longest(*columns, fillvalue="")):
        end = "" if number else f"  {mark}"
        yield f"{what:<{column}}  {theirs:<{WIDTH}}  {ours:<{WIDTH}}{end}".rstrip()


def _lines(value: object) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value)
    return textwrap.wrap(text, WIDTH) or [""]


def _coloured(text: str, good: bool, out: TextIO) -> str:
    if out.isatty() and out is sys.stdout:
        return f"{GREEN if good else RED}{text}{PLAIN}"
    return text
