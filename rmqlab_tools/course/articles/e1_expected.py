"""What the first article's experiment printed, or what follows from it, and our figures in the same form beside that.

The article prints the consumers' side of two messages. Of the other six it gives both ids, and from these follow the
place in the commit log, the moment of birth and, with the body, the checksum (rows S-21, S-22, S-27, S-28). When they
were stored it does not tell: those times are ours, and depend on the delays chosen for the frames.
"""

from __future__ import annotations

import json
import re
import zlib
from datetime import timedelta, timezone
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.checkout import data_path
from rmqlab.language import N_, _
from rmqlab.message.ids import decode_message_id, time_of
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import Consumed, MessageSent, Starting
from rmqlab.run.run_view import RunView

if TYPE_CHECKING:
    from rmqlab.run.run import Run
    from rmqlab.sim.simulate import Simulation

SENT_FIELDS = ("queueId", "queueOffset", "msgId", "offsetMsgId")
# A value in Java's print: a list, a map, a quoted text, or anything up to the next comma.
_FIELD = re.compile(r"(\w+)=(\[[^\]]*\]|\{[^}]*\}|'[^']*'|[^,\]}]+)")
_NESTED = re.compile(r"toString\(\)=Message\{")
NOT_PRINTED = _("(not printed)")
PRINTED_PROPERTY = "properties."


class FigureKind(StrEnum):
    """Where the value that ours stands beside comes from. Only what is printed counts as equal to the article."""

    PRINTED = "printed"  # stands in the article: a print, its text, a source it quotes
    GIVEN = N_("given")  # stands in the article as a setting, and was put in here
    FOLLOWS = N_("follows")  # follows from what stands there
    EXPECTED = N_("expected")  # must come out by the source of 4.8.0 or a real broker's run, without the article's word
    OURS = N_("ours")  # there is none: nothing to compare with


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
    prints: dict[str, Any] = json.loads((data_path("articles") / "E1.json").read_text(encoding="utf-8"))
    return prints


def send_figures(run: Run) -> list[Figure]:
    """Queue, offset and both ids of each of the eight messages."""
    here = [fact.event.record() for fact in run.recorded(MessageSent)]
    names = {"queueId": "queue", "queueOffset": "offset"}
    return [
        Figure(f"{theirs['body']} {name}", theirs[name], ours[names.get(name, name)])
        for theirs, ours in zip(printed()["sent"], here, strict=False)
        for name in SENT_FIELDS
    ]


def lines_of(run: Run, consumer: str) -> list[str]:
    """What a consumer's listener printed, as the article's program prints it."""
    consumed = [fact for fact in run.facts.of(Consumed) if fact.source == consumer]
    return [f"Receive New Messages: [{fact.event.message}]" for fact in consumed]


def fields_of(line: str) -> dict[str, str]:
    """The fields of one printed message, properties as "properties.NAME"."""
    flat = _NESTED.sub("", line.partition("MessageExt [")[2])
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(flat):
        if value.startswith("{"):
            fields |= {f"{PRINTED_PROPERTY}{key}": text for key, text in _FIELD.findall(value[1:-1])}
        else:
            fields[name] = value
    return fields


def consumer_figures(run: Run) -> dict[str, list[Figure]]:
    """How many messages each consumer printed; then a group for each message, and one for its properties."""
    figures: dict[str, list[Figure]] = {"printed": []}
    for consumer, theirs in printed()["printed"].items():
        ours = lines_of(run, consumer)
        figures["printed"].append(Figure(_("messages printed by {who}", who=consumer), len(theirs), len(ours)))
        for number, line in enumerate(theirs, 1):
            here = fields_of(ours[number - 1]) if number <= len(ours) else {}
            for name, value in fields_of(line).items():
                field = name.removeprefix(PRINTED_PROPERTY)
                group = (
                    _("{who}'s message {number}", who=consumer, number=number)
                    if field == name
                    else _("{who}'s message {number}, properties", who=consumer, number=number)
                )
                figures.setdefault(group, []).append(Figure(field, value, here.get(name)))
    return figures


def conclusions(run: Run) -> list[Figure]:
    """The article's five conclusions and its summary, each as a value that our run has too."""
    view = RunView(run)
    by_queue = [sorted(str(fate.tag) for fate in view.fates if fate.queue == queue) for queue in range(view.queues)]
    consumed = {
        client: sorted({str(fate.tag) for fate in view.fates if fate.culprit == client and fate.fate is Fate.DELIVERED})
        for client in view.names
    }
    owned = {
        client: sorted(queue for queue, owners in view.owners.items() if client in owners) for client in view.names
    }
    starts = [fact.event.who for fact in run.recorded(Starting)]
    return [
        Figure(_("1. tags in each of the four queues"), [["tagA", "tagB"]] * 4, by_queue),
        Figure(_("2. start order"), ["A", "B"], starts, FigureKind.GIVEN),
        Figure(_("3. queues of A and of B"), {"A": [0, 1], "B": [2, 3]}, owned),
        Figure(_("4. tags consumed in A's queues"), [], consumed.get("A")),
        Figure(_("5. tags consumed in B's queues"), ["tagB"], consumed.get("B")),
        Figure(_("summary: the group's subscription"), "tagB", view.slots[-1].expression if view.slots else None),
    ]


