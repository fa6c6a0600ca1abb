"""`rmqlab.audit`: which messages of a store directory did which group lose, by which stage, and how certain that is.

The verb `audit` and this function are the same: `open_audit` looks at what is given, `AuditResult` has what was found.
"""

from __future__ import annotations

import json
import math
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.rules import rules_of
from rmqlab.run.results import LabResult
from rmqlab_tools.extras import require
from rmqlab_tools.spark.audit.audit_report import damage_lines, scope_line, summary_lines, topic_of
from rmqlab_tools.spark.audit.store_version import UNKNOWN_WRITER, WrittenBy, written_by
from rmqlab_tools.spark.files.stored_files import is_file, read_bytes, unreadable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.rules import Rules
    from rmqlab_tools.show.figure import Picture
    from rmqlab_tools.show.tables import Table
    from rmqlab_tools.spark.audit.audit import Audit
    from rmqlab_tools.spark.audit.engine import Engine, LocalEngine
    from rmqlab_tools.spark.audit.subscriptions import Subscriptions
    from rmqlab_tools.spark.files.broker_stores import BrokerStore, Copy, Named

    Rows = Iterable[Mapping[str, Any]]
    Given = str | Path | LabResult | DataFrame | Rows

KEPT_BYTES = 1 << 30  # of a log up to this size the fate of each message is kept by the first pass


def audit(
    store: Named,
    *,
    subscriptions: Given | None = None,
    delivered: Given | Sequence[str | Path] | None = None,
    groups: Sequence[str] | None = None,
    session: SparkSession | None = None,
    version: str | None = None,
) -> AuditResult:
    """Say what became of the messages in a broker's store directory, for each consumer group: lost, delivered, unknown.

    `store` is a directory with a folder `commitlog`, packed or not; or a folder with one as `store/` or `store.tar.gz`:
    events that lie there too give subscriptions and deliveries; or an address (s3://, hdfs://, gs://, abfs://), which
    is read by ranges where it lies. Of a cluster give a store of each broker, in a list or by the brokers' names: a
    group's figures are sums. A slave's copy is recognised, and not counted twice.

    A store has no TAG subscriptions, so `subscriptions` says who asked for what: a file, rows such as
    `{"group": "G", "topic": "T", "expr": "tagA", "client": "A"}`, a DataFrame of them, or what `Lab.finish()` gives.
    `delivered` says what consumers got, all of it: files, rows such as `{"group": "G", "msgId": "7F00..."}`, or what
    `Lab.finish()` gives. `groups`: only these. `session` is a Spark session that does the work; without one this
    process does it, unless RMQLAB_SPARK names a Spark. `version` is the broker's: without it that which the store's
    files show.
    What a group that pops got is read from the check points and acks that a 5.x broker stores.

    >>> import rmqlab, tempfile
    >>> lab = rmqlab.Lab(topics={"T": 4})
    >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
    >>> lab.run(seconds=30)
    >>> sent = lab.send("T", ["tagA", "tagB"] * 4)
    >>> lab.run(seconds=30)
    >>> folder = lab.write_store(tempfile.mkdtemp() + "/store")
    >>> wishes = [{"group": "G", "topic": "T", "expr": tag} for tag in ("tagA", "tagB")]
    >>> found = rmqlab.audit(folder, subscriptions=wishes)
    >>> found.total("sent"), found.total("unknown"), found.groups["G"]["T"]["may_be_lost"]
    (8, 8, 8)
    >>> rmqlab.audit(folder, subscriptions=wishes[:1]).groups["G"]["T"]["by_fate"]
    {'delivered': 4, 'dropped_by_broker_tag': 4}

    Raises:
        BadInput: no store, or nothing in it to audit; subscriptions or deliveries that cannot be read; no Spark; a
            version that is not there.
    """
    result = open_audit(
        store,
        subscriptions=subscriptions,
        delivered=delivered,
        groups=groups or (),
        session=session,
        version=version,
    )
    try:
        result.compute()
    except Exception:
        result.close()
        raise
    return result


