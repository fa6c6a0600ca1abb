"""Who is to blame, in words: what a run did otherwise than the usual one, its faults, whose stamp holds the slot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.lab.facts import BROKER
from rmqlab.lab.fault_steps import FAULT
from rmqlab.lab.scenario import Start
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.runtime.lanes import TIME
from rmqlab.runtime.virtual_server import REPUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.facts import Fact
    from rmqlab.lab.run import Event, Run
    from rmqlab.runtime.schedule import Choice, Timing

_MOVE = re.compile(r"(?P<who>[^<>|]+)(?P<way>[<>])(?P<answer>re )?(?P<what>\S+)")
_DELAY = re.compile(r"delay (?P<who>.+) (?P<way>c2s|s2c) (?P<code>\d+)")
_MOMENT = re.compile(r"moment of (?P<what>.+) at (?P<at>\d+)")
_MOVES = {
    TIME: "a timer",
    "wake-up": "the pulls that the broker has woken",
    REPUT: "the reput thread",
    "step": "the next step of the scenario",
}
FAULT_WORDS = {
    "cut": "the cut",
    "freeze": "the freeze",
    "kill": "the end",
    "pause": "the pause",
    "slow": "the slow link",
    "clock": "the change of the clock",
    "loseHeartbeat": "the lost heartbeat",
    "restartBroker": "the broker's restart",
}
_CONTROL = re.compile(r"(?P<what>\w+) @(?P<who>\S+)(?: (?P<number>[+-]?\d+))?")
_CONTROL_WORDS = {
    "cut": "the connection of {who} was cut",
    "freeze": "the link of {who} froze",
    "kill": "{who} was killed",
    "pause": "{who} stood still for {number} ms",
    "slow": "the links of {who} took {number} ms more",
    "clock": "the clock of {who} was moved by {number} ms",
    "loseHeartbeat": "heartbeats of {who} got lost ({number})",
}
_CLOSE_MS = 1_000  # a goodbye or the end of a connection; a scan needs longer


def blame(run: Run) -> list[str]:
    """One line a deviation, then one a fault, then one for each group and topic that several clients stamped."""
    lines = [
        f"choice {choice.number}: {deviation(choice, run.schedule.timing)}" for choice in run.choices if choice.taken
    ]
    return [*lines, *faults(run), *stamps(run)]


def deviation(choice: Choice, timing: Timing) -> str:
    """What one choice did that the usual run does not."""
    label, taken = choice.label, choice.taken
    if delayed := _DELAY.fullmatch(label):
        name = _frame(int(delayed["code"]), answer=delayed["way"] == "s2c")
        way = f"{delayed['who']}'s {name}" if delayed["way"] == "c2s" else f"the broker's {name} to {delayed['who']}"
        return f"{way} takes {timing.delays_us[taken] / 1_000:g} ms instead of {timing.delays_us[0] / 1_000:g}"
    if label.startswith("wake "):
        return f"the broker begins woken work after {timing.wake_us[taken] / 1_000:g} ms"
    if label.startswith("thread "):
        _, who, what = label.split(" ", 2)
        return f"{who}'s thread goes on {timing.thread_us[taken] / 1_000:g} ms late ({_thread(what)})"
    if label.startswith("reput "):
        return f"the reput thread comes {timing.reput_us[taken] / 1_000:g} ms after the message"
    if label == "broker uptime":
        return f"the broker has been up for {timing.uptime_ms[taken] / 1_000:g} s, which sets the phase of its timers"
    if " | " in label:
        moves = [move(text) for text in label.split(" | ")]
        return f"{moves[taken]} before {' and '.join(moves[:taken])}"
    if moment := _MOMENT.fullmatch(label):
        later = "at the end of" if taken == choice.n - 1 else f"{taken}/{choice.n - 1} into"
        return f"{fault(moment['what'])} comes {later} its span, which begins at {moment['at']} ms of the scenario"
    who, _, what = label.partition(": ")
    match what:
        case "consume":
            return f"{who}'s listener takes {timing.consume_ms[taken]} ms"
        case "start":
            return f"{who} takes {timing.start_ms[taken]} ms to start"
        case "shutdown":
            return f"{who}'s shutdown takes {timing.shutdown_ms[taken]} ms"
    return f"{label}: option {taken} of 0..{choice.n - 1}"


def fault(text: str) -> str:
    """A fault's kind and whom it hits ("kill B"), in words."""
    kind, _, who = text.partition(" ")
    words = FAULT_WORDS.get(kind, kind)
    return f"{words} of {who}" if who else words


def move(text: str) -> str:
    """One move of open orders in words: its text is what labels have."""
    if text in _MOVES:
        return _MOVES[text]
    if "'s thread " in text:
        who, _, what = text.partition("'s thread ")
        return f"{who}'s thread ({_thread(what)})"
    if text.startswith(f"{FAULT} "):
        return fault(text.removeprefix(f"{FAULT} "))
    match = _MOVE.fullmatch(text)
    if match is None:
        return text
    who, what = match["who"], match["what"]
    if not what.isdigit():
        return f"{who}'s {what}"
    name = _request(int(what))
    if match["answer"]:
        return f"the answer to {who}'s {name}" if match["way"] == "<" else f"{who}'s answer to {name}"
    return f"{who}'s {name}" if match["way"] == ">" else f"{name} to {who}"