ARTICLE_ZONE = timezone(timedelta(hours=8))  # the client's: the month that its ids count from began there


def set_up(simulation: Simulation) -> list[Figure]:
    """The settings of the article's list and programs, beside those of the broker and clients here."""
    broker, producer = simulation.cluster.broker, simulation.producer
    topic = next(iter(simulation.scenario.topics))
    config = broker.topic_config_manager.topic_config_table[topic]
    given = [
        ("topic", "SUBSCRIBE_TEST", topic),
        (_("read queues"), 4, config.read_queue_nums),
        (_("write queues"), 4, config.write_queue_nums),
        (_("permission"), 6, config.perm),
        (_("consumer group"), ["SUBSCRIBE_TEST_CONSUMER_GROUP"], simulation.scenario.groups()),
        (_("producer group"), "SUBSCRIBE_TEST_PRODUCER_GROUP", producer.group),
        (_("send timeout, ms"), 15_000, producer.config.send_msg_timeout),
        (_("name server"), "172.16.1.15:9876", simulation.cluster.config.namesrv_address),
    ]
    return [Figure(what, article, here, FigureKind.GIVEN) for what, article, here in given]


def all_sends(simulation: Simulation) -> list[Figure]:
    """The fields that all eight send results have alike."""
    sent, results = printed()["sent"], simulation.recorder.results
    queues = [result.message_queue for result in results]
    return [
        Figure(_("send results"), len(sent), len(results)),
        Figure(
            _("their sendStatus"),
            _distinct(sent, "sendStatus"),
            sorted({result.send_status.value for result in results}),
        ),
        Figure(_("their topic"), _distinct(sent, "topic"), sorted({queue.topic for queue in queues})),
        Figure(_("their brokerName"), _distinct(sent, "brokerName"), sorted({queue.broker_name for queue in queues})),
    ]


def _distinct(sent: list[dict[str, str]], name: str) -> list[str]:
    return sorted({result[name] for result in sent})


def derived(simulation: Simulation) -> list[Figure]:
    """Commit log offset, birth, checksum and size of the six messages of which the article prints no such thing."""
    store = simulation.cluster.broker.message_store
    sent = printed()["sent"]
    offsets = [decode_message_id(result["offsetMsgId"]).offset for result in sent]
    received = {fields_of(line)["msgId"] for lines in printed()["printed"].values() for line in lines}
    figures: list[Figure] = []
    for number, (result, event) in enumerate(zip(sent, _sent(simulation), strict=False)):
        body = result["body"]
        if result["offsetMsgId"] in received:
            continue
        stored = store.look_message_by_offset(decode_message_id(event.offset_msg_id or "").offset)
        if stored is None:
            figures.append(_follows(_("{body} in the store", body=body), True, False))
            continue
        born = time_of(result["msgId"], stored.store_timestamp, ARTICLE_ZONE)
        figures += [
            _follows(_("{body} commitLogOffset", body=body), offsets[number], stored.commit_log_offset),
            _follows(_("{body} bornTimestamp", body=body), born, stored.born_timestamp),
            _follows(_("{body} bodyCRC", body=body), zlib.crc32(body.encode()) & 0x7FFF_FFFF, stored.body_crc),
            Figure(_("{body} storeTimestamp", body=body), NOT_PRINTED, stored.store_timestamp),
        ]
        if number + 1 < len(offsets):
            figures.append(
                _follows(_("{body} storeSize", body=body), offsets[number + 1] - offsets[number], stored.store_size)
            )
    return figures


def _follows(what: str, article: object, here: object) -> Figure:
    return Figure(what, article, here, FigureKind.FOLLOWS)


def _sent(simulation: Simulation) -> list[MessageSent]:
    return [fact.event for fact in simulation.cluster.facts.of(MessageSent)]


_ROW = re.compile(
    r'^\| <a id="(?P<anchor>[^"]+)"></a>(?P<place>[^|]+) \| (?P<text>[^|]+) \| (?P<english>[^|]+) \|$', re.MULTILINE
)


class Heading(NamedTuple):
    """A heading: its anchor on the page ("s-3-1"), its place ("S 3.1"), the article's own words, and in English."""

    anchor: str
    place: str
    text: str
    english: str

    def __str__(self) -> str:
        """As it is cited."""
        return f"{self.place} {self.text} ({self.english})"


def headings() -> dict[str, Heading]:
    """All headings by place, from the page that names them: they came to us without title, author or date."""
    page = (data_path("articles") / "README.md").read_text(encoding="utf-8")
    return {row["place"]: Heading(*row.group("anchor", "place", "text", "english")) for row in _ROW.finditer(page)}
