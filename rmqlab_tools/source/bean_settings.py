"""What XML and annotations of Spring add to code: further files of settings, and beans that fill fields of a class.

Sources: Spring's `property-placeholder`, `PropertyPlaceholderConfigurer`, `PropertySourcesPlaceholderConfigurer` and
`@PropertySource`; `<bean class="..."><property name="..." value="..."/>`, which calls the setter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.scopes import Placed, Scope
from rmqlab_tools.source.terms import Setting, Unit
from rmqlab_tools.source.xml_files import DamagedXmlError, Element, parse_document, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.files import Files, SourceFile
    from rmqlab_tools.source.scopes import Bound
    from rmqlab_tools.source.terms import TypeOfCode

_OF_XML: Final = re.compile(r"property-placeholder|Prop\w+PlaceholderConfigurer")
_LOCATIONS: Final = re.compile(r"""["'>]\s*((?:classpath\*?:|file:)?[^"'<>]*\.(?:properties|ya?ml))\s*["'<]""")
_OF_CODE: Final = re.compile(r"@PropertySources?\b[^{;]*?(?:\{[^}]*\})?[^)]*\)")
MOST_BEANS: Final = 500
"""Beans of one class that are asked what they fill in."""


def named_settings(files: Files) -> Iterator[tuple[SourceFile, SourceFile]]:
    """Files of settings that XML or `@PropertySource` names, each with the file that names it."""
    settings_files = [*files.of(".properties", ".yml", ".yaml")]
    for file in files.of(".xml", ".java", ".kt"):
        text = files.text(file) or ""
        if file.suffix == ".xml":
            parts = [text] if _OF_XML.search(text) and "<bean" in text else []
        else:
            parts = _OF_CODE.findall(text) if "@PropertySource" in text else []
        for part in parts:
            for written in _LOCATIONS.findall(part):
                for location in written.split(","):
                    name = re.sub(r"^(?:classpath\*?:|file:)", "", location.strip()).lstrip("/.")
                    for settings in settings_files if name else ():
                        if fnmatch(f"/{settings.shown}", f"*/{name}"):
                            yield settings, file


@dataclass(frozen=True, slots=True)
class Bean:
    """A bean of XML: its class with the package, where it stands, and the texts of its properties and arguments."""

    made: str
    file: str
    line: int
    properties: dict[str, str]
    arguments: tuple[tuple[str, str], ...]


class Beans:
    """The beans of all files of XML, by the full names of their classes."""

    def __init__(self, files: Files) -> None:
        """`files` gives the texts; of one that does not parse there are no beans here."""
        self._files = files
        self._by_class: dict[str, list[Bean]] | None = None

    def bindings(self, unit: Unit, made: TypeOfCode) -> Iterator[tuple[Bean, Bound]]:
        """For each bean of a type what it gives to the parameters of the type's setters and constructors."""
        if self._by_class is None:
            self._by_class = {}
            for bean in self._read():
                self._by_class.setdefault(bean.made, []).append(bean)
        for bean in self._by_class.get(f"{unit.package}.{made.name}".lstrip("."), [])[:MOST_BEANS]:
            scope = Scope(Unit(bean.file, "xml"))
            bound = []
            for function in made.functions:
                names = [parameter.name for parameter in function.parameters]
                given: dict[str, str] = {}
                if function.name == made.simple and len(names) == len(bean.arguments):
                    given = {
                        names[int(key)] if key.isdigit() and int(key) < len(names) else key: value
                        for key, value in bean.arguments
                    }
                elif len(names) == 1 and function.name.startswith("set"):
                    name = function.name[3:4].lower() + function.name[4:]
                    given = {names[0]: bean.properties[name]} if name in bean.properties else {}
                bound += [((function, name), Placed(Setting(given[name]), scope)) for name in names if name in given]
            if bound:
                yield bean, tuple(bound)

    def _read(self) -> Iterator[Bean]:
        for file in self._files.of(".xml"):
            text = self._files.text(file)
            if text is None or "<bean" not in text:
                continue
            try:
                root = parse_document(text)
            except DamagedXmlError:
                continue
            for bean in root.all("bean"):
                if "class" in bean.attributes:
                    yield _bean(bean, file.shown)


def _bean(bean: Element, file: str) -> Bean:
    properties = {
        key[2:]: value for key, value in bean.attributes.items() if key.startswith("p:") and "-ref" not in key
    }
    arguments: list[tuple[str, str]] = []
    for child in bean.children:
        text = value_text(child)
        if text is None:
            continue
        if child.name == "property":
            properties[child.attributes.get("name", "")] = text
        elif child.name == "constructor-arg":
            key = child.attributes.get("name") or child.attributes.get("index") or str(len(arguments))
            arguments.append((key, text))
    return Bean(bean.attributes["class"].strip(), file, bean.line, properties, tuple(arguments))
