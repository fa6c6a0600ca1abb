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


class Verb(NamedTuple):
    """A verb: what it does in one line, and the extras of pyproject.toml that it needs besides the core.

    `java` among the extras means: a Java 17 or newer, found on the machine or else installed from a wheel. `checkout`:
    its module lies in tests/proof/commands, so it is a verb of the source tree and not of an installed package.
    """

    help: str
    extras: tuple[str, ...] = ()
    option: str = ""
    option_extras: tuple[str, ...] = ()
    checkout: bool = False

    @property
    def package(self) -> str:
        """The package that holds the verb's module."""
        return "tests.proof.commands" if self.checkout else "rmqlab.commands"

    def needs(self, arguments: Sequence[str]) -> set[str]:
        """The extras for these arguments: some are needed only when `option` is among them."""
        asked = self.option and any(one.partition("=")[0] == self.option for one in arguments)
        return {*self.extras, *(self.option_extras if asked else ())}


VERBS = {
    "reproduce": Verb(
        "run the articles' experiments, article figure beside figure here",
        # the report runs the notebooks, and some of them are on Spark
        option="--report",
        option_extras=("notebook", "spark", "java"),
    ),
    "simulate": Verb("run scenarios in virtual time, write their events and the fate of every message"),
    "explore": Verb(
        "every outcome a scenario can have, with its share and its shortest schedule",
        option="--picture",
        option_extras=("picture",),
    ),
    "conform": Verb("run vector files against this implementation", checkout=True),
    "replay": Verb("feed a recording of a real broker to this one and compare every answer"),
    "serve": Verb("broker and name server for real clients", ("acl",)),
    "tap": Verb("record the frames between real clients and a real broker"),
    "audit": Verb(
        "which messages of a store directory were lost, to whom, and why", ("spark", "java"), "--out", ("picture",)
    ),
    "events": Verb("events as Parquet tables; funnel, losses, rebalances, heartbeats in SQL", ("spark", "java")),
    "sweep": Verb("a sweep of the catalogue on Spark: losses, heartbeats, storms", ("spark", "java")),
    "sql92": Verb("compile a SQL92 filter, explain it, evaluate it step by step"),
    "agree": Verb(
        "the same filters on odd messages by every way there is, row by row", ("spark", "java"), checkout=True
    ),
    "profile": Verb(
        "what filtering costs with the bloom filter's switch, stage by stage; where it pays", checkout=True
    ),
    "bench": Verb(
        "the benchmarks, as rates and ratios measured in one run", ("notebook", "spark", "java"), checkout=True
    ),
    "stress": Verb(
        "a broker killed under load, clients that misbehave, mutated frames: is anything lost?", checkout=True
    ),
    "plan": Verb("plan a change of subscriptions that loses nothing"),
    "lint": Verb("check the subscriptions of a group for inconsistencies"),
    "rows": Verb("the matrix of mission rows and what shows each", checkout=True),
    "notebook": Verb("open JupyterLab on notebooks/", ("notebook", "spark", "java"), checkout=True),
    "test": Verb(
        "every check: pytest, the committed notebooks, ruff and mypy",
        ("notebook", "spark", "test", "java"),
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
