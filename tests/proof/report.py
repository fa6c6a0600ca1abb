"""The HTML report of a reproduction: what came out, the lessons as they ran just now, and the pages they link to."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab_tools.course.articles.e1_expected import FigureKind
from rmqlab_tools.course.articles.experiments import OF_THE_ARTICLE
from rmqlab_tools.show.tables import PAGE_STYLE
from tests.proof import notebook_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rmqlab_tools.course.articles.e1_expected import Figure
    from rmqlab_tools.course.articles.experiments import Result

INDEX = "index.html"
ARTICLES = "data/articles/README.html"
_HREF = re.compile(r'(?P<before><a\b[^>]*?)\shref=(?P<quote>["\'])(?P<target>.*?)(?P=quote)', re.DOTALL)
_ID = re.compile(r'\bid=["\']([^"\']+)["\']')
_HEADING = re.compile(r"^# *(.+)$", re.MULTILINE)


def write_report(
    target: Path, results: Sequence[Result], summary: Sequence[str], tell: Callable[[str], None] = lambda _: None
) -> Path:
    """Write index.html and the pages into the folder ``target``, return the index; ``tell`` hears how far it is.

    The lessons are executed here, so the report needs the packages of the notebook extra. The pages lie as their
    sources do; a link to a source that has no page here becomes plain text.

    Raises:
        BadInput: the folder cannot be written.
    """
    lessons = sorted(checkout_path("notebooks").glob("*.ipynb"))
    try:
        target.mkdir(parents=True, exist_ok=True)
        (target / INDEX).touch()
        pages = {_name(path): _text_page(path) for path in _texts()}
        tasks = sorted(checkout_path("notebooks").glob("*/*.ipynb"))
        pages |= {_name(path): _page(notebook_files.read(path), path) for path in tasks}
        for number, path in enumerate(lessons, 1):
            tell(f"report: lesson {number} of {len(lessons)}, {path.stem}")
            pages[_name(path)] = _page(notebook_files.execute(notebook_files.read(path), path.parent), path)
        pages[INDEX] = _index(
            results, summary, {_name(path): _title(notebook_files.read(path), path) for path in lessons}
        )
        for name, text in linked(pages).items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--report {target}: {error.strerror}; name a folder that can be written") from error
    return target / INDEX


def linked(pages: dict[str, str]) -> dict[str, str]:
    """The pages with every link leading to one of them, at a place that it has, or out into the network.

    A link to a source (`x.ipynb`, `x.md`) leads to its page; one that leads nowhere loses its address.
    """
    places = {name: set(_ID.findall(text)) for name, text in pages.items()}

    def of(page: str) -> Callable[[re.Match[str]], str]:
        def aimed(link: re.Match[str]) -> str:
            target = urlsplit(link["target"])
            if target.scheme or target.netloc:
                return link[0]
            path = unquote(target.path)
            name = normpath(PurePosixPath(page).parent / re.sub(r"\.(ipynb|md)$", ".html", path)) if path else page
            fragment = unquote(target.fragment)
            if name not in pages or (fragment and fragment not in places[name]):
                return link["before"]
            ups = len(PurePosixPath(page).parent.parts)
            there = "" if name == page else "../" * ups + name
            return f'{link["before"]} href="{escape(there + (f"#{fragment}" if fragment else ""))}"'

        return aimed

    return {name: _HREF.sub(of(name), text) for name, text in pages.items()}


def _texts() -> list[Path]:
    """Texts that lessons link to."""
    texts = checkout_path("notebooks") / "glossary.md", checkout_path("data") / "articles" / "README.md"
    return [path for path in texts if path.is_file()]


def _name(path: Path) -> str:
    return path.relative_to(checkout_path("notebooks").parent).with_suffix(".html").as_posix()


def _title(notebook: notebook_files.Notebook, path: Path) -> str:
    """The first heading of a notebook; a solution is told from its task."""
    texts = (cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    heading = next(filter(None, map(_HEADING.search, texts)), None)
    title = heading[1] if heading else path.stem
    return f"{title} (solutions)" if path.parent.name == "solutions" else title


def _page(notebook: notebook_files.Notebook, path: Path) -> str:
    return notebook_files.page(notebook, _title(notebook, path))


def _text_page(path: Path) -> str:
    """A text in Markdown as a page."""
    from nbconvert.filters import markdown2html

    text = path.read_text(encoding="utf-8")
    heading = _HEADING.search(text)
    return _document(heading[1] if heading else path.stem, markdown2html(text))


def _document(title: str, body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _index(results: Sequence[Result], summary: Sequence[str], lessons: dict[str, str]) -> str:
    agreeing = sum(result.agrees for result in results)
    good = "yes" if agreeing == len(results) else "no"
    parts = [
        "<h1>The articles' experiments</h1>",
        f"<p class='{good}'>{agreeing} of {len(results)} experiments agree.</p>",
        "<ul>", *(f"<li>{escape(line)}</li>" for line in summary), "</ul>",
        f"<p><a href='{ARTICLES}'>What the articles are</a>, and what each kind of figure is.</p>",
        "<h2>Contents</h2><ul>",
        "<li><a href='#lessons'>Lessons, executed for this report</a></li>",
        "<li><a href='#experiments'>Experiments, figure by figure</a></li></ul>",
        "<h2 id='lessons'>Lessons, executed for this report</h2><ul>",
        *(f"<li><a href='{escape(name)}'>{escape(title)}</a></li>" for name, title in lessons.items()),
        "</ul><h2 id='experiments'>Experiments, figure by figure</h2>",
        *(_experiment(result) for result in results),
    ]  # fmt: skip
    return _document("rmqlab: the articles' experiments", "\n".join(parts))


def _experiment(result: Result) -> str:
    experiment = result.experiment
    word = "<span class='yes'>agrees</span>" if result.agrees else "<span class='no'>DIFFERS</span>"
    head = f"<summary><b>{escape(experiment.id)}</b> {word}: {escape(experiment.title)}</summary>"
    links = [f"<a href='{ARTICLES}#{heading.anchor}'>{escape(str(heading))}</a>" for heading in experiment.headings]
    cited = "; ".join([*links, *filter(None, [escape(experiment.source)])])
    words = f"<p>What must come out: {escape(experiment.verdict)}.</p><p>From: {cited}.</p>"
    if experiment.chosen:
        words += f"<p>Put in: {escape(experiment.chosen)}.</p>"
    tables = "".join(_table(name, figures) for name, figures in result.figures.items() if figures)
    return f"<details id='{escape(experiment.id)}'{'' if result.agrees else ' open'}>{head}{words}{tables}</details>"


def _table(name: str, figures: Sequence[Figure]) -> str:
    rows = "".join(
        f"<tr><td>{escape(figure.what)}</td><td>{escape(_text(figure.article))}</td><td>{escape(_text(figure.here))}</td>"
        f"{_mark(figure)}</tr>"
        for figure in figures
    )
    theirs = (
        "article"
        if all(row_figure.kind in {*OF_THE_ARTICLE, FigureKind.OURS} for row_figure in figures)
        else "expected"
    )
    heads = "".join(f"<th scope='col'>{head}</th>" for head in ("figure", theirs, "here", "it is"))
    return f"<table><caption>{escape(name)}</caption><tr>{heads}</tr>{rows}</table>"


def _mark(figure: Figure) -> str:
    if figure.kind is FigureKind.OURS:
        return f"<td>{figure.kind}</td>"
    word = "differs" if figure.differs else "equal" if figure.kind is FigureKind.PRINTED else figure.kind
    return f"<td class='{'no' if figure.differs else 'yes'}'>{word}</td>"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
