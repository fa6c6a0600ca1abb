"""The controls of notebook 03: expressions on messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.articles.sql_filter import FROM_4X
from rmqlab.show.explore import ChoiceControl, Mode, Text, explore
from rmqlab.show.filters.expression_tree import expression_tree
from rmqlab.show.filters.truth_table import truth_table
from rmqlab.show.stack import stacked

if TYPE_CHECKING:
    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.show.figure import Picture

VERSIONS: dict[str, Version] = {"4.8.0": "4.8.0", "5.3.3": "5.3.3"}


def play_sql(*, mode: Mode = "live", expression: str = FROM_4X, message: str = "TAGS=TagB a=4") -> None:
    """Any expression on any message: its tree, and its truth table below it."""
    explore(
        _sql,
        mode=mode,
        expression=Text("Expression", expression, wide=True),
        message=Text("Message", message, wide=True),
        version=ChoiceControl("Broker's version", VERSIONS),
    )


def properties_of(text: str) -> dict[str, str]:
    """Properties from "a=1 b='two words'": values with blanks stand in single quotes.

    Raises:
        BadInput: a word without "=".
    """
    properties: dict[str, str] = {}
    rest = text.strip()
    while rest:
        name, equals, rest = rest.partition("=")
        if not equals or not name.strip() or " " in name.strip():
            raise BadInput(f"{name.strip()!r} in the message is no property; write name=value, such as a=5 TAGS=TagA")
        if rest.startswith("'") and "'" in rest[1:]:
            value, _, rest = rest[1:].partition("'")
        else:
            value, _, rest = rest.partition(" ")
        properties[name.strip()] = value
        rest = rest.strip()
    return properties


def _sql(*, expression: str, message: str, version: Version) -> Picture:
    properties = properties_of(message)
    tree = expression_tree(expression, properties, version=version)
    table = truth_table(expression, properties) if version == "4.8.0" else None
    return tree if table is None else stacked(tree.title, tree, table)
