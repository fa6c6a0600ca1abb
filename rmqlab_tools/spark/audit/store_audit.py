"""One broker's store in an audit: what is there, what its tasks do, and what comes of its part of the log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX
from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.audit_options import POP_MODE, AuditOptions
from rmqlab_tools.spark.audit.delivery_evidence import EvidenceOfStore, evidence_topics, with_evidence
from rmqlab_tools.spark.audit.fate_codes import Answer, UnknownReason
from rmqlab_tools.spark.audit.fate_inference import FateInference
from rmqlab_tools.spark.audit.log_extent import begins_at_first, is_audited
from rmqlab_tools.spark.audit.owners import Owners
from rmqlab_tools.spark.audit.pop_evidence import PopEvidence
from rmqlab_tools.spark.audit.pop_inference import PopInference
from rmqlab_tools.spark.audit.queue_check import require_queues
from rmqlab_tools.spark.audit.subscriptions import Key, with_config
from rmqlab_tools.spark.files.addresses import StorePath, store_path
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import log_end
from rmqlab_tools.spark.files.store_tables import StoreConfig
from rmqlab_tools.spark.files.stored_files import contents, is_dir
from rmqlab_tools.spark.files.tasks import TASK_BYTES

if TYPE_CHECKING:
    from rmqlab_tools.spark.audit.delivery_evidence import DeliveryEvidence
    from rmqlab_tools.spark.audit.engine import Engine, Rows

_SPLIT: Final = 1 << 30
_KV_FOLDER: Final = "kvStore"
BROKER: Final = "broker"
"""The column that says at which broker a message lies, where there are several."""


class Cluster(NamedTuple):
    """What the stores of an audit know together.

    `known`: every (group, topic). `topics`: those that are audited. `queues`: of each topic, how many it has by broker;
    nothing of a topic where a broker's number, or a broker's name, is not known.
    """

    known: list[Key]
    topics: frozenset[str]
    queues: Mapping[str, Mapping[str, int]]


class StoreAudit:
    """The store of one broker. `broker` is its name, "" where there is but one store."""

    def __init__(self, engine: Engine, root: str | StorePath, options: AuditOptions, broker: str = "") -> None:
        """Look at what is there: files and `config/`.

        Raises:
            BadInput: what cannot be read.
        """
        self.options, self.root, self.broker = options, store_path(root), broker
        self._engine = engine
        self.config = StoreConfig(self.root)
        # A broker may be running: the offsets come first, then what was stored by now, and last the evidence of it.
        self.committed = self.config.offsets()
        self._offsets_lost = self.config.offsets_lost
        self.files = log_files(self.root)
        # the commit log offset behind the last message that is looked at
        self.end = log_end(self.files, next((file.base for file in self.files if file.last), 0))
        self.subscriptions = with_config(options.subscriptions, self.config)
        self.topics = {
            *self.config.topics(),
            *(path.name for path in contents(self.root / "consumequeue") if is_dir(path)),
        }
        require_queues(self.root)
        self._at_first = begins_at_first(self.files, options.in_memory_percent)
        total = sum(file.size for file in self.files)
        split = options.split_bytes or max(TASK_BYTES, min(_SPLIT, -(-total // engine.tasks)))
        self.ranges = log_ranges(self.files, split)
        self.pops = PopEvidence(engine, self.ranges, self.topics, self.committed)

    def evidence(self) -> EvidenceOfStore:
        """Where this store has evidence of deliveries."""
        retried = {
            (topic, queue): offset
            for (_, topic), offsets in self.committed.items()
            if topic.startswith(RETRY_GROUP_TOPIC_PREFIX)
            for queue, offset in offsets.items()
        }
        topics = evidence_topics(self.topics, self.options.trace_topic)
        return EvidenceOfStore(self.ranges, topics, retried, lambda: self.pops.retry_groups)

    def named(self) -> set[Key]:
        """The (group, topic) that the store or the given subscriptions name."""
        named = {*self.committed, *self.config.named_offsets(), *self.subscriptions.keys()}
        return {key for key in named if is_audited(*key)}

    @cached_property
    def _modes(self) -> dict[Key, str]:
        return self.config.request_modes()

    def _doubt_of_pops(self, key: Key) -> tuple[bool, UnknownReason | None]:
        """Whether a group is judged as one that pops, and what stands against taking check points for all of them."""
        group, given = key[0], self.subscriptions
        pops, pulls = key in self.pops.starts or group in given.popping, group in given.pulling
        if pulls and not pops:
            return False, None
        in_kv = self.options.pops_in_kv
        if in_kv or (in_kv is None and any(contents(self.root / _KV_FOLDER))):
            return True, UnknownReason.POPS_IN_KV
        if self.options.pops_in_memory:
            return True, UnknownReason.POPS_IN_MEMORY
        if pops:
            return True, UnknownReason.MEMBER_PULLS if pulls else None
        is_pop = self._modes.get(key, self.options.request_mode) == POP_MODE
        return is_pop, UnknownReason.POP_MODE_ALONE if is_pop else None

    def inferences(
        self,
        cluster: Cluster,
        groups_with_evidence: Mapping[str, tuple[tuple[str, ...], int]] = MappingProxyType({}),
    ) -> dict[str, list[FateInference]]:
        """How fates are inferred, by topic; `groups_with_evidence` has, the clients it names and its coverage."""
        known = self.subscriptions
        inferences: dict[str, list[FateInference]] = {}
        notifies = self.options.notify_consumer_ids_changed
        for key in cluster.known:
            group, topic = key
            # other groups of a topic that is audited may have got what one lost
            if topic not in cluster.topics:
                continue
            clients, coverage = groups_with_evidence.get(group, ((), Answer.NO))
            client_subscriptions = known.client_subscriptions.get(key, [])
            queues = dict(cluster.queues.get(topic, {}))
            facts: dict[str, Any] = {
                "group": group,
                "topic": topic,
                "committed": self.committed.get(key, {}),
                "client_subscriptions": client_subscriptions,
                "broker_subscriptions": known.broker_subscriptions.get(key, []),
                "complete": key in known.complete,
                "owners": Owners(
                    group,
                    topic,
                    queues.pop(self.broker, 0),
                    known.present.get(group, ()),
                    client_subscriptions,
                    broker=self.broker,
                    elsewhere=queues,
                    notify_consumer_ids_changed=notifies,
                    rules=self.options.rules,
                ),
                "has_evidence": group in groups_with_evidence or key in self.pops.starts,
                "traced": clients,
                "coverage": coverage,
                "reset": known.reset.get(key, ()),
                "at_first": self._at_first,
                "paused": tuple(known.paused.get(group, ())),
                "offsets_known": not self._offsets_lost,
                "rules": self.options.rules,
            }
            pops, doubt = self._doubt_of_pops(key)
            starts = self.pops.starts.get(key, {})
            inference = PopInference(**facts, starts=starts, doubt=doubt) if pops else FateInference(**facts)
            inferences.setdefault(topic, []).append(inference)
        return inferences

    def scan(self, cluster: Cluster, evidence: DeliveryEvidence) -> audit_scan.Scan:
        """What each task does with its part of the log."""
        groups = {group: (clients, evidence.coverage_of(group)) for group, clients in evidence.clients.items()}
        options = self.options
        return audit_scan.Scan(
            self.inferences(cluster, groups),
            options.since,
            options.until,
            options.check_crc,
            self.root,
            self.end,
            options.each_message,
        )

    def rows(self, cluster: Cluster, evidence: DeliveryEvidence, kept: list[Rows]) -> Rows:
        """Counts, lost messages and damage; `kept` takes what must be let go of at last, the scan's own rows."""
        scan = self.scan(cluster, evidence)  # first: it reads the evidence
        rows = self._engine.kept(self._engine.read(self.ranges, scan.run, audit_scan.SCAN_SCHEMA))
        kept.append(rows)
        if evidence.clients:
            rows = with_evidence(self._engine, rows, evidence.best)
        return self.pops.decide(rows) if self.pops.starts else rows
