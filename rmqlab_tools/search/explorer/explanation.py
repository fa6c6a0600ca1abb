"""Who is to blame, in words: what a run did otherwise than the usual one, its faults, whose stamp holds the slot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.events import Expired, OfGroup, Rebalance, Register, Restamp, SubscriptionChanged, Unregister
from rmqlab.language import _, joined
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.run.recorded_events import Control, MessageSent, Starting, StepFailed, Stopping, TapSent
from rmqlab.scenario.fault_steps import FAULT, FAULTS
from rmqlab.scenario.scenario import Start
from rmqlab.sim.frame_queues import TIME
from rmqlab.sim.virtual_server import REPUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.run import Run
    from rmqlab.scenario.schedule import Choice, Timing

_MOVE = re.compile(r"(?P<who>[^<>|]+)(?P<way>[<>])(?P<answer>re )?(?P<what>\S+)")
_DELAY = re.compile(r"delay (?P<who>.+) (?P<way>c2s|s2c) (?P<code>\d+)")
_MOMENT = re.compile(r"moment of (?P<what>.+) at (?P<at>\d+)")
_MOVES = {
    TIME: _("a timer"),
    "wake-up": _("the pulls that the broker has woken"),
    REPUT: _("the reput thread"),
    "step": _("the next step of the scenario"),
}
_CLOSE_MS = 1_000  # a goodbye or the end of a connection; a scan needs longer


def blame(run: Run) -> list[str]:
    """One line a deviation, then one a fault, then one for each group and topic that several clients stamped."""
    lines = [
        _("choice {number}: {deviation}", number=choice.number, deviation=deviation(choice, run.schedule.timing))
        for choice in run.choices
        if choice.taken
    ]
    return [*lines, *faults(run), *stamps(run)]


def deviation(choice: Choice, timing: Timing) -> str:
    """What one choice did that the usual run does not."""
    label, taken = choice.label, choice.taken
    if delayed := _DELAY.fullmatch(label):
        name = _frame(int(delayed["code"]), answer=delayed["way"] == "s2c")
        way = (
            _("{who}'s {name}", who=delayed["who"], name=name)
            if delayed["way"] == "c2s"
            else _("the broker's {name} to {who}", name=name, who=delayed["who"])
        )
        return _(
            "{way} takes {delays_us} ms instead of {delays_us2}",
            way=way,
            delays_us=f"{timing.delays_us[taken] / 1000:g}",
            delays_us2=f"{timing.delays_us[0] / 1000:g}",
        )
    if label.startswith("wake "):
        return _("the broker begins woken work after {wake_us} ms", wake_us=f"{timing.wake_us[taken] / 1000:g}")
    if label.startswith("thread "):
        _ignored, client, what = label.split(" ", 2)
        return _(
            "{who}'s thread goes on {thread_us} ms late ({thread})",
            who=client,
            thread_us=f"{timing.thread_us[taken] / 1000:g}",
            thread=_thread(what),
        )
    if label.startswith("reput "):
        return _(
            "the reput thread comes {reput_us} ms after the message", reput_us=f"{timing.reput_us[taken] / 1000:g}"
        )
    if label == "register broker":
        return _(
            "what the broker tells the name server takes {register_us} ms",
            register_us=f"{timing.register_us[taken] / 1000:g}",
        )
    if label == "broker uptime":
        return _(
            "the broker has been up for {uptime_ms} s, which sets the phase of its timers",
            uptime_ms=f"{timing.uptime_ms[taken] / 1000:g}",
        )
    if " | " in label:
        moves = [move(text) for text in label.split(" | ")]
        return _("{moves} before {moves2}", moves=moves[taken], moves2=joined(" and ", moves[:taken]))
    if moment := _MOMENT.fullmatch(label):
        later = _("at the end of") if taken == choice.n - 1 else _("{taken}/{n} into", taken=taken, n=choice.n - 1)
        return _(
            "{fault} comes {later} its span, which begins at {at} ms of the scenario",
            fault=fault(moment["what"]),
            later=later,
            at=moment["at"],
        )
    client, _ignored, what = label.partition(": ")
    match what:
        case "consume":
            return _("{who}'s listener takes {consume_ms} ms", who=client, consume_ms=timing.consume_ms[taken])
        case "start":
            return _("{who} takes {start_ms} ms to start", who=client, start_ms=timing.start_ms[taken])
        case "shutdown":
            return _("{who}'s shutdown takes {shutdown_ms} ms", who=client, shutdown_ms=timing.shutdown_ms[taken])
    return _("{label}: option {taken} of 0..{n}", label=label, taken=taken, n=choice.n - 1)


def fault(text: str) -> str:
    """A fault's kind and whom it hits ("kill B"), in words."""
    kind, _ignored, client = text.partition(" ")
    words = FAULTS[kind].noun or kind if kind in FAULTS else kind
    return _("{words} of {who}", words=words, who=client) if client else words