def open_audit(
    store: Named,
    *,
    subscriptions: Given | None = None,
    delivered: Given | Sequence[str | Path] | None = None,
    groups: Sequence[str] = (),
    session: Engine | SparkSession | Callable[[], SparkSession] | None = None,
    each_message: bool | None = None,
    conf: Path | None = None,
    version: str | None = None,
    since: int | None = None,
    until: int | None = None,
    **options: Any,
) -> AuditResult:
    """An audit before its work is done: `compute` does it.

    `each_message`: keep the fate of every message (None: if the log is small). `conf` is the broker's, if it does not
    lie beside the store. `version` is the broker's, without it that which the store shows. `since` and `until` are
    store times, epoch ms. `options` are those of `AuditOptions`.

    Raises:
        BadInput: as `audit` does.
    """
    require("spark")
    from rmqlab.message.java import LONG_MAX, LONG_MIN
    from rmqlab_tools.spark.audit.audit import Audit, BrokerAudit
    from rmqlab_tools.spark.audit.audit_options import NO_SUBSCRIPTIONS, AuditOptions
    from rmqlab_tools.spark.audit.subscriptions import both
    from rmqlab_tools.spark.files.broker_stores import broker_stores, given_stores, opened_store

    given_rules = None if version is None else rules_of(version)
    with ExitStack() as stack:
        opened = [opened_store(given, stack) for given in given_stores(store)]
        stores = broker_stores(given for given, _ in opened)
        writers = {counted.label: written_by(counted.root) for counted in stores.counted}
        rules = {label: given_rules or writer.rules() for label, writer in writers.items()}
        known_subscriptions = NO_SUBSCRIPTIONS
        events_beside = [events for _, events in opened if events is not None]
        for facts in (*events_beside, *([] if subscriptions is None else [subscriptions])):
            known_subscriptions = both(known_subscriptions, _subscriptions(facts, next(iter(rules.values()))))
        # Frames report nothing of what was stored before the recorder ran, or after.
        first, last = known_subscriptions.span or (LONG_MIN, LONG_MAX)
        logs = (*map(str, events_beside), *_delivered(delivered, stack))
        small = sum(file.size for counted in stores.counted for file in counted.files) <= KEPT_BYTES
        audited = [
            BrokerAudit(
                counted.root,
                counted.label,
                AuditOptions(
                    groups=tuple(groups),
                    subscriptions=known_subscriptions,
                    delivered=logs,
                    since=first if since is None else since,
                    until=last if until is None else until,
                    **settings_of(conf or _conf(counted, stack)),
                    each_message=small if each_message is None else each_message,
                    rules=rules[counted.label],
                    **options,
                ),
            )
            for counted in stores.counted
        ]
        known = [
            name
            for name, is_known in (
                (_("subscriptions"), known_subscriptions.client_subscriptions),
                (_("deliveries"), logs),
            )
            if is_known
        ]
        done = Audit(session or _own_engine(), audited, audited[0].options, names_known=stores.have_names)
        return AuditResult(
            done,
            joined(" and ", known) or _("the store alone"),
            stack.pop_all(),
            list(writers.items()),
            stores.copies,
            [counted.broker for counted in stores.counted],
        )


def _conf(store: BrokerStore, stack: ExitStack) -> Path | None:
    """A broker's settings in a file of this machine, copied there from an address; None where there are none."""
    from rmqlab_tools.spark.files.broker_stores import conf_beside

    if isinstance(store.root, Path):
        return store.given.conf
    conf = conf_beside(store.root)
    if not is_file(conf):
        return None
    path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rmqlab-conf-"))) / conf.name
    try:
        path.write_bytes(read_bytes(conf))
    except OSError as error:
        raise unreadable(conf, error) from error
    return path


