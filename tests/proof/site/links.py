"""Follows every link of a built site, and looks for anything that a page would fetch from another host."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

# What a browser fetches by itself: it must lie in the site. A link that a reader follows (a href) may lead out.
FETCHED = {
    ("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"),
    ("embed", "src"), ("object", "data"), ("link", "href"), ("image", "href"), ("use", "href"),
}  # fmt: skip
NOT_FETCHED_RELS = {"canonical", "alternate", "author", "license"}
MADE_LATER = {"lab", "playgrounds"}  # a site may be built without the playgrounds and their old addresses


class _Page(HTMLParser):
    """The places that a page has, and the addresses that it names."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.addresses: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down ids, links and sources."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src", "data", "xlink:href"):
            if name in given and (name != "data" or tag == "object"):
                plain = name.removeprefix("xlink:")
                fetched = (tag, plain) in FETCHED and given.get("rel") not in NOT_FETCHED_RELS
                self.addresses.append((given[name], fetched))


def faults(site: Path, languages: Sequence[str]) -> list[str]:
    """What is wrong with the links of a site: a page, file or place that is not there, or a file of another host."""
    pages = {path.relative_to(site).as_posix(): _read(path) for path in site.rglob("*.html")}
    whole = (site / "playgrounds").is_dir()
    wrong = []
    for name, page in sorted(pages.items()):
        for address, fetched in page.addresses:
            target = urlsplit(address)
            if target.scheme == "data":
                continue
            if target.scheme or target.netloc:
                if fetched:
                    wrong.append(f"{name}: fetches {address} from another host")
                continue
            there = _normal(PurePosixPath(name).parent / unquote(target.path)) if target.path else name
            first = there.partition("/")[0]
            if (first in MADE_LATER and not whole) or (first in {"en", "zh"} and first not in languages):
                continue
            place = unquote(target.fragment)
            if there not in pages and not (site / there).is_file():
                wrong.append(f"{name}: {address} leads nowhere")
            elif place and there in pages and place not in pages[there].places:
                wrong.append(f"{name}: {address}: {there} has no place {place!r}")
    return wrong


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
