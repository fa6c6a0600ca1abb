"""The reader's language, and messages: English as data, the reader's language where they are shown.

A text for people is made by `_("{lost} of {sent} lost", lost=3, sent=8)`, one that counts by `ngettext`. What comes
back is a `str` in English (equality, keys and JSON are the same in every language) that keeps its message and values:
`str()`, `print`, and an f-string show it in the reader's language. The catalogues are gettext files, read by polib (no
compiled file to build or to keep): `rmqlab/locale/zh.po`, then those of the lessons. In English nothing is read.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SETTING: Final = "RMQLAB_LANG"
ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "zh")
LOCALE: Final = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
"""What names the language of a locale, the first that is set first: gettext's order."""
C_LOCALES: Final = {"C", "POSIX"}
_WORDS = re.compile(r"\w .*\w")  # several of them
_CODESET = re.compile(r"[._@-]")
_forced: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The reader's language: `RMQLAB_LANG`, else that of the locale, else English.

    A locale whose language is not here is read in English; `LC_ALL=C` says English whatever `LANGUAGE` says.

    Raises:
        BadInput: `RMQLAB_LANG` names one that there is not; the text names those there are.
    """
    forced = _forced.get()
    if forced is not None:
        return forced
    chosen = os.environ.get(SETTING)
    if not chosen:
        return _of_locale(*map(os.environ.get, LOCALE))
    if chosen not in LANGUAGES:
        from rmqlab.errors import BadInput  # it has messages itself

        raise BadInput(f"{SETTING} is {chosen!r}; it is one of {', '.join(LANGUAGES)}")
    return chosen


@cache
def _of_locale(listed: str | None, *named: str | None) -> str:
    if named[0] in C_LOCALES:
        return ENGLISH
    listed_first = next(filter(None, (listed, *named)), "")
    known = (_CODESET.split(part)[0] for part in listed_first.split(":"))
    return next((part for part in known if part in LANGUAGES), ENGLISH)


@contextmanager
def spoken(wanted: str) -> Iterator[None]:
    """Show texts in a language, whatever the environment says, while a `with` block runs."""
    token = _forced.set(wanted)
    try:
        yield
    finally:
        _forced.reset(token)


class Translatable(str):
    """A text that is English as data, and in the reader's language by `str()`, `print`, `format` and IPython.

    Slices, `join` and other methods of `str` work on the English text and forget the message: put messages together
    by `joined`, by `+`, or as values of another message.
    """

    __slots__ = ("_args",)
    _args: tuple[Any, ...]

    def __new__(cls, *args: Any) -> Self:
        """Make it from what `_shown` needs to write it in any language."""
        token = _forced.set(ENGLISH)  # for values that are messages, or are shown by some
        try:
            made = str.__new__(cls, cls._shown(*args, ENGLISH))
        finally:
            _forced.reset(token)
        made._args = args  # noqa: SLF001 - its own
        return made

    @classmethod
    def _shown(cls, *args: Any) -> str:
        text, many, count, values, wanted = args
        english = text if count in {None, 1} else many
        if wanted != ENGLISH:
            catalogue = catalogue_of(wanted)
            text = catalogue.find(text, count) or english
            values = {name: catalogue.of_data(value) for name, value in values.items()}
        else:
            text = english
        return str(text.format(**values) if values else text)

    def __str__(self) -> str:
        """The text in the reader's language."""
        wanted = language()
        return str.__str__(self) if wanted == ENGLISH else self._shown(*self._args, wanted)

    def __format__(self, spec: str) -> str:
        """As an f-string shows it: in the reader's language."""
        return format(str(self), spec)

    def format(self, *args: object, **values: object) -> str:
        """The message with these values: a table of messages may have fields that are filled later."""
        if isinstance(self, Joined) or args:
            return str.format(self, *args, **values)
        text, many, count, before = self._args
        return Translatable(text, many, count, before | values)

    def __mod__(self, values: Any) -> str:
        """The text in the reader's language with `values` in it, as argparse fills a help."""
        return str(str(self) % values)

    def __add__(self, other: str) -> Translatable:
        """Both, one after the other."""
        return Joined("", (self, other))

    def __radd__(self, other: str) -> Translatable:
        """Both, one after the other."""
        return Joined("", (other, self))

    def __reduce__(self) -> tuple[type[Translatable], tuple[Any, ...]]:
        """Keep the message where it is copied or sent to another process."""
        return type(self), self._args

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """As IPython shows a text that a cell ends with."""
        printer.text(repr(str(self)))


class Joined(Translatable):
    """Texts one after the other, with a separator between them that is a message too."""

    __slots__ = ()

    @classmethod
    def _shown(cls, *args: Any) -> str:
        separator, parts, wanted = args
        if wanted != ENGLISH:
            catalogue = catalogue_of(wanted)
            separator, parts = catalogue.find(separator) or separator, map(catalogue.of_data, parts)
        return str(separator).join(map(str, parts))


def _(text: str, /, **values: Any) -> str:
    """A `Translatable` with named values, which may be messages themselves.

    >>> _("{lost} of {sent} lost", lost=3, sent=8)
    '3 of 8 lost'
    """
    if isinstance(text, Translatable) and not values:
        return text  # a text of data may be one already
    return Translatable(text, text, None, values)


