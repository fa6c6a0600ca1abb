"""The controls of notebooks 03 and 04: expressions on messages, bits of many groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab.lab.articles.sql_filter import FROM_4X
from rmqlab.lab.filters.filter_bench import TOPIC
from rmqlab.show.explore import ChoiceControl, Mode, Text, explore
from rmqlab.show.filters.bit_array import bit_array
from rmqlab.show.filters.expression_tree import expression_tree
from rmqlab.show.filters.false_hits import false_hits
from rmqlab.show.filters.truth_table import truth_table
from rmqlab.show.stack import stacked

if TYPE_CHECKING:
    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.show.figure import Picture

SHARES = {"none": 0.0, "a quarter": 0.25, "half": 0.5, "all but one": 1.0}
VERSIONS: dict[str, Version] = {"4.8.0": "4.8.0", "5.3.3": "5.3.3"}
TRIALS = 3


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


def play_bits(*, mode: Mode = "live", error_rate: int = 20, expected: int = 32, groups: int = 12) -> None:
    """Settings and groups: the bits of one message, and the false hits to expect."""
    explore(
        _bits,
        mode=mode,
        error_rate=_numbers("Error rate, %", (1, 5, 10, 20, 50, 90), error_rate),
        expected=_numbers("Expected groups", (1, 8, 16, 32, 64, 128, 200), expected),
        groups=_numbers("Groups on the topic", (2, 6, 12, 24, 48, 96, 200), groups),
        share=ChoiceControl("Of them match", SHARES, start="half", slider=True),
    )


def _numbers(label: str, values: tuple[int, ...], start: int) -> ChoiceControl:
    every = sorted({*values, start})
    return ChoiceControl(label, {str(value): value for value in every}, start=str(start), slider=True)


def _bits(*, error_rate: int, expected: int, groups: int, share: float) -> Picture:
    bloom = BloomFilter.create_by_fn(error_rate, expected)
    matching = min(round(groups * share), groups - 1)
    named = {f"CID_{number:03d}": number < matching for number in range(groups)}
    array = bit_array(bloom, TOPIC, named)
    return stacked(array.title, array, false_hits(error_rate, expected, matching=matching, trials=TRIALS))