def stamps(run: Run) -> Iterator[str]:
    """Whose stamp held each slot of a subscription when the last message was sent, where several clients stamped it."""
    last_ms = max((event["t"] for event in run.told("sent")), default=float("inf"))
    versions: dict[tuple[str, str], dict[str, int]] = {}
    for fact in run.facts.of("restamp"):
        if fact.t <= last_ms:
            versions.setdefault((fact["group"], fact["topic"]), {})[fact.source] = fact["version"]
    for (group, topic), by_client in versions.items():
        slots = [
            fact["new"]
            for fact in run.facts.of("subscription")
            if fact.source == BROKER
            and fact.t <= last_ms
            and (fact["group"], fact["topic"]) == (group, topic)
            and fact["new"] is not None
        ]
        if len(by_client) < 2 or not slots or topic.startswith("%RETRY%"):
            continue
        # moments of the clients' own clocks: with open orders two stamps of one instant differ, by their order
        epoch_ms = run.events[0]["epochMs"]
        order = sorted((version, who) for who, version in by_client.items())
        stamped = ", ".join(f"{who} at {version - epoch_ms} ms" for version, who in order)
        last = slots[-1]
        owner = next((who for who, version in by_client.items() if version == last.sub_version), None)
        whose = f"{owner}'s" if owner else "none of these"
        yield f"{group}, {topic}: stamped by {stamped}; the broker held {whose} ({last.sub_string})"


def _thread(what: str) -> str:
    """What a thread waited for: the answer to a request, else its name."""
    return f"has the answer to {_request(int(what))}" if what.isdigit() else what


def _request(code: int) -> str:
    return RequestCode(code).name if code in RequestCode.__members__.values() else f"request {code}"


def _frame(code: int, *, answer: bool) -> str:
    if not answer or code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
        return _request(code)
    return f"answer ({ResponseCode(code).name})" if code in ResponseCode.__members__.values() else f"frame {code}"


# Faults at fixed moments: no choice, so nothing in the schedule speaks of them, yet they are to blame for what follows.


def faults(run: Run) -> Iterator[str]:
    """One line a fault that happened, in order of time: when, when the broker noticed, who moved because of it.

    Times are ms since the run began, as in ``stamps``.
    """
    controls = list(run.told("control"))
    for number, event in enumerate(controls):
        match = _CONTROL.fullmatch(event["line"])
        if match is not None and match["what"] in _CONTROL_WORDS:
            yield "; ".join(_fault_of_client(run, event, match["what"], match["who"], match["number"]))
        elif event["line"] == "broker down":
            yield "; ".join(_restart(run, event, controls[number + 1 :]))
        elif match is None and event["line"] != "broker up":
            yield f"{event['line']} at {event['t']} ms"
    for event in run.events:
        if event["ev"] == "error" and controls and event["t"] >= controls[0]["t"]:
            yield f"{event['do']} at {event['t']} ms failed: {event['error']}"


def _fault_of_client(run: Run, event: Event, what: str, who: str, number: str | None) -> Iterator[str]:
    began, end = event["t"], _until(run, who)
    yield f"{_CONTROL_WORDS[what].format(who=who, number=number)} at {began} ms"
    if who not in _consumers(run) or what == "clock":
        return
    gone = _first(run, began, end, "unregister", "expired", client=who)
    if gone is None:
        yield "the broker kept it as a member"
        return
    after = gone.t - began
    why = "its connection ended" if gone.kind == "unregister" else "its heartbeats had stopped"
    yield f"the broker struck it off {'at once' if after < _CLOSE_MS else f'{after:.0f} ms later'}, for {why}"
    yield from _taken_over(run, gone, who)
    back = _first(run, gone.t, end, "register", client=who)
    if back is not None:
        yield f"{who} was a member again {back.t - gone.t:.0f} ms later"


def _restart(run: Run, event: Event, later: list[Event]) -> Iterator[str]:
    end = _until(run, None)
    up = next((control["t"] for control in later if control["line"] == "broker up"), None)
    back = "" if up is None else f" until {up} ms"
    yield f"the broker was down from {event['t']} ms on{back}, and then knew no members and no subscriptions"
    for who in _consumers(run):
        known = _first(run, end if up is None else up, end, "register", client=who)
        if known is not None:
            yield f"{who} was a member again at {known.t:.0f} ms"


def _taken_over(run: Run, gone: Fact, who: str) -> Iterator[str]:
    for fact in run.facts.of("rebalance"):
        same_group = fact.get("group") == gone["group"] and not fact["topic"].startswith("%RETRY%")
        if same_group and fact.source != who and gone.t <= fact.t <= _until(run, None) and fact["queues"]:
            queues = ", ".join(map(str, fact["queues"]))
            yield f"{fact.source} held {fact['topic']}'s queues {queues} from {fact.t:.0f} ms on"
            return


def _consumers(run: Run) -> list[str]:
    return list(dict.fromkeys(step.who for step in run.scenario.steps if isinstance(step, Start)))


def _until(run: Run, who: str | None) -> float:
    """When the scenario was over (ms), or ``who`` was stopped by it: what follows is no fault's doing."""
    begins = next((step.at for step in run.scenario.steps if isinstance(step, Start)), 0)
    started = next((event["t"] for event in run.told("starting")), 0)
    stops = [event["t"] for event in run.told("stopping") if event["who"] == who]
    return float(min([started - begins + run.scenario.steps[-1].at, *stops]))


def _first(run: Run, since: float, until: float, *kinds: str, client: str) -> Fact | None:
    """The first fact of these kinds that the broker tells of a client, within a span of time."""
    groups = run.scenario.groups()
    return next(
        (
            fact
            for fact in run.facts.of(*kinds)
            if fact.source == BROKER
            and fact.get("client") == client
            and fact.get("group") in groups
            and since <= round(fact.t)
            and fact.t <= until
        ),
        None,
    )
