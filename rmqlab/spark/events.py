"""Events as Parquet tables: what a scenario did, simulated or recorded, one file a table.

| table | one row is | columns besides `id`, the scenario |
|---|---|---|
| events | an event as it was written | t, ev, who, group, detail (JSON) |
| messages | a message sent | n, t, topic, queue, offset, body, tag, msgId, offsetMsgId |
| consumed | a listener got a message | n, t, who, group, topic, queue, offset, body, tag, msgId, success |
| fates | a message's fate in a group | group, member, topic, queue, offset, body, tag, fate, culprit, subscription, \
version, t, asked, lost |
| beats | a subscription in a heartbeat | n, t, who, group, topic, type, expression, version |
| slots | a change of what the broker holds | n, t, who, group, topic, before, type, expression, version |
| ownership | a queue taken or let go | n, t, who, group, topic, queue, held |
| offsets | an offset when it was asked | t, group, topic, queue, committed, max |

Times `t` are ms since the scenario began, `n` numbers the rows of a table in their order, versions are epoch ms.
`rmqlab.spark.views` looks at these tables.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rmqlab.errors import BadInput
from rmqlab.lab.facts import BROKER
from rmqlab.lab.recorded.facts import sent_messages
from rmqlab.message.topics import is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rmqlab.lab.recorded.facts import Account

_TEXT, _LONG, _INT, _MS, _BOOL = pa.string(), pa.int64(), pa.int32(), pa.float64(), pa.bool_()
_KINDS: Final = {
    "n": _LONG, "t": _MS, "queue": _INT, "offset": _LONG, "version": _LONG, "asked": _BOOL, "lost": _BOOL,
    "held": _BOOL, "success": _BOOL, "committed": _LONG, "max": _LONG,
}  # fmt: skip
COLUMNS: Final = {
    "events": "t ev who group detail",
    "messages": "n t topic queue offset body tag msgId offsetMsgId",
    "consumed": "n t who group topic queue offset body tag msgId success",
    "fates": "group member topic queue offset body tag fate culprit subscription version t asked lost",
    "beats": "n t who group topic type expression version",
    "slots": "n t who group topic before type expression version",
    "ownership": "n t who group topic queue held",
    "offsets": "t group topic queue committed max",
}
TABLES: Final = {
    name: pa.schema([("id", _TEXT), *((one, _KINDS.get(one, _TEXT)) for one in columns.split())])
    for name, columns in COLUMNS.items()
}
_Row = dict[str, Any]


def write_events(accounts: Iterable[Account], folder: Path) -> dict[str, int]:
    """Write all tables into `folder` as NAME.parquet, and return the number of rows of each.

    Each scenario is written as it comes, so memory holds one. A file appears when it is complete.

    Raises:
        BadInput: the folder cannot be written.
    """
    counts = dict.fromkeys(TABLES, 0)
    partial = {name: folder / f".{name}.parquet.part" for name in TABLES}
    writers: dict[str, pq.ParquetWriter] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in TABLES.items():
            writers[name] = pq.ParquetWriter(partial[name], schema, compression="zstd")
        for account in accounts:
            for name, rows in tables_of(account).items():
                counts[name] += len(rows)
                writers[name].write_table(pa.Table.from_pylist(rows, TABLES[name]))
        for name, writer in writers.items():
            writer.close()
            partial[name].replace(folder / f"{name}.parquet")
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror or error}; name a folder that can be written") from error
    finally:
        for writer in writers.values():
            writer.close()
        for path in partial.values():
            path.unlink(missing_ok=True)
    return counts


def tables_of(account: Account) -> dict[str, list[_Row]]:
    """Return the rows of every table for one scenario."""
    suffix = f"_{account.scenario.id}"

    def short(topic: str | None) -> str:
        return (topic or "").replace(suffix, "")

    found: dict[str, Iterable[_Row]] = {
        "events": _events(account),
        "messages": _messages(account),
        "consumed": (
            {**_place(fact.fields), "who": fact.source, "body": fact["body"], "tag": fact["tag"],
             "msgId": fact["message_id"], "success": fact["success"], "t": fact.t}
            for fact in account.facts if fact.kind == "consumed"
        ),
        "fates": (fate.as_event("") for fate in account.fates),
        "beats": (
            {"t": fact.t, "who": fact["client"], "group": short(group), "topic": short(one.topic),
             "type": one.expression_type, "expression": one.sub_string, "version": one.sub_version}
            for fact in account.facts if fact.kind == "heartbeat" and fact.source == BROKER
            for group, one in fact["subscriptions"] if not is_retry_topic(short(one.topic))
        ),
        "slots": (
            {"t": fact.t, "who": fact["client"], "group": fact["group"], "topic": fact["topic"],
             "before": fact["old"].sub_string if fact["old"] else None,
             **({"type": fact["new"].expression_type, "expression": fact["new"].sub_string,
                 "version": fact["new"].sub_version} if fact["new"] else {})}
            for fact in account.facts if fact.kind == "subscription" and not is_retry_topic(fact["topic"])
        ),
        "ownership": _ownership(account),
        "offsets": (
            # an error's name stands there for a group that is not known
            {**_place(event), "t": event["t"], "max": event["max"],
             "committed": event["committed"] if isinstance(event["committed"], int) else None}
            for event in account.events if event["ev"] == "offset"
        ),
    }  # fmt: skip
    return {
        name: [{**row, "id": account.scenario.id, "n": number} for number, row in enumerate(rows)]
        for name, rows in found.items()
    }


def _place(fields: _Row) -> _Row:
    return {name: fields[name] for name in ("group", "topic", "queue", "offset") if name in fields}


def _events(account: Account) -> Iterator[_Row]:
    for event in account.events:
        plain = {name: event.get(name) for name in ("t", "ev", "who", "group")}
        rest = {name: value for name, value in event.items() if name not in {*plain, "id"}}
        yield {**plain, "detail": json.dumps(rest, sort_keys=True)}


def _messages(account: Account) -> Iterator[_Row]:
    sent = sent_messages(account.scenario, account.events)
    for message, event in zip(sent, (event for event in account.events if event["ev"] == "sent"), strict=True):
        names = ("t", "queue", "offset", "body", "tag", "msgId", "offsetMsgId")
        yield {**{name: event[name] for name in names}, "topic": message.topic}


def _ownership(account: Account) -> Iterator[_Row]:
    """Queues taken and let go: from the clients' own words, and all of them when the broker forgets a client."""
    held: dict[tuple[str, str, str], set[int]] = {}
    for fact in account.facts:
        if fact.kind == "rebalance" and not is_retry_topic(fact["topic"]):
            key = (fact.source, fact["group"], fact["topic"])
            before, now = held.get(key, set()), set(fact["queues"])
            held[key] = now
            yield from _changed(fact.t, key, before, now)
        elif fact.kind in {"unregister", "expired"}:
            for key in [key for key in held if key[:2] == (fact["client"], fact["group"])]:
                yield from _changed(fact.t, key, held.pop(key), set())


def _changed(t: float, key: tuple[str, str, str], before: set[int], now: set[int]) -> Iterator[_Row]:
    who, group, topic = key
    row = {"t": t, "who": who, "group": group, "topic": topic}
    yield from ({**row, "queue": queue, "held": False} for queue in sorted(before - now))
    yield from ({**row, "queue": queue, "held": True} for queue in sorted(now - before))
