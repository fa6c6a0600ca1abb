"""What placeholders such as `${orders.topic:T}` stand for: settings of Spring applications, by profile.

A file belongs to the application in whose folder it lies. Code of a folder without configuration (a library) is asked
of all applications; where they give different values, none is known. What the environment of a process sets instead is
in no source, and is not asked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput, there_are
from rmqlab.language import _, joined
from rmqlab_tools.source.bean_settings import named_settings
from rmqlab_tools.source.config_files import NAMES, DamagedConfigError, Document, documents, uniform
from rmqlab_tools.source.files import YAML, module_of
from rmqlab_tools.source.values import Known, NotKnown, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab_tools.source.config_files import Given
    from rmqlab_tools.source.files import Files

_WORD: Final = re.compile(r"[()&|!]|[^()&|!\s]+")
_FILLED_IN: Final = re.compile(r"@[\w.\-]+@")
DEEPEST: Final = 40
"""Settings that lead to one another, and placeholders in a text."""
MOST_WORDS: Final = 100
"""Words of an expression of profiles that are read."""


class Application:
    """The settings of one application: its documents, those that count for the active profiles, and what they set."""

    def __init__(self, folder: str, read: Iterable[Document], profiles: Iterable[str]) -> None:
        """`read` are all its documents; without `profiles` those that its own settings name are active."""
        self.folder = folder
        self.documents = sorted(read, key=lambda document: document.weight)
        self.active = tuple(profiles) or self._own_profiles()
        self.given: dict[str, Given] = {}
        for document in self.documents:
            if document.profiles is None or holds(document.profiles, self.active or ("default",)):
                self.given |= document.settings

    def _own_profiles(self) -> tuple[str, ...]:
        named: list[str] = []
        for document in self.documents:
            for name in ("spring.profiles.active", "spring.profiles.include"):
                given = document.settings.get(uniform(name))
                if (
                    given is not None
                    and document.profiles is None
                    and "$" not in given.value
                    and "@" not in given.value
                ):
                    named += [part.strip() for part in given.value.split(",") if part.strip()]
        return tuple(dict.fromkeys(named))

    @property
    def profiles(self) -> set[str]:
        """All profiles that its documents name."""
        return {
            word
            for document in self.documents
            for word in _WORD.findall(document.profiles or "")
            if word not in "()&|!"
        }

    def elsewhere(self, name: str) -> dict[str, list[Given]]:
        """What a setting is in documents that do not count now, by their profiles."""
        by_profile: dict[str, list[Given]] = {}
        for document in self.documents:
            given = document.settings.get(name)
            if given is not None and document.profiles is not None and self.given.get(name) != given:
                by_profile.setdefault(document.profiles.strip("()"), []).append(given)
        return by_profile


def holds(expression: str, active: Iterable[str]) -> bool:
    """Whether an expression of profiles holds: names, `!`, `&`, `|` and brackets, `&` before `|`.

    >>> holds("(prod & !eu) | dev", ["prod"])
    True
    """
    words = _WORD.findall(expression)[:MOST_WORDS]
    names = set(active)

    def either() -> bool:
        value = both()
        while words and words[0] == "|":
            words.pop(0)
            value = both() or value
        return value

    def both() -> bool:
        value = single()
        while words and words[0] == "&":
            words.pop(0)
            value = single() and value
        return value

    def single() -> bool:
        word = words.pop(0) if words else ""
        if word == "!":
            return not single()
        if word == "(":
            value = either()
            if words:
                words.pop(0)
            return value
        return word in names

    return either()


class Settings:
    """The settings of all applications of a code base."""

    def __init__(self, files: Files, profiles: Iterable[str] = ()) -> None:
        """Read them; `profiles` are those that are active.

        Raises:
            BadInput: a profile that no application has.
        """
        self.notes: dict[str, None] = {}
        by_folder: defaultdict[str, list[Document]] = defaultdict(list)
        for file in files.of(*YAML, ".properties"):
            if NAMES.fullmatch(file.path.name):
                text = files.text(file)
                try:
                    by_folder[module_of(file.shown)] += [] if text is None else documents(text, file.shown)
                except DamagedConfigError as error:
                    files.troubles.append((file.shown, _("does not parse: {error}", error=error)))
        for file, naming in named_settings(files):
            if not NAMES.fullmatch(file.path.name) and module_of(naming.shown) == module_of(file.shown):
                text = files.text(file)
                with suppress(DamagedConfigError):
                    by_folder[module_of(naming.shown)] += (
                        [] if text is None else documents(text, file.shown, by_location=True)
                    )
        active = tuple(profiles)
        self.applications = {folder: Application(folder, read, active) for folder, read in by_folder.items()}
        known = {name for application in self.applications.values() for name in application.profiles}
        for name in active:
            if name not in known:
                raise BadInput(
                    _(
                        "--profile {name}: no application of the sources has this profile{near}",
                        name=name,
                        near=there_are(name, sorted(known)),
                    )
                )

    def near(self, file: str) -> list[Application]:
        """The applications that a file may run in: its own, or all where it has none."""
        folder = module_of(file)
        while True:
            if folder in self.applications:
                return [self.applications[folder]]
            shorter = folder.rpartition("/")[0]
            if not shorter:
                return list(self.applications.values())
            folder = shorter

    def filled(self, text: str, file: str) -> Value:
        """A text with its placeholders replaced, as the application of a file does it."""
        if "${" not in text and "#{" not in text:
            return Known(text)
        values: dict[str, None] = {}
        applications: list[Application | None] = [*self.near(file)]
        for application in applications or [None]:
            value = self._filled(text, application, ())
            if isinstance(value, NotKnown):
                return value
            values[value.text] = None
        if len(values) == 1:
            return Known(next(iter(values)))
        shown = joined(", ", (repr(value) for value in list(values)[:4]))
        return NotKnown(_("{text}: the applications set it differently: {values}", text=text, values=shown))

    def of(self, application: Application, given: Given | None, default: str) -> Value:
        """The value of a setting of an application, or the default where it is not given."""
        if given is None:
            return Known(default)
        return self._filled(given.value, application, (uniform(given.name),))

    def _filled(self, text: str, application: Application | None, trail: tuple[str, ...]) -> Value:
        if text.count("${") > DEEPEST:
            return NotKnown(_("{text} has more than {most} placeholders", text=text[:DEEPEST], most=DEEPEST))
        if "#{" in text:
            return NotKnown(_("{text} is worked out by Spring when it runs (SpEL)", text=text))
        if _FILLED_IN.search(text):
            return NotKnown(_("{text} is filled in by the build", text=text))
        made, at = "", 0
        while (begin := text.find("${", at)) >= 0:
            end = _closing(text, begin + 2)
            if end is None:
                break
            value = self._looked_up(text[begin + 2 : end], application, trail)
            if isinstance(value, NotKnown):
                return value
            made, at = made + text[at:begin] + value.text, end + 1
        return Known(made + text[at:])

    def _looked_up(self, inner: str, application: Application | None, trail: tuple[str, ...]) -> Value:
        name, colon, default = _parted(inner)
        if "${" in name:
            named = self._filled(name, application, trail)
            if isinstance(named, NotKnown):
                return named
            name = named.text
        key = uniform(name.strip())
        if key in trail:
            cycle = " -> ".join((*trail[trail.index(key) :], key))
            return NotKnown(_("the setting {name} leads back to itself: {cycle}", name=name, cycle=cycle))
        if len(trail) > DEEPEST:
            return NotKnown(_("the setting {name} leads through more than {most} others", name=name, most=DEEPEST))
        given = None if application is None else application.given.get(key)
        others = {} if application is None else application.elsewhere(key)
        if given is not None:
            self._note(name, given, others)
            return self._filled(given.value, application, (*trail, key))
        if others and not colon:
            profiles = joined(", ", others)
            return NotKnown(
                _("only the profiles {profiles} set {name}: choose one by --profile", profiles=profiles, name=name)
            )
        if colon:
            return self._filled(default, application, (*trail, key))
        return NotKnown(_("no setting {name} is in the sources, and it has no default", name=name))

    def _note(self, name: str, given: Given, others: dict[str, list[Given]]) -> None:
        for profile, heavier in others.items():
            for other in heavier:
                if other.value != given.value:
                    self.notes[
                        _(
                            "the profile {profile} sets {name} to {other}, not {value} ({file}:{line}); --profile "
                            "judges it",
                            profile=profile, name=name, other=repr(other.value), value=repr(given.value),
                            file=other.file, line=other.line,
                        )
                    ] = None  # fmt: skip


def _closing(text: str, at: int) -> int | None:
    """Where the placeholder ends in which `at` lies."""
    depth = 0
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
            at += 1
        elif text[at] == "}":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return None


def _parted(inner: str) -> tuple[str, str, str]:
    """Name, colon and default of a placeholder; a colon inside an inner placeholder is none of its own."""
    depth = 0
    for at, character in enumerate(inner):
        if inner.startswith("${", at):
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == ":" and depth == 0:
            return inner[:at], ":", inner[at + 1 :]
    return inner, "", ""


def applications_of(settings: Settings) -> Iterator[Application]:
    """The applications in the order of their folders."""
    return (settings.applications[folder] for folder in sorted(settings.applications))
