"""Who is to blame, in words: what a run did otherwise than the usual one, its faults, whose stamp holds the slot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.lab.facts import BROKER
from rmqlab.lab.fault_steps import FAULT
from rmqlab.lab.late_reput import REPUT
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.runtime.lanes import TIME
from rmqlab.search.explorer.fault_blame import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.run import Run
    from rmqlab.runtime.schedule import Choice, Timing

_MOVE = re.compile(r"(?P<who>[^<>|]+)(?P<way>[<>])(?P<answer>re )?(?P<what>\S+)")
_DELAY = re.compile(r"delay (?P<who>.+) (?P<way>c2s|s2c) (?P<code>\d+)")
_MOMENT = re.compile(r"moment of (?P<what>.+) at (?P<at>\d+)")
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


def blame(run: Run) -> list[str]:
    """One line a deviation, then one a fault, then one for each group and topic that several clients stamped."""
    lines = [
        f"choice {choice.number}: {deviation(choice, run.schedule.timing)}" for choice in run.choices if choice.taken
    ]
    return [*lines, *faults(run), *stamps(run)]


def deviation(choice: Choice, timing: Timing) -> str:
    """What one choice did that the usual run does not."""
    taken = choice.taken
    delayed = _DELAY.fullmatch(choice.label)
    if delayed:
        name = _name(int(delayed["code"]), answer=delayed["way"] == "s2c")
        way = f"{delayed['who']}'s {name}" if delayed["way"] == "c2s" else f"the broker's {name} to {delayed['who']}"
        return f"{way} takes {timing.delays_us[taken] / 1_000:g} ms instead of {timing.delays_us[0] / 1_000:g}"
    if choice.label.startswith("wake "):
        return f"the broker begins woken work after {timing.wake_us[taken] / 1_000:g} ms"
    if choice.label.startswith("thread "):
        _, who, what = choice.label.split(" ", 2)
        return f"{who}'s thread goes on {timing.thread_us[taken] / 1_000:g} ms late ({_thread(what)})"
    if choice.label.startswith("reput "):
        return f"the reput thread comes {timing.reput_us[taken] / 1_000:g} ms after the message"
    if choice.label == "broker uptime":
        return f"the broker has been up for {timing.uptime_ms[taken] / 1_000:g} s, which sets the phase of its timers"
    if " | " in choice.label:
        moves = choice.label.split(" | ")
        first = move(moves[taken])
        overtaken = " and ".join(move(one) for one in moves[:taken])
        return f"{first} before {overtaken}"
    moment = _MOMENT.fullmatch(choice.label)
    if moment:
        later = "at the end of" if taken == choice.n - 1 else f"{taken}/{choice.n - 1} into"
        return f"{fault(moment['what'])} comes {later} its span, which begins at {moment['at']} ms of the scenario"
    who, _, what = choice.label.partition(": ")
    if what == "consume":
        return f"{who}'s listener takes {timing.consume_ms[taken]} ms"
    if what == "start":
        return f"{who} takes {timing.start_ms[taken]} ms to start"
    if what == "shutdown":
        return f"{who}'s shutdown takes {timing.shutdown_ms[taken]} ms"
    return f"{choice.label}: option {taken} of 0..{choice.n - 1}"


def fault(text: str) -> str:
    """A fault's kind and whom it hits ("kill B"), in words."""
    kind, _, who = text.partition(" ")
    words = FAULT_WORDS.get(kind, kind)
    return f"{words} of {who}" if who else words


def move(text: str) -> str:
    """One move of open orders in words: its text is what labels have."""
    if text == TIME:
        return "a timer"
    if text == "wake-up":
        return "the pulls that the broker has woken"
    if text == REPUT:
        return "the reput thread"
    if "'s thread " in text:
        who, _, what = text.partition("'s thread ")
        return f"{who}'s thread ({_thread(what)})"
    if text == "step":
        return "the next step of the scenario"
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
    sent = [event["t"] for event in run.events if event["ev"] == "sent"]
    last_ms = max(sent, default=float("inf"))
    began: dict[tuple[str, str, str], tuple[int, float]] = {}
    for fact in run.facts.of("restamp"):
        if fact.t > last_ms:
            break
        began[fact["group"], fact["topic"], fact.source] = (fact["version"], fact.t)
    for group, topic in dict.fromkeys((group, topic) for group, topic, _ in began):
        mine = {who: stamp for (g, t, who), stamp in began.items() if (g, t) == (group, topic)}
        slots = [
            fact["new"]
            for fact in run.facts.of("subscription")
            if fact.source == BROKER
            and fact.t <= last_ms
            and (fact["group"], fact["topic"]) == (group, topic)
            and fact["new"] is not None
        ]
        if len(mine) < 2 or not slots or topic.startswith("%RETRY%"):
            continue
        # moments of the clients' own clocks: with open orders two stamps of one instant differ, by their order
        epoch_ms = run.events[0]["epochMs"]
        order = sorted((version, who) for who, (version, _) in mine.items())
        told = ", ".join(f"{who} at {version - epoch_ms} ms" for version, who in order)
        last = slots[-1]
        owner = next((who for who, (version, _) in mine.items() if version == last.sub_version), None)
        whose = f"{owner}'s" if owner else "none of these"
        yield f"{group}, {topic}: stamped by {told}; the broker held {whose} ({last.sub_string})"


def _thread(what: str) -> str:
    """What a thread waited for: the answer to a request, else its name."""
    return f"has the answer to {_request(int(what))}" if what.isdigit() else what


def _request(code: int) -> str:
    try:
        return RequestCode(code).name
    except ValueError:
        return f"request {code}"


def _name(code: int, *, answer: bool) -> str:
    if not answer:
        return _request(code)
    if code in RequestCode.__members__.values() and code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
        return _request(code)
    try:
        return f"answer ({ResponseCode(code).name})"
    except ValueError:
        return f"frame {code}"
