# ruff: noqa: INP001
"""Settings of the site: `./lab site` builds it twice, in English and in Chinese (the variable RMQLAB_SITE_LANGUAGE)."""

from __future__ import annotations

import os
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils.frontend import get_default_settings
from myst_parser.mdit_to_docutils import base

import rmqlab
from tests.proof.site.chinese_search import EnglishWords, PairsOfLetters
from tests.proof.site.home_page import Home, preview
from tests.proof.site.navigation import connect
from tests.proof.site.top import PageTop

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SITE_LANGUAGE = os.environ.get("RMQLAB_SITE_LANGUAGE", "en")
# Where the site will lie, "https://example.org/rmqlab/": messengers show a preview only from a whole address.
SITE_ADDRESS = os.environ.get("RMQLAB_SITE_ADDRESS", "")

project = "rmqlab"
author = "the rmqlab founders"
version = release = rmqlab.__version__
html_title = "rmqlab"
# Sphinx and furo know Simplified Chinese by its full name; our catalogues do not need to.
language = {"en": "en", "zh": "zh_CN"}[SITE_LANGUAGE]
locale_dirs = ["locale"]
gettext_compact = False
gettext_additional_targets: list[str] = []

extensions = ["myst_nb"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["theme.css", "site.css", "cards.css", "pictures.css"]
exclude_patterns = ["playgrounds", "locale", "_templates", "_static"]
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
html_sidebars = {"**": ["sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html"]}
html_use_index = False

# The lessons are shown as they ran; their pictures are SVG inside the page, and no widget asks another host for code.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
# A link to docs/playgrounds/x.html is made into playgroundsN:x.html, N folders below the language of the site
# (tests/proof/site/sources.py).
myst_url_schemes = {
    "http": None, "https": None, "mailto": None,
    **{f"playgrounds{n}": "../" * (n + 1) + "playgrounds/{{path}}" + f"?lang={SITE_LANGUAGE}" for n in range(4)},
}  # fmt: skip
# The text of the articles and the glossary have anchors in HTML, which MyST does not know: tests/proof/site/links.py
# looks at every link of the built pages instead.
suppress_warnings = ["myst.xref_missing"]


@cache
def home(folder: str) -> Home:
    """What the home page shows, with the film in the language of the pages."""
    return Home(SITE_LANGUAGE, Path(folder))


def frame(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Give each page its header, with its addresses in all languages, and what others show of it."""
    context["top"] = PageTop(page, SITE_LANGUAGE)
    context["preview"] = preview(SITE_LANGUAGE, page, context.get("title", "rmqlab"), SITE_ADDRESS)
    context["home"] = home(str(app.srcdir))


@cache
def default_settings(*components: Any) -> Any:
    """What docutils works out from hundreds of options, for each of 3,000 translated texts anew."""
    return get_default_settings(*components)


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    base.get_default_settings = lambda *components: deepcopy(default_settings(*components))
    app.add_search_language(EnglishWords)
    app.add_search_language(PairsOfLetters)
    app.connect("html-page-context", frame)
    connect(app)
