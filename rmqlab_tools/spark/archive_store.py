"""`rmqlab.archive`, `rmqlab.match`: a store's messages kept as Parquet, and what a subscription would get of them."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, ngettext
from rmqlab.message.topics import is_users_topic
from rmqlab.protocol.subscription_data import TAG
from rmqlab.rules import DEFAULT_VERSION
from rmqlab_tools.extras import require
from rmqlab_tools.show.tables import table
from rmqlab_tools.spark.files.addresses import shown_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from rmqlab_tools.show.tables import Table
    from rmqlab_tools.spark.archived.manifest import Contents
    from rmqlab_tools.spark.files.broker_stores import Copy, Named


@dataclass(frozen=True, slots=True, repr=False)
class Archive:
    """What an archive has after a run: `new` messages of it, all `messages`, bytes of the log that are damaged.

    `copies` (`Copy`) are stores of which it took nothing, since another one has their log.
    """

    where: str
    new: int
    messages: int
    files: int
    topics: dict[str, int]
    damaged_bytes: int
    copies: tuple[Any, ...] = ()

    def table(self) -> Table:
        """Messages by topic."""
        rows = sorted(self.topics.items())
        return table(_("Messages of the archive"), rows, headers=(_("topic"), _("messages")))

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "archive": self.where, "new": self.new, "messages": self.messages, "files": self.files,
            "topics": self.topics, "damaged_bytes": self.damaged_bytes,
        } | ({"copies": [copy._asdict() for copy in self.copies]} if self.copies else {})  # fmt: skip

    def lines(self) -> list[str]:
        """What was added, and what is not in it."""
        lines = [
            *(copy.says() for copy in self.copies),
            _(
                "{where}: {new} new messages, {messages} in all, in {files} files",
                where=self.where,
                new=f"{self.new:,}",
                messages=f"{self.messages:,}",
                files=self.files,
            ),
        ]
        if self.damaged_bytes:
            lines.append(
                ngettext(
                    "{count} byte of the log is damaged or gone: the archive has nothing of it",
                    "{count} bytes of the log are damaged or gone: the archive has nothing of them",
                    self.damaged_bytes,
                    count=f"{self.damaged_bytes:,}",
                )
            )
        return lines

    def __repr__(self) -> str:
        """The lines."""
        return "\n".join(self.lines())


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """What a subscription gets of an archive, and with a changed one what that loses and gains.

    `rows`: by topic, queue and hour (epoch ms), how many messages there are, how many match, are lost and gained.
    `left_out`: messages by topic of the system's own topics, of retries and of dead letters, unless these are named.
    `examples`: the first few messages that are lost and gained, with the properties that the subscriptions ask for.
    """

    expression: str
    changed: str | None
    rows: list[dict[str, Any]]
    left_out: dict[str, int]
    examples: dict[str, list[dict[str, Any]]]

    def total(self, name: str) -> int:
        """A figure (messages, matched, lost, gained) over all rows."""
        return sum(row[name] for row in self.rows)

    def table(self) -> Table:
        """A row for each topic, queue and hour (UTC)."""
        names = ["messages", "matched", *([] if self.changed is None else ["lost", "gained"])]
        headers = {"messages": _("messages"), "matched": _("matched"), "lost": _("lost"), "gained": _("gained")}
        rows = [(row["topic"], row["queueId"], _time(row["hour"]), *(row[name] for name in names)) for row in self.rows]
        titles = (_("topic"), _("queue"), _("hour (UTC)"), *(headers[name] for name in names))
        return table(_("What the subscription gets"), rows, headers=titles)

    def examples_table(self) -> Table:
        """The first messages that a changed subscription loses and gains."""
        words = {"lost": _("lost"), "gained": _("gained")}
        rows = [
            (
                words[kind], message["topic"], message["queueId"], message["queueOffset"],
                _time(message["storeTimestamp"], "%Y-%m-%d %H:%M:%S"),
                ", ".join(f"{name}={value}" for name, value in message["properties"].items()) or "-",
            )
            for kind, messages in self.examples.items()
            for message in messages
        ]  # fmt: skip
        titles = ("", _("topic"), _("queue"), _("offset"), _("stored (UTC)"), _("properties asked for"))
        return table(_("The first messages that the change is about"), rows, headers=titles)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        totals = {name: self.total(name) for name in ("messages", "matched", "lost", "gained")}
        return {
            "expression": self.expression,
            "changed": self.changed,
            **totals,
            "left_out": self.left_out,
            "examples": self.examples,
            "rows": self.rows,
        }

    def lines(self) -> list[str]:
        """The sums in words."""
        messages, matched = self.total("messages"), self.total("matched")
        lines = [
            _(
                "{expression}: {matched} of {messages} messages match",
                expression=self.expression,
                matched=f"{matched:,}",
                messages=f"{messages:,}",
            )
        ]
        if self.changed is not None:
            lost, gained = self.total("lost"), self.total("gained")
            lines.append(
                _(
                    "{changed}: it loses {lost} of these and gains {gained} others",
                    changed=self.changed,
                    lost=f"{lost:,}",
                    gained=f"{gained:,}",
                )
            )
        if self.left_out:
            lines.append(
                _(
                    "left out unless named: {messages} messages of the system's own topics, of retries and of dead "
                    "letters ({topics})",
                    messages=f"{sum(self.left_out.values()):,}",
                    topics=", ".join(sorted(self.left_out)),
                )
            )
        return lines

    def __repr__(self) -> str:
        """The lines."""
        return "\n".join(self.lines())


def _time(ms: int, form: str = "%Y-%m-%d %H:00") -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime(form)


def archive(store: Named, out: str | Path, *, session: SparkSession | None = None) -> Archive:
    """Keep the messages of a store directory as Parquet files, or add what was written since the last time.

    The store may be packed, or an address; of a cluster give a store of each broker, in a list or by the brokers'
    names. A slave's copy is recognised, and not archived twice. `out` is a folder, or an address that Arrow's file
    systems know (s3://, hdfs://, gs://, abfs://). It has a folder for each topic and day (UTC), in it files with a
    column for each property. A run that was killed leaves the archive as it was; the next one begins where the last
    whole one ended.

    Messages in no queue (prepared or rolled back ones of a transaction) and damaged parts of the log are left out; the
    latter are counted. `session` is a Spark session (`rmqlab.spark()` unless given): its workers read the store and
    write the files.

    >>> import rmqlab, tempfile
    >>> lab = rmqlab.Lab(topics={"T": 2})
    >>> sent = lab.send("T", ["tagA", "tagB", "tagA"])
    >>> store = lab.write_store(tempfile.mkdtemp() + "/store")
    >>> kept = rmqlab.archive(store, tempfile.mkdtemp())
    >>> kept.new, kept.topics
    (3, {'T': 3})

    Raises:
        BadInput: no store; an archive of another format or of another store at this path; a place that cannot be
            written; no Spark.
    """
    require("spark")
    from rmqlab_tools.recordings.store import open_store
    from rmqlab_tools.spark import open_here
    from rmqlab_tools.spark.archived.writing import archive_store
    from rmqlab_tools.spark.files.broker_stores import broker_stores, given_stores

    with ExitStack() as stack:
        opened, known_as = [], {}
        for given in given_stores(store):
            path = given.path
            known_as[given.shown] = path.resolve() if isinstance(path, Path) else path
            if isinstance(path, Path):
                folder, _events, conf = stack.enter_context(open_store(path))
                given = given._replace(path=folder, conf=conf)  # noqa: PLW2901 - the same store, opened
            opened.append(given)
        stores = broker_stores(opened)
        used, total = session or open_here(), 0
        for found in stores.counted:
            contents, new = archive_store(used, found.root, out, known_as[found.shown])
            total += new
    return _archive(shown_address(str(out)), contents, total, tuple(stores.copies))


def _archive(where: str, contents: Contents, new: int, copies: tuple[Copy, ...]) -> Archive:
    topics: dict[str, int] = {}
    for file in contents.files:
        topics[file.topic] = topics.get(file.topic, 0) + file.messages
    damaged = sum(store.damaged_bytes for store in contents.stores.values())
    return Archive(where, new, sum(topics.values()), len(contents.files), topics, damaged, copies)


def match(
    archive: str | Path,
    expression: str,
    kind: str = TAG,
    *,
    changed: str | None = None,
    changed_kind: str | None = None,
    topics: Sequence[str] = (),
    since: int | None = None,
    until: int | None = None,
    version: str = DEFAULT_VERSION,
    session: SparkSession | Callable[[], SparkSession] | None = None,
) -> Match:
    """How many messages of an archive a subscription gets, by topic, queue and hour; which a changed one would lose.

    `kind` is TAG (both its steps) or SQL92, `changed_kind` that of the changed one (the same unless given). `topics`:
    only these; without, all but the system's own, retries and dead letters. `since` and `until` are store times, epoch
    ms, ends included. The answer is exact: the evaluator of the broker decides each distinct value. Threads of this
    process count; with `session` (a session, or what opens one), the workers of a cluster do.

    >>> import rmqlab, tempfile
    >>> lab = rmqlab.Lab(topics={"T": 2})
    >>> sent = lab.send("T", ["tagA", "tagB", "tagA"])
    >>> folder = tempfile.mkdtemp()
    >>> kept = rmqlab.archive(lab.write_store(tempfile.mkdtemp() + "/store"), folder)
    >>> rmqlab.match(folder, "tagA", changed="tagB")
    tagA: 2 of 3 messages match
    tagB: it loses 2 of these and gains 1 others

    Raises:
        BadInput: no archive, a file of it that is gone or damaged, a topic that it does not have, another kind or
            version; the packages of the extra `spark` are missing.
        MQFilterException: the broker refuses the condition.
    """
    require("spark")
    from rmqlab_tools.spark.archived.examples import examples_of
    from rmqlab_tools.spark.archived.manifest import Place, chosen, read_contents
    from rmqlab_tools.spark.archived.matching import Span, Wanted, counted, filters_of, parts_of, tasks_of

    place = Place.of(archive)
    contents = read_contents(place, archive)
    files = chosen(contents, topics, since, until)
    wanted = Wanted(expression, kind, version)
    other = None if changed is None else Wanted(changed, changed_kind or kind, version)
    filters_of(wanted, other)  # what is wrong is said before a session is opened
    opened = session() if callable(session) else session
    work = parts_of(place, files, tasks_of(opened), Span(since, until))
    rows: list[dict[str, Any]] = counted(work, wanted, other, opened).to_pylist()
    left_out: dict[str, int] = {}
    for file in () if topics else contents.files:
        if not is_users_topic(file.topic):
            left_out[file.topic] = left_out.get(file.topic, 0) + file.messages
    examples = {} if other is None else examples_of(work, wanted, other, _by_topic(rows))
    return Match(expression, changed, rows, left_out, examples)


def _by_topic(rows: Sequence[dict[str, Any]]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {"lost": Counter(), "gained": Counter()}
    for row in rows:
        for kind, of_topic in counts.items():
            of_topic[row["topic"]] += row[kind]
    return counts


def require_order(since: int | None, until: int | None) -> None:
    """Refuse a time that ends before it begins.

    Raises:
        BadInput: it does.
    """
    if since is not None and until is not None and until < since:
        raise BadInput(_("--to lies before --from: no message can be in between; change the two"))
