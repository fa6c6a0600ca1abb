"""The verb `rules`: the rules of a version with the class and method each comes from, or what differs between two."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.rules import Rules, rules_of
from rmqlab_tools.cli.arguments import add_version
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.show.rule_differences import method_of, rules_between, shown
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("name", nargs="?", metavar="RULE", help=_("show the source of this rule"))
    add_version(parser)
    parser.add_argument(
        "--between", nargs=2, metavar=("OLD", "NEW"), help=_("what differs between two versions, rule by rule")
    )


def run(args: Namespace) -> int:
    """Print and return 0.

    Raises:
        BadInput: a version or a rule that is not there.
    """
    out = printer(args)
    if args.between is not None:
        if args.name is not None or args.version is not None:
            raise BadInput(_("--between names two versions: no RULE and no --version with it"))
        differences = rules_between(*args.between)
        out.table(differences.table())
        write_json(differences.as_json(), args.json)
        return 0
    rules = rules_of(args.version)
    if args.name is not None:
        source = str(rules.source(args.name))
        out.say(*source.splitlines())
        write_json({"version": rules.version, "rule": args.name, "source": source}, args.json)
        return 0
    rows = [
        (name, shown(getattr(rules, name)), method_of(rules, name))
        for name in (field.name for field in fields(Rules)[1:])
    ]
    title = _("The rules of {version}", version=rules.version)
    out.table(
        Table(
            title,
            (_("rule"), _("value"), _("class and method")),
            [(row_name, _(two), three) for row_name, two, three in rows],
        )
    )
    records = [{"rule": name, "value": value, "method": method} for name, value, method in rows]
    write_json({"version": rules.version, "rules": records}, args.json)
    return 0
