"""The HTML report of a reproduction: the tables, and the notebooks as they ran just now."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.lab.lessons import notebooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rmqlab.lab.articles.experiments import Result
    from rmqlab.lab.articles.printed_e1 import Figure

STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 0.5em 0 1.5em }
caption { text-align: left; font-weight: bold; padding: 0.3em 0 }
th, td { border: 1px solid #bbb; padding: 0.2em 0.6em; text-align: left; font: 14px monospace }
.yes { color: #005a3c } .no { color: #8c2d04; font-weight: bold }
"""


def write_report(target: Path, results: Sequence[Result]) -> Path:
    """Write index.html and one page for each notebook into the folder ``target``; return the index.

    The notebooks are executed here, so the report needs the packages of the notebook extra.

    Raises:
        BadInput: the folder cannot be written.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        pages = [_notebook_page(path, target) for path in sorted(folder("notebooks").glob("*.ipynb"))]
        index = target / "index.html"
        index.write_text(_index(results, pages), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--report {target}: {error.strerror}; name a folder that can be written") from error
    return index


def _notebook_page(path: Path, target: Path) -> str:
    """Execute a notebook and write it as a page; return the page's name."""
    body = notebooks.page(notebooks.execute(notebooks.read(path), path.parent))
    name = f"{path.stem}.html"
    (target / name).write_text(body, encoding="utf-8")
    return name


def _index(results: Sequence[Result], pages: Sequence[str]) -> str:
    agreeing = sum(result.agrees for result in results)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>rmqlab: the articles' experiments</title>",
        f"<style>{STYLE}</style></head><body><h1>The articles' experiments</h1>",
        f"<p>{agreeing} of {len(results)} experiments agree.</p><h2>Notebooks, executed for this report</h2><ul>",
        *(f"<li><a href='{escape(page)}'>{escape(page.removesuffix('.html'))}</a></li>" for page in pages),
        "</ul>",
        *(_experiment(result) for result in results),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _experiment(result: Result) -> str:
    one = result.experiment
    head = f"<h2 id='{escape(one.id)}'>{escape(one.id)}: {escape(one.title)}</h2>"
    words = f"<p>Article: {escape(one.article)}. What must come out: {escape(one.verdict)}.</p>"
    return head + words + "".join(_table(name, figures) for name, figures in result.figures.items() if figures)


def _table(name: str, figures: Sequence[Figure]) -> str:
    rows = "".join(
        f"<tr><td>{escape(figure.what)}</td><td>{escape(_text(figure.article))}</td><td>{escape(_text(figure.here))}</td>"
        f"{_mark(figure)}</tr>"
        for figure in figures
    )
    head = "<tr><th scope='col'>figure</th><th scope='col'>article</th><th scope='col'>here</th><th></th></tr>"
    return f"<table><caption>{escape(name)}</caption>{head}{rows}</table>"


def _mark(figure: Figure) -> str:
    if not figure.compared:
        return "<td>ours</td>"
    return f"<td class='{'yes' if figure.equal else 'no'}'>{'equal' if figure.equal else 'differs'}</td>"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
