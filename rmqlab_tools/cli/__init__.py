"""One module a verb of the command line: its arguments, and a call into the rooms.

A verb's module has `add_arguments(parser)` and `run(args) -> int` (the exit status). This file is the table of verbs;
a checkout adds those of tests/proof/commands. It imports only what needs the standard
library alone: `./lab` reads it before anything is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.checkout import additions
from rmqlab.language import N_, _

if TYPE_CHECKING:
    from collections.abc import Sequence


_SCENARIOS = "data/golden/broker-4.8.0/base/scenarios.jsonl"


class Verb(NamedTuple):
    """A verb: what it does in one line, its exit statuses besides those of every verb, an example, and what it needs.

    `extras` are those of pyproject.toml that it needs besides the core, `option_extras` those that one of `options`
    needs, `code_extras` those that a folder or a file of code among its arguments needs.
    `java` among them means: a Java 17 or newer, found on the machine or else installed from a wheel. `checkout`:
    its module lies in tests/proof/commands, so it is a verb of the source tree and not of an installed package.
    """

    help: str
    statuses: dict[int, str]
    example: str
    extras: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    option_extras: tuple[str, ...] = ()
    bare_options: tuple[str, ...] = ()
    code_extras: tuple[str, ...] = ()
    checkout: bool = False
    package: str = "rmqlab_tools.cli"

    def needs(self, arguments: Sequence[str]) -> set[str]:
        """The extras for these arguments: some are needed only when one of `options` is among them.

        With one of `bare_options` none is needed.
        """
        if any(text.partition("=")[0] in self.bare_options for text in arguments):
            return set()
        is_asked = any(argument.partition("=")[0] in self.options for argument in arguments)
        of_code = self.code_extras if self.code_extras and any(map(_is_code, arguments)) else ()
        return {*self.extras, *(self.option_extras if is_asked else ()), *of_code}


def _is_code(argument: str) -> bool:
    """Whether an argument is a file of code or configuration, or a folder that is no recording."""
    path = Path(argument)
    try:
        if argument.startswith("-") or not path.is_dir():
            return path.suffix.lower() in {".go", ".java", ".kt", ".kts", ".properties", ".py", ".xml", ".yaml", ".yml"}
        return not any((path / name).is_file() for name in ("frames.jsonl", "frames.jsonl.gz"))
    except (OSError, ValueError):  # the verb says that it may not be read
        return False


VERBS = {
    "reproduce": Verb(
        _("run the articles' experiments, article figure beside figure here"),
        {0: _("every figure agrees"), 1: _("a figure that must agree does not")},
        "reproduce --only E1",
        # the report runs the notebooks, and some of them are on Spark
        options=("--report",),
        option_extras=("notebook", "spark", "java"),
    ),
    "simulate": Verb(
        _("run scenarios in virtual time, write their events and the fate of every message"),
        {
            0: _("all of them ran, whatever was lost; with --compare: every recorded outcome was reached"),
            1: _("with --compare: an outcome was not reached"),
            2: _("bad input, or a scenario was refused (the others ran)"),
        },
        f"simulate {_SCENARIOS} --id p-article-000 --out events.jsonl",
    ),
    "explore": Verb(
        _("every outcome a scenario can have, with its share and its shortest schedule"),
        {
            0: _("it was explored; what FAILS in the report is a finding and changes nothing"),
            1: _("a property that you asked for with --property fails"),
        },
        f"explore {_SCENARIOS}#p-article-000 --budget 300",
    ),
    "serve": Verb(
        _("broker and name server for real clients"),
        {0: _("it was stopped, by Ctrl-C too")},
        "serve --set enablePropertyFilter=true",
        extras=("tls",),
        options=("--acl", "--config", "-c", "--set"),  # each can turn access control on
        option_extras=("acl",),
    ),
    "tap": Verb(
        _("record the frames between real clients and a real broker"),
        {
            0: _("the recording is complete, after Ctrl-C too"),
            1: N_("the recording stopped before its end, the disk being full for example"),
            4: N_("nothing came, so nothing is known"),
        },
        "tap my-recording --seconds 60",
    ),
    "audit": Verb(
        _("which messages of a store directory were lost, to whom, and why"),
        {0: _("nothing was lost"), 3: _("messages were lost"), 4: _("too little is known to say")},
        "audit data/golden/broker-4.8.0/audit --out report",
        extras=("spark",),
        options=("--spark",),
        option_extras=("spark", "java"),
    ),
    "archive": Verb(
        _("keep a store's messages as Parquet files, a folder for each topic and day; again: add what is new"),
        {0: _("the archive has what the store has")},
        "archive data/golden/broker-4.8.0/audit my-archive",
        extras=("spark", "java"),
    ),
    "match": Verb(
        _("how many messages of an archive a subscription gets, by queue and hour; what a changed one loses"),
        {0: _("they were counted"), 3: _("the changed subscription loses messages")},
        "match my-archive tagA --changed 'tagA || tagB'",
        extras=("spark",),
        options=("--spark",),
        option_extras=("spark", "java"),
    ),
    "events": Verb(
        _("events as Parquet tables; funnel, losses, rebalances, heartbeats in SQL"),
        {0: _("the tables are there")},
        "events data/golden/broker-4.8.0/base --view losses",
        extras=("spark", "java"),
    ),
    "sweep": Verb(
        _("a sweep of the catalogue on Spark: losses, heartbeats, storms"),
        {
            0: _("every row ran; with --row: its figures came out again"),
            1: _("a row failed, or a figure came out otherwise"),
        },
        "sweep heartbeats --set clients=1000 --spark none",
        extras=("spark", "java"),
    ),
    "matrix": Verb(
        _("what two members that differ lose: by receiver, order of the tags, filter and version"),
        {0: _("every cell was measured; with --row: its figures came out again"), 1: _("a figure came out otherwise")},
        "matrix --receivers push,push_own --orders burst_turn --versions 4.8.0,5.5.0",
        options=("--out", "--spark", "--row"),
        option_extras=("spark", "java"),
    ),
    "doctor": Verb(
        _("who is losing messages in a live cluster, now; only reads"),
        {
            0: _("every group is healthy"),
            3: _("a group loses messages, or is about to"),
            4: _("too little is known to say"),
        },
        "doctor --namesrv 127.0.0.1:9876 --watch 10",
        options=("--watch", "--metrics"),
        option_extras=("doctor",),
    ),
    "explain": Verb(
        _("what codes, logs, output of mqadmin, JSON and config files say, each and together"),
        {
            0: _("what is known tells of no loss"),
            3: _("a group loses messages, or can"),
            4: _("too little is known to say"),
        },
        "explain SUBSCRIPTION_NOT_LATEST",
    ),
    "sql92": Verb(
        _("compile a SQL92 filter, explain it, evaluate it step by step"),
        {0: _("the broker takes it, hints or not"), 1: _("the broker refuses it, or with --strict ignores part of it")},
        """sql92 "a > 3 AND b IS NULL" --set a=5""",
    ),
    "plan": Verb(
        _("plan a change of subscriptions that loses nothing"),
        {0: _("a way is safe whatever the producers do"), 1: _("none is, at most on a condition")},
        'plan tagA "tagA || tagB" --budget 200',
    ),
    "lint": Verb(
        _("check the subscriptions of groups for inconsistencies: members, or a whole code base"),
        {
            0: _("no inconsistency was shown (read what is not decided)"),
            1: _("a group is inconsistent, or code has a condition that no broker accepts"),
            4: _("too little is known: a part of the group was given, or code does not tell"),
        },
        "lint --member A:TopicTest=tagA --member B:TopicTest=tagB",
        code_extras=("source",),
    ),
    "rules": Verb(
        _("the rules of a version, the source of one, or what differs between two versions"),
        {0: _("it is printed")},
        "rules --between 4.8.0 5.5.0",
    ),
    "completion": Verb(
        N_("a script by which bash or zsh complete verbs, options and file names"),
        {0: N_("it is written")},
        "completion bash",
        extras=("completion",),
    ),
    "notebook": Verb(
        _("open JupyterLab on your own copy of the lessons"),
        {0: _("it ended well"), 1: _("a cell failed, or JupyterLab did")},
        "notebook --no-browser",
        extras=("notebook",),  # a lesson that needs Spark brings it
        bare_options=("--copy",),
    ),
}


def _of_the_checkout() -> dict[str, Verb]:
    """The verbs of the source tree around this package; none in an installed package, or in a zip for a cluster."""
    table = additions(Path(__file__).resolve().parents[2])  # `./lab` reads this file by its path
    if table is None:
        return {}
    return {name: Verb(**fields, checkout=True, package=table.PACKAGE) for name, fields in table.VERBS.items()}


VERBS |= _of_the_checkout()


def no_verb(verb: str, near: str) -> str:
    """That there is no such verb, and which one may be meant."""
    return str(_("no verb {verb}{near}", verb=repr(verb), near=near))


def listing(program: str) -> str:
    """The text that names every verb, one a line."""
    width = max(map(len, VERBS))
    lines = [_("usage: {program} VERB [ARGUMENTS]   ({program} VERB --help explains one)", program=program), ""]
    return "\n".join(map(str, [*lines, *(f"  {name:<{width}}  {_(verb.help)}" for name, verb in VERBS.items())])) + "\n"
