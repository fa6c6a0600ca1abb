"""Tables and pictures of a run: of a `Lab` at any moment, of a scenario that was simulated, of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.lab import records
from rmqlab.lab.facts import FactLog
from rmqlab.lab.run import Outcome, Run, account_of
from rmqlab.lab.table import Records
from rmqlab.runtime.schedule import Schedule

if TYPE_CHECKING:
    from rmqlab.lab.run import Account
    from rmqlab.lab.scenario import Scenario
    from rmqlab.show.figure import Picture


class FrameRecord(NamedTuple):
    """A frame: when it left and when it arrives (ms), from whom to whom.

    `request` names the code of the request, or of the one that is answered; `response` the code of an answer.
    """

    n: int
    t: float
    arrives: float
    source: str
    target: str
    request: str | None
    response: str | None
    opaque: int

    def in_words(self, began: float) -> str:
        """Who sends what to whom, and when it is there (ms since `began`)."""
        what = f"{self.response} to {self.request}" if self.request and self.response else self.response or self.request
        return f"{self.source} -> {self.target}: {what}, there at {self.arrives - began:g} ms"


class LabTables:
    """What can be asked of any run. Times in tables are ms since the cluster began, as in the events."""

    def _account_run(self) -> Run:
        raise NotImplementedError

    def _account(self) -> Account:
        return account_of(self._account_run())

    def fates(self) -> Records[records.FateRecord]:
        """One record for each message and group: its fate, who did it, the subscription in force, its version."""
        return Records("Fates", records.FateRecord, list(records.fates(self._account())))

    def events(self) -> Records[records.EventRecord]:
        """What an observer sees, as the recordings write it."""
        return Records("Events", records.EventRecord, list(records.events(self._account())))

    def messages(self) -> Records[records.MessageRecord]:
        """The messages sent."""
        return Records("Messages", records.MessageRecord, list(records.messages(self._account())))

    def consumed(self) -> Records[records.ConsumedRecord]:
        """What listeners got."""
        return Records("Consumed", records.ConsumedRecord, list(records.consumed(self._account())))

    def heartbeats(self) -> Records[records.BeatRecord]:
        """The subscriptions that heartbeats brought to the broker."""
        return Records("Heartbeats", records.BeatRecord, list(records.beats(self._account())))

    def subscriptions(self) -> Records[records.SlotRecord]:
        """Every change of the one subscription that the broker holds for a group and topic."""
        return Records("Subscriptions", records.SlotRecord, list(records.slots(self._account())))

    def pulls(self) -> Records[records.PullRecord]:
        """The pulls as the broker answered them; a recording has none (its frames are on disk)."""
        return Records("Pulls", records.PullRecord, list(records.pulls(self._account())))

    def rebalances(self) -> Records[records.OwnershipRecord]:
        """Queues taken and let go."""
        return Records("Rebalances", records.OwnershipRecord, list(records.ownership(self._account())))

    def offsets(self) -> Records[records.OffsetRecord]:
        """Committed and maximum offset of each queue each time they were asked, the last time now."""
        return Records("Offsets", records.OffsetRecord, list(records.offsets(self._account())))

    def outcome(self) -> Outcome:
        """Who consumed what, and the committed offsets."""
        return self._account_run().outcome()

    def swimlane(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """What happened, a lane for each consumer and one for the broker (of the first group and topic by default)."""
        _pictures_can_be_drawn()
        from rmqlab.show.swimlane import swimlane

        return swimlane(self._account_run(), group=group, topic=topic)

    def grid(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """What became of each message, by queue and tag."""
        _pictures_can_be_drawn()
        from rmqlab.show.fate_grid import fate_grid

        return fate_grid(self._account_run(), group=group, topic=topic)

    def timeline(self, *, group: str | None = None, topic: str | None = None) -> Picture:
        """The group's one subscription in the broker, and every heartbeat that could have written it."""
        _pictures_can_be_drawn()
        from rmqlab.show.slot_timeline import slot_timeline

        return slot_timeline(self._account_run(), group=group, topic=topic)


class LabResult(LabTables):
    """A run that is over, simulated or recorded: `scenario`, `run`, and all tables and pictures."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @classmethod
    def of_account(cls, account: Account) -> LabResult:
        """A recording, read as a run."""
        facts = FactLog(lambda: 0.0, account.facts)
        return cls(Run(account.scenario, account.events, facts, account.fates, Schedule(account.scenario.id), [], 0))

    @property
    def scenario(self) -> Scenario:
        """What was done."""
        return self.run.scenario

    def lines(self) -> str:
        """Events and fates, one JSON object a line."""
        return self.run.lines()

    def _account_run(self) -> Run:
        return self.run

    def __repr__(self) -> str:
        """The scenario's id, and how many messages were sent and lost."""
        fates = self.run.fates
        return f"<LabResult {self.scenario.id}: {len(self.messages())} sent, {sum(fate.lost for fate in fates)} lost>"


def _pictures_can_be_drawn() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise BadInput("pictures need matplotlib: pip install 'rmqlab[notebook]'")
