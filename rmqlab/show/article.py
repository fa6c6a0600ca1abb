"""Tables that set the article's figures beside ours, and tables that take them apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.lab.articles.eight_messages import EightMessages
from rmqlab.lab.articles.printed_e1 import (
    Figure,
    FigureKind,
    conclusions,
    consumer_figures,
    fields_of,
    lines_of,
    printed,
    send_figures,
)
from rmqlab.lab.evidence import way_of
from rmqlab.lab.fates import Fate
from rmqlab.lab.recorded.races import SETS, recorded_races
from rmqlab.lab.run_view import RunView, seconds
from rmqlab.message.ids import decode_message_id
from rmqlab.message.message import Message
from rmqlab.protocol.codes import VERSION_4_8_0, RequestCode
from rmqlab.runtime.network import C2S
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rmqlab.lab.run import Run
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.network import Connection

EQUAL, DIFFERENT = "=", "differs"
AGREES = {
    FigureKind.PRINTED: EQUAL,
    FigureKind.GIVEN: "given",
    FigureKind.FOLLOWS: "follows",
    FigureKind.EXPECTED: "expected",
    FigureKind.OURS: "",
}
VERSIONS = {VERSION_4_8_0: "4.8.0"}


def beside(caption: str, figures: Iterable[Figure], *, folded: bool = False) -> Table:
    """Article's value beside ours; rows that differ are marked, and only what the article printed counts as equal."""
    figures = list(figures)
    rows = [(one.what, one.article, one.here, DIFFERENT if one.differs else AGREES[one.kind]) for one in figures]
    differing = frozenset(number for number, one in enumerate(figures) if one.differs)
    printed_ones = [one for one in figures if one.kind is FigureKind.PRINTED]
    text = f"{caption}: {sum(one.equal for one in printed_ones)} of {len(printed_ones)} equal"
    if len(printed_ones) < len(figures):
        text += f"; not printed there and not counted: {len(figures) - len(printed_ones)}"
    return Table(text, ("figure", "article", "here", ""), rows, differing, folded)


def send_results(run: Run) -> Table:
    """The eight send results: queue, offset and offsetMsgId, the article's beside ours."""
    here = [event for event in run.events if event["ev"] == "sent"]
    rows = [
        (
            theirs["body"], theirs["tag"], theirs["queueId"], ours["queue"], theirs["queueOffset"], ours["offset"],
            theirs["offsetMsgId"], ours["offsetMsgId"],
        )
        for theirs, ours in zip(printed()["sent"], here, strict=False)
    ]  # fmt: skip
    figures = send_figures(run)
    equal = sum(one.equal for one in figures)
    caption = f"The eight send results, queue, offset and both ids: {equal} of {len(figures)} figures equal"
    headers = ("message", "tag", "queue: article", "here", "offset: article", "here", "offsetMsgId: article", "here")
    marked = frozenset(n for n, row in enumerate(rows) if (row[2], row[4], row[6]) != (row[3], row[5], row[7]))
    return Table(caption, headers, rows, marked)


def consumer_prints(run: Run) -> Table:
    """What the consumers printed, field by field."""
    return beside("What the consumers printed, field by field", consumer_figures(run), folded=True)


def five_conclusions(run: Run) -> Table:
    """The article's conclusions beside what our run says."""
    return beside("The article's conclusions", conclusions(run))


def ids_taken_apart(run: Run) -> Table:
    """What each offsetMsgId says: the store's address, the commit log offset, and the step from the one before."""
    rows = []
    before: int | None = None
    for event in run.events:
        if event["ev"] == "sent":
            decoded = decode_message_id(event["offsetMsgId"])
            step = None if before is None else decoded.offset - before
            rows.append((event["body"], event["offsetMsgId"], decoded.host.text, decoded.offset, step))
            before = decoded.offset
    return Table("offsetMsgId taken apart", ("message", "offsetMsgId", "store", "offset in the log", "step"), rows)


def provenance(experiment: EightMessages, body: str = "MsgStr4") -> Table:
    """Who wrote each property of a message that was consumed: program, producer, broker or consumer."""
    simulation = experiment.simulation()
    run = simulation.run()
    consumed = next(fact["message"] for fact in run.facts.of("consume") if fact["body"] == body)
    number = next(n for n, event in enumerate(e for e in run.events if e["ev"] == "sent") if event["body"] == body)
    stored = simulation.cluster.broker.message_store.look_message_by_offset(consumed.commit_log_offset)
    stages = [
        ("the program", Message.of(consumed.topic, consumed.body, experiment.message_tags()[number]).properties),
        ("the producer's library", simulation.recorder.sent[number].properties),
        ("the broker", {} if stored is None else stored.properties),
        ("the consumer's library", consumed.properties),
    ]
    rows = []
    for name, value in consumed.properties.items():
        writer = next(stage for stage, properties in stages if name in properties)
        rows.append((name, value, writer))
    return Table(f"The properties of {body} and who wrote them", ("property", "value", "written by"), rows)


