"""The verb `reproduce`: run the articles' experiments; a summary, or each article figure beside the one made here."""

from __future__ import annotations

import json
import sys
import textwrap
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rmqlab.checkout import folder
from rmqlab.commands.output import text_stream, write_json
from rmqlab.extras import require
from rmqlab.lab.articles.experiments import OF_THE_ARTICLE, VERDICT, Result, chosen, read_manifest, reproduce
from rmqlab.lab.articles.printed_e1 import Kind

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from rmqlab.lab.articles.printed_e1 import Figure

LABEL = 23  # of a figure's name, unless a word is longer
SCREEN = 100
WIDTH = 32  # of a value: an id has 32 digits; what is longer goes on in the next line
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"
# What the summary says of each kind of figure; what is ours has nothing to agree with.
TOLD = {
    Kind.PRINTED: "{} of {} figures that the articles print are equal here",
    Kind.FOLLOWS: "{} of {} that follow from their prints and programs come out",
    Kind.EXPECTED: "{} of {} that they do not state (from the source of 4.8.0, or a real broker) come out",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--only", nargs="+", metavar="ID", help="only these (E2 stands for all that begin with it)")
    parser.add_argument("-v", "--verbose", action="store_true", help="every figure, and where it comes from")
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write an HTML report with the executed notebooks (minutes)"
    )
    parser.epilog = "With -v, = marks a figure that an article printed; data/articles/README.md explains the rest."


def run(args: Namespace) -> int:
    """Print what came out; return 0 when no figure differs, else 1. Raise `BadInput` for an unknown experiment."""
    experiments = chosen(args.only, read_manifest())
    if args.report is not None:
        folder("notebooks")
        require("notebook", "spark")
    out = text_stream(args)
    results = []
    for experiment in experiments:
        result = reproduce(experiment)
        results.append(result)
        (_print if args.verbose else _print_line)(result, out)
    agreeing = sum(result.agrees for result in results)
    verdict = _coloured(f"{agreeing} of {len(results)} experiments agree", agreeing == len(results), out)
    print(verdict if args.verbose else f"{verdict}; -v shows all figures", file=out)
    for line in summary(results):
        print(f"  {line}", file=out)
    write_json([result.as_json() for result in results], args.json)
    if args.report is not None:
        from rmqlab.lab.lessons.report import write_report

        index = write_report(args.report, results, summary(results), lambda text: print(text, file=sys.stderr))
        print(f"report: {index}", file=out)
    return 0 if agreeing == len(results) else 1


def summary(results: Sequence[Result]) -> list[str]:
    """How many figures of each kind agree, in words; kinds of which there are none are left out."""
    tallies = [result.tally() for result in results]
    counted = {kind: tuple(map(sum, zip(*(tally[kind] for tally in tallies), strict=True))) for kind in TOLD}
    return [TOLD[kind].format(*numbers) for kind, numbers in counted.items() if numbers[1]]


def _print_line(result: Result, out: TextIO) -> None:
    """One line; below it the figures that differ, or else what the article says its consumers printed."""
    one = result.experiment
    told = textwrap.shorten(f"{one.title}: {one.verdict}", SCREEN - 17, placeholder=" …")
    print(f"{one.id:<8} {_coloured(f'{_word(result):<7}', result.agrees, out)} {told}", file=out)
    figures = [figure for group in result.figures.values() for figure in group]
    differing = [figure for figure in figures if figure.differs]
    for figure in differing or result.figures.get("printed", []):
        theirs = "article" if figure.kind in OF_THE_ARTICLE else "expected"
        text = f"{figure.what}: {theirs} {_text(figure.article)}, here {_text(figure.here)}"
        indent = " " * 17
        print(textwrap.fill(text, SCREEN, initial_indent=indent, subsequent_indent=f"{indent}  "), file=out)


def _word(result: Result) -> str:
    return "agrees" if result.agrees else "DIFFERS"


def _print(result: Result, out: TextIO) -> None:
    one = result.experiment
    print(f"{one.id}  {one.title}", file=out)
    about = {"from": one.cited, "what must come out": one.verdict, "put in": one.chosen}
    for what, text in about.items():
        if text:
            print(textwrap.fill(f"{what}: {text}", SCREEN, initial_indent="  ", subsequent_indent="    "), file=out)
    for name, figures in result.figures.items():
        if not figures:
            continue
        names = [name, *(figure.what for figure in figures)]
        column = max(min(LABEL, max(map(len, names))), *(len(word) for one in names for word in one.split()))
        theirs = "article" if all(one.kind in {*OF_THE_ARTICLE, Kind.OURS} for one in figures) else "expected"
        print(f"\n  {'' if name == VERDICT else name:<{column}} {theirs:<{WIDTH}} here", file=out)
        for figure in figures:
            for line in _rows(figure, column, out):
                print(f"  {line}", file=out)
    print(f"\n  {one.id} {_coloured(_word(result), result.agrees, out)}\n", file=out)


def _rows(figure: Figure, column: int, out: TextIO) -> Iterator[str]:
    columns = textwrap.wrap(figure.what, column, break_long_words=False), _lines(figure.article), _lines(figure.here)
    for number, (what, theirs, ours) in enumerate(zip_longest(*columns, fillvalue="")):
        end = "" if number else f" {_mark(figure, out)}"
        yield f"{what:<{column}} {theirs:<{WIDTH}} {ours:<{WIDTH}}{end}".rstrip()


def _mark(figure: Figure, out: TextIO) -> str:
    if figure.kind is Kind.OURS:
        return figure.kind
    word = "DIFFERS" if figure.differs else "=" if figure.kind is Kind.PRINTED else figure.kind
    return _coloured(word, figure.equal, out)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _lines(value: object) -> list[str]:
    return textwrap.wrap(_text(value), WIDTH) or [""]


def _coloured(text: str, good: bool, out: TextIO) -> str:
    if out.isatty() and out is sys.stdout:
        return f"{GREEN if good else RED}{text}{PLAIN}"
    return text
