"""One module a verb of the command line: its arguments, and a call into the rooms.

A verb's module has `add_arguments(parser)` and `run(args) -> int` (the exit status). This file is the table of verbs.
It imports the standard library only: `./lab` reads it before anything is installed.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


_SCENARIOS = "data/golden/broker-4.8.0/base/scenarios.jsonl"


class Verb(NamedTuple):
    """A verb: what it does in one line, its exit statuses besides those of every verb, an example, and what it needs.

    `extras` are those of pyproject.toml that it needs besides the core, `option_extras` those that one of `options`
    needs. `java` among them means: a Java 17 or newer, found on the machine or else installed from a wheel. `checkout`:
    its module lies in tests/proof/commands, so it is a verb of the source tree and not of an installed package.
    """

    help: str
    statuses: dict[int, str]
    example: str
    extras: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    option_extras: tuple[str, ...] = ()
    checkout: bool = False

    @property
    def package(self) -> str:
        """The package that holds the verb's module."""
        return "tests.proof.commands" if self.checkout else "rmqlab.commands"

    def needs(self, arguments: Sequence[str]) -> set[str]:
        """The extras for these arguments: some are needed only when one of `options` is among them."""
        asked = any(one.partition("=")[0] in self.options for one in arguments)
        return {*self.extras, *(self.option_extras if asked else ())}


