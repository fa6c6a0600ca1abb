"""Which messages of a store directory did which group lose, by which stage, and how certain is that.

The commit log is read once, in tasks that infer the fate of each message where they read it and send back counts; rows
travel only for what may be lost, and, for groups whose consumers wrote a trace (or of which a log is given), for what
must be looked up in it. Memory does not grow with the store. Tasks are threads of this process, or Spark's: `engine`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from rmqlab.errors import BadInput
from rmqlab.language import joined
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.run.fates import LOSING, Fate
from rmqlab_tools.spark.audit import scan as audit_scan
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.delivery_evidence import DeliveryEvidence
from rmqlab_tools.spark.audit.engine import engine_of
from rmqlab_tools.spark.audit.log_extent import require_groups, require_logs_of, require_messages, require_topics
from rmqlab_tools.spark.audit.store_audit import BROKER, Cluster, StoreAudit
from rmqlab_tools.spark.audit.totals import totals
from rmqlab_tools.spark.files.addresses import StorePath, store_path
from rmqlab_tools.spark.files.commit_log_files import cut_since

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rmqlab_tools.spark.audit.engine import Engine, Rows
    from rmqlab_tools.spark.audit.subscriptions import Key


class BrokerAudit(NamedTuple):
    """A store to audit among others: its folder, the name that distinguishes its broker, and its broker's options."""

    root: StorePath
    broker: str
    options: AuditOptions


