"""Tables and pictures of a run: of a `Lab` at any moment, of a scenario that was simulated, of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Self, get_type_hints, overload

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.run import records
from rmqlab.run.records import R, columns_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.plugins import Film, Picture, Table
    from rmqlab.run.ownership import OwnersRecord
    from rmqlab.run.races import LagRecord, RaceRecord
    from rmqlab.run.run import Outcome, Run
    from rmqlab.scenario.scenario import Scenario

MAX_REPR_ROWS = 100
_SPARK = {str: "string", int: "bigint", float: "double", bool: "boolean"}


class Records(Sequence[R]):
    """Records of one type, in order; `caption` says what one is. Index, slice, loop, or filter them with `where`.

    >>> from rmqlab.run.records import OffsetRecord
    >>> asked = [OffsetRecord(0, "G", "T", 0, 2, 2), OffsetRecord(0, "G", "T", 1, None, 3)]
    >>> rows = Records("Offsets", OffsetRecord, asked)
    >>> [row.max for row in rows.where(queue=1)]
    [3]
    """

    def __init__(self, caption: str, record: type[R], rows: Iterable[R]) -> None:
        self.caption = caption
        self.record = record
        self.columns = columns_of(record)
        self._rows = list(rows)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Records[R]: ...
    def __getitem__(self, index: int | slice) -> R | Records[R]:
        if isinstance(index, slice):
            return type(self)(self.caption, self.record, self._rows[index])
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def _must_have(self, names: Iterable[str]) -> None:
        known = self.record.__annotations__
        for name in names:
            if name not in known:
                raise BadInput(
                    _(
                        "{caption}: a record has no {name}; it has {known}",
                        caption=self.caption,
                        name=f"{name!r}",
                        known=joined(", ", known),
                    )
                )

    def where(self, keep: Callable[[R], bool] | None = None, **values: object) -> Self:
        """The records for which `keep` is true and whose attributes have these values.

        Raises:
            BadInput: a record has no such attribute.
        """
        self._must_have(values)
        rows = [
            row
            for row in self._rows
            if (keep is None or keep(row)) and all(getattr(row, name) == value for name, value in values.items())
        ]
        return type(self)(self.caption, self.record, rows)

    def frame(self) -> pd.DataFrame:
        """The records as a pandas frame, a column for each of `columns`.

        Raises:
            BadInput: pandas is not installed; the text says how to get it.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise BadInput(_("frame() needs pandas: pip install 'rmqlab[spark]'")) from error
        return pd.DataFrame(self._rows, columns=list(self.columns))

    def spark(self, session: SparkSession) -> DataFrame:
        """The records as a Spark frame of `session`, a column for each of `columns`."""
        hints = get_type_hints(self.record)
        kinds = [next(text for kind, text in _SPARK.items() if hint in (kind, kind | None)) for hint in hints.values()]
        schema = ", ".join(f"`{column}` {kind}" for column, kind in zip(self.columns, kinds, strict=True))
        doubles = [hint is float for hint in hints.values()]
        rows = [tuple(float(v) if double else v for v, double in zip(row, doubles, strict=True)) for row in self._rows]
        return session.createDataFrame(rows, schema)

    def _caption(self) -> str:
        more = len(self._rows) - MAX_REPR_ROWS
        return f"{self.caption}: {len(self._rows)}" + (
            _(", of which the first {max_shown}", max_shown=MAX_REPR_ROWS) if more > 0 else ""
        )

    def _table(self) -> Table:
        from rmqlab.plugins import Table

        return Table(self._caption(), self.columns, self._rows[:MAX_REPR_ROWS], names=True)

    def __repr__(self) -> str:
        """Plain text in columns; a lost message is marked."""
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


class Fates(Records[records.FateRecord]):
    """The fates of messages: people read them in words, code by the names of `FateRecord`.

    >>> from rmqlab import Lab
    >>> lab = Lab(topics={"T": 1})
    >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
    >>> lab.run(seconds=60)
    >>> sent = lab.send("T", ["tagB"])
    >>> lab.run(seconds=30)
    >>> lab.fates()
    Fates: 1
    message  tag   queue  offset  pulled by  what became of it        dropped by  subscription that decided
    MsgStr0  tagB  0      0       A          – dropped by the broker  the broker  tagA, of A
    """

    def tally(self, *columns: str) -> Table:
        """How many messages met which fate, in words; apart for each value of these columns, such as "tag".

        Raises:
            BadInput: there is no such column.
        """
        from rmqlab.plugins import fate_counts

        self._must_have(columns)
        return fate_counts(self._rows, columns)

    def _table(self) -> Table:
        from rmqlab.plugins import fate_table

        return fate_table(self._caption(), self._rows[:MAX_REPR_ROWS])