class AuditResult:
    """What an audit found: `groups` has its figures, `messages` and `lost` are Spark frames, `by_tag` a picture.

    `delivered` and `lost` count what is proved or implied only; what is neither is `unknown`.
    """

    def __init__(
        self,
        audit: Audit,
        known: str,
        files: ExitStack,
        writers: Sequence[tuple[str, WrittenBy]] = (),
        copies: Sequence[Copy] = (),
        broker_names: Sequence[str] = (),
    ) -> None:
        """`known` says what is known, `writers` who wrote each broker's store, `copies` which stores are not counted.

        `files` are closed when they are not needed. `broker_names` has "" for a broker whose name is not known.
        """
        self._broker_names = list(broker_names)
        self._audit = audit
        self.writers, self.copies = list(writers), list(copies)
        self.known = known
        self._close = weakref.finalize(self, files.close)

    def compute(self) -> None:
        """Do all of the work now.

        Raises:
            BadInput: if somebody cut the log meanwhile.
        """
        try:
            _ignored = self.groups, self.damage
        except Exception:
            self._audit.require_whole()  # a worker that reads behind a file's new end is killed
            raise
        self._audit.require_whole()

    def reporting(self, report: Callable[[int, int], None]) -> AbstractContextManager[None]:
        """While the block runs, `report` is called now and then: how many tasks are done, and of how many."""
        return self._audit.engine.reporting(report)

    @property
    def groups(self) -> dict[str, dict[str, dict[str, Any]]]:
        """By group and topic: sent, delivered, lost, unknown, by_fate, lost_ids and more, as `rmqlab audit --json`."""
        return self._audit.summary

    @property
    def version(self) -> str:
        """The version by whose rules the store is judged; of several, the first one."""
        return self._audit.options.rules.version

    @property
    def writer(self) -> WrittenBy:
        """Who wrote the store; of several, the first one."""
        return self.writers[0][1] if self.writers else UNKNOWN_WRITER

    @property
    def brokers(self) -> list[str]:
        """The brokers whose stores are counted: their names, where they are known, else what people named."""
        return [label for label, _writer in self.writers]

    def scope(self) -> str:
        """A sentence: whose stores were given, and that a topic's queues on other brokers are not among them.

        A store has the queues of its own broker; the name servers have the route to all.
        """
        return scope_line(self._broker_names)

    @property
    def damage(self) -> list[dict[str, Any]]:
        """The damaged parts of the log."""
        return self._audit.damage

    @property
    def config_damage(self) -> list[str]:
        """What is wrong with the files of `config/`, and what 4.8.0 makes of it; without offsets all is unknown."""
        return self._audit.config_damage

    def total(self, name: str) -> int:
        """A figure (sent, delivered, lost, unknown, may_be_lost) over all groups and topics."""
        return sum(row[name] for topics in self.groups.values() for row in topics.values())

    @cached_property
    def messages(self) -> DataFrame:
        """A row for each message and group, in the log's order: fate, certainty, reason, was it asked for."""
        return self._each_message().message_rows

    def _each_message(self) -> Audit:
        if not self._audit.options.each_message:
            self._audit.close()
            self._audit = self._audit.again(each_message=True)
        return self._audit

    @property
    def lost(self) -> DataFrame:
        """The messages that are lost, a row for each message and group."""
        return self._audit.lost.where("certainty <> 'unknown' AND asked = 'yes'")

    def plan(self, group: str) -> dict[str, Any]:
        """What must be sent again for a group, and how many other groups would get twice; nothing is sent.

        Raises:
            BadInput: the audit knows no such group, or it lost nothing.
        """
        topic = topic_of(self.groups, group)
        plans = {(item["group"], item["topic"]): item for item in self.plans()}
        planned = plans.get((group, topic))
        if planned is None or not planned["messages"]:
            raise BadInput(_("group {group} lost nothing: there is nothing to send again", group=f"{group!r}"))
        return planned

    def plans(self) -> list[dict[str, Any]]:
        """The plans of all groups and topics that lost something, or may have."""
        from rmqlab_tools.spark.audit.totals import resend_plan

        return resend_plan(self._audit.lost_table)

    @property
    def counts(self) -> pa.Table:
        """Messages by group, topic, queueId, tag, minute, fate, certainty, asked, reason."""
        return self._audit.counts

    @property
    def lost_table(self) -> pa.Table:
        """What is lost or may be, in memory."""
        return self._audit.lost_table

    @property
    def session(self) -> SparkSession:
        """The Spark session, opened when it is asked for first."""
        return self._audit.session

    def table(self) -> Table:
        """Every group and topic, the most lost first."""
        from rmqlab_tools.spark.audit.pictures import audit_table

        return audit_table(self.known, self.groups)

    def by_tag(self) -> Picture:
        """A grid of groups and tags: how many messages were lost, the more the darker."""
        from rmqlab_tools.spark.audit.pictures import loss_by_tag

        return loss_by_tag(self.known, self.groups)

    def by_second(self, group: str) -> Picture:
        """What became of the messages of a group second by second, above what the broker held, if that is known.

        Raises:
            BadInput: the audit knows no such group.
        """
        from rmqlab_tools.spark.audit.pictures import loss_by_second

        topic = topic_of(self.groups, group)
        history = self._audit.options.subscriptions.broker_subscriptions.get((group, topic), [])
        messages = self._each_message().messages_of(group, topic).to_pylist()
        slots = [(subscription.since, subscription.expression) for subscription in history]
        return loss_by_second(self.known, group, self.groups[group][topic], messages, slots)

    def as_json(self) -> dict[str, Any]:
        """The result for programs, as `rmqlab audit --json` writes it."""
        groups_with_evidence = {
            group: list(clients) for group, clients in sorted(self._audit.groups_with_evidence.items())
        }
        record = {"groups": self.groups, "damage": self.damage, "witnessed": groups_with_evidence}
        record |= {"version": self.version, "written_by": self.writer._asdict(), "broker_names": self._broker_names}
        if len(self.writers) > 1:
            versions = [store.options.rules.version for store in self._audit.stores]
            record["brokers"] = [
                {"broker": label, "version": version, "written_by": writer._asdict()}
                for (label, writer), version in zip(self.writers, versions, strict=True)
            ]
        if self.copies:
            record["copies"] = [copy._asdict() for copy in self.copies]
        return record | ({"config_damage": self.config_damage} if self.config_damage else {})

    def lines(self) -> list[str]:
        """The result as text: who wrote the store, damaged files of `config/`, groups and topics, remarks, damage."""
        copies = [copy.says() for copy in self.copies]
        return [
            *copies,
            *self._version_lines(),
            *self.config_damage,
            *([self.scope()] if self._broker_names else []),
            *summary_lines(self.groups),
            *damage_lines(self.damage),
        ]

    def _version_lines(self) -> list[str]:
        lines = []
        for store, (label, writer) in zip(self._audit.stores, self.writers, strict=True):
            version, says = store.options.rules.version, writer.says()
            if says:
                lines.append(f"{label}: {says}" if len(self.writers) > 1 else says)
            if writer.versions and version not in writer.versions:
                lines.append(_("It is judged by the rules of {version}.", version=version))
        return lines

    def close(self) -> None:
        """Let go of what is kept on disk, and of what was unpacked."""
        self._audit.close()
        self._close()

    def __repr__(self) -> str:
        """The table as text."""
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def _own_engine() -> LocalEngine | Callable[[], SparkSession]:
    """This process, or what opens the session that is set by RMQLAB_SPARK or by spark-submit."""
    from rmqlab_tools.spark import open_here
    from rmqlab_tools.spark.audit.engine import LocalEngine
    from rmqlab_tools.spark.session import is_set

    return open_here if is_set() else LocalEngine(open_here)


