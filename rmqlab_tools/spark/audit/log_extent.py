"""What an audit needs before Spark reads anything: messages in the log, and groups and topics that somebody names."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from rmqlab.errors import BadInput
from rmqlab.files import end_of_data, open_regular
from rmqlab.language import _, joined
from rmqlab.message.topics import is_system_group, is_users_topic
from rmqlab_tools.spark.audit.scan import DETAIL
from rmqlab_tools.spark.files.addresses import AddressPath
from rmqlab_tools.spark.files.commit_log_files import log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import pyarrow as pa

    from rmqlab_tools.spark.audit.engine import Engine, Rows
    from rmqlab_tools.spark.audit.subscriptions import Key
    from rmqlab_tools.spark.files.commit_log_files import LogFile

MEMORY: Final = 1 << 30
"""Bytes that a broker's machine has at least."""
IN_MEMORY_PERCENT: Final = 40
"""How much of it messages may take (`accessMessageInMemoryMaxRatio`)."""
LOOKED_AT: Final = 64 << 20
"""How many bytes of the log are looked at for a first message; behind that the audit itself finds out."""


def require_messages(logs: Sequence[Sequence[LogFile]], since: int, until: int) -> None:
    """Raise `BadInput` if no log has a whole message stored from `since` to `until` (epoch ms, both included).

    Looks no further than the first one, which is near the beginning of most logs, and in none beyond `LOOKED_AT`.
    """
    if since > until:
        raise BadInput(
            _("from {moment} to {moment2}: that ends before it begins", moment=_moment(since), moment2=_moment(until))
        )
    bounds: list[int] = []
    if any(_has_message(files, since, until, bounds) for files in logs):
        return
    if not bounds:
        size = sum(file.size for files in logs for file in files)
        what = _("no whole message in its {size} bytes", size=size) if size else _("no message in it")
        raise BadInput(_("the commit log has {what}: nothing can be said of a store without messages", what=what))
    first, last = min(bounds), max(bounds)
    raise BadInput(
        _(
            "no message was stored in that time: those of this store are from {moment} to {moment2}",
            moment=_moment(first),
            moment2=_moment(last),
        )
    )


def _has_message(files: Sequence[LogFile], since: int, until: int, bounds: list[int]) -> bool:
    """Whether a log has a message of that time, or may have; `bounds` takes the times of the others."""
    looked_at = 0
    for part in log_ranges(files, LOOKED_AT >> 3):
        for batch in LogReader(("storeTimestamp", "corrupt"), check_crc=False).read(part):
            times = batch.filter(pc.is_null(batch["corrupt"]))["storeTimestamp"]
            if not len(times):
                continue
            if pc.any(pc.and_(pc.greater_equal(times, since), pc.less_equal(times, until))).as_py():
                return True
            bounds_of_part = pc.min_max(times)
            bounds += (bounds_of_part["min"].as_py(), bounds_of_part["max"].as_py())
        looked_at += part.high - part.low
        if looked_at > LOOKED_AT:
            return True
    return False


def _moment(time: int) -> str:
    """A time (epoch ms) as --from takes it."""
    try:
        return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(time)


def begins_at_first(files: Sequence[LogFile], percent: int = IN_MEMORY_PERCENT) -> bool:
    """Whether a group without offsets began with a queue's first message, whatever its consumers set.

    A broker answers a group that asks for an offset it never committed with 0, as long as no message of the queue was
    deleted and the first is still in memory; only otherwise `consumeFromWhere` counts, and the default is the queue's
    end (4.8.0 `ConsumerManageProcessor.queryConsumerOffset`, `RebalancePushImpl.computePullFromWhere`).
    """
    if not files or files[0].base:
        return False
    rest = MEMORY * percent // 100 - sum(file.size for file in files if not file.last)
    last = next(file for file in files if file.last)
    return rest >= 0 and (last.size <= rest or _written(last) <= rest)