class LabTables:
    """What can be asked of any run.

    Times in tables and pictures are ms since the topics were ready, as `Lab.now` and `at` of a scenario's steps; what
    happened before is below 0. Versions in tables are the clients' own epoch ms. The events of `lines()` and of files
    count from the begin of the run, as recordings of real brokers do: `run.zero` ms more.
    """

    def _run(self) -> Run:
        raise NotImplementedError

    def _records(self, title: str, record: type[R], read: Callable[[Run], Iterable[R]]) -> Records[R]:
        run = self._run()
        return Records(title, record, records.from_zero(read(run), run.zero))

    def fates(self) -> Fates:
        """One record for each message and group: its fate, who dropped it, by whose subscription, its version."""
        run = self._run()
        return Fates("Fates", records.FateRecord, records.from_zero(records.fates(run), run.zero))

    def way(self, body: str, *, group: str | None = None, topic: str | None = None) -> Table:
        """What happened to a message, step by step: stored, pulled, dropped or delivered, passed by the offset.

        Raises:
            BadInput: no such message came to this group (the first group and topic by default).
        """
        from rmqlab.plugins import way_table

        return way_table(self._run(), body, group=group, topic=topic)

    def events(self) -> Records[records.EventRecord]:
        """What an observer sees, as the recordings write it."""
        return self._records("Events", records.EventRecord, records.events)

    def messages(self) -> Records[records.MessageRecord]:
        """The messages sent."""
        return self._records("Messages", records.MessageRecord, records.messages)

    def consumed(self) -> Records[records.ConsumedRecord]:
        """What listeners got."""
        return self._records("Consumed", records.ConsumedRecord, records.consumed)

    def heartbeats(self) -> Records[records.HeartbeatRecord]:
        """The subscriptions that heartbeats brought to the broker."""
        return self._records("Heartbeats", records.HeartbeatRecord, records.beats)

    def subscriptions(self) -> Records[records.BrokerSubscriptionRecord]:
        """Every change of the one subscription that the broker holds for a group and topic."""
        return self._records("Subscriptions", records.BrokerSubscriptionRecord, records.slots)

    def pulls(self) -> Records[records.PullRecord]:
        """The pulls as the broker answered them; a recording has none (its frames are on disk)."""
        return self._records("Pulls", records.PullRecord, records.pulls)

    def rebalances(self) -> Records[records.OwnershipRecord]:
        """Queues taken and let go."""
        return self._records("Rebalances", records.OwnershipRecord, records.ownership)

    def owners(self, *, group: str | None = None, topic: str | None = None) -> Records[OwnersRecord]:
        """Who owned each queue over time (of the first group and topic by default), as every member believed it.

        >>> from rmqlab import Lab
        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "*"})
        >>> lab.run(seconds=5)
        >>> [(row.queue, row.owners, row.members) for row in lab.owners()]
        [(0, 'A', 1)]
        """
        from rmqlab.run.ownership import Ownership, OwnersRecord

        return self._records("Owners", OwnersRecord, lambda run: Ownership(run, group, topic).stretches())

    def offsets(self) -> Records[records.OffsetRecord]:
        """Committed and maximum offset of each queue each time they were asked, the last time now."""
        return self._records("Offsets", records.OffsetRecord, records.offsets)

    def lags(self, *, group: str | None = None, topic: str | None = None) -> Records[LagRecord]:
        """The lag of a group over time, as an alarm would see it: what lasted less than a second is left out."""
        from rmqlab.run.races import LagRecord, lags

        return self._records("Lag", LagRecord, lambda run: lags(run, group, topic))

    def race(self, *, group: str | None = None, topic: str | None = None) -> RaceRecord:
        """Two members of a group: who started first, how long before the other, who got the messages.

        Raises:
            BadInput: the group has not two members.
        """
        from rmqlab.run.races import race

        return race(self._run(), group, topic)

    def outcome(self) -> Outcome:
        """Who consumed what, and the committed offsets."""
        return self._run().outcome()

    def swimlane(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """What happened, a lane for each consumer and one for the broker (of the first group and topic by default)."""
        from rmqlab.plugins import swimlane

        return swimlane(self._run(), group=group, topic=topic)

    def play(self, *, group: str | None = None, topic: str | None = None) -> Film:
        """What happened as a film to play, stop and step through (of the first group and topic by default).

        It has the same in words, needs no kernel once it is shown, and `save(FILE)` writes it as a page.

        >>> from rmqlab import Lab
        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
        >>> lab.run(seconds=5)
        >>> sent = lab.send("T", ["tagA", "tagB"])
        >>> lab.run(seconds=5)
        >>> lab.play()
        Film of group G, topic T: 14 steps; 1 delivered, 1 that nobody asked for

        Raises:
            BadInput: no member of that group subscribes that topic, or more happens than a film can show.
        """
        from rmqlab.plugins import film

        return film(self._run(), group=group, topic=topic)

    def grid(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """What became of each message, by queue and tag."""
        from rmqlab.plugins import fate_grid

        return fate_grid(self._run(), group=group, topic=topic)

    def timeline(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """The group's one subscription in the broker, and every heartbeat that could have written it."""
        from rmqlab.plugins import slot_timeline

        return slot_timeline(self._run(), group=group, topic=topic)

    def ribbons(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """Who owned which queue over time: two owners at once and no owner stand out."""
        from rmqlab.plugins import ribbons

        return ribbons(self._run(), group=group, topic=topic)

    def readers(self, sends: Sequence[str] = (), *, group: str | None = None, topic: str | None = None) -> Picture:
        """The situation before anything happens: who reads which queue, and `sends`, tags in the order to be sent."""
        from rmqlab.plugins import readers

        return readers(self._run(), sends, group=group, topic=topic)

    def waiting_line(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """The line of pops that wait: who stood first when each message came, who was woken, what was skipped."""
        from rmqlab.plugins import waiting_line

        return waiting_line(self._run(), group=group, topic=topic)


class LabResult(LabTables):
    """A run that is over, simulated or recorded: `scenario`, `run`, and all tables and pictures."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def scenario(self) -> Scenario:
        """What was done."""
        return self.run.scenario

    def lines(self) -> str:
        """Events and fates, one JSON object a line."""
        return self.run.lines()

    def _run(self) -> Run:
        return self.run

    def __repr__(self) -> str:
        """The scenario's id, and how many messages were sent and lost."""
        fates = self.run.fates
        return f"<LabResult {self.scenario.id}: {len(self.messages())} sent, {sum(fate.lost for fate in fates)} lost>"