def move(text: str) -> str:
    """One move of open orders in words: its text is what labels have."""
    if text in _MOVES:
        return _MOVES[text]
    if "'s thread " in text:
        client, _ignored, what = text.partition("'s thread ")
        return _("{who}'s thread ({thread})", who=client, thread=_thread(what))
    if text.startswith(f"{FAULT} "):
        return fault(text.removeprefix(f"{FAULT} "))
    match = _MOVE.fullmatch(text)
    if match is None:
        return text
    client, what = match["who"], match["what"]
    if not what.isdigit():
        return _("{who}'s {name}", who=client, name=what)
    name = _request(int(what))
    if match["answer"]:
        return (
            _("the answer to {who}'s {name}", who=client, name=name)
            if match["way"] == "<"
            else _("{who}'s answer to {name}", who=client, name=name)
        )
    return (
        _("{who}'s {name}", who=client, name=name)
        if match["way"] == ">"
        else _("{name} to {who}", name=name, who=client)
    )


def stamps(run: Run) -> Iterator[str]:
    """Whose stamp held each slot of a subscription when the last message was sent, where several clients stamped it."""
    last_ms = max((fact.t for fact in run.recorded(MessageSent, TapSent)), default=float("inf"))
    versions: dict[tuple[str, str], dict[str, int]] = {}
    for fact in run.facts.of(Restamp):
        if fact.t <= last_ms:
            stamp = fact.event
            versions.setdefault((stamp.group, stamp.topic), {})[fact.source] = stamp.version
    for (group, topic), by_client in versions.items():
        slots = [
            change.event.new
            for change in run.facts.of(SubscriptionChanged)
            if change.t <= last_ms
            and (change.event.group, change.event.topic) == (group, topic)
            and change.event.new is not None
        ]
        if len(by_client) < 2 or not slots or topic.startswith("%RETRY%"):
            continue
        # moments of the clients' own clocks: with open orders two stamps of one instant differ, by their order
        zero_ms = run.events[0]["epochMs"] + run.zero
        order = sorted((version, client) for client, version in by_client.items())
        stamped = joined(
            ", ", (_("{who} at {version} ms", who=client, version=version - zero_ms) for version, client in order)
        )
        last = slots[-1]
        owner = next((client for client, version in by_client.items() if version == last.sub_version), None)
        holder = _("{owner}'s", owner=owner) if owner else _("none of these")
        yield _(
            "{group}, {topic}: stamped by {stamped}; the broker held {whose} ({expression})",
            group=group,
            topic=topic,
            stamped=stamped,
            whose=holder,
            expression=last.sub_string,
        )


def _thread(what: str) -> str:
    """What a thread waited for: the answer to a request, else its name."""
    return _("has the answer to {request}", request=_request(int(what))) if what.isdigit() else what


def _request(code: int) -> str:
    return RequestCode(code).name if code in RequestCode.__members__.values() else _("request {code}", code=code)


def _frame(code: int, *, answer: bool) -> str:
    if not answer or code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
        return _request(code)
    return (
        _("answer ({name})", name=ResponseCode(code).name)
        if code in ResponseCode.__members__.values()
        else _("frame {code}", code=code)
    )


# Faults at fixed moments: no choice, so nothing in the schedule speaks of them, yet they are to blame for what follows.


