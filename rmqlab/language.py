"""The reader's language: texts are English where they are made, and are translated where they are shown.

`RMQLAB_LANG=zh` asks for Chinese. The catalogues are gettext files: `rmqlab/locale/zh.po` for the package, and those of
the lessons (`locale/zh/*.po` beside the notebooks). In English nothing is read and every text is itself.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import PACKAGE, ROOT
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from rmqlab.translations import Words

SETTING = "RMQLAB_LANG"
ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh")


def language() -> str:
    """The reader's language.

    Raises:
        BadInput: `RMQLAB_LANG` names one that there is not; the text names those there are.
    """
    asked = os.environ.get(SETTING) or ENGLISH
    if asked not in LANGUAGES:
        raise BadInput(f"{SETTING} is {asked!r}; it is one of {', '.join(LANGUAGES)}")
    return asked


def translate(text: str) -> str:
    """A text in the reader's language: by its entry, else by a template that fits, else part by part, else itself.

    Raises:
        BadInput: `RMQLAB_LANG` names a language that there is not.
    """
    asked = language()
    return text if asked == ENGLISH else words_of(asked).of(text)


def columns(text: str) -> int:
    """How many columns a terminal needs for a text: a Chinese character takes two."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@cache
def words_of(asked: str) -> Words:
    """What package and lessons say in a language that is not English."""
    from rmqlab.translations import Words

    entries: dict[str, str] = {}
    for path in _catalogues(asked):
        entries = read_catalogue(path) | entries
    return Words(entries)


def _catalogues(asked: str) -> list[Path]:
    """The package's catalogue first, then those of the lessons: in the tree, or beside the notebook that runs."""
    places = [ROOT / "notebooks", Path(), Path("..")]
    found = next((folder for place in places if (folder := place / "locale" / asked).is_dir()), None)
    return [PACKAGE / "locale" / f"{asked}.po", *(sorted(found.glob("[0-9]*.po")) if found else ())]


def read_catalogue(path: Path) -> dict[str, str]:
    """The entries of a catalogue that are translated and not marked fuzzy: text to translation."""
    import polib  # type: ignore[import-untyped]

    if not path.exists():
        return {}
    entries = polib.pofile(path.read_text(encoding="utf-8"))
    return {one.msgid: one.msgstr for one in entries if one.msgstr and not one.fuzzy and not one.obsolete}