VERBS = {
    "reproduce": Verb(
        "run the articles' experiments, article figure beside figure here",
        {0: "every figure agrees", 1: "a figure that must agree does not"},
        "reproduce --only E1",
        # the report runs the notebooks, and some of them are on Spark
        options=("--report",),
        option_extras=("notebook", "spark", "java"),
    ),
    "simulate": Verb(
        "run scenarios in virtual time, write their events and the fate of every message",
        {
            0: "all of them ran, whatever was lost; with --compare: every recorded outcome was reached",
            1: "with --compare: an outcome was not reached",
            2: "bad input, or a scenario was refused (the others ran)",
        },
        f"simulate {_SCENARIOS} --id p-article-000 --out events.jsonl",
    ),
    "explore": Verb(
        "every outcome a scenario can have, with its share and its shortest schedule",
        {
            0: "it was explored; what FAILS in the report is a finding and changes nothing",
            1: "a property that you asked for with --property fails",
        },
        f"explore {_SCENARIOS}#p-article-000 --budget 300",
    ),
    "conform": Verb(
        "run vector files against this implementation",
        {0: "no vector differs", 1: "one differs"},
        "conform data/golden/vectors",
        checkout=True,
    ),
    "replay": Verb(
        "feed a recording of a real broker to this one and compare every answer",
        {0: "every answer is the recorded one", 1: "one differs"},
        "replay data/golden/broker-4.8.0/lite",
    ),
    "serve": Verb(
        "broker and name server for real clients",
        {0: "it was stopped, by Ctrl-C too"},
        "serve --set enablePropertyFilter=true",
        extras=("acl",),
    ),
    "tap": Verb(
        "record the frames between real clients and a real broker",
        {0: "the recording is complete, after Ctrl-C too"},
        "tap my-recording --seconds 60",
    ),
    "audit": Verb(
        "which messages of a store directory were lost, to whom, and why",
        {0: "nothing was lost", 3: "messages were lost", 4: "too little is known to say"},
        "audit data/golden/broker-4.8.0/audit --out report",
        extras=("spark", "java"),
    ),
    "events": Verb(
        "events as Parquet tables; funnel, losses, rebalances, heartbeats in SQL",
        {0: "the tables are there"},
        "events data/golden/broker-4.8.0/base --view losses",
        extras=("spark", "java"),
    ),
    "sweep": Verb(
        "a sweep of the catalogue on Spark: losses, heartbeats, storms",
        {0: "every row ran; with --row: its figures came out again", 1: "a row failed, or a figure came out otherwise"},
        "sweep heartbeats --set clients=1000 --spark none",
        extras=("spark", "java"),
    ),
    "doctor": Verb(
        "who is losing messages in a live cluster, now; only reads",
        {0: "every group is healthy", 3: "a group loses messages, or is about to", 4: "too little is known to say"},
        "doctor --namesrv 127.0.0.1:9876 --watch 10",
        options=("--watch", "--metrics"),
        option_extras=("doctor",),
    ),
    "explain": Verb(
        "what a code, a remark, a line of a log or a whole log of RocketMQ means",
        {0: "it is explained", 1: "nothing of it is known", 3: "a line tells that messages can be lost"},
        "explain SUBSCRIPTION_NOT_LATEST",
    ),
    "sql92": Verb(
        "compile a SQL92 filter, explain it, evaluate it step by step",
        {0: "the broker takes it, hints or not", 1: "the broker refuses it, or with --strict ignores part of it"},
        """sql92 "a > 3 AND b IS NULL" --set a=5""",
    ),
    "agree": Verb(
        "the same filters on odd messages by every way there is, row by row",
        {0: "every way gives the same answers", 1: "one differs"},
        'agree "a > 5" --rows 1000',
        extras=("spark", "java"),
        checkout=True,
    ),
    "profile": Verb(
        "what filtering costs with the bloom filter's switch, stage by stage; where it pays",
        {0: "it was measured"},
        "profile --messages 3000 --no-java",
        checkout=True,
    ),
    "bench": Verb(
        "the benchmarks, as rates and ratios measured in one run",
        {0: "it was measured"},
        "bench eight --runs 1",
        extras=("notebook", "spark", "java"),
        checkout=True,
    ),
    "stress": Verb(
        "a broker killed under load, clients that misbehave, mutated frames: is anything lost?",
        {0: "nothing was lost, nothing went wrong", 1: "something was"},
        "stress frames --count 1000",
        checkout=True,
    ),
    "plan": Verb(
        "plan a change of subscriptions that loses nothing",
        {0: "a way is safe whatever the producers do", 1: "none is, at most on a condition"},
        'plan tagA "tagA || tagB" --budget 200',
    ),
    "lint": Verb(
        "check the subscriptions of a group for inconsistencies",
        {0: "no inconsistency was shown (read what is not decided)", 1: "a group is inconsistent"},
        "lint --member A:TopicTest=tagA --member B:TopicTest=tagB",
    ),
    "rows": Verb(
        "the matrix of mission rows and what shows each",
        {0: "every row that counts is shown", 1: "one is not"},
        "rows --missing --only S",
        checkout=True,
    ),
    "catalogue": Verb(
        "the catalogues of words in other languages: bring them up to date, or check them",
        {0: "they are up to date", 1: "with --check: an entry is missing, stale, not translated or at odds"},
        "catalogue --check --only rmqlab",
        extras=("notebook",),
        checkout=True,
    ),
    "notebook": Verb(
        "open JupyterLab on your own copy of the lessons",
        {0: "it ended well", 1: "a cell failed, or JupyterLab did"},
        "notebook --no-browser",
        extras=("notebook", "spark", "java"),
        checkout=True,
    ),
    "site": Verb(
        "build the site: pages, lessons, playgrounds, in English and Chinese",
        {0: "it is built, and every link leads somewhere", 1: "a page has a fault, or a link leads nowhere"},
        "site --out build/site",
        extras=("site",),
        checkout=True,
    ),
    "bundle": Verb(
        "everything for a room without network in one folder: project, packages, site",
        {0: "the folder is there"},
        "bundle --out rmqlab-bundle",
        checkout=True,
    ),
    "workshop": Verb(
        "who of a class solved which tasks; learners' notebooks run in a cage",
        {0: "every task of everybody is right", 1: "one is not"},
        "workshop --check handed-in",
        extras=("notebook", "spark"),  # lessons without Spark want its pandas
        options=("--spark", "--times"),
        option_extras=("java",),
        checkout=True,
    ),
    "test": Verb(
        "every check: pytest, the committed notebooks, ruff and mypy",
        {0: "every check passed", 1: "one did not"},
        "test tests/filter -q",
        extras=("doctor", "notebook", "site", "spark", "test", "java"),
        checkout=True,
    ),
}


def available() -> dict[str, Verb]:
    """The verbs of the table whose module is there, in the table's order."""
    top = Path(__file__).resolve().parents[2]
    # asked of Python, not of the disk: a cluster's driver may have the package in a zip
    return {
        name: verb
        for name, verb in VERBS.items()
        if PathFinder.find_spec(f"{verb.package}.{name}", [str(top.joinpath(*verb.package.split(".")))])
    }


def listing(program: str) -> str:
    """The text that names every available verb, one a line."""
    verbs = available()
    width = max(map(len, verbs))
    lines = [f"usage: {program} VERB [ARGUMENTS]   ({program} VERB --help explains one)", ""]
    return "\n".join([*lines, *(f"  {name:<{width}}  {verb.help}" for name, verb in verbs.items())]) + "\n"
