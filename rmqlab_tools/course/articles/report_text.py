"""Results of the articles' experiments in words: a summary, some lines for each, or every figure."""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from rmqlab.language import _, columns, joined, translate
from rmqlab.run.fates import fates_in_words
from rmqlab_tools.course.articles.e1_expected import FigureKind
from rmqlab_tools.course.articles.experiments import OF_THE_ARTICLE, VERDICT, Result
from rmqlab_tools.styled import BAD, GOOD, Line
from rmqlab_tools.wrapping import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab_tools.course.articles.e1_expected import Figure
    from rmqlab_tools.styled import Part

_NAMED = re.compile(r"(?P<text>.+) (?P<joint>of|by|at) (?P<end>(?<=at )\d+|(?<!at )[A-Z]\w*)")
LABEL_COLUMNS = 23  # of a figure's name, unless a word is longer
SCREEN = 100
"""Columns where nothing says how many there are."""
REPORT_COLUMNS = 32  # of a value: an id has 32 digits; what is longer goes on in the next line
# What the summary says of each kind of figure; what is ours has nothing to agree with.
COUNTED_FIGURES = {
    FigureKind.PRINTED: _("{equal} of {count} figures that the articles print are equal here"),
    FigureKind.FOLLOWS: _("{equal} of {count} that follow from their prints and programs come out"),
    FigureKind.EXPECTED: (
        _("{equal} of {count} that they do not state (from the source of 4.8.0, or a real broker) come out")
    ),
}


def summary(results: Sequence[Result]) -> list[str]:
    """How many figures of each kind agree, in words; kinds of which there are none are left out."""
    tallies = [result.tally() for result in results]
    counted = {kind: tuple(map(sum, zip(*(tally[kind] for tally in tallies), strict=True))) for kind in COUNTED_FIGURES}
    return [COUNTED_FIGURES[kind].format(equal=equal, count=count) for kind, (equal, count) in counted.items() if count]


def verdict(results: Sequence[Result], *, verbose: bool) -> str:
    """How many experiments agree, in words."""
    agreeing = sum(result.agrees for result in results)
    if verbose:
        return _("{agreeing} of {results} experiments agree", agreeing=agreeing, results=len(results))
    return _("{agreeing} of {results} experiments agree; -v shows all figures", agreeing=agreeing, results=len(results))


def short_lines(result: Result, screen: int = SCREEN) -> Iterator[str]:
    """One line; below it the figures that differ, or else what the article says its consumers printed."""
    experiment = result.experiment
    about, room = _told(experiment.title, experiment.verdict), max(SCREEN // 2, screen) - 17
    if columns(about) > room:
        about = f"{wrapped(about, room - 2)[0]} …"
    yield Line(f"{experiment.id:<8} ", (_padded(_word(result), 7), _style(result.agrees)), f" {about}")
    differing = [figure for group in result.figures.values() for figure in group if figure.differs]
    for figure in differing or result.figures.get("printed", []):
        theirs, ours = _text(figure.article), _text(figure.here)
        of_article = figure.kind in OF_THE_ARTICLE
        text = (
            _("article {theirs}, here {ours}", theirs=theirs, ours=ours)
            if of_article
            else _("expected {theirs}, here {ours}", theirs=theirs, ours=ours)
        )
        yield from wrapped(_told(figure.what, text), max(SCREEN // 2, screen), " " * 17, " " * 19)


def all_lines(result: Result, screen: int = SCREEN) -> Iterator[str]:
    """Every figure, and where the experiment comes from."""
    experiment = result.experiment
    yield f"{experiment.id}  {_(experiment.title)}"
    cited = joined("; ", [*map(str, experiment.headings), *(_(origin) for origin in [experiment.source] if origin)])
    about = {_("from"): cited, _("what must come out"): experiment.verdict, _("put in"): experiment.chosen}
    for what, text in about.items():
        if text:
            yield from wrapped(_told(what, text), screen, "  ", "    ")
    for name, figures in result.figures.items():
        if not figures:
            continue
        names = [figure_words(text) for text in (name, *(figure.what for figure in figures))]
        column = max(
            min(LABEL_COLUMNS, max(map(columns, names))), *(columns(word) for label in names for word in label.split())
        )
        theirs = (
            _("article")
            if all(figure.kind in {*OF_THE_ARTICLE, FigureKind.OURS} for figure in figures)
            else _("expected")
        )
        head = _padded("" if name == VERDICT else figure_words(name), column)
        yield f"\n  {head} {_padded(str(theirs), REPORT_COLUMNS)} {_('here')}"
        for figure in figures:
            yield from _rows(figure, column)
    yield Line(f"\n  {experiment.id} ", (_word(result), _style(result.agrees)), "\n")


def figure_words(name: str) -> str:
    """What a figure is called, in the reader's language; a client or a time at its end stays."""
    parts = _NAMED.fullmatch(name)
    if parts is None:
        return translate(name)
    template = {"at": "{text} at {{seconds}}"}.get(parts["joint"], "{text} {joint} {{who}}").format(**parts.groupdict())
    return str(_(template, seconds=parts["end"], who=parts["end"]))


def _word(result: Result) -> str:
    return str(_("agrees") if result.agrees else _("DIFFERS"))


def _told(what: str, text: str) -> str:
    """Two texts in the reader's language, the first a heading of the second."""
    return str(joined(": ", (figure_words(what), translate(text))))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def _rows(figure: Figure, column: int) -> Iterator[str]:
    cells = wrapped(figure_words(figure.what), column), _lines(figure.article), _lines(figure.here)
    for number, (what, theirs, ours) in enumerate(zip_longest(*cells, fillvalue="")):
        row = f"  {_padded(what, column)} {_padded(theirs, REPORT_COLUMNS)} {_padded(ours, REPORT_COLUMNS)}"
        yield row.rstrip() if number else Line(f"{row} ", _mark(figure))


def _mark(figure: Figure) -> Part:
    if figure.kind is FigureKind.OURS:
        return str(_(figure.kind.value)), ""
    word = _("DIFFERS") if figure.differs else "=" if figure.kind is FigureKind.PRINTED else _(figure.kind.value)
    return str(word), _style(figure.equal)


def _style(is_good: bool) -> str:
    return GOOD if is_good else BAD


def _text(value: object) -> str:
    return fates_in_words(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _lines(value: object) -> list[str]:
    return wrapped(_text(value), REPORT_COLUMNS) or [""]
