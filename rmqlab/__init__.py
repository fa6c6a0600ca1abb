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

Questions
    lint            do the members of a group subscribe the same, by meaning
    sql92           what a broker makes of a SQL92 filter
    tags            what a client makes of a tag expression
    explain         what a code, a remark, a line of a log or a whole log means, and what to do
    check           is the answer to an exercise right
    broken          rules of which one is wrong, to be found by what happens
    guess           what you expect, before it is shown, and later beside what came out
    quiz            three questions about a lesson; the first answer counts
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

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab import show, spark
    from rmqlab.auditing import audit
    from rmqlab.diagnosis.doctor import doctor
    from rmqlab.diagnosis.explained import explain
    from rmqlab.lab.lab import Lab
    from rmqlab.lessons.check import check
    from rmqlab.lessons.guess import guess
    from rmqlab.lessons.mutants import broken
    from rmqlab.lessons.progress import progress
    from rmqlab.lessons.quiz import quiz
    from rmqlab.rules import RULES
    from rmqlab.serving import serve
    from rmqlab.spark import read_store
    from rmqlab.verbs import explore, lint, plan, replay, reproduce, simulate, sql92, tags

__all__ = [
    "RULES",
    "Lab",
    "audit",
    "broken",
    "check",
    "doctor",
    "explain",
    "explore",
    "guess",
    "lint",
    "plan",
    "progress",
    "quiz",
    "read_store",
    "replay",
    "reproduce",
    "serve",
    "show",
    "simulate",
    "spark",
    "sql92",
    "tags",
]
__version__ = "0.1.0"

_MODULES = {
    "RULES": "rmqlab.rules",
    "Lab": "rmqlab.lab.lab",
    "audit": "rmqlab.auditing",
    "broken": "rmqlab.lessons.mutants",
    "check": "rmqlab.lessons.check",
    "doctor": "rmqlab.diagnosis.doctor",
    "explain": "rmqlab.diagnosis.explained",
    "guess": "rmqlab.lessons.guess",
    "progress": "rmqlab.lessons.progress",
    "quiz": "rmqlab.lessons.quiz",
    "read_store": "rmqlab.spark",
    "serve": "rmqlab.serving",
}


if "IPython" in sys.modules and os.environ.get("RMQLAB_LANG"):
    import_module("rmqlab.lessons.shown_values").in_notebook()


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `import rmqlab` alone must cost nothing."""
    if name in ("show", "spark"):
        return import_module(f"rmqlab.{name}")
    if name in __all__:
        globals()[name] = found = getattr(import_module(_MODULES.get(name, "rmqlab.verbs")), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What the package offers."""
    return [*__all__, "__version__"]
