"""The end of each verb's --help: what its exit status means, and a line to type."""

from __future__ import annotations

import shutil
import textwrap
from typing import Final, NamedTuple

WIDEST: Final = 118
COMMON: Final = {2: "bad input, nothing was done", 130: "stopped by Ctrl-C"}
_ARTICLE: Final = "data/golden/broker-4.8.0/base/scenarios.jsonl"


class Ending(NamedTuple):
    """Exit statuses besides those of every verb, each with its meaning; and an example."""

    statuses: dict[int, str]
    example: str


ENDINGS: Final = {
    "reproduce": Ending({0: "every figure agrees", 1: "a figure that must agree does not"}, "reproduce --only E1"),
    "simulate": Ending(
        {
            0: "all of them ran, whatever was lost; with --compare: every recorded outcome was reached",
            1: "with --compare: an outcome was not reached",
            2: "bad input, or a scenario was refused (the others ran)",
        },
        f"simulate {_ARTICLE} --id p-article-000 --out events.jsonl",
    ),
    "explore": Ending(
        {
            0: "it was explored; what FAILS in the report is a finding and changes nothing",
            1: "a property that you asked for with --property fails",
        },
        f"explore {_ARTICLE}#p-article-000 --budget 300",
    ),
    "conform": Ending({0: "no vector differs", 1: "one differs"}, "conform data/golden/vectors"),
    "replay": Ending({0: "every answer is the recorded one", 1: "one differs"}, "replay data/golden/broker-4.8.0/lite"),
    "serve": Ending({0: "it was stopped, by Ctrl-C too"}, "serve --set enablePropertyFilter=true"),
    "tap": Ending({0: "the recording is complete, after Ctrl-C too"}, "tap my-recording --seconds 60"),
    "audit": Ending(
        {0: "nothing was lost", 3: "messages were lost", 4: "too little is known to say"},
        "audit data/golden/broker-4.8.0/audit --out report",
    ),
    "events": Ending({0: "the tables are there"}, "events data/golden/broker-4.8.0/base --view losses"),
    "sweep": Ending(
        {0: "every row ran; with --row: its figures came out again", 1: "a row failed, or a figure came out otherwise"},
        "sweep heartbeats --set clients=1000 --spark none",
    ),
    "sql92": Ending(
        {0: "the broker takes it, hints or not", 1: "the broker refuses it, or with --strict ignores part of it"},
        """sql92 "a > 3 AND b IS NULL" --set a=5""",
    ),
    "agree": Ending({0: "every way gives the same answers", 1: "one differs"}, 'agree "a > 5" --rows 1000'),
    "profile": Ending({0: "it was measured"}, "profile --messages 3000 --no-java"),
    "bench": Ending({0: "it was measured"}, "bench eight --runs 1"),
    "stress": Ending({0: "nothing was lost, nothing went wrong", 1: "something was"}, "stress frames --count 1000"),
    "plan": Ending(
        {0: "a way is safe whatever the producers do", 1: "none is, at most on a condition"},
        'plan tagA "tagA || tagB" --budget 200',
    ),
    "lint": Ending(
        {0: "no inconsistency was shown (read what is not decided)", 1: "a group is inconsistent"},
        "lint --member A:TopicTest=tagA --member B:TopicTest=tagB",
    ),
    "rows": Ending({0: "every row that counts is shown", 1: "one is not"}, "rows --missing --only S"),
    "notebook": Ending({0: "it ended well", 1: "a cell failed, or JupyterLab did"}, "notebook --no-browser"),
    "test": Ending({0: "every check passed", 1: "one did not"}, "test tests/filter -q"),
}  # fmt: skip


def ending(program: str, verb: str, before: str | None = None) -> str:
    """The text at the end of the help of `verb`; ``before`` is what the verb itself has to say there."""
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)
    one = ENDINGS[verb]
    lines = []
    for number, meaning in sorted({**COMMON, **one.statuses}.items()):
        lines += textwrap.wrap(f"{number:>5}  {meaning}", width, subsequent_indent=" " * 7)
    parts = ["exit status:", *lines, "", "example:", f"  {program} {one.example}", ""]
    if before is not None:
        parts = [before.rstrip() if "\n" in before else textwrap.fill(before, width), "", *parts]
    return "\n".join(parts)
