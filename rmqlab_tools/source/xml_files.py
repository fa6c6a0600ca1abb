"""XML as elements, without entities.

No entity is ever resolved: a file that declares one is not read, and external ones are not fetched, so that a file
of a stranger can neither grow without end nor reach what lies elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST: Final = 200


class DamagedXmlError(Exception):
    """A file that is no XML, or one that declares entities; the text says where and why."""


@dataclass(slots=True)
class Element:
    """An element: name without its namespace, attributes, line, what lies in it."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> Iterator[Element]:
        """Those within that are called so."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)


def parse_xml(text: str) -> Element:
    """The root of a document.

    Raises:
        DamagedXmlError: it is no XML, declares an entity, or is nested deeper than a person writes.
    """
    parser = expat.ParserCreate()
    top = Element("", {}, 0)
    open_: list[Element] = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_) > DEEPEST:
            raise DamagedXmlError(_("what it says is nested deeper than {most}", most=DEEPEST))
        made = Element(name.rpartition(":")[2], attributes, parser.CurrentLineNumber)
        open_[-1].children.append(made)
        open_.append(made)

    def end(_name: str) -> None:
        open_.pop()

    def data(characters: str) -> None:
        open_[-1].text += characters

    def entity(*_about: object) -> None:
        raise DamagedXmlError(_("it declares entities, which are not resolved"))

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code)
        raise DamagedXmlError(_("line {line}: {error}", line=error.lineno, error=why)) from error
    return top


def parse_document(text: str) -> Element:
    """The root of a file's text, which is decoded already, whatever encoding the file names.

    Raises:
        DamagedXmlError: as `parse_xml`.
    """
    return parse_xml(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))


def value_text(element: Element) -> str | None:
    """The text of a property, an entry or an argument: its attribute, or what its `value` says; None of no text."""
    if "value" in element.attributes:
        return element.attributes["value"]
    inner = next((child for child in element.children if child.name == "value"), None)
    if inner is not None:
        return inner.text.strip()
    return element.text.strip() if element.text.strip() and not element.children else None