def faults(run: Run) -> Iterator[str]:
    """One line a fault that happened, in order of time: when, when the broker noticed, who moved because of it.

    Times are ms since the topics were ready, as in `stamps`.
    """
    controls = list(run.recorded(Control))
    for number, control in enumerate(controls):
        what, client, _number = control.event.parts
        if what in FAULTS and client:
            yield joined("; ", _fault_of_client(run, control))
        elif control.event.line == "broker down":
            yield joined("; ", _restart(run, control, controls[number + 1 :]))
        elif control.event.line != "broker up":
            yield _("{line} at {t} ms", line=control.event.line, t=control.t - run.zero)
    for failed in run.recorded(StepFailed):
        if controls and failed.t >= controls[0].t:
            event = failed.event
            yield _("{do} at {t} ms failed: {error}", do=event.do, t=failed.t - run.zero, error=event.error)


def _fault_of_client(run: Run, control: Fact[Control]) -> Iterator[str]:
    what, client, number = control.event.parts
    began, end = control.t, _until(run, client)
    yield _(
        "{fault} at {began} ms",
        fault=FAULTS[what].sentence.format(who=client, number=number),
        began=began - run.zero,
    )
    if client not in _consumers(run) or what == "clock":
        return
    gone = _first(run, began, end, Unregister, Expired, client=client)
    if gone is None:
        yield _("the broker kept it as a member")
        return
    after = gone.t - began
    why = _("its connection ended") if isinstance(gone.event, Unregister) else _("its heartbeats had stopped")
    yield _(
        "the broker struck it off {after}, for {why}",
        after=_("at once") if after < _CLOSE_MS else _("{after} ms later", after=f"{after:.0f}"),
        why=why,
    )
    yield from _taken_over(run, gone, client)
    back = _first(run, gone.t, end, Register, client=client)
    if back is not None:
        yield _("{who} was a member again {t} ms later", who=client, t=f"{back.t - gone.t:.0f}")


def _restart(run: Run, down: Fact[Control], later: list[Fact[Control]]) -> Iterator[str]:
    end = _until(run, None)
    up = next((control.t for control in later if control.event.line == "broker up"), None)
    back = "" if up is None else (" " + _("until {up} ms", up=up - run.zero))
    yield _(
        "the broker was down from {t} ms on{back}, and then knew no members and no subscriptions",
        t=down.t - run.zero,
        back=back,
    )
    for client in _consumers(run):
        known = _first(run, end if up is None else up, end, Register, client=client)
        if known is not None:
            yield _("{who} was a member again at {t} ms", who=client, t=f"{known.t - run.zero:.0f}")


def _taken_over(run: Run, gone: Fact[OfGroup], client: str) -> Iterator[str]:
    for fact in run.facts.of(Rebalance):
        taken = fact.event
        same_group = taken.group == gone.event.group and not taken.topic.startswith("%RETRY%")
        if same_group and fact.source != client and gone.t <= fact.t <= _until(run, None) and taken.queues:
            queues = joined(", ", taken.queues)
            yield _(
                "{source} held {topic}'s queues {queues} from {t} ms on",
                source=fact.source,
                topic=taken.topic,
                queues=queues,
                t=f"{fact.t - run.zero:.0f}",
            )
            return


def _consumers(run: Run) -> list[str]:
    return list(dict.fromkeys(step.who for step in run.scenario.steps if isinstance(step, Start)))


def _until(run: Run, client: str | None) -> float:
    """When the scenario was over (ms), or `client` was stopped by it: what follows is no fault's doing."""
    begins = next((step.at for step in run.scenario.steps if isinstance(step, Start)), 0)
    started = next((fact.t for fact in run.recorded(Starting)), 0)
    stops = [fact.t for fact in run.recorded(Stopping) if fact.event.who == client]
    return float(min([started - begins + run.scenario.steps[-1].at, *stops]))


def _first(run: Run, since: float, until: float, *kinds: type[OfGroup], client: str) -> Fact[OfGroup] | None:
    """The first fact of these kinds that the broker says of a client, within a span of time."""
    groups = run.scenario.groups()
    return next(
        (
            fact
            for fact in run.facts.of(*kinds)
            if fact.event.client == client and fact.event.group in groups and since <= round(fact.t) and fact.t <= until
        ),
        None,
    )
