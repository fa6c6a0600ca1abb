"""Configuration files of Spring as documents: names of settings with their values and lines, and for which profiles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import _
from rmqlab.message.java_properties import MalformedEscapeError, load_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES: Final = re.compile(r"(application|bootstrap)(?:-(.+))?\.(ya?ml|properties)", re.IGNORECASE)
MOST_SETTINGS: Final = 50_000
"""Settings of a document: aliases of YAML can make more of a few lines than a machine holds."""
DEEPEST: Final = 60
# `@name@` is put in by a build; no scalar of YAML may begin so, which Spring's own documentation says to quote.
_FILLED_IN: Final = re.compile(r"(?m)^(\s*(?:-\s+)?[\w.\-\[\]]+\s*:\s+|\s*-\s+)(@[^@\s\"']+@[^\n#\"']*?)(\s*(?:#.*)?)$")
_CONDITIONS: Final = ("spring.config.activate.on-profile", "spring.profiles")


@dataclass(frozen=True, slots=True)
class Given:
    """A setting: its name and value as they are written, and where."""

    name: str
    value: str
    file: str
    line: int


@dataclass(slots=True)
class Document:
    """One document of a file: its settings by their uniform names; `profiles`: an expression that must hold, or None.

    `weight`: of two that set the same, the heavier counts.
    """

    file: str
    profiles: str | None
    weight: tuple[int, ...] = ()
    settings: dict[str, Given] = field(default_factory=dict)


class DamagedConfigError(Exception):
    """A file that is no YAML, or no properties; the text says where and why."""


def uniform(name: str) -> str:
    """A setting's name, however it is written: Spring reads `name-server`, `nameServer` and `name_server` alike.

    >>> uniform("rocketmq.name-server"), uniform("rocketmq.nameServer")
    ('rocketmq.nameserver', 'rocketmq.nameserver')
    """
    return name.replace("-", "").replace("_", "").lower()


def documents(text: str, file: str, *, by_location: bool = False) -> list[Document]:
    """The documents of a configuration file, the last one the heaviest; lighter those of one that is named elsewhere.

    Raises:
        DamagedConfigError: it is not what its name says.
    """
    named = NAMES.fullmatch(re.split(r"[/\\]", file)[-1])
    kind, profile = (named[1].lower(), named[2]) if named else ("application", None)
    is_yaml = not file.lower().endswith(".properties")
    made = []
    for number, settings in enumerate(_of_yaml(text, file) if is_yaml else _of_properties(text, file)):
        condition = next((given.value for name in _CONDITIONS if (given := settings.get(uniform(name)))), None)
        parts = [part for part in (profile, condition) if part]
        profiles = " & ".join(f"({'|'.join(part.split(','))})" for part in parts) if parts else None
        # bootstrap's are the lightest, then application's; a profile's file is heavier, properties beat YAML
        weight = (kind == "application", profile is not None, not is_yaml, number)
        lightest = (-1,) if by_location else ()
        made.append(Document(file, profiles, (*lightest, *map(int, weight)), settings))
    return made


def _of_properties(text: str, file: str) -> Iterator[dict[str, Given]]:
    """By the rules of `java.util.Properties`; a comment `#---` or `!---` begins another document."""
    settings: dict[str, Given] = {}
    pending, begin = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if not pending and line.strip() in {"#---", "!---"}:
            yield settings
            settings = {}
            continue
        begin = begin if pending else number
        pending += line + "\n"
        if (len(line) - len(line.rstrip("\\"))) % 2 and not line.lstrip().startswith(("#", "!")):
            continue
        try:
            read = load_properties(pending)
        except MalformedEscapeError as error:
            raise DamagedConfigError(_("line {line}: {error}", line=begin, error=error)) from error
        pending = ""
        for name, value in read.items():
            if name or value:
                settings[uniform(name)] = Given(name, value, file, begin)
    yield settings


def _of_yaml(text: str, file: str) -> Iterator[dict[str, Given]]:
    import yaml  # type: ignore[import-untyped]

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = _FILLED_IN.sub(lambda match: f'{match[1]}"{match[2].rstrip()}"{match[3]}', text)
    try:
        for node in yaml.compose_all(text, Loader=loader):
            settings: dict[str, Given] = {}
            if node is not None:
                _flatten(node, "", settings, file, 0)
            yield settings
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise DamagedConfigError(_("line {line}: {error}", line=line, error=error.problem or "YAML")) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DamagedConfigError(" ".join(str(error).split())) from error


def _flatten(node: Any, name: str, settings: dict[str, Given], file: str, depth: int) -> None:
    if depth > DEEPEST:
        raise DamagedConfigError(_("what it says is nested deeper than {most}", most=DEEPEST))
    if len(settings) > MOST_SETTINGS:
        raise DamagedConfigError(_("more than {most} settings in a document", most=f"{MOST_SETTINGS:,}"))
    if node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar":
                inner = key.value if key.value != "<<" else ""
                _flatten(value, ".".join(filter(None, (name, inner))), settings, file, depth + 1)
    elif node.id == "sequence":
        for number, value in enumerate(node.value):
            _flatten(value, f"{name}[{number}]", settings, file, depth + 1)
        scalars = [value.value for value in node.value if value.id == "scalar"]
        if scalars and len(scalars) == len(node.value):  # Spring reads a list of texts where one with commas is wanted
            settings[uniform(name)] = Given(name, ",".join(scalars), file, node.start_mark.line + 1)
    else:
        value = "" if node.tag == "tag:yaml.org,2002:null" else node.value
        settings[uniform(name)] = Given(name, value, file, node.start_mark.line + 1)
