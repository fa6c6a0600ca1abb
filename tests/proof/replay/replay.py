"""A recording of a real broker fed to ours: every answer, and everything it sends by itself, is compared.

A recording shows when the recorder saw a frame, not when the broker's threads acted on it. So a request is handled at
some moment between its frame and its answer, a stored message becomes visible at some moment after it is stored, and
so on (`Tolerated` lists all of it). A replay takes the order of the recording and departs from it only where an
answer demands it and only as far as those reasons allow: changes are put off until something recorded shows that they
have happened, and what only reads is asked again after each. An answer that our broker does not give is never taken.

Where only later answers tell what happened, `OrderSearch` makes other passes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _, filled
from rmqlab.protocol.codes import RequestCode, code_name, version_desc
from rmqlab.rule_table import no_version
from rmqlab.rules import DEFAULT_RULES, RULES
from rmqlab_tools.recordings.exchange import Exchange, tally
from rmqlab_tools.recordings.frames import read_recording
from tests.proof.replay.assumptions import OrderChoice
from tests.proof.replay.namesrv import NamesrvReplay
from tests.proof.replay.order_search import OrderSearch
from tests.proof.replay.recorded_clock import RecordedClock
from tests.proof.replay.replay_context import SETTLE_MS, AnswerDifference, Reordering, StoredMessage
from tests.proof.replay.tolerated_differences import Tolerated, Uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rmqlab.rules import Rules
    from rmqlab_tools.recordings.frames import Recording
    from tests.proof.replay.replay_context import ReplayContext

_NEAR_MS = 1.0


def _nobody(_step: str) -> None:
    """Hear what a replay does next."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay found.

    `identical` counts requests with the recorded outcome, be it an answer or none. `codes`: request code to how many
    requests and how many of them identical. `differing` also has what the broker sent by itself, or failed to.
    `namesrv` is the same as `codes` of the name server, whose differences are in `differing` as well. `orders` are
    pairs of requests whose order only later answers tell; `late` are the messages that became visible late, as answers
    say.
    """

    name: str
    requests: int
    identical: int
    differing: list[AnswerDifference]
    reorderings: list[Reordering]
    codes: dict[int, tuple[int, int]]
    uses: Uses
    clock: RecordedClock
    passes: int
    namesrv: dict[int, tuple[int, int]]
    orders: list[OrderChoice]
    late: list[StoredMessage]

    @property
    def near(self) -> int:
        """How many of the reorderings concern frames seen less than a millisecond apart."""
        return sum(reordering.gap_ms < _NEAR_MS for reordering in self.reorderings)

    @property
    def widest_ms(self) -> float:
        """How far apart the frames of a reordering were at most."""
        return round(max((reordering.gap_ms for reordering in self.reorderings), default=0.0), 1)

    @property
    def latest_ms(self) -> float:
        """How long after it was stored a message became visible at most, where that was late; else 0."""
        return round(max((message.visible - message.t for message in self.late), default=0.0), 1)

    def __repr__(self) -> str:
        """How many requests there were, and how many answers are those of the recording."""
        return str(
            _(
                "{name}: {identical} of {requests} answers are the recorded ones",
                name=self.name,
                identical=self.identical,
                requests=self.requests,
            )
        )

    def as_json(self) -> dict[str, object]:
        """Return everything as JSON values."""
        return {
            "set": self.name,
            "requests": self.requests,
            "identical": self.identical,
            "reordered": len(self.reorderings),
            "differing": [asdict(difference) for difference in self.differing],
            "codes": _codes(self.codes),
            "namesrv": {
                "requests": sum(requests for requests, _ in self.namesrv.values()),
                "identical": sum(identical for _, identical in self.namesrv.values()),
                "codes": _codes(self.namesrv),
            },
            "reorderings": {
                "within_1_ms": self.near,
                "widest_ms": self.widest_ms,
                "requests": [
                    {
                        "seen_first": _request(one.seen_first),
                        "handled_first": _request(one.handled_first),
                        "gap_ms": round(one.gap_ms, 1),
                    }
                    for one in self.reorderings
                ],
            },
            "assumed": {
                "orders": [
                    {"handled_first": _request(choice.second), "handled_second": _request(choice.first)}
                    for choice in self.orders
                ],
                "late_messages": len(self.late),
                "latest_ms": self.latest_ms,
            },
            "undetermined": self.uses.as_json(),
            "clock": {
                "epoch_ms": round(self.clock.epoch, 1),
                "from": self.clock.epoch_from,
                "first_look_ms": self.clock.looks[0] if self.clock.looks else None,
                "look_period_ms": self.clock.look_period,
            },
            "passes": self.passes,
        }


def _codes(codes: dict[int, tuple[int, int]]) -> dict[str, object]:
    return {
        str(code): {"name": code_name(RequestCode, code), "requests": requests, "identical": identical}
        for code, (requests, identical) in codes.items()
    }


def replay(folder: Path, tell: Callable[[str], None] = _nobody, rules: Rules | None = None) -> ReplayResult:
    """Replay the recorded set in `folder` with a broker of these rules; `tell` hears what is done next.

    Without `rules` they are those of the version that the recorded broker names. Raises `BadInput` when it cannot be
    read, has no request to a broker, or is of a version without rules.
    """
    tell(_("reading {folder}", folder=folder))
    recording = read_recording(folder)
    if not any(line.to_broker and line.command and not line.command.is_response for line in recording.lines):
        raise BadInput(
            _("{folder}: its frames hold no request to a broker, so there is nothing to compare", folder=folder)
        )
    return replay_recording(recording, tell, rules)


def replay_recording(
    recording: Recording, tell: Callable[[str], None] = _nobody, rules: Rules | None = None
) -> ReplayResult:
    """Replay a recording, in several passes where later answers ask for other orders than the one seen."""
    search = OrderSearch(recording, tell, recorded_rules(recording) if rules is None else rules)
    return _result(search.run(), search.passes)


def recorded_rules(recording: Recording) -> Rules:
    """The rules of the version that most frames of the recorded broker name; the usual ones where it sent none.

    Raises `BadInput` for a version without rules.
    """
    numbers = Counter(line.command.version for line in recording.lines if line.command and not line.to_broker)
    if not numbers:
        return DEFAULT_RULES
    ((number, _count),) = numbers.most_common(1)
    known = next((rules for rules in RULES.values() if rules.wire.version_number == number), None)
    if known is None:
        version = version_desc(number).removeprefix("V").replace("_", ".")
        raise BadInput(f"{recording.name}: {no_version(version, RULES)}")
    return known


def _result(context: ReplayContext, passes: int) -> ReplayResult:
    exchanges = context.exchanges.by_request.values()
    wire = context.broker.rules.wire
    namesrv, namesrv_differing = NamesrvReplay(context.recording, context.clock, context.uses, wire).run()
    context.uses[Tolerated.STORE_TIME] = context.broker.store.times_taken
    context.uses[Tolerated.BORN_PORT] = len(context.clock.ports)
    context.uses[Tolerated.SCAN_PHASE] = len(context.clock.scanned)
    late = [message for message in context.messages.values() if SETTLE_MS < message.visible - message.t < inf]
    context.uses[Tolerated.REPUT_STALL] = len(late)
    return ReplayResult(
        name=context.recording.name,
        requests=len(exchanges),
        identical=sum(exchange.agrees for exchange in exchanges),
        differing=[*(found.difference for found in context.differing), *namesrv_differing],
        reorderings=context.reorderings,
        codes=tally(exchanges),
        uses=context.uses,
        clock=context.clock,
        passes=passes,
        namesrv=namesrv,
        orders=[one for one in context.assumed if isinstance(one, OrderChoice)],
        late=late,
    )


def _request(exchange: Exchange) -> dict[str, int]:
    return {"conn": exchange.line.conn, "opaque": exchange.opaque, "code": int(exchange.code)}


_WIDTH = 160


def replay_lines(result: ReplayResult, show: int) -> Iterator[str]:
    """What was equal, by request code, what was taken from the recording, and the first `show` differences."""
    yield (
        _(
            "{name}: {requests} requests, {identical} identical, {differing} differences",
            name=result.name,
            requests=result.requests,
            identical=result.identical,
            differing=len(result.differing),
        )
    )
    yield _(
        "{reorderings} reordered: {near} within 1 ms, the widest gap {widest_ms} ms",
        reorderings=len(result.reorderings),
        near=result.near,
        widest_ms=result.widest_ms,
    )
    yield _(
        "passes over the recording: {passes}; orders that only later answers tell: {orders}",
        passes=result.passes,
        orders=len(result.orders),
    )
    if result.late:
        yield _(
            "{late} messages became visible late, up to {latest_ms} ms after they were stored",
            late=len(result.late),
            latest_ms=result.latest_ms,
        )
    clock = result.clock
    epoch = f"{clock.epoch:.1f}"
    yield _(
        "t = 0 is epoch {epoch} ms ({epoch_from}); {looks}",
        epoch=epoch,
        epoch_from=_(clock.epoch_from),
        looks=_looks(clock),
    )
    for title, codes in ((_("request"), result.codes), (_("to the name server"), result.namesrv)):
        if codes:
            yield from (
                "",
                f"  {filled(title, 34)} {filled(_('requests'), 8, right=True)} {filled(_('identical'), 9, right=True)}",
            )
        for code, (requests, identical) in codes.items():
            yield f"  {code:>3} {code_name(RequestCode, code):<30} {requests:>8} {identical:>9}"
    yield from ("", _("Taken from the recording, or let pass:"))
    for name, use in result.uses.as_json().items():
        yield f"  {use['used']:>6}  {name}: {_(str(use['reason']))}"
    if result.differing:
        yield from ("", _("Differences:"))
    for difference in result.differing[:show]:
        request = code_name(RequestCode, difference.code)
        where = _(
            "conn {conn}, opaque {opaque}, {request}, {field}",
            conn=difference.conn,
            opaque=difference.opaque,
            request=request,
            field=difference.field,
        )
        yield (
            "  "
            + _(
                "{where}: expected {brief}, got {brief2}",
                where=where,
                brief=_brief(difference.expected),
                brief2=_brief(difference.got),
            )
        )
    if len(result.differing) > show:
        yield ("  " + _("and {differing} more", differing=len(result.differing) - show))


def _looks(clock: RecordedClock) -> str:
    if not clock.looks:
        return _("no look of the hold service shows")
    return _(
        "the hold service looks from {looks} ms on, every {look_period} ms",
        looks=f"{clock.looks[0]:.0f}",
        look_period=clock.look_period,
    )


def _brief(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