def _subscriptions(given: Given, rules: Rules) -> Subscriptions:
    from rmqlab_tools.spark.audit.subscription_file import of_lines, read_subscriptions

    if isinstance(given, str | Path):
        return read_subscriptions(given, rules)
    return of_lines(
        [(_("subscriptions, row {n}", n=n), row) for n, row in enumerate(_rows(given))], "subscriptions", rules
    )


def _delivered(given: Given | Sequence[str | Path] | None, stack: ExitStack) -> list[str]:
    """Paths of delivery logs; rows are written into one."""
    if given is None or isinstance(given, str | Path):
        return [] if given is None else [str(given)]
    rows = list(given) if isinstance(given, Sequence) else _rows(given)
    paths = [str(item) for item in rows if isinstance(item, str | Path)]
    if len(paths) == len(rows):
        return paths
    path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rmqlab-given-"))) / "delivered.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in _rows(rows)), encoding="utf-8")
    return [str(path)]


def _rows(given: Any) -> list[dict[str, Any]]:
    """Rows as dicts, without what is empty in them: of a run, of a DataFrame of Spark or pandas, or as they are."""
    if isinstance(given, LabResult):
        return [json.loads(line) for line in given.lines().splitlines()]
    if hasattr(given, "collect"):
        given = [row.asDict() for row in given.collect()]
    elif hasattr(given, "to_dict"):
        given = given.to_dict("records")
    if isinstance(given, Mapping) or not all(isinstance(row, Mapping) for row in given):
        raise BadInput(
            _('rows are wanted, such as [{"group": "G", "topic": "T", "expr": "tagA"}], or the name of a file')
        )
    return [{name: value for name, value in row.items() if not _is_empty(value)} for row in given]


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def settings_of(conf: Path | None) -> dict[str, Any]:
    """What the broker's settings decide in an audit, as `AuditOptions` names it."""
    from rmqlab.files import read_properties
    from rmqlab.sim.cluster import read_cluster_config
    from rmqlab_tools.spark.audit.audit_options import PULL_MODE

    if conf is None:
        return {}
    settings = read_cluster_config(conf, strict=False)
    of_pop = read_properties(conf)
    return {
        "pops_in_memory": of_pop.get("enablePopBufferMerge", "").strip() == "true",
        "pops_in_kv": of_pop.get("popConsumerKVServiceEnable", "").strip() == "true",
        "request_mode": of_pop.get("defaultMessageRequestMode", PULL_MODE).strip(),
        "in_memory_percent": settings.store.access_message_in_memory_max_ratio,
        "notify_consumer_ids_changed": settings.broker.notify_consumer_ids_changed_enable,
    }
