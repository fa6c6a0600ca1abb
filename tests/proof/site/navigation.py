"""The tree of pages beside each page: made once, and then marked for each page.

Sphinx and furo make it anew for each page, a third of the time of a build, though only two things differ: the links
are relative to the page, and the page and what is above it are marked as current. This writes the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from furo.navigation import get_navigation_tree
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_TAG = re.compile(r"(</?(?:ul|li|input|a)\b[^>]*>)")
_LINK = re.compile(r'<a class="reference internal" href="([^"]*)">')
_ENTRY = re.compile(r'<li class="(toctree-l\d+)([^"]*)">')
_ASIDE = "plain_toctree"


class _Place(NamedTuple):
    """Where a page stands: the parts of the tree that are marked when it is the current one."""

    lists: tuple[int, ...]
    entries: tuple[int, ...]
    boxes: tuple[int, ...]


class Navigation:
    r"""The tree as the first page of the site shows it, which is in the top folder and no entry of the tree.

    >>> tree = '<ul>\n<li class="toctree-l1"><a class="reference internal" href="a/b.html">B</a></li>\n</ul>'
    >>> Navigation(tree).at("a/c.html").splitlines()[1]
    '<li class="toctree-l1"><a class="reference internal" href="b.html">B</a></li>'
    >>> Navigation(tree).at("a/b.html").splitlines()[1]
    '<li class="toctree-l1 current current-page"><a class="current reference internal" href="#">B</a></li>'
    """

    def __init__(self, tree: str) -> None:
        self.parts = _TAG.split(tree)
        self.links: dict[int, str] = {}
        self.places: dict[str, _Place] = {}
        lists: list[int] = []
        entries: list[int] = []
        boxes: dict[int, int] = {}  # by entry
        for at, part in enumerate(self.parts):
            if part.startswith("<ul"):
                lists.append(at)
            elif part.startswith("<li"):
                entries.append(at)
            elif part.startswith("</ul"):
                lists.pop()
            elif part.startswith("</li"):
                entries.pop()
            elif part.startswith("<input"):
                boxes[entries[-1]] = at
                page = self.links[at - 4]  # the link of the same entry: its text and its end lie between
                self.places[page] = self.places[page]._replace(boxes=tuple(boxes[e] for e in entries))
            elif link := _LINK.fullmatch(part):
                self.links[at] = link[1]
                if link[1] in self.places:
                    raise ValueError(f"{link[1]} stands twice in the tree of pages")
                above = tuple(boxes[entry] for entry in entries if entry in boxes)
                self.places[link[1]] = _Place(tuple(lists), tuple(entries), above)

    def at(self, page: str) -> str:
        """The tree beside a page, whose address is given from the top folder."""
        parts = self.parts.copy()
        for at, target in self.links.items():
            parts[at] = f'<a class="reference internal" href="{relative_uri(page, target)}">'
            if target == page:
                parts[at] = '<a class="current reference internal" href="#">'
        if place := self.places.get(page):
            for at in place.lists:
                parts[at] = '<ul class="current">'
            for at in place.entries:
                parts[at] = _ENTRY.sub(r'<li class="\1 current\2">', parts[at])
            parts[place.entries[-1]] = parts[place.entries[-1]].replace('">', ' current-page">')
            for at in place.boxes:
                parts[at] = parts[at].replace(' class="', ' checked="" class="', 1)
        return "".join(parts)


def _set_aside(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Keep furo from making its tree."""
    context[_ASIDE] = context.pop("toctree")


class _Shown:
    """Gives a page its tree, which is made when the first page asks."""

    def __init__(self) -> None:
        self.navigation: Navigation | None = None

    def __call__(self, app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
        context["toctree"] = context.pop(_ASIDE)
        builder: Any = app.builder
        if self.navigation is None:
            tree = global_toctree_for_doc(
                app.env, app.config.root_doc, builder,
                tags=app.tags, collapse=False, titles_only=True, maxdepth=-1, includehidden=True,
            )  # fmt: skip
            self.navigation = Navigation(get_navigation_tree(builder.render_partial(tree)["fragment"]))
        context["furo_navigation_tree"] = self.navigation.at(builder.get_target_uri(page))


def connect(app: Sphinx) -> None:
    """Put our tree in the place of furo's: its handler has the priority 500."""
    app.connect("html-page-context", _set_aside, priority=400)
    app.connect("html-page-context", _Shown(), priority=600)
