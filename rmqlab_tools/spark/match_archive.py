"""`rmqlab.match`: what a subscription would get of an archive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, ngettext
from rmqlab.message.topics import is_users_topic
from rmqlab.protocol.subscription_data import TAG
from rmqlab.rules import DEFAULT_VERSION
from rmqlab_tools.extras import require
from rmqlab_tools.show.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rmqlab_tools.show.tables import Table


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """What a subscription gets of an archive, and with a changed one what that loses and gains.

    `rows`: by topic, queue and hour (epoch ms), how many messages there are, how many match, are lost and gained. A
    queue is one of a broker: rows and examples name it (`broker`) where the archive has more than one, `brokers`.
    `left_out`: messages by topic of the system's own topics, of retries and of dead letters, unless these are named.
    `examples`: the first few messages that are lost and gained, with the properties that the subscriptions ask for.
    """

    expression: str
    changed: str | None
    rows: list[dict[str, Any]]
    left_out: dict[str, int]
    examples: dict[str, list[dict[str, Any]]]
    brokers: tuple[str, ...] = ()

    @property
    def _place(self) -> dict[str, str]:
        """The columns that say in which queue a message is, and their titles."""
        whose = {"broker": _("broker")} if len(self.brokers) > 1 else {}
        return {"topic": _("topic")} | whose | {"queueId": _("queue")}

    def total(self, name: str) -> int:
        """A figure (messages, matched, lost, gained) over all rows."""
        return sum(row[name] for row in self.rows)

    def table(self) -> Table:
        """A row for each topic, queue and hour (UTC)."""
        names = ["messages", "matched", *([] if self.changed is None else ["lost", "gained"])]
        headers = {"messages": _("messages"), "matched": _("matched"), "lost": _("lost"), "gained": _("gained")}
        place = self._place
        rows = [
            (*(row[name] for name in place), _time(row["hour"]), *(row[name] for name in names)) for row in self.rows
        ]
        titles = (*place.values(), _("hour (UTC)"), *(headers[name] for name in names))
        return table(_("What the subscription gets"), rows, headers=titles)

    def examples_table(self) -> Table:
        """The first messages that a changed subscription loses and gains."""
        words = {"lost": _("lost"), "gained": _("gained")}
        rows = [
            (
                words[kind], *(message[name] for name in self._place), message["queueOffset"],
                _time(message["storeTimestamp"], "%Y-%m-%d %H:%M:%S"),
                ", ".join(f"{name}={value}" for name, value in message["properties"].items()) or "-",
            )
            for kind, messages in self.examples.items()
            for message in messages
        ]  # fmt: skip
        titles = ("", *self._place.values(), _("offset"), _("stored (UTC)"), _("properties asked for"))
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
        } | ({"brokers": list(self.brokers)} if len(self.brokers) > 1 else {})

    def lines(self) -> list[str]:
        """The sums in words."""
        messages, matched = self.total("messages"), self.total("matched")
        lines = [
            ngettext(
                "{expression}: {matched} of {messages} message matches",
                "{expression}: {matched} of {messages} messages match",
                messages,
                expression=self.expression,
                matched=f"{matched:,}",
                messages=f"{messages:,}",
            )
        ]
        if self.changed is not None:
            lost, gained = self.total("lost"), self.total("gained")
            lines.append(
                _(
                    "{changed}: it loses {lost} of these; others that it gains: {gained}",
                    changed=self.changed,
                    lost=f"{lost:,}",
                    gained=f"{gained:,}",
                )
            )
        if self.left_out:
            lines.append(
                ngettext(
                    "left out of the whole archive unless named: {messages} message of the system's own topics, of "
                    "retries and of dead letters ({topics})",
                    "left out of the whole archive unless named: {messages} messages of the system's own topics, of "
                    "retries and of dead letters ({topics})",
                    sum(self.left_out.values()),
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

    Of an archive of several brokers also by broker, since each has a queue 0 of its own. `kind` is TAG (both its steps)
    or SQL92, `changed_kind` that of the changed one (the same unless given). `topics`: only these; without, all but the
    system's own, retries and dead letters. `since` and `until` are store times, epoch ms, ends included. The answer is
    exact: the evaluator of the broker decides each distinct value. Threads of this process count; with `session` (a
    session, or what opens one), the workers of a cluster do.

    >>> import rmqlab, tempfile
    >>> lab = rmqlab.Lab(topics={"T": 2})
    >>> sent = lab.send("T", ["tagA", "tagB", "tagA"])
    >>> folder = tempfile.mkdtemp()
    >>> kept = rmqlab.archive(lab.write_store(tempfile.mkdtemp() + "/store"), folder)
    >>> rmqlab.match(folder, "tagA", changed="tagB")
    tagA: 2 of 3 messages match
    tagB: it loses 2 of these; others that it gains: 1

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
    labels = contents.labels()
    work = parts_of(place, files, tasks_of(opened), Span(since, until), labels)
    rows: list[dict[str, Any]] = counted(work, wanted, other, opened).to_pylist()
    archived = {} if topics else contents.messages_by_topic()
    left_out = {topic: messages for topic, messages in archived.items() if not is_users_topic(topic)}
    examples = {} if other is None else examples_of(work, wanted, other, _by_topic(rows))
    brokers = tuple(sorted({*labels.values()}))
    if len(brokers) < 2:
        for row in [*rows, *(message for messages in examples.values() for message in messages)]:
            del row["broker"]
    return Match(expression, changed, rows, left_out, examples, brokers)


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
