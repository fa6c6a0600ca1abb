"""rmqlab: a laboratory for Apache RocketMQ's subscriptions, message filters and heartbeats.

A cluster in a cell, on a clock that only you move:

>>> import rmqlab
>>> lab = rmqlab.Lab(topics={"T": 4})
>>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
>>> lab.run(seconds=60)
>>> b = lab.consumer("B", group="G", subscribe={"T": "tagB"})
>>> lab.run(seconds=60)
>>> sent = lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
>>> lab.run(seconds=30)
>>> [fate.body for fate in lab.fates() if not fate.lost]
['MsgStr6', 'MsgStr7']

Experiments
    Lab             broker, name server, producer and consumers, driven by hand; tables, pictures, faults
    simulate        run a scenario in virtual time
    explore         every outcome that a scenario can have
    plan            ways to change a group's subscription, and what each can lose
    reproduce       the articles' experiments, article figure beside the figure here
    RULES           the rules by version: RULES["4.8.0"].source("client_keeps") shows one,
                    RULES["4.8.0"].replace(client_keeps=mine) replaces it, for `Lab(rules=...)`
    rules_between   which rules differ between two versions, with class and method
    show            pictures, tables and controls for rows of your own
    BadInput        the one exception of all of these; its text says what would be right
    ExpressionWarning   a subscription that probably means something else, such as tagA|tagB

Questions
    matrix          what two members that differ lose, by receiver, order, filter and version, recorded runs beside
    lint            do the members of a group subscribe the same, by meaning
    sql92           what a broker makes of a SQL92 filter
    tags            what a client makes of a tag expression
    explain         whatever you have: codes, logs, output of mqadmin, JSON, configuration, a store's config folder:
                    what each is, and what they say together
    check           is the answer to an exercise right
    broken          rules of which one is wrong, to be found by what happens
    guess           what you expect, before it is shown, and later beside what came out
    quiz            three questions about a lesson; the first answer counts
    mine            the rules that you wrote in the tasks, from your my_rules.py, and what is still missing
    trials          protocols tried against everything: what each loses, delivers twice, costs
    data            the path of a recording or a stored result that the lessons read
    need            installs what a lesson needs besides, such as Spark, while you read on
    progress        what you guessed, solved and answered, in your copy of the lessons

Real brokers
    doctor          who is losing messages in a live cluster, now; nothing is sent to it but questions
    archive         a store's messages as Parquet; match: what a subscription would get of them
    audit           which messages of a broker's store did which group lose, on Spark
    serve           a broker and a name server for real clients, for tests
    replay          a recording of a real broker against this one
    spark           a Spark session that reads stores: spark.read.format("rocketmq")
    sweep           one function over a grid of parameters, on Spark: a row each, kept, and run again by its seed
    read_store      a store's messages, queues or offsets as a Spark frame

Nothing is imported before it is used. `rmqlab VERB --help` is the same on the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.checkout import data as data
    from rmqlab.errors import BadInput as BadInput
    from rmqlab.lab.lab import Lab as Lab
    from rmqlab.plugins import ExpressionWarning as ExpressionWarning
    from rmqlab.plugins import archive as archive
    from rmqlab.plugins import audit as audit
    from rmqlab.plugins import broken as broken
    from rmqlab.plugins import check as check
    from rmqlab.plugins import doctor as doctor
    from rmqlab.plugins import explain as explain
    from rmqlab.plugins import explore as explore
    from rmqlab.plugins import guess as guess
    from rmqlab.plugins import lint as lint
    from rmqlab.plugins import match as match
    from rmqlab.plugins import matrix as matrix
    from rmqlab.plugins import mine as mine
    from rmqlab.plugins import need as need
    from rmqlab.plugins import plan as plan
    from rmqlab.plugins import progress as progress
    from rmqlab.plugins import quiz as quiz
    from rmqlab.plugins import read_store as read_store
    from rmqlab.plugins import replay as replay
    from rmqlab.plugins import reproduce as reproduce
    from rmqlab.plugins import rules_between as rules_between
    from rmqlab.plugins import serve as serve
    from rmqlab.plugins import show as show
    from rmqlab.plugins import simulate as simulate
    from rmqlab.plugins import spark as spark
    from rmqlab.plugins import sql92 as sql92
    from rmqlab.plugins import sweep as sweep
    from rmqlab.plugins import tags as tags
    from rmqlab.plugins import trials as trials
    from rmqlab.rules import RULES as RULES

_OURS = {"BadInput": "errors", "RULES": "rules", "Lab": "lab.lab", "data": "checkout"}
__all__ = [
    "RULES",
    "BadInput",
    "ExpressionWarning",
    "Lab",
    "archive",
    "audit",
    "broken",
    "check",
    "data",
    "doctor",
    "explain",
    "explore",
    "guess",
    "lint",
    "match",
    "matrix",
    "mine",
    "need",
    "plan",
    "progress",
    "quiz",
    "read_store",
    "replay",
    "reproduce",
    "rules_between",
    "serve",
    "show",
    "simulate",
    "spark",
    "sql92",
    "sweep",
    "tags",
    "trials",
]  # fmt: skip
__version__ = "1.0.0"


def load_ipython_extension(shell: object) -> None:
    """Bring `%lint` and `%%sql92` into a notebook: `%load_ext rmqlab` calls this."""
    import_module("rmqlab.plugins").load_ipython_extension(shell)


if not TYPE_CHECKING:  # else a name that is none would be right to mypy

    def __getattr__(name: str) -> object:
        """Import what is asked for when it is asked for: `import rmqlab` alone must cost nothing."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = offered = getattr(import_module(f"rmqlab.{_OURS.get(name, 'plugins')}"), name)
        return offered


def __dir__() -> list[str]:
    """What the package offers."""
    return [*__all__, "__version__"]
