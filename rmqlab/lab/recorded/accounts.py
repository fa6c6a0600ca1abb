"""A recording read as a run: facts and fates of real clients, as `frame_facts` and the events beside them tell them."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.events import Consumed
from rmqlab.lab.facts import Fact
from rmqlab.lab.fates import FateClassifier, GroupMember
from rmqlab.lab.recorded.frame_facts import FrameAccount, FrameReader
from rmqlab.lab.replay.frames import LineKind, read_recording
from rmqlab.lab.run import Account, sent_messages
from rmqlab.lab.scenario import Scenario, Start, Subscribe, convert_scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.lab.replay.frames import RecordedLine
    from rmqlab.lab.run import Event


class _Recorded(FrameAccount):
    """A scenario of a recorded set, and what was written down beside its frames."""

    def __init__(self, scenario: Scenario, events: list[Event]) -> None:
        super().__init__(f"_{scenario.id}")
        self.scenario, self.events = scenario, events


def recorded_accounts(folder: str | Path, ids: Iterable[str] = ()) -> Iterator[Account]:
    """Yield the scenarios of a recorded set (all, or those of these ids) in their order.

    Raises:
        BadInput: a file is missing or damaged, or an id is not in the set.
    """
    folder = Path(folder)
    told = {account.scenario.id: account for account in _events(folder)}
    wanted = list(ids) or list(told)
    for name in wanted:
        if name not in told:
            raise BadInput(f"{folder}: no scenario {name!r} in it; there are {', '.join(list(told)[:8])}, ...")
    lines = read_recording(folder).lines

    def whose(client: str) -> tuple[FrameAccount, str] | None:
        name, _, scenario_id = client.partition("@")[2].partition("_")
        account = told.get(scenario_id)
        return None if account is None else (account, account.short(name))

    _align(told, lines)
    reader = FrameReader(whose, lines)
    for line in lines:
        reader.see(line)
    for name in wanted:
        yield _account(told[name])


def _align(told: dict[str, _Recorded], lines: Iterable[RecordedLine]) -> None:
    """Find when each scenario began: a producer's answer arrives just before its event 'sent'."""
    sent = {event["offsetMsgId"]: (account, event["t"]) for account in told.values() for event in account.events
            if event["ev"] == "sent"}  # fmt: skip
    zeros: dict[str, float] = {}
    for line in lines:
        if line.kind is not LineKind.FRAME or line.command is None or not line.command.is_response:
            continue
        found = sent.get(str((line.command.all_ext_fields() or {}).get("msgId")))
        if found is not None:
            account, t = found
            zeros[account.scenario.id] = max(zeros.get(account.scenario.id, float("-inf")), line.t - t)
    for name, zero in zeros.items():
        told[name].zero = zero


def _events(folder: Path) -> Iterator[_Recorded]:
    path = folder / "events.jsonl.gz"
    plain = folder / "events.jsonl"
    try:
        text = gzip.decompress(path.read_bytes()).decode() if path.is_file() else plain.read_text(encoding="utf-8")
        events = [json.loads(line) for line in text.splitlines()]
        by_id: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            by_id[event["id"]].append(event)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); the folder of a recorded set has one") from error
    for name, mine in by_id.items():
        first = next((event for event in mine if event["ev"] == "scenario"), None)
        if first is None:
            raise BadInput(f"{path}: scenario {name!r} has no event 'scenario'")
        yield _Recorded(convert_scenario(first["scenario"], f"{path.name}, scenario {name!r}"), mine)


def _account(account: _Recorded) -> Account:
    group_of = {step.who: step.group for step in account.scenario.steps if isinstance(step, Start)}
    last: dict[tuple[str, str], int] = {}
    consumed = [event for event in account.events if event["ev"] == "consume" and event["who"] in group_of]
    for event in consumed:
        key = group_of[event["who"]], event["msgId"]
        last[key] = max(last.get(key, 0), event["reconsume"])
    for event in consumed:
        group = group_of[event["who"]]
        account.facts.append(
            Fact(event["t"], event["who"], Consumed(
                event["who"], event["topic"], event["tag"], event["queue"], event["offset"], event["body"],
                event["reconsume"], event["msgId"], group,
                # it came again: this time was not the last
                success=event["reconsume"] == last[group, event["msgId"]],
            ))
        )  # fmt: skip
    account.facts.sort(key=lambda fact: fact.t)
    sent = sent_messages(account.scenario, account.events)
    fates = FateClassifier(account.facts, account.state).fates(sent, _members(account))
    return Account(account.scenario, account.suffix, sent, account.events, account.facts, fates)


def _members(account: _Recorded) -> list[GroupMember]:
    starts = {step.who: step for step in account.scenario.steps if isinstance(step, Start)}
    members: dict[str, GroupMember] = {}
    changes = [step for step in account.scenario.steps if isinstance(step, Subscribe)]
    for event in account.events:
        who = str(event.get("who"))
        if event["ev"] == "starting":
            step = starts[who]
            member = members[who] = GroupMember(who, step.group, step.mode == "broadcasting")
            member.asked = [(event["t"], topic, sub.type, sub.expr) for topic, sub in step.subscribe.items()]
        elif event["ev"] == "subscribed":
            change = next(step for step in changes if (step.who, step.expr) == (who, event["expr"]))
            members[who].asked.append((event["t"], change.topic, change.type, change.expr))
        elif event["ev"] == "stopped" and who in members:
            members[who].until = event["t"]
    return list(members.values())
