"""What the home page says and shows, for `docs/_templates/home.html`; its words are those of `words.json`."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from rmqlab import Lab
from tests.proof.site.lesson_cards import lessons
from tests.proof.site.playground_pages import PAGES
from tests.proof.site.top import words

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab_tools.show.film.film import Film

# Each reader with the page that the card leads to, and a second one.
READERS = (
    ("lost", "how-to/live-cluster.html", "how-to/audit-a-store.html"),
    ("change", "how-to/change-a-subscription.html", "playgrounds/group.html"),
    ("learn", "notebooks/index.html", "explanation/the-loss.html"),
    ("teach", "instructors/index.html", "instructors/day.html"),
    ("client", "how-to/test-with-a-broker.html", "how-to/record-and-replay.html"),
)
PROOFS = (
    ("real", "notebooks/10_real_broker.html"),
    ("rules", "explanation/rules.html"),
    ("orders", "notebooks/08_every_schedule.html"),
    ("unknown", "reference/fates.html"),
)
FILM = "data/pictures/eight_messages.html"
COMMANDS = {"notebook": "notebook", "reproduce": "reproduce", "doctor": "doctor --namesrv HOST:9876"}


def film() -> Film:
    """The eight messages running, in the language that is spoken."""
    lab = Lab(topics={"T": 4})
    for client, tag in (("A", "tagA"), ("B", "tagB")):
        lab.consumer(client, group="G", subscribe={"T": tag})
        lab.run(seconds=60)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    lab.run(seconds=25)
    return lab.play()


class Home:
    """The home page in one language; `sources` are those of the site, with the film in that language."""

    readers = READERS
    playgrounds = PAGES
    proofs = PROOFS
    commands = COMMANDS

    def __init__(self, language: str, sources: Path) -> None:
        """Lessons are counted, and the first one's minutes read, from the notebooks."""
        self._words = words()[language]["home"]
        self._film = sources / FILM
        known = lessons(language)
        self._values = {"lessons": str(len(known)), "minutes": str(known[0].minutes)}

    def text(self, key: str) -> str:
        """A text of the page as HTML."""
        return re.sub(r"\{(\w+)\}", lambda name: self._values[name[1]], escape(self._words[key], quote=True))

    @property
    def running(self) -> str:
        """The eight messages running."""
        return self._film.read_text(encoding="utf-8")


def preview(language: str, page: str, title: str, address: str) -> dict[str, str]:
    """What search engines and messengers show of a page; `address` is where the site will lie, or nothing.

    A page without an address names no image: messengers load one from a whole address only.
    """
    return {
        "title": escape(words()[language]["home"]["title"] if page == "index" else title, quote=True),
        "description": escape(words()[language]["home"]["description"], quote=True),
        "locale": {"en": "en_GB", "zh": "zh_CN"}[language],
        "address": f"{address}{language}/{page}.html" if address else "",
        "image": f"{address}{language}/_static/preview-{language}.png",
        "image_words": escape(words()[language]["page"]["preview"], quote=True),
    }