def _written(file: LogFile) -> int:
    """How many bytes come before the zeros at the end: a broker makes its files in full size."""
    if isinstance(file.path, AddressPath):
        return file.size
    try:
        with open_regular(Path(file.path)) as stream:
            return end_of_data(stream.fileno(), file.size)
    except FileNotFoundError:  # a file made for later, which a broker deletes at its end
        return 0


_MAX_NAMES: Final = 12


def is_audited(group: str, topic: str) -> bool:
    """Whether an audit is about a topic in a group: neither is the system's own."""
    return is_users_topic(topic) and not is_system_group(group)


def require_groups(
    root: object,
    known: Collection[str],
    wanted: Iterable[str],
    fully_logged_groups: Collection[str],
    damage: Sequence[str] = (),
) -> None:
    """Raise `BadInput` where no group is `known`, or not one that is `wanted` for, or none that those logs name.

    `damage` are sentences about files of `config/`, which may be why.
    """
    because = joined("; ", damage)
    if not known and because:
        raise BadInput(_("{root}: no group is known: {because}; give --subscriptions", root=root, because=because))
    if not known:
        raise BadInput(
            _("{root}: no group is known: config/consumerOffset.json names none; give --subscriptions", root=root)
        )
    for group in wanted:
        if group not in known:
            says = _(
                "group {group}: neither offsets nor subscriptions of it; there are {some}",
                group=f"{group!r}",
                some=_some(known),
            )
            raise BadInput(_("{says} ({because})", says=says, because=because) if because else says)
    if fully_logged_groups and not set(fully_logged_groups) & set(known):
        raise BadInput(
            _(
                "the delivery log names {some}, of which nothing is known here; there are {some2}",
                some=_some(fully_logged_groups),
                some2=_some(known),
            )
        )


def require_topics(known: Collection[str], named_keys: Iterable[Key]) -> None:
    """Raise `BadInput` for a topic that the subscriptions name and the store has not; without any all may be."""
    for group, topic in sorted(named_keys):
        if known and topic not in known:
            raise BadInput(
                _(
                    "the subscriptions name topic {topic} (group {group}), which the store does not have; "
                    "there are {some}",
                    topic=f"{topic!r}",
                    group=f"{group!r}",
                    some=_some(known_topic for known_topic in known if is_audited(group, known_topic)),
                )
            )


def require_logs_of(engine: Engine, rows: Rows, logs: pa.Table, groups: Iterable[str]) -> None:
    """Raise `BadInput` if delivery logs name messages of one of the groups and none of them is in the store.

    `rows` are the audit's, `logs` has columns group and key. A log names all deliveries, so one of another store would
    prove every message undelivered.
    """
    if not len(logs):
        return
    groups_here = engine.query(_NAMED, rows=rows, named=engine.given(logs))
    here = {row["group"] for row in engine.table(groups_here).to_pylist()}
    of_group, keys = logs["group"].to_pylist(), logs["key"].to_pylist()
    for group in sorted(set(groups).intersection(of_group) - here):
        names = {key for owner, key in zip(of_group, keys, strict=True) if owner == group}
        raise BadInput(
            _(
                "the delivery log names messages of group {group}, and none of them is in the store: "
                "{some}; is it the log of another store?",
                group=f"{group!r}",
                some=_some(names),
            )
        )


_NAMED: Final = f"""
SELECT d.group FROM {{rows}} d JOIN {{named}} n ON d.group = n.group AND d.key = n.key WHERE d.kind = '{DETAIL}'
UNION SELECT d.group FROM {{rows}} d JOIN {{named}} n ON d.group = n.group AND d.offsetMsgId = n.key
WHERE d.kind = '{DETAIL}'"""  # noqa: S608


def _some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    in_order = sorted(names)
    more = (" " + _("and {found} more", found=len(in_order) - _MAX_NAMES)) if len(in_order) > _MAX_NAMES else ""
    return joined(", ", in_order[:_MAX_NAMES]) + more or _("none")
