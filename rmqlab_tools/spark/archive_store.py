"""`rmqlab.archive`: a store's messages kept as Parquet files."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rmqlab.language import _, ngettext
from rmqlab_tools.extras import require
from rmqlab_tools.show.tables import table
from rmqlab_tools.spark.files.addresses import shown_address

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rmqlab_tools.show.tables import Table
    from rmqlab_tools.spark.archived.manifest import Contents
    from rmqlab_tools.spark.files.broker_stores import Named


@dataclass(frozen=True, slots=True, repr=False)
class Archive:
    """What an archive has after a run: `new` messages of it, all `messages`, bytes of the log that are damaged.

    `copies` (`Copy`) are stores of which it took nothing, since another one has their log; `same_logs` (`SameLog`)
    those whose log it had from another one.
    """

    where: str
    new: int
    messages: int
    files: int
    topics: dict[str, int]
    damaged_bytes: int
    copies: tuple[Any, ...] = ()
    same_logs: tuple[Any, ...] = ()

    def table(self) -> Table:
        """Messages by topic."""
        rows = sorted(self.topics.items())
        return table(_("Messages of the archive"), rows, headers=(_("topic"), _("messages")))

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "archive": self.where, "new": self.new, "messages": self.messages, "files": self.files,
            "topics": self.topics, "damaged_bytes": self.damaged_bytes,
        } | {
            name: [store._asdict() for store in stores]
            for name, stores in (("copies", self.copies), ("same_logs", self.same_logs))
            if stores
        }  # fmt: skip

    def lines(self) -> list[str]:
        """What was added, and what is not in it."""
        lines = [
            *(store.says() for store in (*self.copies, *self.same_logs)),
            ngettext(
                "{where}: {new} new message, {messages} in all, in {files}",
                "{where}: {new} new messages, {messages} in all, in {files}",
                self.new,
                where=self.where,
                new=f"{self.new:,}",
                messages=f"{self.messages:,}",
                files=ngettext("{count} file", "{count} files", self.files),
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


def archive(store: Named, out: str | Path, *, session: SparkSession | None = None) -> Archive:
    """Keep the messages of a store directory as Parquet files, or add what was written since the last time.

    The store may be packed, or an address; of a cluster give a store of each broker, in a list or by the brokers'
    names. A slave's copy is recognised, and not archived twice, also in a later run; so are a backup and a store that
    was moved. `out` is a folder, or an address that Arrow's file
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
    from rmqlab_tools.spark import open_here
    from rmqlab_tools.spark.archived.writing import archive_store
    from rmqlab_tools.spark.files.broker_stores import broker_stores, given_stores, opened_store

    with ExitStack() as stack:
        stores = broker_stores(opened_store(given, stack)[0] for given in given_stores(store))
        used, total, same_logs = session or open_here(), 0, []
        for counted in stores.counted:
            contents, new, same = archive_store(used, counted, out)
            total += new
            same_logs += [same] if same else []
    return replace(
        _archive(shown_address(str(out)), contents, total), copies=tuple(stores.copies), same_logs=tuple(same_logs)
    )


def _archive(where: str, contents: Contents, new: int) -> Archive:
    topics = contents.messages_by_topic()
    damaged = sum(store.damaged_bytes for store in contents.stores.values())
    return Archive(where, new, sum(topics.values()), len(contents.files), topics, damaged)
