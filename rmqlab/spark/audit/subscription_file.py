"""A file of subscriptions, as an audit is given it (`rmqlab.spark.audit.subscriptions` says what its lines hold)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.lab.replay.frames import frames_folder
from rmqlab.protocol.subscription_data import SQL92, TAG
from rmqlab.spark.audit.event_subscriptions import of_events
from rmqlab.spark.audit.frame_subscriptions import of_frames
from rmqlab.spark.audit.subscriptions import (
    ALWAYS,
    AVG,
    NEVER,
    Asked,
    HeldSubscription,
    Present,
    Subscriptions,
    json_lines,
    reason,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.spark.audit.subscriptions import Key


FIELDS = ("group", "topic", "type", "expr", "client", "until", "post", "held", "from", "clients", "strategy", "reset")
RIGHT = '{"group": "G", "topic": "T", "type": "TAG", "expr": "tagA || tagB"}'


def read_subscriptions(path: str | Path) -> Subscriptions:
    """Read a file, a folder of events, scenarios, or a recording of frames; raise `BadInput` naming what is wrong."""
    frames = frames_folder(Path(path))
    if frames is not None:
        return of_frames(frames)
    return of_lines(list(json_lines(path)), str(path))


def of_lines(lines: Sequence[tuple[str, dict[str, Any]]], name: str) -> Subscriptions:
    """Read the lines of a file, each with the place where it stands; raise `BadInput` naming what is wrong."""
    if any("ev" in line or "steps" in line for _, line in lines):
        return of_events(lines)
    asked: dict[Key, list[Asked]] = defaultdict(list)
    held: dict[Key, list[HeldSubscription]] = defaultdict(list)
    present: dict[str, list[Present]] = defaultdict(list)
    reset: dict[Key, tuple[int, ...]] = {}
    for place, line in lines:
        try:
            _refuse_misspelled(line)
            if "clients" in line:
                clients = tuple(sorted(map(str, line["clients"])))
                strategy = str(line.get("strategy", AVG))
                present[line["group"]].append(Present(int(line.get("from", ALWAYS)), clients, strategy))
                continue
            key = str(line["group"]), str(line["topic"])
            if "reset" in line:
                reset[key] = (*reset.get(key, ()), int(line["reset"]))
                continue
            kind, expression = _kind(line), str(line["expr"])
            if line.get("held"):
                held[key].append(HeldSubscription(kind, expression, int(line.get("from", ALWAYS))))
            else:
                until, post = int(line.get("until", NEVER)), bool(line.get("post"))
                asked[key].append(Asked(line.get("client", ""), kind, expression, until, post))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{place}: {reason(error)}; right would be {RIGHT}") from error
    if not lines:
        raise BadInput(f"{name}: no line in it; one would be {RIGHT}")
    for slots in held.values():
        slots.sort(key=lambda one: one.since)
    for moments in present.values():
        moments.sort()
    return Subscriptions(dict(asked), dict(held), frozenset(asked), dict(present), reset)


def _refuse_misspelled(line: dict[str, Any]) -> None:
    """A field that is nearly one of ours: taken as none, it would leave something unknown in silence."""
    for name in line:
        meant = did_you_mean(name, FIELDS) if name not in FIELDS else ""
        if meant:
            raise ValueError(f"there is no field {name!r} here{meant}")


def _kind(line: dict[str, Any]) -> str:
    kind = str(line.get("type", TAG))
    if kind not in {TAG, SQL92}:
        raise ValueError(f"type {kind!r} is neither {TAG} nor {SQL92}{did_you_mean(kind, (TAG, SQL92))}")
    return kind
