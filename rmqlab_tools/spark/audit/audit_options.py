"""What an audit is asked for, and what is known besides the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.message.topics import TRACE_TOPIC
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.spark.audit.log_extent import IN_MEMORY_PERCENT
from rmqlab_tools.spark.audit.subscriptions import Subscriptions

PULL_MODE, POP_MODE = "PULL", "POP"
NO_SUBSCRIPTIONS: Final = Subscriptions({}, {}, frozenset(), {})


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What to audit: groups (empty: all), store times in epoch ms (both included), and what is known besides the store.

    `delivered`: paths of delivery logs. `check_crc`: compare bodies with their checksums. `split_bytes`: how much of
    the log one task reads. `in_memory_percent`: the broker's `accessMessageInMemoryMaxRatio`, which decides where a new
    group begins. `notify_consumer_ids_changed`: its `notifyConsumerIdsChangedEnable`, which decides how soon members
    know of each other. `each_message`: keep the fate of every message, for `Audit.message_rows`; those of a big store
    are many. `rules` are those of the version that wrote the store. `pops_in_memory`: its `enablePopBufferMerge`.
    `pops_in_kv`: its `popConsumerKVServiceEnable`, None if its settings are not known. `request_mode`: its
    `defaultMessageRequestMode`.
    """

    groups: tuple[str, ...] = ()
    since: int = LONG_MIN
    until: int = LONG_MAX
    subscriptions: Subscriptions = NO_SUBSCRIPTIONS
    delivered: tuple[str, ...] = ()
    trace_topic: str = TRACE_TOPIC
    check_crc: bool = True
    split_bytes: int | None = None
    in_memory_percent: int = IN_MEMORY_PERCENT
    notify_consumer_ids_changed: bool = True
    each_message: bool = False
    rules: Rules = DEFAULT_RULES
    pops_in_memory: bool = False
    pops_in_kv: bool | None = None
    request_mode: str = PULL_MODE