def requests(experiment: EightMessages, who: str) -> Table:
    """Every kind of request on a consumer's connection to the broker: who asks, code, protocol version, how often."""
    simulation = experiment.simulation()
    counts: Counter[tuple[str, int, int]] = Counter()

    def see(connection: Connection, direction: str, command: RemotingCommand, *_: int) -> None:
        at_broker = connection.server.name == simulation.cluster.broker_address
        if connection.node.name == who and at_broker and not command.is_response:
            counts[who if direction == C2S else "broker", command.code, command.version] += 1

    simulation.world.on_frame = see
    simulation.run()
    rows = [
        (asks, RequestCode(code).name, code, VERSIONS.get(version, version), number)
        for (asks, code, version), number in sorted(counts.items(), key=lambda pair: (pair[0][0] != who, -pair[1]))
    ]
    headers = ("who asks", "request", "code", "version", "times")
    return Table(f"All requests between {who} and the broker", headers, rows)


def clock_gaps(run: Run) -> Table:
    """Born, stored and consumed times of each message that was printed, with the differences in ms."""
    rows: list[Sequence[object]] = []
    for who in RunView(run).names:
        for line in lines_of(run, who):
            fields = fields_of(line)
            body = bytes(int(code) for code in fields["body"].strip("[]").split(",")).decode()
            born, stored = int(fields["bornTimestamp"]), int(fields["storeTimestamp"])
            consumed = int(fields["properties.CONSUME_START_TIME"])
            rows.append((body, born, stored, stored - born, consumed, consumed - stored))
    headers = ("message", "born", "stored", "later by ms", "consumed", "later by ms")
    negative = frozenset(number for number, row in enumerate(rows) if str(row[-1]).startswith("-"))
    return Table(
        "Three clock readings of each message (marked: consumed before it was stored)", headers, rows, negative
    )


def guessed(run: Run, guess: Mapping[str, int]) -> Table:
    """How many messages each consumer was thought to get, beside how many it got."""
    reading = RunView(run)
    got = Counter(fate.culprit for fate in reading.fates if fate.fate is Fate.DELIVERED)
    rows = [(who, reading.asked[who], guess.get(who), got[who]) for who in reading.names]
    wrong = frozenset(number for number, row in enumerate(rows) if row[2] != row[3])
    caption = f"Your guess, and what happened to {len(reading.fates)} messages (marked: not as guessed)"
    return Table(caption, ("consumer", "asks for", "your guess", "got"), rows, wrong)


def offsets(run: Run) -> Table:
    """Committed offset, end and lag of every queue, beside what was delivered from it and what was lost."""
    reading = RunView(run)
    rows: list[tuple[object, ...]] = []
    for queue, (committed, maximum) in sorted(reading.offsets.items()):
        mine = [fate for fate in reading.fates if fate.queue == queue]
        behind = maximum - committed if isinstance(committed, int) else committed
        delivered = sum(fate.fate is Fate.DELIVERED for fate in mine)
        rows.append((queue, committed, maximum, behind, delivered, sum(fate.lost for fate in mine)))
    total = [sum(int(str(row[column])) for row in rows if str(row[column]).isdigit()) for column in range(1, 6)]
    rows.append(("all", *total))
    headers = ("queue", "committed offset", "messages in it", "lag", "delivered", "lost")
    return Table("What monitoring sees, and what it does not", headers, rows)


def way(run: Run, body: str) -> Table:
    """The way of one message, step by step."""
    rows = [(seconds(line.t), line.where, line.text) for line in way_of(RunView(run), body)]
    return Table(f"The way of {body}", ("time", "where", "what"), rows)


def ids_and_queues(*experiments: EightMessages) -> Table:
    """Who owned which queues for different client ids."""
    rows = []
    for experiment in experiments:
        reading = RunView(experiment.run())
        ids = [experiment.client_ids[who] for who in reading.names]
        owned = [[queue for queue, owner in sorted(reading.owners.items()) if owner == who] for who in reading.names]
        rows.append((", then ".join(experiment.start_order), *ids, *(", ".join(map(str, mine)) for mine in owned)))
    names = RunView(experiments[0].run()).names
    headers = ("start order", *(f"id of {name}" for name in names), *(f"queues of {name}" for name in names))
    return Table("Who owns what", headers, rows)


def real_races() -> Table:
    """Who won the slot when two real consumers met, by the gap between their starts."""
    races = recorded_races(*SETS)
    by_gap = {seconds(gap): [one for one in races if one.gap_ms == gap] for gap in sorted({r.gap_ms for r in races})}
    rows = []
    for gap, mine in [*by_gap.items(), ("all", races)]:
        last, both = sum(race.won_by_last for race in mine), sum(race.winner is None for race in mine)
        rows.append((gap, len(mine), last, len(mine) - last - both, both))
    headers = ("gap", "runs", "the last one won", "the first one won", "it flipped while messages came")
    return Table("Recorded on a real broker 4.8.0: whose tag held the slot", headers, rows)


def simulated_races(gaps_ms: Sequence[int], seeds: int) -> Table:
    """Who won the slot in virtual time, with delays drawn from ``seeds`` seeds, by the gap between the starts."""
    rows = []
    for gap in gaps_ms:
        runs = (EightMessages(gap_ms=gap, seed=seed).run() for seed in range(seeds))
        winners = Counter(RunView(run).slots[-1].who for run in runs)
        rows.append((seconds(gap), seeds, winners["B"], winners["A"]))
    headers = ("gap", "runs", "the last one won", "the first one won")
    return Table("In virtual time, with delays as on a real machine: whose tag held the slot", headers, rows)