class Audit:
    """The result. Everything is computed once, when first asked for, and kept on disk by Spark until `close`."""

    def __init__(
        self,
        session: Engine | SparkSession | Callable[[], SparkSession] | None,
        stores: str | StorePath | Sequence[BrokerAudit],
        options: AuditOptions | None = None,
        *,
        names_known: bool = True,
    ) -> None:
        """Look at what is there: files, `config/`, what is given.

        A function opens `session` when it is needed first; without any the threads of this process do the work.
        `stores` is one, or those of several brokers. `names_known` is False where they are distinguished by
        something else than the brokers' names: then it is not known in which order members share their queues.

        Raises:
            BadInput: what cannot be read, and where there is nothing to audit: no whole message, none in the time that
                is asked for, a group or a topic that nothing names.
        """
        self.options = options or AuditOptions()
        self.engine = engine_of(session)
        self._scanned: list[Rows] = []
        if isinstance(stores, str | StorePath):
            stores = [BrokerAudit(store_path(stores), "", self.options)]
        self.several = len(stores) > 1
        self._names_known = names_known or not self.several
        self.stores = [
            StoreAudit(self.engine, root, options_of_store, broker if self.several else "")
            for root, broker, options_of_store in stores
        ]
        self._evidence = DeliveryEvidence(
            self.engine, [store.evidence() for store in self.stores], self.options.trace_topic, self.options.delivered
        )
        roots, damage = joined(", ", (str(store.root) for store in self.stores)), self.config_damage
        groups = {group for group, _ in self._known}
        require_groups(roots, groups, self.options.groups, self._evidence.fully_logged_groups, damage)
        topics = {topic for store in self.stores for topic in (*store.topics, *(key[1] for key in store.committed))}
        require_topics(topics, self.options.subscriptions.keys())
        require_messages([store.files for store in self.stores], self.options.since, self.options.until)

    def again(self, **options: Any) -> Audit:
        """This audit anew, with other options."""
        stores = [BrokerAudit(store.root, store.broker, replace(store.options, **options)) for store in self.stores]
        return Audit(self.engine, stores, replace(self.options, **options), names_known=self._names_known)

    def require_whole(self) -> None:
        """Raise `BadInput` if a file of a log was cut since the audit began: what was read of it may be nothing."""
        for store in self.stores:
            if cut := cut_since(store.files):
                raise BadInput(cut)

    @property
    def config_damage(self) -> list[str]:
        """What is wrong with the files of `config/`, and what 4.8.0 makes of it."""
        return [
            f"{store.broker}: {says}" if self.several else says for store in self.stores for says in store.config.damage
        ]

    @cached_property
    def keys(self) -> list[Key]:
        """The (group, topic) that are audited."""
        return [key for key in self._known if not self.options.groups or key[0] in self.options.groups]

    @cached_property
    def _known(self) -> list[Key]:
        """The (group, topic) that a store or the given subscriptions name."""
        return sorted(set().union(*(store.named() for store in self.stores)))

    @cached_property
    def cluster(self) -> Cluster:
        """What the stores know together."""
        topics = frozenset(topic for _, topic in self.keys)
        by_broker = {store.broker: store.config.topics() for store in self.stores}
        # A broker whose table of topics is lost may have queues of any.
        is_known = self._names_known and all(by_broker.values())
        queues = {
            topic: {broker: table[topic].read_queue_nums for broker, table in by_broker.items() if topic in table}
            for topic in (topics if is_known else ())
        }
        return Cluster(self._known, topics, queues)

    @property
    def groups_with_evidence(self) -> dict[str, tuple[str, ...]]:
        """The groups with evidence of deliveries, and the clients it names: not every consumer may write a trace."""
        return self._evidence.clients

    @cached_property
    def rows(self) -> Rows:
        """Counts, lost messages and damage of all stores, kept: the one pass over each log."""
        decided = [store.rows(self.cluster, self._evidence, self._scanned) for store in self.stores]
        if not self.several and decided[0] is self._scanned[-1]:
            return self._scanned.pop()
        if not self.several:
            return self.engine.kept(decided[0])
        names = [store.broker for store in self.stores]
        brokers = self.engine.given(pa.table({"store": list(range(len(names))), "broker": names}))
        columns = audit_scan.columns_of("r")
        parts = [
            f"SELECT {columns}, b.broker AS {BROKER} FROM {{store_{number}}} r"  # noqa: S608
            f" JOIN {{brokers}} b ON b.store = {number}"
            for number in range(len(names))
        ]
        of_stores = {f"store_{number}": rows for number, rows in enumerate(decided)}
        return self.engine.kept(self.engine.query(" UNION ALL ".join(parts), brokers=brokers, **of_stores))

    def _with_broker(self, *names: str) -> list[str]:
        """Names of columns, that of the broker before them where there are several."""
        return [BROKER, *names] if self.several else list(names)

    def _in_order(self) -> str:
        """The order of the log; of several logs that of time."""
        return f"ORDER BY {'r.storeTimestamp, r.broker, ' if self.several else ''}r.physicalOffset, r.group"

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
        names = self._with_broker("group", "topic", "queueId", "tag", "minute", "fate", "certainty", "asked", "reason")
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
        place = ", ".join(f"r.{name}" for name in self._with_broker("physicalOffset"))
        others = self.engine.query(_OTHERS.format(place=place, rows="{rows}"), rows=self.rows)
        is_same = " AND ".join(f"r.{name} = o.{name}" for name in self._with_broker("physicalOffset"))
        columns = ", ".join(
            "coalesce(r.elsewhere, 0) + coalesce(o.others, 0) AS elsewhere" if name == "elsewhere" else f"r.{name}"
            for name in self._with_broker(*LOST_COLUMNS)
        )
        return self._select(
            f"{columns} FROM {{rows}} r LEFT JOIN {{others}} o ON {is_same}",
            (audit_scan.LOST_ROW, audit_scan.DETAIL),
            f"AND {losing} {self._in_order()}",
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
        columns = ", ".join(f"r.{name}" for name in self._with_broker(*MESSAGE_COLUMNS))
        return self._select(f"{columns} FROM {{rows}} r", (audit_scan.DETAIL,), self._in_order())

    def messages_of(self, group: str, topic: str) -> pa.Table:
        """`messages` of one group and topic, in memory."""
        rows = self.engine.given(pa.table({"group": [group], "topic": [topic]}))
        return self.engine.table(self.engine.query(f"{_OF_TOPIC} {self._in_order()}", rows=self.messages, key=rows))

    @property
    def message_rows(self) -> DataFrame:
        """`messages` as a frame."""
        return self.engine.frame(self.messages)

    @cached_property
    def damage(self) -> list[dict[str, Any]]:
        """The damaged parts of the log: physicalOffset, size (bytes), reason, and the message where it is known."""
        names = self._with_broker("physicalOffset", "size", "reason", "topic", "queueId", "queueOffset")
        columns = ", ".join(f"r.{name}" for name in names)
        order = ", ".join(
            f"r.{name}" for name in self._with_broker("physicalOffset", "topic", "queueId", "queueOffset")
        )
        query = f"SELECT {columns} FROM {{rows}} r WHERE r.kind = '{audit_scan.DAMAGE}' ORDER BY {order}"  # noqa: S608
        damaged: pa.Table = self.engine.table(self.engine.query(query, rows=self.rows))
        return list(damaged.to_pylist())

    @cached_property
    def summary(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The figures by group and topic (`rmqlab_tools.spark.audit.totals`)."""
        lost = self.lost_table.select(["group", "topic", "offsetMsgId", "storeTimestamp", "fate", "certainty", "asked"])
        figures = totals(self.keys, self.counts.to_pylist(), lost.to_pylist())
        if (self.options.since, self.options.until) == (LONG_MIN, LONG_MAX):
            # deliveries outside the time asked for would be none of these messages
            require_logs_of(self.engine, self.rows, self._evidence.named, {group for group, _ in self.keys})
        known = self.options.subscriptions
        for key in known.complete.intersection(self.keys):
            figures[key[0]][key[1]]["asked_for"] = sorted(
                {subscription.text for subscription in known.client_subscriptions[key]}
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
        for rows in self._scanned:
            self.engine.release(rows)
        self._scanned.clear()
        self._evidence.close()
        for store in self.stores:
            store.pops.close()
        self.engine.close()


def _texts(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


# Of messages that travelled one by one it is known only now who else got them.
_OTHERS: Final = f"""
SELECT {{place}}, count(*) AS others FROM {{rows}} r
WHERE r.kind = '{audit_scan.DETAIL}' AND r.fate = '{Fate.DELIVERED}' GROUP BY {{place}}"""  # noqa: S608
_OF_TOPIC: Final = """
SELECT r.* FROM {rows} r JOIN {key} k ON r.group = k.group AND r.topic = k.topic"""
MESSAGE_COLUMNS: Final = (
    "group", "topic", "queueId", "queueOffset", "physicalOffset", "offsetMsgId", "key", "keys", "tag", "storeTimestamp",
    "fate", "certainty", "reason", "asked",
)  # fmt: skip
LOST_COLUMNS: Final = (*MESSAGE_COLUMNS, "subscription", "elsewhere", "minute")
