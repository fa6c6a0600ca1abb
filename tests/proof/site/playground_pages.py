"""The pages of the playgrounds: one frame, and what each shows first.

A playground shows a state at once, while Python loads: its first calls are answered when the site is built, by the
same modules (`first/loss-en.json`; `docs/playgrounds/boot.js` gives the answers). A call that differs waits for Python.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from collections.abc import Generator
from html import escape
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rmqlab.checkout import ROOT, checkout_path
from rmqlab.language import LANGUAGES, spoken
from rmqlab_tools.show.film.film import component_source
from tests.proof.site import dark_pictures
from tests.proof.site.top import PlaygroundTop, words

if TYPE_CHECKING:
    from pathlib import Path

STATIC = ROOT / "docs" / "_static"
SHARED = ("theme.css", "cards.css", "top.js", "favicon.svg", "preview-en.png", "fonts")
MODULES = ("words.js", "boot.js", "parts.js")
PAGES = ("loss", "match", "group", "lessons")
Json = dict[str, Any]
Calls = Generator[tuple[str, list[Any]], Any, None]


def write(out: Path) -> None:
    """Write the pages, what they share with the other pages of the site, and their first answers into `out`."""
    for name in SHARED:
        if (STATIC / name).is_dir():
            shutil.copytree(STATIC / name, out / name, dirs_exist_ok=True)
        else:
            shutil.copy(STATIC / name, out / name)
    dark_pictures.write(out / "pictures.css")
    (out / "film.js").write_text(component_source(), encoding="utf-8")
    place = checkout_path("docs")
    loader = FileSystemLoader([place / "playgrounds", place / "_templates"])
    # As in the templates of Sphinx, which share the header: texts are HTML already.
    frames = Environment(loader=loader, autoescape=False, undefined=StrictUndefined)  # noqa: S701
    for page in PAGES:
        text = frames.get_template(f"{page}.html").render(page=page, **_context(page))
        (out / f"{page}.html").write_text(text + "\n", encoding="utf-8")
    (out / "first").mkdir(exist_ok=True)
    for page, calls in FIRST.items():
        for language in LANGUAGES:
            answers = json.dumps(_answers(page, language, calls), ensure_ascii=False, separators=(",", ":"))
            (out / "first" / f"{page}-{language}.json").write_text(answers, encoding="utf-8")


def _context(page: str) -> Json:
    texts = {language: {name: words()[language][name] for name in ("page", "boot", page)} for language in LANGUAGES}
    own = texts["en"][page]
    address = os.environ.get("RMQLAB_SITE_ADDRESS", "")
    image = {
        "image": f"{address}playgrounds/preview-en.png", "locale": "en_GB",
        "image_words": texts["en"]["page"]["preview"],
        "address": f"{address}playgrounds/{page}.html" if address else "",
    }  # fmt: skip
    return {
        "top": PlaygroundTop(),
        "words": texts,
        "pages": PAGES,
        "words_json": json.dumps(texts, ensure_ascii=False).replace("</", "<\\/"),
        "modules": () if page == "lessons" else MODULES,
        "preview": image | {"title": escape(f"{own['title']} · rmqlab"), "description": escape(own["lead"])},
    }


def _answers(page: str, language: str, calls: Any) -> list[Json]:
    """The first calls of a page with their answers, as Python in the page gives them."""
    folder = str(checkout_path("docs") / "playgrounds")
    sys.path.insert(0, folder)
    try:
        bridge = importlib.import_module("bridge")
        answers: list[Json] = []
        with spoken(language):
            ask = calls()
            call = next(ask)
            while True:
                name, arguments = call
                answer = json.loads(bridge.run(f"{page}.{name}", json.dumps(arguments)))["value"]
                answers.append({"name": f"{page}.{name}", "arguments": arguments, "value": answer})
                try:
                    call = ask.send(answer)
                except StopIteration:
                    return answers
    finally:
        sys.path.remove(folder)


def _loss() -> Calls:
    yield "versions", []
    state = yield "example", ["loss"]
    yield "show", [state]


def _match() -> Calls:
    versions = yield "versions", []
    asked = {"type": "SQL92", "expression": "a > 3", "tag": "", "properties": [["a", "5"]], "version": versions[0]}
    yield "answer", [asked]


def _group() -> Calls:
    versions = yield "versions", []
    members = [
        {"client": client, "topic": "TopicTest", "type": "TAG", "expression": tag}
        for client, tag in (("A", "tagA"), ("B", "tagB"))
    ]
    asked = {"members": members, "queues": 4, "old": "", "new": "", "restarting": 2, "budget": 10}
    judged = yield "judge", [asked | {"version": versions[0]}]
    wishes = dict(zip(("old", "new"), judged["wishes"], strict=False))
    yield "lost", [asked | wishes | {"version": versions[0]}]


FIRST: dict[str, Any] = {"loss": _loss, "match": _match, "group": _group}