def ngettext(singular: str, plural: str, count: int, /, **values: Any) -> str:
    """A `Translatable` that depends on a number, which it has as `count` among its values.

    >>> ngettext("{count} message in {where}", "{count} messages in {where}", 2, where="queue 0")
    '2 messages in queue 0'
    """
    return Translatable(singular, plural, count, {"count": count, **values})


def N_(text: str) -> str:  # noqa: N802 - gettext's name for it
    """Mark a text that `_` is given later by a name: `pybabel extract` finds it here."""
    return text


def joined(separator: str, parts: Iterable[object]) -> str:
    """A `Translatable` of texts with a separator between them, which is translated too: in Chinese lists ", " is "、".

    >>> joined(", ", ["tagA", _("no tag")])
    'tagA, no tag'
    """
    return Joined(separator, tuple(parts))


def shortened(names: Iterable[object], most: int) -> str:
    """The names in a line: all, or the first `most` and how many more there are.

    >>> shortened("ABC", 2)
    'A, B and 1 more'
    """
    known = list(names)
    text = joined(", ", known[:most])
    return text if len(known) <= most else _("{names} and {more} more", names=text, more=len(known) - most)


SEPARATORS: Final = (N_(", "), N_(". "), N_(" · "), N_("; "), N_(" and "), N_(" or "), N_(": "), N_(", then "))
"""What `joined` is given between words."""


def sentences(*parts: str) -> str:
    """Sentences one after the other, those that are empty left out; in Chinese there is no space between them.

    >>> sentences(_("Nothing is lost."), "", _("Nothing waits."))
    'Nothing is lost. Nothing waits.'
    """
    return reduce(lambda first, second: _("{first} {second}", first=first, second=second), filter(None, parts))


class Catalogue:
    """The messages of one language."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """`paths`: gettext files; of a text that several have, the first counts."""
        self._texts: dict[str, dict[int, str]] = {}
        self._form: Callable[[int], int] = lambda _: 0
        for path in paths:
            self._read(path)

    def _read(self, path: Path) -> None:
        from gettext import c2py  # what GNUTranslations reads plural rules by

        try:
            import polib  # type: ignore[import-untyped]
        except ModuleNotFoundError:  # `./lab` before anything is installed
            return
        if not path.exists():
            return
        file = polib.pofile(path.read_text(encoding="utf-8"))
        rule = re.search(r"plural=([^;]+)", file.metadata.get("Plural-Forms", ""))
        if rule:
            self._form = c2py(rule[1])
        for entry in file:
            if not entry.fuzzy and not entry.obsolete and (entry.msgstr or any(entry.msgstr_plural.values())):
                self._texts.setdefault(entry.msgid, entry.msgstr_plural or {0: entry.msgstr})

    def find(self, text: str, count: int | None = None) -> str | None:
        """The translation of a text, in the form for `count`; None where there is none."""
        forms = self._texts.get(text)
        if forms is None:
            inner = text.strip()
            translation = self.find(inner, count) if inner not in {"", text} else None
            return None if translation is None else text.replace(inner, translation)
        return forms[0] if count is None else forms.get(self._form(count), forms[0])

    def of_data(self, value: object) -> object:
        """A value; one of several words that the catalogue has as they are, such as a picture's title, by it."""
        return (self.find(value) or value) if type(value) is str and _WORDS.search(value) else value


@cache
def catalogue_of(wanted: str) -> Catalogue:
    """What package and lessons say in a language that is not English."""
    return Catalogue(_catalogues(wanted))


def translate(text: str) -> str:
    """A text as it is shown: a message, or a text of data that the catalogue has as it is; any other stays."""
    return str(_(text))


def english(text: object) -> str:
    """What an object is in English, whatever the reader's language: for JSON, and what else programs read."""
    with spoken(ENGLISH):
        return str(text)


def columns(text: str) -> int:
    """How many columns a terminal needs for a text as it is shown: a Chinese character takes two."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in str(text))


def filled(text: str, width: int, *, right: bool = False) -> str:
    """A text as it is shown, filled with blanks to a number of columns; one at the `right` has them before it.

    >>> filled("tagA", 6), filled("tagA", 6, right=True)
    ('tagA  ', '  tagA')
    """
    blanks = " " * (width - columns(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


def _catalogues(wanted: str) -> list[Path]:
    """The package's catalogue first, then those of the lessons: in the tree or the wheel, or beside what runs."""
    package = Path(__file__).resolve().parent
    places = [package.parent / "notebooks", package / "notebooks", Path(), Path("..")]
    lessons = next((folder for place in places if (folder := place / "locale" / wanted).is_dir()), None)
    return [package / "locale" / f"{wanted}.po", *(sorted(lessons.glob("[0-9]*.po")) if lessons else ())]


def read_catalogue(path: Path) -> dict[str, str]:
    """The entries of a catalogue that are translated and not marked fuzzy: text to translation."""
    import polib

    if not path.exists():
        return {}
    entries = polib.pofile(path.read_text(encoding="utf-8"))
    translations: dict[str, str] = {}
    for entry in entries:
        if not entry.fuzzy and not entry.obsolete:
            translations |= {text: said for text, said in _forms(entry) if said}
    return translations


def _forms(entry: Any) -> list[tuple[str, str]]:
    """The texts of an entry and what they are; the last form is that of many."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    forms = [entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural)]
    return [(entry.msgid, forms[0]), (entry.msgid_plural, forms[-1])]
