"""Consumers of a code base as groups whose members `lint` compares, and what it cannot compare."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rmqlab.language import _
from rmqlab.protocol.subscription_data import SubscriptionSplitError, build_subscription
from rmqlab_tools.search.lint.findings import GroupLint, LintVerdict
from rmqlab_tools.search.lint.lint_text import refused
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import MEMBER_SETTINGS, LintGroup, LintMember
from rmqlab_tools.search.lint.modes import rules_for
from rmqlab_tools.source.consumers import CodeBase
from rmqlab_tools.source.values import Known, NotKnown, text_if_known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab_tools.source.drafts import FoundConsumer, FoundSubscription


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member stands in the sources: its label, which names it in a group, its class or variable."""

    label: str
    name: str
    file: str
    line: int

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {"member": self.label, "name": self.name, "file": self.file, "line": self.line}


@dataclass(frozen=True, slots=True)
class Gap:
    """What is not known of a consumer: its group, a topic or an expression; why, and where. `group` may be known."""

    what: str
    why: str
    file: str
    line: int
    name: str
    group: str = ""

    def sentence(self) -> str:
        """It in words."""
        values = {"name": self.name, "why": self.why, "group": self.group}
        if self.what == "group":
            return _("the group of {name} is not known: {why}", **values)
        if self.what == "topic":
            return _("{name} of group {group}: a topic is not known: {why}", **values)
        return _("{name} of group {group}: an expression is not known: {why}", **values)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "what": self.what,
            "why": str(self.why),
            "file": self.file,
            "line": self.line,
            "group": self.group or None,
        }


