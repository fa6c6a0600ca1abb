"""The verb `lint`: do the members of a consumer group subscribe the same, and which message shows that they do not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.protocol.subscription_data import SQL92, TAG
from rmqlab_tools.cli.arguments import add_version
from rmqlab_tools.cli.check_files import add_check_files, check_targets, give_checks
from rmqlab_tools.cli.lint_sources import LINT_NOT_KNOWN, add_source_arguments, is_source, require_group, run_sources
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.doctor.evidence.lint_views import read_views
from rmqlab_tools.search.lint.checks import checks_of_groups
from rmqlab_tools.search.lint.findings import GroupLint, LintVerdict
from rmqlab_tools.search.lint.lint_text import lint_lines
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import group_of
from rmqlab_tools.search.lint.modes import MEMBER_KINDS, rules_for

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "file",
        nargs="*",
        metavar="FILE|SOURCE",
        help=_(
            "code bases: folders or files of Java, Kotlin, Go, Python, Spring's configuration and XML; or "
            "members or heartbeats as JSON, a scenario (FILE#ID), the folder of a recording; or what "
            "brokers, members and mqadmin say: consumerConnection, consumerStatus, "
            "ConsumerRunningInfo, several files of one group together"
        ),
    )
    for name, kind, what in (("--member", TAG, "tag expression"), ("--sql92", SQL92, "SQL92 condition")):
        parser.add_argument(
            name,
            action="append",
            dest="given",
            type=partial(_subscription, kind),
            metavar="CLIENT:TOPIC=EXPR",
            help=_("a member's {what}; the client named last was heard last", what=what),
        )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        dest="kinds",
        metavar="[CLIENT=]KIND",
        help=_(
            "how members of --member fetch: {kinds} (push); of one member, or of all",
            kinds=joined(", ", MEMBER_KINDS),
        ),
    )
    parser.add_argument(
        "--group", metavar="NAME", help=_("only this group of the file (what --member makes is this one)")
    )
    add_version(parser)
    add_check_files(parser)
    add_source_arguments(parser)
    parser.add_argument(
        "--queues", type=int, metavar="N", help=_("queues of a topic, where the file does not say; else even shares")
    )


def _subscription(kind: str, text: str) -> tuple[str, str]:
    return kind, text


def run(args: Namespace) -> int:
    """Print what was found for each group; return 1 if one is inconsistent, 4 if too little is known of one, else 0.

    Raises:
        BadInput: a file or an argument that cannot be used.
    """
    if args.queues is not None and args.queues < 1:
        raise BadInput(_("--queues is {queues}; a topic has 1 queue or more", queues=args.queues))
    if bool(args.given) == bool(args.file):
        raise BadInput(
            _(
                "give a FILE, the folder of a code base, or members, such as "
                "--member A:TopicTest=tagA --member B:TopicTest=tagB"
            )
        )
    if args.kinds and not args.given:
        raise BadInput(_("--kind is of members that --member names; a file has kind beside client"))
    check_targets(args)
    sources = [name for name in args.file if is_source(name)]
    if sources:
        if len(sources) < len(args.file):
            other = next(name for name in args.file if name not in sources)
            raise BadInput(
                _("{other} is no code base, {source} is one: judge them one by one", other=other, source=sources[0])
            )
        return run_sources(args)
    if args.profile or args.tests:
        raise BadInput(_("--profile and --tests are of code bases; give the folder of one"))
    views: dict[str, GroupLint] = {}
    config_damage: tuple[str, ...] = ()
    if args.given:
        made = group_of(args.given, args.group or "group", args.kinds)
        groups = {made.name: made}
    else:
        groups, views, config_damage = read_views(args.file, args.queues)
        if args.group is not None:
            require_group(args, groups | views)
            groups = {name: group for name, group in groups.items() if name == args.group}
            views = {name: view for name, view in views.items() if name == args.group}
    if not views and not any(member.subscriptions for group in groups.values() for member in group.members):
        where = " ".join(args.file)
        raise BadInput(
            _("{where}: no member of a consumer group subscribes anything in it: nothing to compare", where=where)
        )
    if args.queues is not None:
        for group in groups.values():
            for topic in {topic for member in group.members for topic in member.subscriptions}:
                group.queues.setdefault(topic, args.queues)
    compared = {name: lint(group, rules_for(group.members, args.version)) for name, group in groups.items()} | views
    results = [compared[name] for name in sorted(compared)]
    out = printer(args)
    out.say(*config_damage)
    for result in results:
        out.say(*map(str, lint_lines(result)))
    worst = LintVerdict.worst(result.verdict for result in results)
    record = {"verdict": str(worst), "groups": [result.as_json() for result in results]}
    write_json(record | ({"config_damage": list(config_damage)} if config_damage else {}), args.json)
    give_checks(args, checks_of_groups(results), "lint")
    if worst is LintVerdict.INCONSISTENT:
        return 1
    return LINT_NOT_KNOWN if any(result.missing for result in results) else 0
