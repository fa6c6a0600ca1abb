"""What the first article's experiment printed, and our run's figures in the same form, to set side by side."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.checkout import carried
from rmqlab.lab.fates import Fate
from rmqlab.lab.run_view import RunView

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

SENT = ("queueId", "queueOffset", "msgId", "offsetMsgId")
# A value in Java's print: a list, a map, a quoted text, or anything up to the next comma.
_FIELD = re.compile(r"(\w+)=(\[[^\]]*\]|\{[^}]*\}|'[^']*'|[^,\]}]+)")
_NESTED = re.compile(r"toString\(\)=Message\{")


NOT_PRINTED = "(not printed)"


class FigureKind(StrEnum):
    """Where the value that ours stands beside comes from. Only what is printed counts as equal to the article."""

    PRINTED = "printed"  # stands in the article: a print, its text, a source it quotes
    GIVEN = "given"  # stands in the article as a setting, and was put in here
    FOLLOWS = "follows"  # follows from what stands there
    EXPECTED = "expected"  # must come out by the source of 4.8.0 or a real broker's run, without the article's word
    OURS = "ours"  # there is none: nothing to compare with


class Figure(NamedTuple):
    """One figure: what it is, the article's value (NOT_PRINTED: it has none), ours, where the article's is from."""

    what: str
    article: object
    here: object
    origin: FigureKind = FigureKind.PRINTED

    @property
    def kind(self) -> FigureKind:
        """Where the article's value comes from; a figure without one is ours alone."""
        return self.origin if self.compared else FigureKind.OURS

    @property
    def compared(self) -> bool:
        """Whether there is anything to agree with."""
        return self.article != NOT_PRINTED

    @property
    def equal(self) -> bool:
        """Whether there is a value to agree with, and ours does."""
        return self.compared and self.article == self.here

    @property
    def differs(self) -> bool:
        """Whether there is a value to agree with, and ours does not."""
        return self.compared and self.article != self.here


def printed() -> dict[str, Any]:
    """The article's prints: "sent" (eight send results as dicts), "printed" (lines by consumer)."""
    found: dict[str, Any] = json.loads((carried("articles") / "E1.json").read_text(encoding="utf-8"))
    return found


def send_figures(run: Run) -> list[Figure]:
    """Queue, offset and both ids of each of the eight messages."""
    here = [event for event in run.events if event["ev"] == "sent"]
    names = {"queueId": "queue", "queueOffset": "offset"}
    return [
        Figure(f"{theirs['body']} {name}", theirs[name], ours[names.get(name, name)])
        for theirs, ours in zip(printed()["sent"], here, strict=False)
        for name in SENT
    ]


def lines_of(run: Run, who: str) -> list[str]:
    """What a consumer's listener printed, as the article's program prints it."""
    consumed = [fact for fact in run.facts.of("consume") if fact.source == who]
    return [f"Receive New Messages: [{fact['message']}]" for fact in consumed]


def fields_of(line: str) -> dict[str, str]:
    """The fields of one printed message, properties as "properties.NAME"."""
    flat = _NESTED.sub("", line.partition("MessageExt [")[2])
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(flat):
        if value.startswith("{"):
            fields |= {f"properties.{key}": text for key, text in _FIELD.findall(value[1:-1])}
        else:
            fields[name] = value
    return fields


def consumer_figures(run: Run) -> list[Figure]:
    """How many messages each consumer printed, then every field of every message that was printed."""
    figures = []
    for who, theirs in printed()["printed"].items():
        ours = lines_of(run, who)
        figures.append(Figure(f"messages printed by {who}", len(theirs), len(ours)))
        for number, line in enumerate(theirs):
            here = fields_of(ours[number]) if number < len(ours) else {}
            figures += [
                Figure(f"{who}'s message {number + 1}: {name}", value, here.get(name))
                for name, value in fields_of(line).items()
            ]
    return figures


def conclusions(run: Run) -> list[Figure]:
    """The article's five conclusions and its summary, each as a value that our run has too."""
    reading = RunView(run)
    by_queue = [
        sorted(str(fate.tag) for fate in reading.fates if fate.queue == queue) for queue in range(reading.queues)
    ]
    consumed = {
        who: sorted({str(fate.tag) for fate in reading.fates if fate.culprit == who and fate.fate is Fate.DELIVERED})
        for who in reading.names
    }
    owned = {who: sorted(queue for queue, owner in reading.owners.items() if owner == who) for who in reading.names}
    starts = [event["who"] for event in run.events if event["ev"] == "starting"]
    return [
        Figure("1. tags in each of the four queues", [["tagA", "tagB"]] * 4, by_queue),
        Figure("2. start order", ["A", "B"], starts, FigureKind.GIVEN),
        Figure("3. queues of A and of B", {"A": [0, 1], "B": [2, 3]}, owned),
        Figure("4. tags consumed in A's queues", [], consumed.get("A")),
        Figure("5. tags consumed in B's queues", ["tagB"], consumed.get("B")),
        Figure("summary: the group's subscription", "tagB", reading.slots[-1].expression if reading.slots else None),
    ]