@dataclass(slots=True, repr=False)
class SourceLint:
    """What was found in sources: groups compared, where their members stand, what is not known."""

    base: CodeBase
    groups: list[GroupLint] = field(default_factory=list)
    places: dict[str, dict[str, Place]] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab_tools.source.source_text import source_lines  # it knows this class

        return "\n".join(map(str, source_lines(self)))

    @property
    def verdict(self) -> LintVerdict:
        """The worst of its groups; with something unknown it is never good."""
        worst = LintVerdict.worst(group.verdict for group in self.groups)
        return LintVerdict.worst([worst, LintVerdict.UNDECIDED]) if self.is_open else worst

    @property
    def is_open(self) -> bool:
        """Whether something is not known that could make a group inconsistent."""
        return bool(self.gaps or self.base.troubles or any(group.missing for group in self.groups))

    @property
    def refused(self) -> list[GroupLint]:
        """Groups with a condition that no broker accepts: its member does not start."""
        return [group for group in self.groups if refused(group)]

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON; a group has `places` besides what every `lint` says of one."""
        return {
            "verdict": str(self.verdict),
            "groups": [
                group.as_json() | {"places": [place.as_json() for place in self.places[group.group].values()]}
                for group in self.groups
            ],
            "refused": [
                {"group": group.group, "members": list(members), "why": str(sentence)}
                for group in self.refused
                for members, sentence in refused(group)
            ],
            "not_known": [gap.as_json() for gap in self.gaps],
            "not_read": [{"file": file, "why": str(why)} for file, why in self.base.troubles],
            "notes": [str(note) for note in self.base.notes],
            "files": self.base.files,
            "test_files_left_out": self.base.tests,
        }


def lint_sources(base: CodeBase, version: str | None = None, queues: int | None = None) -> SourceLint:
    """Compare the members of each group that a code base has.

    `version` is the broker's, `queues` the number that each topic has.

    Raises:
        BadInput: the version has no POP, and a member pops.
    """
    result = SourceLint(base)
    for name, consumers in sorted(_by_group(base.consumers, result.gaps).items()):
        group = LintGroup(name)
        labels = _labels(consumers)
        missing = []
        for label, consumer in zip(labels, consumers, strict=True):
            member, gaps = _member(label, consumer)
            group.hear(member)
            result.gaps += gaps
            missing += [gap.sentence() for gap in gaps]
        if queues is not None:
            group.queues = {topic: queues for member in group.members for topic in member.subscriptions}
        missing = list(dict.fromkeys(missing))
        compared = lint(group, rules_for(group.members, version))
        result.groups.append(replace(compared, missing=tuple(missing)))
        result.places[name] = {
            label: Place(label, consumer.name, consumer.file, consumer.line)
            for label, consumer in zip(labels, consumers, strict=True)
        }
    result.gaps = list(dict.fromkeys(result.gaps))
    return result


def _by_group(consumers: Iterable[FoundConsumer], gaps: list[Gap]) -> dict[str, list[FoundConsumer]]:
    """Consumers by the names of their groups; one name at clusters that have no server in common is two groups."""
    by_name: defaultdict[str, list[FoundConsumer]] = defaultdict(list)
    for consumer in consumers:
        if isinstance(consumer.group, NotKnown):
            gaps.append(Gap("group", consumer.group.why, consumer.file, consumer.line, consumer.name))
        else:
            name = f"{consumer.namespace}%{consumer.group.text}" if consumer.namespace else consumer.group.text
            by_name[name].append(consumer)
    groups: dict[str, list[FoundConsumer]] = {}
    for name, members in by_name.items():
        clusters = _clusters(members)
        for servers, at_cluster in clusters.items():
            groups[f"{name} @ {servers}" if len(clusters) > 1 else name] = at_cluster
    return groups


def _clusters(members: list[FoundConsumer]) -> dict[str, list[FoundConsumer]]:
    """Members by their name servers, if those of all are known; else all together."""
    addresses = [_addresses(member.servers) for member in members]
    if not all(addresses):
        return {"": members}
    clusters: list[tuple[set[str], list[FoundConsumer]]] = []
    for servers, member in zip(addresses, members, strict=True):
        near = [cluster for cluster in clusters if cluster[0] & servers]
        merged = (servers.union(*(cluster[0] for cluster in near)), [each for cluster in near for each in cluster[1]])
        clusters = [cluster for cluster in clusters if cluster not in near]
        clusters.append((merged[0], [*merged[1], member]))
    return {";".join(sorted(servers)): of_them for servers, of_them in clusters}


def _addresses(servers: str) -> set[str]:
    parts = re.split(r"[;,\s]+", servers.lower().replace("127.0.0.1", "localhost"))
    return {re.sub(r"^\w+://", "", part) for part in parts if part}


def _labels(consumers: list[FoundConsumer]) -> list[str]:
    """A short name for each, by file and line; as many folders as tell two files apart that are called alike."""
    labels = []
    for consumer in consumers:
        parts = consumer.file.split("/")
        others = [other.file.split("/") for other in consumers if other.file != consumer.file]
        size = 1
        while size < len(parts) and any(other[-size:] == parts[-size:] for other in others):
            size += 1
        # what two long paths have in common is left out in the middle
        shown = "/".join(parts[-size:]) if size <= 2 else f"{parts[-size]}/.../{parts[-1]}"
        labels.append(f"{shown}:{consumer.line}")
    seen: defaultdict[str, int] = defaultdict(int)
    for place, label in enumerate(labels):
        seen[label] += 1
        if seen[label] > 1:
            labels[place] = f"{label} ({seen[label]})"
    return labels


def _member(label: str, consumer: FoundConsumer) -> tuple[LintMember, list[Gap]]:
    """A consumer as a member, and what is not known of it."""
    group = text_if_known(consumer.group)
    gaps = [Gap(what, why, file, line, label, group) for what, why, file, line in consumer.not_known if what != "group"]
    by_topic: defaultdict[str, list[FoundSubscription]] = defaultdict(list)
    is_open = bool(consumer.remark)
    for subscription in consumer.subscriptions:
        if isinstance(subscription.topic, Known):
            by_topic[subscription.topic.text].append(subscription)
        else:
            is_open = True
    made, unsaid = {}, set()
    for topic, wishes in by_topic.items():
        texts = {
            (wish.kind.text, wish.expression.text)
            for wish in wishes
            if isinstance(wish.kind, Known) and isinstance(wish.expression, Known)
        }
        data = None
        if len(texts) == 1 and not any(
            isinstance(part, NotKnown) for wish in wishes for part in (wish.kind, wish.expression)
        ):
            ((kind, expression),) = texts
            try:
                data = build_subscription(topic, expression, kind)
            except SubscriptionSplitError:
                why = _("{expression} names no tag: the client refuses it", expression=repr(expression))
                gaps.append(Gap("expression", why, wishes[0].file, wishes[0].line, label, group))
        elif len(texts) > 1:
            lines = ", ".join(str(wish.line) for wish in wishes)
            why = _("it subscribes {topic} in different ways (lines {lines})", topic=topic, lines=lines)
            gaps.append(Gap("expression", why, wishes[0].file, wishes[0].line, label, group))
        if data is None:
            unsaid.add(topic)
        else:
            made[topic] = data
    settings = {
        name: value
        for name, value in consumer.settings.items()
        if name in MEMBER_SETTINGS and value in MEMBER_SETTINGS[name].__members__
    }
    return LintMember(label, made, settings, kind=consumer.kind, unsaid=None if is_open else frozenset(unsaid)), gaps
