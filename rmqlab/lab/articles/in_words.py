"""Results of the articles' experiments in words: a summary, some lines for each, or every figure."""

from __future__ import annotations

import json
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

from rmqlab.lab.articles.experiments import OF_THE_ARTICLE, VERDICT, Result
from rmqlab.lab.articles.printed_e1 import FigureKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rmqlab.lab.articles.printed_e1 import Figure

    Paint = Callable[[str, bool], str]  # a text, and whether it is good news

LABEL = 23  # of a figure's name, unless a word is longer
SCREEN = 100
WIDTH = 32  # of a value: an id has 32 digits; what is longer goes on in the next line
# What the summary says of each kind of figure; what is ours has nothing to agree with.
COUNTED = {
    FigureKind.PRINTED: "{} of {} figures that the articles print are equal here",
    FigureKind.FOLLOWS: "{} of {} that follow from their prints and programs come out",
    FigureKind.EXPECTED: "{} of {} that they do not state (from the source of 4.8.0, or a real broker) come out",
}


def summary(results: Sequence[Result]) -> list[str]:
    """How many figures of each kind agree, in words; kinds of which there are none are left out."""
    tallies = [result.tally() for result in results]
    counted = {kind: tuple(map(sum, zip(*(tally[kind] for tally in tallies), strict=True))) for kind in COUNTED}
    return [COUNTED[kind].format(*numbers) for kind, numbers in counted.items() if numbers[1]]


def short_lines(result: Result, paint: Paint) -> Iterator[str]:
    """One line; below it the figures that differ, or else what the article says its consumers printed."""
    experiment = result.experiment
    about = textwrap.shorten(f"{experiment.title}: {experiment.verdict}", SCREEN - 17, placeholder=" …")
    yield f"{experiment.id:<8} {paint(f'{_word(result):<7}', result.agrees)} {about}"
    differing = [figure for group in result.figures.values() for figure in group if figure.differs]
    for figure in differing or result.figures.get("printed", []):
        theirs = "article" if figure.kind in OF_THE_ARTICLE else "expected"
        text = f"{figure.what}: {theirs} {_text(figure.article)}, here {_text(figure.here)}"
        indent = " " * 17
        yield textwrap.fill(text, SCREEN, initial_indent=indent, subsequent_indent=f"{indent}  ")


def all_lines(result: Result, paint: Paint) -> Iterator[str]:
    """Every figure, and where the experiment comes from."""
    experiment = result.experiment
    yield f"{experiment.id}  {experiment.title}"
    about = {"from": experiment.cited, "what must come out": experiment.verdict, "put in": experiment.chosen}
    for what, text in about.items():
        if text:
            yield textwrap.fill(f"{what}: {text}", SCREEN, initial_indent="  ", subsequent_indent="    ")
    for name, figures in result.figures.items():
        if not figures:
            continue
        names = [name, *(figure.what for figure in figures)]
        column = max(min(LABEL, max(map(len, names))), *(len(word) for text in names for word in text.split()))
        theirs = (
            "article" if all(figure.kind in {*OF_THE_ARTICLE, FigureKind.OURS} for figure in figures) else "expected"
        )
        yield f"\n  {'' if name == VERDICT else name:<{column}} {theirs:<{WIDTH}} here"
        for figure in figures:
            yield from (f"  {line}" for line in _rows(figure, column, paint))
    yield f"\n  {experiment.id} {paint(_word(result), result.agrees)}\n"


def _word(result: Result) -> str:
    return "agrees" if result.agrees else "DIFFERS"


def _rows(figure: Figure, column: int, paint: Paint) -> Iterator[str]:
    columns = textwrap.wrap(figure.what, column, break_long_words=False), _lines(figure.article), _lines(figure.here)
    for number, (what, theirs, ours) in enumerate(zip_longest(*columns, fillvalue="")):
        end = "" if number else f" {_mark(figure, paint)}"
        yield f"{what:<{column}} {theirs:<{WIDTH}} {ours:<{WIDTH}}{end}".rstrip()


def _mark(figure: Figure, paint: Paint) -> str:
    if figure.kind is FigureKind.OURS:
        return figure.kind
    word = "DIFFERS" if figure.differs else "=" if figure.kind is FigureKind.PRINTED else figure.kind
    return paint(word, figure.equal)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _lines(value: object) -> list[str]:
    return textwrap.wrap(_text(value), WIDTH) or [""]
