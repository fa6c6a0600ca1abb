"""Which messages of a store directory did which group lose, by which stage, and how certain is that.

The commit log is read once, in tasks that infer the fate of each message where they read it and send back counts; rows
travel only for what may be lost, and, for groups whose consumers wrote a trace (or of which a log is given), for what
must be looked up in it. Memory does not grow with the store. Tasks are threads of this process, or Spark's: `engine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from rmqlab.errors import BadInput
from rmqlab.files import contents, is_dir
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX, TRACE_TOPIC
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import LOSING, Fate
from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.delivery_evidence import DeliveryEvidence, evidence_topics, with_evidence
from rmqlab_tools.spark.audit.engine import engine_of
from rmqlab_tools.spark.audit.fate_codes import Answer, UnknownReason
from rmqlab_tools.spark.audit.fate_inference import FateInference
from rmqlab_tools.spark.audit.log_extent import (
    IN_MEMORY_PERCENT,
    begins_at_first,
    is_audited,
    require_groups,
    require_logs_of,
    require_messages,
    require_topics,
)
from rmqlab_tools.spark.audit.owners import Owners
from rmqlab_tools.spark.audit.pop_evidence import PopEvidence
from rmqlab_tools.spark.audit.pop_inference import PopInference
from rmqlab_tools.spark.audit.queue_check import require_queues
from rmqlab_tools.spark.audit.subscriptions import Subscriptions, with_config
from rmqlab_tools.spark.audit.totals import totals
from rmqlab_tools.spark.files.commit_log_files import cut_since, log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import log_end
from rmqlab_tools.spark.files.store_tables import StoreConfig
from rmqlab_tools.spark.files.tasks import TASK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from rmqlab_tools.spark.audit.engine import Engine, Rows
    from rmqlab_tools.spark.audit.subscriptions import Key

_SPLIT: Final = 1 << 30
PULL_MODE, POP_MODE = "PULL", "POP"
_KV_FOLDER: Final = "kvStore"
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


class Audit:
    """The result. Everything is computed once, when first asked for, and kept by its engine until `close`."""

    def __init__(
        self,
        session: Engine | SparkSession | Callable[[], SparkSession] | None,
        root: str | Path,
        options: AuditOptions | None = None,
    ) -> None:
        """Look at what is there: files, `config/`, what is given.

        A function opens `session` when it is needed first; without any the threads of this process do the work.

        Raises:
            BadInput: what cannot be read, and where there is nothing to audit: no whole message, none in the time that
                is asked for, a group or a topic that nothing names.
        """
        self.options = options or AuditOptions()
        self.root = root
        self.engine = engine_of(session)
        self._scanned: Rows = None
        self._config = StoreConfig(root)
        # A broker may be running: the offsets come first, then what was stored by now, and last the evidence of it.
        self._committed = self._config.offsets()
        self._offsets_lost = self._config.offsets_lost
        self._files = log_files(root)
        # the commit log offset behind the last message that is looked at
        self.end = log_end(self._files, next((file.base for file in self._files if file.last), 0))
        self._subscriptions = with_config(self.options.subscriptions, self._config)
        topics = {
            *self._config.topics(),
            *(path.name for path in contents(Path(root) / "consumequeue") if is_dir(path)),
        }
        evidence_topic_names = evidence_topics(topics, self.options.trace_topic)
        require_queues(Path(root))
        self._at_first = begins_at_first(self._files, self.options.in_memory_percent)
        total = sum(file.size for file in self._files)
        split = self.options.split_bytes or max(TASK_BYTES, min(_SPLIT, -(-total // self.engine.tasks)))
        self._ranges = log_ranges(self._files, split)
        retried = {
            (topic, queue): offset
            for (_, topic), offsets in self._committed.items()
            if topic.startswith(RETRY_GROUP_TOPIC_PREFIX)
            for queue, offset in offsets.items()
        }
        self._pops = PopEvidence(self.engine, self._ranges, topics, self._committed)
        self._evidence = DeliveryEvidence(
            self.engine,
            self._ranges,
            evidence_topic_names,
            self.options.trace_topic,
            self.options.delivered,
            retried,
            lambda: self._pops.retry_groups,
        )
        groups = {group for group, _ in self._known}
        require_groups(root, groups, self.options.groups, self._evidence.fully_logged_groups, self._config.damage)
        require_topics(topics.union(topic for _, topic in self._committed), self.options.subscriptions.keys())
        require_messages(self._files, self.options.since, self.options.until)

    def require_whole(self) -> None:
        """Raise `BadInput` if a file of the log was cut since the audit began: what was read of it may be nothing."""
        if cut := cut_since(self._files):
            raise BadInput(cut)

    @property
    def config_damage(self) -> list[str]:
        """What is wrong with the files of `config/`, and what 4.8.0 makes of it."""
        return self._config.damage

    @cached_property
    def keys(self) -> list[Key]:
        """The (group, topic) that are audited."""
        return [key for key in self._known if not self.options.groups or key[0] in self.options.groups]

    @cached_property
    def _known(self) -> list[Key]:
        """The (group, topic) that the store or the given subscriptions name."""
        named = {*self._committed, *self._config.named_offsets(), *self._subscriptions.keys()}
        return sorted(key for key in named if is_audited(*key))

    @cached_property
    def _modes(self) -> dict[Key, str]:
        return self._config.request_modes()

    def _doubt_of_pops(self, key: Key) -> tuple[bool, UnknownReason | None]:
        """Whether a group is judged as one that pops, and what stands against taking check points for all of them."""
        group, given = key[0], self._subscriptions
        pops, pulls = key in self._pops.starts or group in given.popping, group in given.pulling
        if pulls and not pops:
            return False, None
        in_kv = self.options.pops_in_kv
        if in_kv or (in_kv is None and any(contents(Path(self.root) / _KV_FOLDER))):
            return True, UnknownReason.POPS_IN_KV
        if self.options.pops_in_memory:
            return True, UnknownReason.POPS_IN_MEMORY
        if pops:
            return True, UnknownReason.MEMBER_PULLS if pulls else None
        is_pop = self._modes.get(key, self.options.request_mode) == POP_MODE
        return is_pop, UnknownReason.POP_MODE_ALONE if is_pop else None

    @property
    def groups_with_evidence(self) -> dict[str, tuple[str, ...]]:
        """The groups with evidence of deliveries, and the clients it names: not every consumer may write a trace."""
        return self._evidence.clients

    def inferences(
        self, groups_with_evidence: Mapping[str, tuple[tuple[str, ...], int]] = MappingProxyType({})
    ) -> dict[str, list[FateInference]]:
        """How fates are inferred, by topic; `groups_with_evidence` has, the clients it names and its coverage."""
        known, topics = self._subscriptions, self._config.topics()
        inferences: dict[str, list[FateInference]] = {}
        audited = {topic for _, topic in self.keys}
        notifies = self.options.notify_consumer_ids_changed
        for key in self._known:
            group, topic = key
            # other groups of a topic that is audited may have got what one lost
            if topic not in audited:
                continue
            clients, coverage = groups_with_evidence.get(group, ((), Answer.NO))
            client_subscriptions = known.client_subscriptions.get(key, [])
            queues = topics[topic].read_queue_nums if topic in topics else 0
            facts: dict[str, Any] = {
                "group": group,
                "topic": topic,
                "committed": self._committed.get(key, {}),
                "client_subscriptions": client_subscriptions,
                "broker_subscriptions": known.broker_subscriptions.get(key, []),
                "complete": key in known.complete,
                "owners": Owners(
                    group,
                    topic,
                    queues,
                    known.present.get(group, ()),
                    client_subscriptions,
                    notify_consumer_ids_changed=notifies,
                    rules=self.options.rules,
                ),
                "has_evidence": group in groups_with_evidence or key in self._pops.starts,
                "traced": clients,
                "coverage": coverage,
                "reset": known.reset.get(key, ()),
                "at_first": self._at_first,
                "paused": tuple(known.paused.get(group, ())),
                "offsets_known": not self._offsets_lost,
                "rules": self.options.rules,
            }
            pops, doubt = self._doubt_of_pops(key)
            starts = self._pops.starts.get(key, {})
            inference = PopInference(**facts, starts=starts, doubt=doubt) if pops else FateInference(**facts)
            inferences.setdefault(topic, []).append(inference)
        return inferences

    @cached_property
    def scan(self) -> audit_scan.Scan:
        """What each task does with its part of the log."""
        inferences = self.inferences(
            {
                group: (clients, self._evidence.coverage_of(group))
                for group, clients in self.groups_with_evidence.items()
            }
        )
        options = self.options
        return audit_scan.Scan(
            inferences,
            options.since,
            options.until,
            options.check_crc,
            str(self.root),
            self.end,
            options.each_message,
        )

    @cached_property
    def rows(self) -> Rows:
        """Counts, lost messages and damage, kept: the one pass over the log."""
        scan = self.scan  # first: it reads the evidence
        rows = self.engine.kept(self.engine.read(self._ranges, scan.run, audit_scan.SCAN_SCHEMA))
        decided = rows
        if self.groups_with_evidence:
            decided = with_evidence(self.engine, decided, self._evidence.best)
        if self._pops.starts:
            decided = self._pops.decide(decided)
        if decided is rows:
            return rows
        self._scanned = rows
        return self.engine.kept(decided)

    def _select(self, columns: str, kinds: tuple[str, ...], rest: str = "", **rows: Rows) -> Rows:
        """Columns of those rows `r` that have one of these kinds and are of the groups asked for."""
        where = f"r.kind IN ({_texts(kinds)})"
        if self.options.groups:
            rows["asked"] = self._asked_groups
            where += " AND r.group IN (SELECT a.group FROM {asked} a)"
        sql = f"SELECT {columns} WHERE {where} {rest}"
        return self.engine.query(sql, rows=self.rows, **rows)

    @cached_property
    def _asked_groups(self) -> Rows:
        return self.engine.given(pa.table({"group": list(self.options.groups)}))

    @cached_property
    def counts(self) -> pa.Table:
        """Messages by group, topic, queueId, tag, minute, fate, certainty, asked, reason; minute: epoch ms / 60,000."""
        names = ("group", "topic", "queueId", "tag", "minute", "fate", "certainty", "asked", "reason")
        columns = ", ".join(f"r.{name}" for name in names)
        counted = self._select(
            f"{columns}, CAST(sum(r.messages) AS BIGINT) AS messages FROM {{rows}} r",
            (audit_scan.COUNT, audit_scan.DETAIL),
            f"GROUP BY {columns}",
        )
        return self.engine.table(counted).sort_by([(name, "ascending") for name in names])

    @cached_property
    def _lost(self) -> Rows:
        losing = f"r.fate IN ({_texts(map(str, (*sorted(LOSING), Fate.PASSED)))}) AND r.asked <> 'no'"
        others = self.engine.query(_OTHERS, rows=self.rows)
        columns = ", ".join(
            "coalesce(r.elsewhere, 0) + coalesce(o.others, 0) AS elsewhere" if name == "elsewhere" else f"r.{name}"
            for name in LOST_COLUMNS
        )
        return self._select(
            f"{columns} FROM {{rows}} r LEFT JOIN {{others}} o ON r.physicalOffset = o.physicalOffset",
            (audit_scan.LOST_ROW, audit_scan.DETAIL),
            f"AND {losing} ORDER BY r.physicalOffset, r.group",
            others=others,
        )

    @property
    def lost(self) -> DataFrame:
        """One row for each message and group that is lost, or may be (certainty or asked: unknown), in the log's order.

        Of what may be lost those are left out that nothing is known of but offsets: `counts` has them. `elsewhere` is
        how many other groups got the message for certain.
        """
        return self.engine.frame(self._lost)

    @cached_property
    def lost_table(self) -> pa.Table:
        """`lost` as a table in memory."""
        return self.engine.table(self._lost)

    @cached_property
    def messages(self) -> Rows:
        """Every message of every group with its fate, in the log's order, if `AuditOptions.each_message` keeps them."""
        columns = ", ".join(f"r.{name}" for name in MESSAGE_COLUMNS)
        return self._select(f"{columns} FROM {{rows}} r", (audit_scan.DETAIL,), "ORDER BY r.physicalOffset, r.group")

    def messages_of(self, group: str, topic: str) -> pa.Table:
        """`messages` of one group and topic, in memory."""
        rows = self.engine.given(pa.table({"group": [group], "topic": [topic]}))
        return self.engine.table(self.engine.query(_OF_TOPIC, rows=self.messages, key=rows))

    @property
    def message_rows(self) -> DataFrame:
        """`messages` as a frame."""
        return self.engine.frame(self.messages)

    @cached_property
    def damage(self) -> list[dict[str, Any]]:
        """The damaged parts of the log: physicalOffset, size (bytes), reason, and the message where it is known."""
        damaged: pa.Table = self.engine.table(self.engine.query(_DAMAGED, rows=self.rows))
        return list(damaged.to_pylist())

    @cached_property
    def summary(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The figures by group and topic (`rmqlab_tools.spark.audit.totals`)."""
        lost = self.lost_table.select(["group", "topic", "offsetMsgId", "storeTimestamp", "fate", "certainty", "asked"])
        figures = totals(self.keys, self.counts.to_pylist(), lost.to_pylist())
        if (self.options.since, self.options.until) == (LONG_MIN, LONG_MAX):
            # deliveries outside the time asked for would be none of these messages
            require_logs_of(self.engine, self.rows, self._evidence.named, {group for group, _ in self.keys})
        for key in self._subscriptions.complete.intersection(self.keys):
            figures[key[0]][key[1]]["asked_for"] = sorted(
                {subscription.text for subscription in self._subscriptions.client_subscriptions[key]}
            )
        return figures

    @property
    def session(self) -> SparkSession:
        """The session, opened when this is asked for first."""
        return self.engine.session

    def close(self) -> None:
        """Let go of what is kept."""
        if "rows" in self.__dict__:
            self.engine.release(self.__dict__.pop("rows"))
        if self._scanned is not None:
            self.engine.release(self._scanned)
            self._scanned = None
        self._evidence.close()
        self._pops.close()
        self.engine.close()


def _texts(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


# Of messages that travelled one by one it is known only now who else got them.
_OTHERS: Final = f"""
SELECT r.physicalOffset, count(*) AS others FROM {{rows}} r
WHERE r.kind = '{audit_scan.DETAIL}' AND r.fate = '{Fate.DELIVERED}' GROUP BY r.physicalOffset"""  # noqa: S608
_OF_TOPIC: Final = """
SELECT r.* FROM {rows} r JOIN {key} k ON r.group = k.group AND r.topic = k.topic ORDER BY r.physicalOffset"""
_DAMAGED: Final = f"""
SELECT r.physicalOffset, r.size, r.reason, r.topic, r.queueId, r.queueOffset FROM {{rows}} r
WHERE r.kind = '{audit_scan.DAMAGE}' ORDER BY r.physicalOffset, r.topic, r.queueId, r.queueOffset"""  # noqa: S608
MESSAGE_COLUMNS: Final = (
    "group", "topic", "queueId", "queueOffset", "physicalOffset", "offsetMsgId", "key", "keys", "tag", "storeTimestamp",
    "fate", "certainty", "reason", "asked",
)  # fmt: skip
LOST_COLUMNS: Final = (*MESSAGE_COLUMNS, "subscription", "elsewhere", "minute")
