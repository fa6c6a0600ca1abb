"""The playgrounds lead to pages and files that the site has."""

from __future__ import annotations

import shutil

from rmqlab.checkout import checkout_path
from tests.proof.site.build import LANGUAGES
from tests.proof.site.links import faults
from tests.proof.site.playgrounds import OLD_PAGES, redirect


def test_every_link_of_the_pages_leads_to_a_file(tmp_path):
    shutil.copytree(checkout_path("docs") / "playgrounds", tmp_path / "playgrounds")
    for name in ("theme.css", "cards.css"):  # of the site, laid beside the playgrounds
        (tmp_path / "playgrounds" / name).touch()
    redirect(tmp_path / "lab")
    for name in OLD_PAGES:  # JupyterLite, which takes minutes to build
        page = tmp_path / "playgrounds" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.touch()
    (tmp_path / "index.html").write_text("<p>the first page</p>", encoding="utf-8")
    assert faults(tmp_path, LANGUAGES) == []


def test_every_playground_is_reached_from_its_old_address_too(tmp_path):
    redirect(tmp_path)
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert {"loss.html", "match.html", "group.html", "lessons.html", "lessons/lab/index.html"} <= pages
