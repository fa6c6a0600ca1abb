"""The verb `sql92`: compile a filter as the broker does, explain it, evaluate it step by step."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import VERSIONS
from rmqlab.language import _
from rmqlab.rules import rules_of
from rmqlab_tools.cli.arguments import add_version
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.program import program
from rmqlab_tools.search.expressions.sql92_report import sql92_report

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.filter.sql92.tokens import Version

_PROPERTY = re.compile(r"[^\s=]+=.*", re.DOTALL)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("expr", nargs="?", metavar="EXPR", help=_("the expression, in quotes; - reads standard input"))
    parser.add_argument(
        "--set",
        nargs="*",
        action="extend",
        metavar="NAME=VALUE",
        help=_("properties of a message to evaluate it on; none at all after --set: a message without properties"),
    )
    add_version(parser)
    parser.add_argument("--strict", action="store_true", help=_("return 1 as well when the broker ignores part of it"))
    parser.add_argument("--witness", action="store_true", help=_("find a message that passes and one that does not"))


def run(args: Namespace) -> int:
    """Print what the broker makes of the expression; return 1 if it refuses it, else 0.

    With `--strict` ignored text counts as a refusal.

    Raises:
        BadInput: a missing expression and a wrong property.
    """
    expression, pairs = _apart(args.expr, args.set)
    text = sys.stdin.read() if expression == "-" else expression
    properties = None if pairs is None else _properties(pairs)
    result, lines = sql92_report(text, _version(args.version), properties, examples=args.witness)
    printer(args).say(*lines)
    write_json(result, args.json)
    return 0 if result["ok"] and not (args.strict and result["ignored"]) else 1


def _version(text: str | None) -> Version:
    version = rules_of(text).version
    return next(known for known in VERSIONS if known == version)


def _apart(expression: str | None, pairs: list[str] | None) -> tuple[str, list[str] | None]:
    """The expression and the properties: after `--set a=5` argparse takes the expression for a property."""
    if expression is not None:
        return expression, pairs
    others = [pair for pair in pairs or () if not _PROPERTY.fullmatch(pair)]
    if len(others) == 1 and pairs is not None:
        return others[0], [pair for pair in pairs if pair is not others[0]]
    said = f" (taken for properties: {', '.join(pairs)})" if pairs else ""
    raise BadInput(
        _(
            "the expression is missing{said}; write it first: {program} sql92 'a > 3' --set a=5",
            said=said,
            program=program(),
        )
    )


def _properties(pairs: list[str]) -> dict[str, str]:
    properties = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadInput(_("--set {pair}: a property is NAME=VALUE, such as a=5", pair=f"{pair!r}"))
        if not _PROPERTY.fullmatch(pair):
            right = f"{name.strip()}={value.strip()}"
            raise BadInput(
                _(
                    "--set {pair}: the name of a property has no blank in it; write {right}",
                    pair=f"{pair!r}",
                    right=f"{right!r}",
                )
            )
        properties[name] = value
    return properties
