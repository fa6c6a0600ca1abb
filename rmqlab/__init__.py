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
    show            pictures, tables and controls for rows of your own
    BadInput        the one exception of all of these; its text says what would be right
    ExpressionWarning   a subscription that probably means something else, such as tagA|tagB

Questions
    lint            do the members of a group subscribe the same, by meaning
    sql92           what a broker makes of a SQL92 filter
    tags            what a client makes of a tag expression
    explain         whatever you have: codes, logs, output of mqadmin, JSON, configuration, a store's config folder:
                    what each is, and what they say together
    check           is the answer to an exercise right
    broken          rules of which one is wrong, to be found by what happens
    guess           what you expect, before it is shown, and later beside what came out
    quiz            three questions about a lesson; the first answer counts
    data            the path of a recording or a stored result that the lessons read
    need            installs what a lesson needs besides, such as Spark, while you read on
    progress        what you guessed, solved and answered, in your copy of the lessons

Real brokers
    doctor          who is losing messages in a live cluster, now; nothing is sent to it but questions
    audit           which messages of a broker's store did which group lose, on Spark
    serve           a broker and a name server for real clients, for tests
    replay          a recording of a real broker against this one
    spark           a Spark session that reads stores: spark.read.format("rocketmq")
    read_store      a store's messages, queues or offsets as a Spark frame

Nothing is imported before it is used. `rmqlab VERB --help` is the same on the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab import show as show
    from rmqlab.auditing import audit as audit
    from rmqlab.checkout import data as data
    from rmqlab.diagnosis.doctor import doctor as doctor
    from rmqlab.diagnosis.evidence.door import explain as explain
    from rmqlab.errors import BadInput as BadInput
    from rmqlab.extras import need as need
    from rmqlab.filter.remarks import ExpressionWarning as ExpressionWarning
    from rmqlab.lab.lab import Lab as Lab
    from rmqlab.lessons.check import check as check
    from rmqlab.lessons.mutants import broken as broken
    from rmqlab.lessons.progress import guess as guess
    from rmqlab.lessons.progress import progress as progress
    from rmqlab.lessons.quiz import quiz as quiz
    from rmqlab.rules import RULES as RULES
    from rmqlab.serving import serve as serve
    from rmqlab.spark import Room
    from rmqlab.spark import read_store as read_store
    from rmqlab.verbs import explore as explore
    from rmqlab.verbs import lint as lint
    from rmqlab.verbs import plan as plan
    from rmqlab.verbs import replay as replay
    from rmqlab.verbs import reproduce as reproduce
    from rmqlab.verbs import simulate as simulate
    from rmqlab.verbs import sql92 as sql92
    from rmqlab.verbs import tags as tags

    spark: Room

_MODULES = {
    "BadInput": "errors", "ExpressionWarning": "filter.remarks", "RULES": "rules", "Lab": "lab.lab",
    "audit": "auditing", "broken": "lessons.mutants",
    "check": "lessons.check", "data": "checkout", "doctor": "diagnosis.doctor",
    "explain": "diagnosis.evidence.door", "explore": "verbs",
    "guess": "lessons.progress", "lint": "verbs", "need": "extras", "plan": "verbs", "progress": "lessons.progress",
    "quiz": "lessons.quiz", "read_store": "spark", "replay": "verbs", "reproduce": "verbs", "serve": "serving",
    "show": "show", "simulate": "verbs", "spark": "spark", "sql92": "verbs", "tags": "verbs",
}  # fmt: skip
__all__ = list(_MODULES)
__version__ = "1.0.0"

if not TYPE_CHECKING:  # else a name that is none would be right to mypy

    def __getattr__(name: str) -> object:
        """Import what is asked for when it is asked for: `import rmqlab` alone must cost nothing."""
        if name in _MODULES:
            module = import_module(f"rmqlab.{_MODULES[name]}")
            globals()[name] = found = module if name == _MODULES[name] else getattr(module, name)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What the package offers."""
    return [*__all__, "__version__"]
